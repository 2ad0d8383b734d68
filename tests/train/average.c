/* average.c - averages over epochs have the values that the formula gives, and leave the model as it was. */
#include "train/average.h"
#include "tests/ops/world.h"
#include "tests/test.h"
#include <math.h>

struct pair { /* a model of a weight [2] and a running statistic [1], and what a checkpoint would save */
    struct world w;
    struct params *model, *state;
    struct average *average;
};

static bool open_pair(struct pair *p, double memory)
{
    struct param *e;
    *p = (struct pair){.model = NULL};
    if (!world_open(&p->w, 1, DT_F32, TAPE_TRAINING)) return false;
    p->model = params_new(p->w.dev);
    p->state = params_new(p->w.dev);
    return p->model && p->state && params_add(p->model, "weight", DT_F32, 1, (size_t[]){2}, &e) == OK &&
           params_add_buffer(p->model, "running", DT_F32, 1, (size_t[]){1}, &e) == OK &&
           average_new(p->model, p->state, memory, &p->average) == OK;
}

static void close_pair(struct pair *p)
{
    average_free(p->average);
    params_free(p->model);
    params_free(p->state);
    world_close(&p->w);
}

static void set(struct params *list, const char *name, const float *x)
{
    const struct param *e = params_find(list, name);
    EXPECT_OK(params_device(list)->upload(params_device(list), e->value.data, x, tensor_bytes(&e->value)));
}

static void get(struct params *list, const char *name, float *x)
{
    const struct param *e = params_find(list, name);
    EXPECT_OK(params_device(list)->download(params_device(list), x, e->value.data, tensor_bytes(&e->value)));
}

static void expect_weight(struct params *list, const char *name, float a, float b)
{
    float x[2];
    get(list, name, x);
    EXPECT(fabsf(x[0] - a) < 1e-6f && fabsf(x[1] - b) < 1e-6f);
}

/* Epochs end with 8, 4, 0 (and their negatives): means 8, 6, 4; with a memory of 0.6 the third is 0.6 * 6 + 0.4 * 0. */
TEST(average_begins_as_the_mean_of_all_epochs_and_then_forgets)
{
    static const float shown[] = {8, 6, 3.6f};
    struct pair p;
    REQUIRE(open_pair(&p, 0.6));
    for (int epoch = 0; epoch < 3; epoch++) {
        const float x = (float)(8 - 4 * epoch), now[] = {x, -x};
        float running;
        set(p.model, "weight", now);
        set(p.model, "running", now);
        EXPECT_OK(average_show(p.average, (uint64_t)epoch));
        expect_weight(p.model, "weight", shown[epoch], -shown[epoch]);
        get(p.model, "running", &running);
        EXPECT(fabsf(running - shown[epoch]) < 1e-6f);
        EXPECT_OK(average_hide(p.average, true));
        expect_weight(p.model, "weight", x, -x);
        expect_weight(p.state, "average.weight", shown[epoch], -shown[epoch]);
    }
    close_pair(&p);
}

TEST(average_that_is_not_taken_has_never_been)
{
    const float first[] = {1.0f / 3, 5}, second[] = {1e-30f, 7};
    float x[2];
    struct pair p;
    REQUIRE(open_pair(&p, 0.5));
    set(p.model, "weight", first);
    EXPECT_OK(average_show(p.average, 0));
    EXPECT_OK(average_hide(p.average, true));
    set(p.model, "weight", second);
    EXPECT_OK(average_show(p.average, 1));
    EXPECT_OK(average_hide(p.average, false));
    get(p.model, "weight", x);
    EXPECT(x[0] == second[0] && x[1] == second[1]); /* every bit */
    get(p.state, "average.weight", x);
    EXPECT(x[0] == first[0] && x[1] == first[1]);
    EXPECT(params_count(p.state) == 2 && params_find(p.state, "average.running"));
    close_pair(&p);
}

TEST(average_refuses_a_memory_that_makes_no_sense)
{
    static const double bad[] = {0, 1, -0.5, 2, NAN};
    struct world w;
    struct average *a = NULL;
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_TRAINING));
    struct params *model = params_new(w.dev), *state = params_new(w.dev);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT_STATUS(average_new(model, state, bad[i], &a), ST_VALUE);
    EXPECT(!a);
    params_free(model);
    params_free(state);
    world_close(&w);
}
