/* params.c - the list of named parameters. */
#include "tensor/params.h"
#include "tests/ops/world.h"
#include "tests/test.h"
#include <stdio.h>

TEST(params_start_at_zero_and_are_found_by_name)
{
    struct world w;
    struct param *a = NULL, *b = NULL;
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_TRAINING));
    struct params *p = params_new(w.dev);
    REQUIRE(p);
    EXPECT_OK(params_add(p, "head.scale", DT_F32, 0, NULL, &a));
    EXPECT_OK(params_add(p, "head.fc.weight", DT_F32, DIMS(2, 3), &b));
    REQUIRE(a && b);
    EXPECT_NUMBERS(&w, b->value, 0, 0, 0, 0, 0, 0);
    EXPECT_NUMBERS(&w, b->grad, 0, 0, 0, 0, 0, 0);
    EXPECT_INT(params_count(p), 2);
    EXPECT(params_find(p, "head.fc.weight") == b);
    EXPECT(params_find(p, "head.fc") == NULL);
    EXPECT(params_at(p, 0) == a);
    EXPECT_STATUS(params_add(p, "head.scale", DT_F32, 0, NULL, &b), ST_USAGE);
    EXPECT_TEXT(error_text(), "there already is a parameter 'head.scale'; names are unique");
    EXPECT_INT(params_count(p), 2);
    params_free(p);
    world_close(&w);
}

TEST(params_stay_where_they_are_while_the_list_grows)
{
    struct world w;
    struct param *first = NULL, *next;
    char name[32];
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    struct params *p = params_new(w.dev);
    REQUIRE(p);
    EXPECT_OK(params_add(p, "first", DT_F64, DIMS(1), &first));
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "p%d", i);
        EXPECT_OK(params_add(p, name, DT_F64, DIMS(2), &next));
    }
    EXPECT(params_find(p, "first") == first);
    EXPECT_INT(params_count(p), 101);
    params_free(p);
    world_close(&w);
}

TEST(params_zero_grad_clears_every_gradient_and_no_value)
{
    struct world w;
    struct param *a = NULL;
    const double two[2] = {2, 2};
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    struct params *p = params_new(w.dev);
    REQUIRE(p);
    EXPECT_OK(params_add(p, "a", DT_F64, DIMS(2), &a));
    REQUIRE(a);
    EXPECT_OK(w.dev->upload(w.dev, a->value.data, two, sizeof two));
    EXPECT_OK(w.dev->upload(w.dev, a->grad.data, two, sizeof two));
    EXPECT_OK(params_zero_grad(p));
    EXPECT_NUMBERS(&w, a->grad, 0, 0);
    EXPECT_NUMBERS(&w, a->value, 2, 2);
    params_free(p);
    world_close(&w);
}

/* Gradients share blocks of memory: no two overlap, and none is forgotten. */
TEST(params_zero_grad_reaches_every_block)
{
    enum { COUNT = 40, NUMBERS = 3001 };
    struct world w;
    struct param *e[COUNT] = {NULL};
    char name[32];
    float seen[NUMBERS];
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_TRAINING));
    struct params *p = params_new(w.dev);
    REQUIRE(p);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "p%d", i);
        REQUIRE(params_add(p, name, DT_F32, DIMS(NUMBERS), &e[i]) == OK);
        for (int k = 0; k < NUMBERS; k++) seen[k] = (float)i;
        EXPECT_OK(w.dev->upload(w.dev, e[i]->grad.data, seen, sizeof seen));
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < COUNT; i++) {
            EXPECT_OK(w.dev->download(w.dev, seen, e[i]->grad.data, sizeof seen));
            for (int k = 0; k < NUMBERS; k += 60) EXPECT(seen[k] == (float)(pass ? 0 : i));
        }
        EXPECT_OK(params_zero_grad(p));
    }
    params_free(p);
    world_close(&w);
}

TEST(params_survive_every_failed_allocation)
{
    struct world w;
    bool failed = true;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    for (size_t n = 1; failed; n++) {
        const size_t live = alloc_live();
        struct param *a;
        alloc_fail_at(n);
        struct params *p = params_new(w.dev);
        status st = p ? params_add(p, "a", DT_F64, DIMS(2), &a) : ST_MEMORY;
        const size_t added = st == OK;
        if (st == OK) st = params_add_buffer(p, "b", DT_F64, DIMS(2), &a);
        failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        if (p) EXPECT_INT(params_count(p), failed ? added : 2);
        params_free(p);
        EXPECT_INT(alloc_live(), live);
        REQUIRE(n < 50);
    }
    world_close(&w);
}

TEST(a_buffer_has_no_gradient_and_is_a_constant_on_the_tape)
{
    struct world w;
    struct param *a = NULL, *b = NULL;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    struct params *p = params_new(w.dev);
    REQUIRE(p);
    EXPECT_OK(params_add(p, "weight", DT_F64, DIMS(2), &a));
    EXPECT_OK(params_add_buffer(p, "running_mean", DT_F64, DIMS(2), &b));
    REQUIRE(a && b);
    EXPECT(a->trained && !b->trained && !b->grad.data);
    EXPECT_NUMBERS(&w, b->value, 0, 0);
    EXPECT_OK(params_zero_grad(p));
    EXPECT(params_device(p) == w.dev);
    const var *trained = tape_param(w.t, a), *constant = tape_param(w.t, b);
    REQUIRE(trained && constant);
    EXPECT(trained->needs_grad && !constant->needs_grad);
    params_free(p);
    world_close(&w);
}

TEST(buffers_lie_in_blocks_that_hold_all_of_them_and_nothing_else)
{
    enum { COUNT = 40, EACH = 1000 }; /* more than the first block has room for */
    struct world w;
    struct param *b[COUNT], *weight = NULL;
    char name[32];
    void *memory;
    size_t bytes, seen = 0, blocks = 0;
    REQUIRE(world_open_cpu(&w, 1, DT_F64, TAPE_TRAINING));
    struct params *p = params_new(w.dev), *fixed = params_new_fixed(w.dev);
    REQUIRE(p && fixed);
    EXPECT(!params_buffer_block(p, 0, &memory, &bytes));
    EXPECT_OK(params_add(p, "weight", DT_F64, DIMS(EACH), &weight));
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "b%d", i);
        REQUIRE(params_add_buffer(p, name, DT_F64, DIMS(EACH), &b[i]) == OK);
        for (int k = 0; k < EACH; k++) EXPECT(((double *)b[i]->value.data)[k] == 0);
        ((double *)b[i]->value.data)[EACH - 1] = i + 1;
    }
    for (; params_buffer_block(p, blocks, &memory, &bytes); blocks++) {
        double sum = 0;
        for (size_t k = 0; k < bytes / sizeof(double); k++) sum += ((double *)memory)[k];
        seen += (size_t)sum; /* gaps are zero */
        EXPECT((char *)weight->value.data < (char *)memory || (char *)weight->value.data >= (char *)memory + bytes);
    }
    EXPECT_INT(seen, COUNT * (COUNT + 1) / 2);
    EXPECT(blocks > 1);
    for (int i = 0; i < COUNT; i++) EXPECT(((double *)b[i]->value.data)[EACH - 1] == i + 1);
    EXPECT_OK(params_add_buffer(fixed, "weight", DT_F64, DIMS(2), &weight));
    EXPECT(!params_buffer_block(fixed, 0, &memory, &bytes));
    params_free(fixed);
    params_free(p);
    world_close(&w);
}
