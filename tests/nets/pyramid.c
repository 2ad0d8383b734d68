/* pyramid.c - the same map at several resolutions: recorded runs, bins worked out by hand, and refusals. */
#include "nets/extract.h"
#include "tests/heads/case.h"
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdlib.h>

static void expect_tensor(const struct golden *g, struct world *w, const char *file, const tensor *x)
{
    const size_t n = tensor_count(x);
    double *seen = calloc(n ? n : 1, sizeof *seen);
    if (seen && world_read(w, x, seen)) golden_expect(g, file, seen, n);
    else test_failed(__FILE__, __LINE__, "%s: %s cannot be read", g->name, file);
    free(seen);
}

static size_t sizes_of(const struct golden *g, size_t *sizes, size_t most)
{
    const struct json *list = json_member(json_member(g->about, "options"), "sizes");
    size_t n = 0;
    EXPECT(list);
    for (const struct json *v = list ? list->first : NULL; v && n < most; v = v->next) sizes[n++] = (size_t)v->integer;
    return n;
}

static void compare(const struct golden *g, const struct npy *input, const struct npy *weight)
{
    struct world w;
    size_t sizes[8];
    const size_t n = sizes_of(g, sizes, 8);
    REQUIRE(rig_open(&w, g->isa, 2, g->type));
    var *x = world_leaf(&w, 4, input->dim, input->data);
    var *y = extract_pyramid(w.t, x, n, sizes);
    var *value = y ? op_mul(w.t, y, world_constant(&w, 4, y->value.dim, weight->data)) : NULL;
    value = op_sum(w.t, value, 15, DROP_AXES);
    const status st = value ? tape_backward(w.t, value) : tape_status(w.t);
    EXPECT_OK(st);
    if (st == OK) {
        EXPECT_INT(y->value.rank, 4);
        EXPECT_INT(y->value.dim[2], 1);
        EXPECT_INT(tensor_count(&y->value), weight->count);
        expect_tensor(g, &w, "features.npy", &y->value);
        expect_tensor(g, &w, "functional_value.npy", &value->value);
        expect_tensor(g, &w, "grad_input.npy", &x->grad);
        golden_expect_only(g, (const char *[]){"features.npy", "functional_value.npy", "grad_input.npy", NULL});
    }
    world_close(&w);
}

static void check_pyramid(const struct golden *g)
{
    struct npy input, weight = {0};
    if (golden_read(g, "input.npy", &input) && golden_read(g, "functional.npy", &weight)) compare(g, &input, &weight);
    npy_free(&input);
    npy_free(&weight);
}

TEST(pyramid_gives_the_recorded_numbers) { for_golden("pyramid", check_pyramid); }

/* 5 and 3 on a 5x5 map give the paper's 34 features: the map itself, then overlapping bins [0,2) [1,4) [3,5). */
TEST(pyramid_of_5_and_3_has_34_features)
{
    static const size_t from[] = {0, 1, 3}, to[] = {2, 4, 5};
    double map[25], seen[34], wanted[34];
    struct world w;
    for (size_t i = 0; i < 25; i++) wanted[i] = map[i] = (double)(i * i % 17);
    for (size_t i = 0; i < 9; i++) {
        double sum = 0, count = 0;
        for (size_t y = from[i / 3]; y < to[i / 3]; y++)
            for (size_t x = from[i % 3]; x < to[i % 3]; x++) sum += map[y * 5 + x], count++;
        wanted[25 + i] = sum / count;
    }
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    var *y = extract_pyramid(w.t, world_leaf(&w, DIMS(1, 1, 5, 5), map), 2, (size_t[]){5, 3});
    EXPECT_OK(tape_status(w.t));
    if (y) EXPECT_DIMS(y->value, 1, 1, 1, 34);
    if (y && world_read(&w, &y->value, seen)) EXPECT_ALL_NEAR(seen, wanted, 34, 1e-15);
    world_close(&w);
}

TEST(pyramid_refuses_in_words)
{
    const double x[20] = {0};
    const size_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct world w;
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    EXPECT(!extract_pyramid(w.t, world_leaf(&w, DIMS(1, 4, 5), x), 1, nine));
    EXPECT_STATUS(tape_status(w.t), ST_SHAPE);
    EXPECT_TEXT(error_text(), "a pyramid needs maps [n, channels, height, width], not [1, 4, 5]");
    tape_reset(w.t, TAPE_TRAINING);
    EXPECT(!extract_pyramid(w.t, world_leaf(&w, DIMS(1, 1, 4, 5), x), 9, nine));
    EXPECT_STATUS(tape_status(w.t), ST_USAGE);
    EXPECT_TEXT(error_text(), "a pyramid of 9 sizes; at most 8");
    tape_reset(w.t, TAPE_TRAINING);
    EXPECT(!extract_pyramid(w.t, world_leaf(&w, DIMS(1, 1, 4, 5), x), 1, (size_t[]){0}));
    EXPECT(tape_status(w.t) != OK);
    tape_reset(w.t, TAPE_TRAINING);
    EXPECT(!extract_pyramid(w.t, NULL, 1, nine));
    world_close(&w);
}
