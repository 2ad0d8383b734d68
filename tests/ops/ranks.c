/* ranks.c - ops on tensors of the highest rank: what they do to the same numbers with fewer axes. */
#include "tests/ops/world.h"
#include "tests/test.h"

enum { N = 24, MOST = 96 };
#define LOW 2, 3, 4           /* the shape with few axes */
#define HIGH 2, 3, 1, 2, 1, 2 /* the same numbers with MAX_RANK */

static double number(int i) { return (i * 7 % N - 10.5) / 5; }

struct seen {
    size_t n;
    double y[MOST], da[MOST], db[MOST];
};

typedef var *build(struct world *w, var *a, var *b, bool high);

static var *r_add(struct world *w, var *a, var *b, bool high) { return (void)high, op_add(w->t, a, b); }
static var *r_sub(struct world *w, var *a, var *b, bool high) { return (void)high, op_sub(w->t, b, a); }
static var *r_mul(struct world *w, var *a, var *b, bool high) { return (void)high, op_mul(w->t, a, b); }
static var *r_div(struct world *w, var *a, var *b, bool high) { return (void)high, op_div(w->t, a, op_exp(w->t, b)); }
static var *r_exp(struct world *w, var *a, var *b, bool high) { return (void)high, (void)b, op_exp(w->t, a); }
static var *r_affine(struct world *w, var *a, var *b, bool high)
{
    return (void)high, (void)b, op_affine(w->t, a, -2, 1);
}
static var *r_sum(struct world *w, var *a, var *b, bool high)
{
    (void)b;
    return op_sum(w->t, a, high ? 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 : 1u << 2, DROP_AXES);
}
static var *r_sum_first(struct world *w, var *a, var *b, bool high)
{
    return (void)b, op_sum(w->t, a, high ? 1u << 0 | 1u << 2 : 1u << 0, KEEP_AXES);
}
static var *r_mean(struct world *w, var *a, var *b, bool high)
{
    return (void)b, op_mean(w->t, a, high ? 1u << 1 | 1u << 4 : 1u << 1, DROP_AXES);
}
static var *r_softmax(struct world *w, var *a, var *b, bool high)
{
    return (void)high, (void)b, op_softmax(w->t, a, 1);
}
static var *r_l2norm(struct world *w, var *a, var *b, bool high) { return (void)high, (void)b, op_l2norm(w->t, a, 1); }
static var *r_top_k(struct world *w, var *a, var *b, bool high)
{
    return (void)high, (void)b, op_top_k(w->t, a, 1, 2, NULL);
}
static var *r_max(struct world *w, var *a, var *b, bool high) { return (void)high, (void)b, op_max(w->t, a, 1); }
static var *r_slice(struct world *w, var *a, var *b, bool high)
{
    return (void)high, (void)b, op_slice(w->t, a, 1, 1, 3);
}
static var *r_gather(struct world *w, var *a, var *b, bool high)
{
    return (void)high, (void)b, op_gather(w->t, a, 1, world_index(w, 3, (int32_t[]){2, 0, 2}));
}
static var *r_concat(struct world *w, var *a, var *b, bool high)
{
    return (void)high, (void)b, op_concat(w->t, 2, (var *[]){a, a}, 1);
}
static var *r_permute(struct world *w, var *a, var *b, bool high)
{
    return (void)b, op_permute(w->t, a, high ? (int[]){3, 4, 5, 2, 1, 0} : (int[]){2, 1, 0});
}
static var *r_pad(struct world *w, var *a, var *b, bool high)
{
    (void)b;
    if (!high) return op_pad(w->t, op_reshape(w->t, a, DIMS(12, 1, 2)), &(struct pad){1, 0, 0, 1});
    return op_pad(w->t, a, &(struct pad){1, 0, 0, 1});
}
static const struct {
    const char *name;
    build *op;
} ops[] = {{"add", r_add},         {"sub", r_sub},         {"mul", r_mul},       {"div", r_div},
           {"exp", r_exp},         {"affine", r_affine},   {"sum", r_sum},       {"sum", r_sum_first},
           {"mean", r_mean},       {"softmax", r_softmax}, {"l2norm", r_l2norm}, {"top_k", r_top_k},
           {"max", r_max},         {"slice", r_slice},     {"gather", r_gather}, {"concat", r_concat},
           {"permute", r_permute}, {"pad", r_pad}};

/* a is whole; b has no first axis, and is stretched along the second. */
static bool run(struct world *w, build *op, bool high, struct seen *out)
{
    double x[N], z[N], dy[MOST];
    for (int i = 0; i < N; i++) {
        x[i] = number(i);
        z[i] = number(i + 5) / 2;
    }
    for (int i = 0; i < MOST; i++) dy[i] = number(3 * i + 1);
    tape_reset(w->t, TAPE_TRAINING);
    var *a = high ? world_leaf(w, DIMS(HIGH), x) : world_leaf(w, DIMS(LOW), x);
    var *b = high ? world_leaf(w, DIMS(1, 1, 2, 1, 2), z) : world_leaf(w, DIMS(1, 4), z);
    var *y = op(w, a, b, high);
    *out = (struct seen){0};
    if (!y || tensor_count(&y->value) > MOST || !world_read(w, &y->value, out->y)) return false;
    out->n = tensor_count(&y->value);
    return world_back(w, y, dy) == OK && world_read(w, &a->grad, out->da) && world_read(w, &b->grad, out->db);
}

VALUE_TEST(tensors_of_the_highest_rank_are_as_those_of_a_lower_one)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        static struct seen low, high;
        if (!run(w, ops[i].op, false, &low) || !run(w, ops[i].op, true, &high)) {
            test_failed(__FILE__, __LINE__, "%s: %s", ops[i].name, error_text());
            continue;
        }
        double off = low.n == high.n ? 0 : 1;
        for (size_t k = 0; k < MOST; k++)
            off = fmax(off, fmax(fabs(low.y[k] - high.y[k]),
                                 fmax(fabs(low.da[k] - high.da[k]), fabs(low.db[k] - high.db[k]))));
        if (!(off <= (w->type == DT_F32 ? 1e-5 : 1e-13)))
            test_failed(__FILE__, __LINE__, "%s: %zu and %zu numbers, off by %g", ops[i].name, low.n, high.n, off);
    }
}
