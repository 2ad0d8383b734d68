/* half.c - convolutions and norms over maps in bf16, on a device that has them, beside the same in f32 on the CPU, at sizes that
 * leave every tile unfilled. Inputs are numbers that bf16 holds, so that only sums and results are rounded. */
#include "tests/device.h"
#include "tests/ops/world.h"
#include "tests/test.h"
#include <stdlib.h>
#include <string.h>

struct layer {
    size_t n, h, w, in, out, k;
    bool brief; /* one of the fewest that reach every kernel */
};

/* First layers; 64 channels, few pixels and many, on maps as wide as are served by a kernel of their own and wider; others. */
static const struct layer layers[] = {
    {3, 5, 7, 3, 64, 3, true},      {3, 13, 21, 3, 128, 3, true},    {2, 13, 21, 3, 64, 1, true},
    {2, 84, 84, 3, 64, 3, false},   {3, 13, 21, 64, 64, 3, false},   {1500, 5, 7, 64, 64, 3, false},
    {237, 13, 21, 64, 64, 3, true}, {17000, 1, 1, 64, 64, 3, false}, {6000, 2, 3, 64, 64, 3, false},
    {11, 84, 84, 64, 64, 3, false}, {46, 9, 150, 64, 64, 3, false},  {52, 9, 170, 64, 64, 3, false},
    {41, 9, 200, 64, 64, 3, false}, {3, 13, 21, 64, 160, 3, true},   {3, 13, 21, 24, 40, 1, true}};
enum { LAYERS = sizeof layers / sizeof *layers, MOST_PARTS = 8, MANY_PIXELS = 60000 };

static bool wanted(const struct layer *l) { return l->brief || !test_brief(); }
/* In brief the weights of large layers have no derivative: another library's kernel makes it, and takes the longest by far. */
static bool weights_learn(const struct layer *l) { return !test_brief() || l->n * l->h * l->w < MANY_PIXELS; }

struct seen { /* what a computation gave; owned */
    double *of[MOST_PARTS];
    size_t n[MOST_PARTS];
};

