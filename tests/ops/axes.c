/* axes.c - axes may be counted from behind; one that is not there is refused, and what is refused gives nothing. */
#include "tests/ops/world.h"
#include "tests/test.h"

enum { N = 24 };
typedef var *along(struct world *w, var *x, int axis);
static var *a_softmax(struct world *w, var *x, int axis) { return op_softmax(w->t, x, axis); }
static var *a_log_softmax(struct world *w, var *x, int axis) { return op_log_softmax(w->t, x, axis); }
static var *a_l2norm(struct world *w, var *x, int axis) { return op_l2norm(w->t, x, axis); }
static var *a_top_k(struct world *w, var *x, int axis) { return op_top_k(w->t, x, axis, 2, NULL); }
static var *a_max(struct world *w, var *x, int axis) { return op_max(w->t, x, axis); }
static var *a_slice(struct world *w, var *x, int axis) { return op_slice(w->t, x, axis, 1, 2); }
static var *a_concat(struct world *w, var *x, int axis) { return op_concat(w->t, 2, (var *[]){x, x}, axis); }
static var *a_gather(struct world *w, var *x, int axis)
{
    return op_gather(w->t, x, axis, world_index(w, 3, (int32_t[]){1, 0, 1}));
}
static const struct {
    const char *name;
    along *op;
} ops[] = {
    {"softmax", a_softmax}, {"log_softmax", a_log_softmax}, {"l2norm", a_l2norm}, {"top_k", a_top_k}, {"max", a_max},
    {"slice", a_slice},     {"concat", a_concat},           {"gather", a_gather}};

static var *input(struct world *w)
{
    double x[N];
    for (int i = 0; i < N; i++) x[i] = (i * 7 % N - 11) / 5.0;
    tape_reset(w->t, TAPE_TRAINING);
    return world_leaf(w, DIMS(2, 3, 4), x);
}

static bool run(struct world *w, along *op, int axis, tensor *shape, double *y, double *dx)
{
    double dy[2 * N];
    for (int i = 0; i < 2 * N; i++) dy[i] = (i * 5 % 17 - 8) / 3.0;
    var *x = input(w), *out = op(w, x, axis);
    if (!out || !world_read(w, &out->value, y) || world_back(w, out, dy) != OK) return false;
    *shape = out->value;
    return world_read(w, &x->grad, dx);
}

VALUE_TEST(axes_count_from_either_end)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int axis = 0; axis < 3; axis++) {
            double y[2][2 * N], dx[2][N];
            tensor shape[2];
            if (!run(w, ops[i].op, axis, &shape[0], y[0], dx[0]) ||
                !run(w, ops[i].op, axis - 3, &shape[1], y[1], dx[1])) {
                test_failed(__FILE__, __LINE__, "%s along axis %d: %s", ops[i].name, axis, error_text());
                continue;
            }
            if (!tensor_same_shape(&shape[0], &shape[1]) ||
                memcmp(y[0], y[1], tensor_count(&shape[0]) * sizeof(double)) || memcmp(dx[0], dx[1], sizeof dx[0]))
                test_failed(__FILE__, __LINE__, "%s along axes %d and %d differs", ops[i].name, axis, axis - 3);
        }
}

TEST(axes_that_are_not_there_are_refused)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int k = 0; k < 2; k++) {
            var *x = input(&w);
            if (ops[i].op(&w, x, k ? 3 : -4) || tape_status(w.t) == OK || !strstr(error_text(), "axis"))
                test_failed(__FILE__, __LINE__, "%s along axis %d: %s", ops[i].name, k ? 3 : -4, error_text());
        }
    world_close(&w);
}

/* Rates at the ends of what is allowed, and beyond. */
static bool dropped(struct world *w, bool block, double rate)
{
    struct random r = {.seed = 3};
    tape_reset(w->t, TAPE_TRAINING);
    var *x = world_constant(w, DIMS(1, 2, 3, 1), NUMBERS(1, 2, 3, 4, 5, 6));
    const var *y = block ? op_drop_block(w->t, x, rate, 2, &r) : op_dropout(w->t, x, rate, &r);
    EXPECT((y != NULL) == (tape_status(w->t) == OK));
    if (!y) EXPECT(strstr(error_text(), block ? "must lie between 0 and 1" : "must lie between 0 and 0.999"));
    return y != NULL;
}

TEST(rates_of_dropping_lie_between_their_bounds)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    for (int block = 0; block < 2; block++) {
        EXPECT(dropped(&w, block, 0) && dropped(&w, block, 0.5) && dropped(&w, block, block ? 1 : 0.999));
        EXPECT(!dropped(&w, block, -1e-9) && !dropped(&w, block, 1.5) && !dropped(&w, block, (double)NAN));
        EXPECT(!dropped(&w, block, block ? 1 + 1e-9 : 0.9991));
    }
    world_close(&w);
}
