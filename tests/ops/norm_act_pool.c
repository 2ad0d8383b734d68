/* norm_act_pool.c - batch norm with what follows it in one op against the ops that it stands for: values, gradients and
 * running statistics, on every odd shape, and the same bits for any number of threads. */
#include "tests/device.h"
#include "tests/ops/world.h"
#include "tests/test.h"
#include <stdlib.h>

struct shape {
    size_t n, h, w, c;
};

struct form {
    bool residual, pool, batch;
    double slope;
    size_t first; /* pictures of a part with statistics of its own; 0: one part */
};

struct norm_params { /* of one batch norm, with gradients */
    struct param p[4];
};

enum { LEAVES = 2, NORMS = 2 };

struct side { /* one of the two computations */
    var *leaf[LEAVES], *y;
    struct norm_params norm[NORMS];
};

static double *numbers(struct random *r, size_t n, double low, double high)
{
    double *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = low + (high - low) * random_unit(r);
    return x;
}

static var *leaf(struct world *w, struct random *r, int rank, const size_t *dim, double low, double high)
{
    size_t n = 1;
    for (int i = 0; i < rank; i++) n *= dim[i];
    double *x = numbers(r, n, low, high);
    var *v = x ? world_leaf(w, rank, dim, x) : NULL;
    free(x);
    return v;
}

/* gain, bias, running mean and variance; the first two have a gradient, zero at first */
static struct norm_params norm_params(struct world *w, struct random *r, size_t c)
{
    static const char *const names[] = {"gain", "bias", "mean", "variance"};
    static const double low[] = {-1, -1, -1, 0.5}, high[] = {2, 1, 1, 2};
    struct norm_params out;
    for (int i = 0; i < 4; i++) {
        var *v = leaf(w, r, 1, &c, low[i], high[i]);
        out.p[i] = (struct param){.name = names[i], .value = v->value, .grad = v->grad, .trained = i < 2};
        EXPECT_OK(w->dev->zero(w->dev, v->grad.data, tensor_bytes(&v->grad)));
    }
    return out;
}

static struct batch_norm norm(struct norm_params *n, int which)
{
    return (struct batch_norm){&n->p[0], &n->p[1], &n->p[2], &n->p[3], 0.1, which ? 1e-3 : 1e-5};
}

static var *composed_rows(struct world *w, struct side *s, struct form f, size_t from, size_t to)
{
    const struct batch_norm a = norm(&s->norm[0], 0), b = norm(&s->norm[1], 1);
    var *u = op_batch_norm(w->t, op_slice(w->t, s->leaf[0], 0, from, to), &a, f.batch);
    if (f.residual) u = op_add(w->t, u, op_batch_norm(w->t, op_slice(w->t, s->leaf[1], 0, from, to), &b, f.batch));
    u = op_leaky_relu(w->t, u, f.slope);
    return f.pool ? op_max_pool2(w->t, u) : u;
}

static var *composed(struct world *w, struct side *s, struct form f)
{
    const size_t n = s->leaf[0]->value.dim[0];
    if (!f.first) return composed_rows(w, s, f, 0, n);
    var *first = composed_rows(w, s, f, 0, f.first), *second = composed_rows(w, s, f, f.first, n);
    return op_concat(w->t, 2, (var *[]){first, second}, 0);
}

static var *fused(struct world *w, struct side *s, struct form f)
{
    const struct batch_norm a = norm(&s->norm[0], 0), b = norm(&s->norm[1], 1);
    const struct norm_act how = {f.slope, f.pool, f.batch, f.first};
    return op_norm_act_pool(w->t, s->leaf[0], &a, f.residual ? s->leaf[1] : NULL, f.residual ? &b : NULL, &how);
}

static struct side side_make(struct world *w, struct shape s, struct form f,
                             var *(*build)(struct world *w, struct side *s, struct form f))
{
    struct random r = test_random(); /* the same for both sides */
    struct side out = {
        .leaf = {leaf(w, &r, DIMS(s.n, s.h, s.w, s.c), -1, 2), leaf(w, &r, DIMS(s.n, s.h, s.w, s.c), 0, 1)}};
    for (int i = 0; i < NORMS; i++) out.norm[i] = norm_params(w, &r, s.c);
    out.y = build(w, &out, f);
    double *dy = out.y ? numbers(&r, tensor_count(&out.y->value), -1, 1) : NULL;
    EXPECT_OK(dy ? world_back(w, out.y, dy) : tape_status(w->t));
    free(dy);
    return out;
}

/* Every tensor of a side that must be as on the other. */
static const tensor *part(const struct side *s, size_t i)
{
    if (i == 0) return &s->y->value;
    if (i < 1 + LEAVES) return &s->leaf[i - 1]->grad;
    i -= 1 + LEAVES;
    const struct param *p = &s->norm[i / 4].p[i % 4];
    return i % 4 < 2 ? &p->grad : &p->value;
}
enum { PARTS = 1 + LEAVES + 4 * NORMS };