/* Multiples of 1/64 below 2 in size: bf16 holds them. */
static double *numbers(size_t n, uint64_t stream)
{
    struct random r = {3, stream, 0};
    double *x = calloc(n, sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = ((double)random_below(&r, 255) - 127) / 64;
    return x;
}

static bool learns(const struct world *w) { return tape_get_mode(w->t) == TAPE_TRAINING; }

static var *filled(struct world *w, int rank, const size_t *dim, uint64_t stream)
{
    size_t n = 1;
    for (int i = 0; i < rank; i++) n *= dim[i];
    double *x = numbers(n, stream);
    var *v = !x ? NULL : learns(w) ? world_leaf(w, rank, dim, x) : world_constant(w, rank, dim, x);
    free(x);
    return v;
}

static bool half(const struct world *w) { return w->dev->maths == MATHS_BF16; }
static var *enter(struct world *w, var *x)
{
    return half(w) ? op_channels_last(w->t, x) : op_permute(w->t, x, (int[]){0, 2, 3, 1});
}
static var *leave(struct world *w, var *x)
{
    return half(w) ? op_channels_first(w->t, x) : op_permute(w->t, x, (int[]){0, 3, 1, 2});
}

static void keep(struct world *w, int part, const tensor *x, struct seen *out)
{
    out->n[part] = tensor_count(x);
    out->of[part] = calloc(out->n[part] + 1, sizeof(double));
    EXPECT(out->of[part] && world_read(w, x, out->of[part]));
}

static void go_back(struct world *w, var *y)
{
    double *dy = y ? numbers(tensor_count(&y->value), 9) : NULL;
    EXPECT_OK(dy ? world_back(w, y, dy) : tape_status(w->t));
    free(dy);
}

typedef void computation(struct world *w, const void *of, struct seen *out);

static bool run(computation *f, const void *of, enum maths maths, enum tape_mode mode, struct seen *out)
{
    struct world w;
    *out = (struct seen){0};
    if (!(maths == MATHS_BF16 ? world_open : world_open_cpu)(&w, 4, DT_F32, mode)) return false;
    const bool knows = w.dev->maths_known >> maths & 1;
    if (knows) {
        w.dev->maths = maths;
        f(&w, of, out);
        EXPECT_OK(tape_status(w.t));
    } else {
        test_skip("the device under test has no bf16");
    }
    world_close(&w);
    return knows;
}

static void expect_close(const struct seen *seen, const struct seen *wanted, const char *what, const size_t dim[6])
{
    for (int p = 0; p < MOST_PARTS; p++) {
        double difference = 0, size = 0, worst = 0, largest = 0;
        for (size_t i = 0; i < wanted->n[p]; i++) {
            const double a = seen->of[p][i], b = wanted->of[p][i];
            difference += (a - b) * (a - b);
            size += b * b;
            worst = fabs(a - b) <= worst ? worst : fabs(a - b);
            largest = fmax(largest, fabs(b));
        }
        if (!(sqrt(difference) <= 0.006 * sqrt(size) && worst <= 0.015 * largest))
            test_failed(__FILE__, __LINE__,
                        "%s of [%zu, %zu, %zu, %zu], %zu filters of %zu: part %d is %g apart, at most %g", what, dim[0],
                        dim[1], dim[2], dim[3], dim[4], dim[5], p, sqrt(difference / size), worst / largest);
    }
}

static void seen_free(struct seen *s)
{
    for (int p = 0; p < MOST_PARTS; p++) free(s->of[p]);
}

/* False: there is no bf16 to test. */
static bool compare(computation *f, const void *of, enum tape_mode mode, const char *what, const size_t dim[6])
{
    struct seen exact = {0}, close = {0};
    const bool both = run(f, of, MATHS_BF16, mode, &close) && run(f, of, MATHS_F32, mode, &exact);
    if (both) expect_close(&close, &exact, what, dim);
    seen_free(&exact);
    seen_free(&close);
    return both;
}

static void convolve(struct world *w, const void *of, struct seen *out)
{
    const struct layer *l = of;
    const bool learned = weights_learn(l);
    var *x = filled(w, DIMS(l->n, l->in, l->h, l->w), 1), *weight = filled(w, DIMS(l->out, l->in, l->k, l->k), 2);
    var *filters = learned || !weight ? weight : tape_constant(w->t, &weight->value);
    var *y = leave(w, op_conv2d(w->t, enter(w, x), filters, 1, l->k / 2));
    REQUIRE(y);
    go_back(w, y);
    keep(w, 0, &y->value, out);
    keep(w, 1, &x->grad, out);
    if (learned) keep(w, 2, &weight->grad, out);
}

TEST(convolutions_and_their_derivatives_in_bf16_are_those_of_f32)
{
    for (size_t i = 0; i < LAYERS; i++) {
        const struct layer *l = &layers[i];
        const size_t dim[6] = {l->n, l->h, l->w, l->in, l->out, l->k};
        if (wanted(l) && !compare(convolve, l, TAPE_TRAINING, "the convolution", dim)) return;
    }
}

static void convolve_the_same(struct world *w, const void *of, struct seen *out)
{
    w->dev->deterministic = true;
    convolve(w, of, out);
}

TEST(convolutions_in_bf16_have_the_same_bits_every_time_where_that_is_asked_for)
{
    for (size_t i = 0; i < LAYERS; i++) {
        struct seen a = {0}, b = {0};
        if (!wanted(&layers[i])) continue;
        const bool both = run(convolve_the_same, &layers[i], MATHS_BF16, TAPE_TRAINING, &a) &&
                          run(convolve_the_same, &layers[i], MATHS_BF16, TAPE_TRAINING, &b);
        for (int p = 0; p < 3 && both; p++)
            if (a.n[p] != b.n[p] || memcmp(a.of[p], b.of[p], a.n[p] * sizeof(double)))
                test_failed(__FILE__, __LINE__, "layer %zu: part %d has other bits the second time", i, p);
        seen_free(&a);
        seen_free(&b);
        if (!both) return;
    }
}

struct norm_params {
    struct param p[4]; /* gain, bias, running mean and variance */
};

static struct norm_params norm_params(struct world *w, size_t c, uint64_t stream)
{
    static const char *const names[] = {"gain", "bias", "mean", "variance"};
    struct norm_params out = {0};
    for (int i = 0; i < 4; i++) {
        double *x = numbers(c, stream + (uint64_t)i);
        for (size_t k = 0; x && k < c && i == 3; k++) x[k] = 1 + fabs(x[k]);
        var *v = !x ? NULL : learns(w) ? world_leaf(w, 1, &c, x) : world_constant(w, 1, &c, x);
        free(x);
        if (!v) continue;
        out.p[i] = (struct param){.name = names[i], .value = v->value, .grad = v->grad, .trained = learns(w) && i < 2};
        if (learns(w)) EXPECT_OK(w->dev->zero(w->dev, v->grad.data, tensor_bytes(&v->grad)));
    }
    return out;
}
static struct batch_norm norm_of(struct norm_params *n)
{
    return (struct batch_norm){&n->p[0], &n->p[1], &n->p[2], &n->p[3], 0.1, 1e-5};
}

/* Folded: scaled, bent, and pooled where the map is large enough. */
static void convolve_folded(struct world *w, const void *of, struct seen *out)
{
    const struct layer *l = of;
    struct norm_params p = norm_params(w, l->out, 20);
    const struct batch_norm bn = norm_of(&p);
    for (int pooled = 0; pooled < (l->h > 1 && l->w > 1 ? 2 : 1); pooled++) {
        var *x = filled(w, DIMS(l->n, l->in, l->h, l->w), 1), *weight = filled(w, DIMS(l->out, l->in, l->k, l->k), 2);
        const struct conv_norm how = {.stride = 1, .pad = l->k / 2, .slope = 0.1, .pool = pooled};
        var *y = leave(w, op_conv2d_norm(w->t, enter(w, x), weight, &bn, &how));
        REQUIRE(y);
        keep(w, pooled, &y->value, out);
    }
}

TEST(convolutions_with_a_norm_folded_in_are_in_bf16_those_of_f32)
{
    for (size_t i = 0; i < LAYERS; i++) {
        const struct layer *l = &layers[i];
        const size_t dim[6] = {l->n, l->h, l->w, l->in, l->out, l->k};
        if (wanted(l) && !compare(convolve_folded, l, TAPE_INFERENCE, "the folded convolution", dim)) return;
    }
}

struct norm_case {
    size_t n, h, w, c;
    bool residual, pool, batch;
    size_t first; /* pictures of a part with statistics of its own */
};

static void normalise(struct world *w, const void *of, struct seen *out)
{
    const struct norm_case *s = of;
    const struct norm_act how = {0.1, s->pool, s->batch, s->first};
    struct norm_params p = norm_params(w, s->c, 30), q = norm_params(w, s->c, 40);
    const struct batch_norm a = norm_of(&p), b = norm_of(&q);
    var *x = filled(w, DIMS(s->n, s->c, s->h, s->w), 1), *z = filled(w, DIMS(s->n, s->c, s->h, s->w), 2);
    var *residual = s->residual ? enter(w, z) : NULL;
    var *y = leave(w, op_norm_act_pool(w->t, enter(w, x), &a, residual, residual ? &b : NULL, &how));
    REQUIRE(y);
    go_back(w, y);
    keep(w, 0, &y->value, out);
    keep(w, 1, &x->grad, out);
    keep(w, 2, &p.p[0].grad, out);
    keep(w, 3, &p.p[1].grad, out);
    keep(w, 4, &p.p[2].value, out);
    keep(w, 5, &p.p[3].value, out);
    if (s->residual) keep(w, 6, &z->grad, out);
}

TEST(norms_in_bf16_are_those_of_f32)
{
    static const size_t sizes[][4] = {{3, 5, 7, 64}, {3, 13, 21, 24}, {2, 4, 3, 5}, {2, 42, 42, 160}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 12; way++) { /* 8 to 11: the first picture has statistics of its own */
            const size_t *d = sizes[i], dim[6] = {d[0], d[1], d[2], d[3], 0, (size_t)way};
            const struct norm_case c = {d[0], d[1], d[2], d[3], way & 1, way & 2, way & 4 || way & 8, way & 8 ? 1 : 0};
            if (!compare(normalise, &c, TAPE_TRAINING, "the norm", dim)) return;
        }
}

/* The end of a first block: the residual is the pictures' 1x1 convolution, in bf16 made where it is added. */
static void end_thin(struct world *w, const void *of, struct seen *out)
{
    const struct norm_case *s = of;
    const struct norm_act how = {0.1, true, false, 0};
    struct norm_params p = norm_params(w, s->c, 30), q = norm_params(w, s->c, 40);
    const struct batch_norm a = norm_of(&p), b = norm_of(&q);
    var *x = enter(w, filled(w, DIMS(s->n, s->c, s->h, s->w), 1)),
        *pictures = enter(w, filled(w, DIMS(s->n, 3, s->h, s->w), 2));
    var *weight = filled(w, DIMS(s->c, 3, 1, 1), 3);
    var *y = half(w) ? op_norm_thin(w->t, x, &a, pictures, weight, &b, 0.1)
                     : op_norm_act_pool(w->t, x, &a, op_conv2d(w->t, pictures, weight, 1, 0), &b, &how);
    y = leave(w, y);
    REQUIRE(y);
    keep(w, 0, &y->value, out);
}

TEST(shortcuts_of_pictures_made_where_they_are_added_are_those_of_f32)
{
    static const struct norm_case cases[] = {{.n = 3, .h = 5, .w = 7, .c = 64},
                                             {.n = 2, .h = 13, .w = 21, .c = 24},
                                             {.n = 2, .h = 4, .w = 2, .c = 5},
                                             {.n = 4, .h = 84, .w = 84, .c = 64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct norm_case *c = &cases[i];
        const size_t dim[6] = {c->n, c->h, c->w, c->c, 3, 1};
        if (!compare(end_thin, c, TAPE_INFERENCE, "the end of a first block", dim)) return;
    }
}

TEST(the_end_of_a_first_block_refuses_maps_that_are_not_bf16)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_INFERENCE));
    struct norm_params p = norm_params(&w, 4, 30);
    const struct batch_norm a = norm_of(&p);
    var *x = filled(&w, DIMS(1, 4, 4, 4), 1), *pictures = filled(&w, DIMS(1, 4, 4, 3), 2),
        *weight = filled(&w, DIMS(4, 3, 1, 1), 3);
    EXPECT(!op_norm_thin(w.t, x, &a, pictures, weight, &a, 0.1));
    EXPECT_STATUS(tape_status(w.t), ST_SHAPE);
    world_close(&w);
}
