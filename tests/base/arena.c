/* Tests of base/arena.h. */
#include "tests/test.h"
#include "base/arena.h"
#include <stdlib.h>

TEST(arena_takes_are_aligned_and_apart)
{
    arena *a = arena_new(256);
    REQUIRE(a);
    unsigned char *piece[64];
    for (size_t i = 0; i < 64; i++) {
        EXPECT_OK(arena_take(a, i, 3, (void **)&piece[i]));
        EXPECT_INT((uintptr_t)piece[i] % ARENA_ALIGN, 0);
        memset(piece[i], (int)i, i * 3);
    }
    for (size_t i = 0; i < 64; i++)
        for (size_t k = 0; k < i * 3; k++) EXPECT_INT(piece[i][k], i);
    arena_free(a);
}

/* Takes of a step that needs several blocks. */
static void step(arena *a, void *seen[20])
{
    for (size_t i = 0; i < 20; i++) EXPECT_OK(arena_take(a, (i * 7919) % 5000, 4, &seen[i]));
}

TEST(arena_second_step_allocates_nothing_and_finds_the_same_places)
{
    arena *a = arena_new(1000);
    REQUIRE(a);
    void *first[20], *second[20];
    step(a, first);
    size_t used = arena_used(a), held = arena_held(a), count = alloc_count();
    EXPECT(held >= used);
    arena_reset(a);
    EXPECT_INT(arena_used(a), 0);
    step(a, second);
    EXPECT_INT(alloc_count(), count);
    EXPECT_INT(arena_used(a), used);
    EXPECT_INT(arena_held(a), held);
    EXPECT(!memcmp(first, second, sizeof first));
    arena_free(a);
}

TEST(arena_refuses_products_that_wrap)
{
    arena *a = arena_new(64);
    REQUIRE(a);
    void *p = NULL;
    EXPECT_STATUS(arena_take(a, SIZE_MAX / 2, 3, &p), ST_MEMORY);
    EXPECT_STATUS(arena_take(a, SIZE_MAX, 1, &p), ST_MEMORY);
    EXPECT_STATUS(arena_take(a, SIZE_MAX - ARENA_ALIGN + 1, 1, &p), ST_MEMORY);
    EXPECT(p == NULL);
    EXPECT_INT(arena_used(a), 0);
    arena_free(a);
}

TEST(arena_take_of_nothing_gives_a_pointer)
{
    arena *a = arena_new(0);
    REQUIRE(a);
    void *p = NULL, *q = NULL;
    EXPECT_OK(arena_take(a, 0, 8, &p));
    EXPECT_OK(arena_take(a, 8, 0, &q));
    EXPECT(p && q && p != q);
    arena_free(a);
    arena_free(NULL);
}

struct counted_source {
    int taken, given;
    bool empty;
};

static status source_take(void *context, size_t bytes, void **out)
{
    struct counted_source *s = context;
    if (s->empty) return fail(ST_MEMORY, "the source is empty");
    s->taken++;
    *out = aligned_alloc(ARENA_ALIGN, bytes);
    return *out ? OK : fail(ST_MEMORY, "no memory");
}

static void source_give(void *context, void *memory)
{
    ((struct counted_source *)context)->given++;
    free(memory);
}

TEST(arena_gives_every_block_back_to_its_source)
{
    struct counted_source s = {0};
    size_t live = alloc_live();
    arena *a = arena_new_from((struct arena_source){source_take, source_give, &s}, 128);
    REQUIRE(a);
    void *p;
    for (size_t i = 0; i < 10; i++) EXPECT_OK(arena_take(a, 1000, i + 1, &p));
    EXPECT(s.taken > 1);
    s.empty = true;
    EXPECT_STATUS(arena_take(a, 1 << 20, 1, &p), ST_MEMORY);
    EXPECT_TEXT(error_text(), "the source is empty");
    arena_free(a);
    EXPECT_INT(s.given, s.taken);
    EXPECT_INT(alloc_live(), live);
}

TEST(arena_survives_each_failing_allocation)
{
    size_t live = alloc_live();
    alloc_fail_at(1);
    EXPECT(arena_new(64) == NULL);
    alloc_fail_at(0);
    for (size_t n = 1;; n++) {
        arena *a = arena_new(64);
        REQUIRE(a);
        void *p;
        alloc_fail_at(n);
        status st = arena_take(a, 100, 1, &p);
        bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        EXPECT_OK(arena_take(a, 100, 1, &p));
        arena_free(a);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
        REQUIRE(n < 10);
    }
}
