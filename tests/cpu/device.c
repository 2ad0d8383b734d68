/* device.c - tests of the CPU's memory: alignment, copies, zeroing, and scratch that is kept. */
#include "cpu/cpu.h"
#include "tests/test.h"
#include <stdlib.h>

struct opened {
    pool *threads;
    struct device *d;
};

static struct opened open_cpu(size_t threads)
{
    struct opened o = {NULL, NULL};
    const struct kernels *kernels;
    if (pool_new(threads, &o.threads) == OK && kernels_choose(NULL, &kernels) == OK)
        (void)cpu_open(o.threads, kernels, &o.d);
    return o;
}

static void close_cpu(struct opened *o)
{
    if (o->d) o->d->close(o->d);
    pool_free(o->threads);
}

TEST(cpu_device_is_filled_in)
{
    struct opened o = open_cpu(2);
    REQUIRE(o.d);
    EXPECT_INT(o.d->abi, DEVICE_ABI);
    EXPECT_INT(o.d->bytes, sizeof(struct device));
    EXPECT_TEXT(o.d->name, "cpu");
    EXPECT_OK(o.d->sync(o.d));
    close_cpu(&o);
}

TEST(cpu_blocks_are_aligned_for_any_size)
{
    static const size_t sizes[] = {0, 1, 63, 64, 65, 100000, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 9 << 20};
    struct opened o = open_cpu(1);
    REQUIRE(o.d);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory = NULL;
        EXPECT_OK(o.d->alloc(o.d, sizes[i], &memory));
        EXPECT(memory);
        EXPECT_INT((uintptr_t)memory % 64, 0);
        if (sizes[i] >= 2 << 20) EXPECT_INT((uintptr_t)memory % (2 << 20), 0);
        if (memory && sizes[i]) memset(memory, 1, sizes[i]); /* all of it is ours: a sanitizer would speak up */
        o.d->release(o.d, memory);
    }
    close_cpu(&o);
}

TEST(cpu_alloc_refuses_what_cannot_be)
{
    struct opened o = open_cpu(1);
    REQUIRE(o.d);
    void *memory = NULL;
    EXPECT_STATUS(o.d->alloc(o.d, SIZE_MAX, &memory), ST_MEMORY);
    EXPECT_STATUS(o.d->alloc(o.d, SIZE_MAX / 2 + 1, &memory), ST_MEMORY);
    EXPECT(!memory);
    close_cpu(&o);
}

TEST(cpu_zero_clears_exactly_its_bytes)
{
    static const size_t sizes[] = {0, 1, 1000, 4 << 20, (4 << 20) + 1, (13 << 20) + 7}; /* the last ones in pieces */
    struct opened o = open_cpu(3);
    REQUIRE(o.d);
    unsigned char *memory = NULL;
    EXPECT_OK(o.d->alloc(o.d, (13 << 20) + 8, (void **)&memory));
    for (size_t i = 0; memory && i < sizeof sizes / sizeof *sizes; i++) {
        size_t left = 0;
        memset(memory, 7, sizes[i] + 1);
        EXPECT_OK(o.d->zero(o.d, memory, sizes[i]));
        for (size_t k = 0; k < sizes[i]; k++) left += memory[k] != 0;
        EXPECT_INT(left, 0);
        EXPECT_INT(memory[sizes[i]], 7);
    }
    o.d->release(o.d, memory);
    close_cpu(&o);
}

TEST(cpu_copies_there_and_back)
{
    struct opened o = open_cpu(1);
    REQUIRE(o.d);
    const char text[] = "seventeen letters";
    char back[sizeof text] = "";
    void *first = NULL, *second = NULL;
    EXPECT_OK(o.d->alloc(o.d, sizeof text, &first));
    EXPECT_OK(o.d->alloc(o.d, sizeof text, &second));
    EXPECT_OK(o.d->upload(o.d, first, text, sizeof text));
    EXPECT_OK(o.d->copy(o.d, second, first, sizeof text));
    EXPECT_OK(o.d->download(o.d, back, second, sizeof text));
    EXPECT_TEXT(back, text);
    EXPECT_OK(o.d->upload(o.d, NULL, NULL, 0));
    o.d->release(o.d, first);
    o.d->release(o.d, second);
    close_cpu(&o);
}