static void expect_alike(struct world *w, const struct side *a, const struct side *b, double tolerance)
{
    for (size_t i = 0; i < PARTS; i++) {
        const tensor *x = part(a, i), *z = part(b, i);
        const size_t n = tensor_count(x);
        double *seen = malloc(2 * n * sizeof *seen), *wanted = seen + n, largest = 1;
        REQUIRE(seen && x->data && z->data && world_read(w, x, seen) && world_read(w, z, wanted));
        for (size_t k = 0; k < n; k++) largest = fmax(largest, fabs(wanted[k]));
        for (size_t k = 0; k < n; k++)
            if (!(fabs(seen[k] - wanted[k]) <= tolerance * largest)) {
                test_failed(__FILE__, __LINE__, "tensor %zu, number %zu is %.17g, wanted %.17g", i, k, seen[k],
                            wanted[k]);
                break;
            }
        free(seen);
    }
}

/* The last is cut into pieces for threads; one picture of it, where a sanitizer takes its time. */
static const struct shape shapes[] = {
    {2, 4, 4, 16}, {1, 5, 7, 3}, {3, 21, 10, 17}, {2, 2, 3, 1}, {UNDER_SANITIZER ? 1 : 4, 42, 42, 64}};
enum { SHAPES = sizeof shapes / sizeof *shapes, FORMS = 16 };
static const double slopes[] = {0.2, 0, 1};

static struct form form_at(size_t i) { return (struct form){i & 1, i & 2, i & 4, slopes[i & 8 ? 1 + (i & 1) : 0], 0}; }

static void expect_composed(struct world *w, struct shape s, struct form f)
{
    tape_reset(w->t, TAPE_TRAINING);
    const struct side want = side_make(w, s, f, composed);
    const tape *t = w->t; /* a recording goes back once: the other side has a tape of its own */
    struct world other = *w;
    REQUIRE(tape_new(w->dev, TAPE_TRAINING, &other.t) == OK);
    const struct side got = side_make(&other, s, f, fused);
    REQUIRE(tape_status(t) == OK && got.y && want.y);
    expect_alike(&other, &got, &want, w->type == DT_F32 ? 2e-5 : 1e-12);
    tape_free(other.t);
}

VALUE_TEST(norm_act_pool_is_batch_norm_residual_activation_and_pooling)
{
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t i = 0; i < FORMS; i++) expect_composed(w, shapes[s], form_at(i));
}

VALUE_TEST(norm_act_pool_of_two_parts_is_that_of_each)
{
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t i = 0; i < FORMS && shapes[s].n > 1; i++) {
            struct form f = form_at(i);
            f.first = i % 3 ? 1 : shapes[s].n - 1;
            expect_composed(w, shapes[s], f);
        }
}

TEST(norm_act_pool_has_the_same_bits_for_any_number_of_threads)
{
    struct world one, many;
    if (test_is_for_cpu()) return;
    REQUIRE(world_open(&one, 1, DT_F32, TAPE_TRAINING));
    for (size_t threads = 2; threads <= 8; threads += 3)
        for (size_t i = 4; i < 8; i++) {
            REQUIRE(world_open(&many, threads, DT_F32, TAPE_TRAINING));
            tape_reset(one.t, TAPE_TRAINING);
            const struct side want = side_make(&one, shapes[4], form_at(i), fused);
            const struct side got = side_make(&many, shapes[4], form_at(i), fused);
            REQUIRE(want.y && got.y);
            for (size_t k = 0; k < PARTS; k++)
                EXPECT(!part(&want, k)->data == !part(&got, k)->data &&
                       (!part(&want, k)->data ||
                        !memcmp(part(&want, k)->data, part(&got, k)->data, tensor_bytes(part(&want, k)))));
            world_close(&many);
        }
    world_close(&one);
}

/* The gradient adds to one that is there already. */
VALUE_TEST(norm_act_pool_adds_to_gradients)
{
    struct random r = test_random();
    var *x = leaf(w, &r, DIMS(1, 3, 4, 5), -1, 1);
    struct norm_params n = norm_params(w, &r, 5);
    const struct batch_norm bn = norm(&n, 0);
    const struct norm_act how = {0.5, true, true, 0};
    var *a = op_norm_act_pool(w->t, x, &bn, NULL, NULL, &how), *b = op_norm_act_pool(w->t, x, &bn, NULL, NULL, &how);
    REQUIRE(a && b);
    double both[60], once[60], *dy = numbers(&r, 10, -1, 1);
    EXPECT_OK(world_back(w, op_add(w->t, a, b), dy));
    REQUIRE(world_read(w, &x->grad, both));
    tape_reset(w->t, TAPE_TRAINING);
    r = test_random();
    x = leaf(w, &r, DIMS(1, 3, 4, 5), -1, 1);
    n = norm_params(w, &r, 5);
    EXPECT_OK(world_back(w, op_norm_act_pool(w->t, x, &bn, NULL, NULL, &how), dy));
    REQUIRE(world_read(w, &x->grad, once));
    for (int i = 0; i < 60; i++) EXPECT_NEAR(both[i], 2 * once[i], 1e-5);
    free(dy);
}