TEST(cpu_scratch_is_kept_and_each_worker_has_its_own)
{
    const size_t live = alloc_live();
    struct opened o = open_cpu(2);
    REQUIRE(o.d);
    struct cpu *c = cpu_of(o.d);
    void *a = NULL, *b = NULL, *shared = NULL, *again = NULL;
    EXPECT_OK(cpu_scratch(c, 0, 1000, &a));
    EXPECT_OK(cpu_scratch(c, 1, 1000, &b));
    EXPECT_OK(cpu_shared(c, 1000, &shared));
    EXPECT(a && b && shared && a != b && a != shared && b != shared);
    EXPECT_INT((uintptr_t)a % 64 + (uintptr_t)b % 64 + (uintptr_t)shared % 64, 0);
    const size_t before = alloc_count();
    EXPECT_OK(cpu_scratch(c, 0, 10, &again));
    EXPECT(again == a);
    EXPECT_OK(cpu_scratch(c, 0, 1000, &again));
    EXPECT(again == a);
    EXPECT_INT(alloc_count() - before, 0);
    for (size_t bytes = 1000; bytes < 200000; bytes += 100) { /* a slow rise takes few steps */
        EXPECT_OK(cpu_scratch(c, 0, bytes, &again));
        memset(again, 1, bytes);
    }
    EXPECT(alloc_count() - before < 12);
    close_cpu(&o);
    EXPECT_INT(alloc_live() - live, 0); /* what a larger block replaced is gone too */
}

static status ask_inside(void *context, size_t piece, size_t worker)
{
    struct cpu *c = cpu_of(((struct opened *)context)->d);
    size_t self = SIZE_MAX;
    void *own = NULL, *shared = NULL;
    (void)piece;
    EXPECT(pool_inside(c->threads, &self));
    EXPECT_INT(self, worker);
    EXPECT_OK(cpu_reserve(c, 1000));
    EXPECT_OK(cpu_scratch(c, worker, 1000, &own));
    EXPECT_OK(cpu_shared(c, 1000, &shared));
    EXPECT(own == c->scratch[worker].memory);
    EXPECT(shared == c->shared[worker].memory);
    return OK;
}

TEST(cpu_pieces_that_use_the_device_touch_only_their_workers_memory)
{
    struct opened o = open_cpu(3);
    size_t self;
    REQUIRE(o.d);
    EXPECT(!pool_inside(o.threads, &self));
    EXPECT_OK(pool_run(o.threads, 100, ask_inside, &o));
    EXPECT(!pool_inside(o.threads, &self));
    close_cpu(&o);
}

TEST(cpu_scratch_recovers_after_a_failed_allocation)
{
    struct opened o = open_cpu(1);
    REQUIRE(o.d);
    void *memory = NULL;
    EXPECT_OK(cpu_scratch(cpu_of(o.d), 0, 100, &memory));
    alloc_fail_at(1);
    EXPECT_STATUS(cpu_scratch(cpu_of(o.d), 0, 100000, &memory), ST_MEMORY);
    alloc_fail_at(0);
    EXPECT_OK(cpu_scratch(cpu_of(o.d), 0, 100000, &memory));
    close_cpu(&o);
}

TEST(cpu_open_with_any_allocation_failing_leaks_nothing)
{
    const struct kernels *kernels = kernels_of(ISA_PORTABLE);
    pool *threads = NULL;
    REQUIRE(pool_new(2, &threads) == OK);
    const size_t live = alloc_live();
    for (size_t n = 1; n < 100; n++) {
        struct device *d = NULL;
        alloc_fail_at(n);
        const status st = cpu_open(threads, kernels, &d);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_INT(st, failed ? ST_MEMORY : OK);
        EXPECT(failed == !d);
        if (d) d->close(d);
        EXPECT_INT(alloc_live() - live, 0);
        if (!failed) break;
        EXPECT(n < 10); /* opening takes a handful of blocks, not more */
    }
    pool_free(threads);
}
