/* prepared.c - convolutions with frozen weights: forms and folded norms are made once and used from then on, and the numbers stay. A
 * device that lacks a primitive, or fails at one, is named by the op. */
#include "ops/steps.h"
#include "tests/device.h"
#include "tests/ops/world.h"
#include "tests/test.h"
#include <stdio.h>

enum { C = 16, OUT = 32, MOST = 40 * 16 * 32, KINDS = 5 };
enum kind { CONV, CONV_NORM, DEPTHWISE, DEPTHWISE_NORM, BLOCK };
static const char *const kinds[] = {"conv2d", "conv2d_norm", "depthwise", "depthwise_norm", "bottleneck"};
static const size_t weights_of[KINDS] = {1, 1, 1, 1, 3}, norms_of[KINDS] = {0, 1, 0, 1, 3};

struct scene {
    struct world w;
    struct params *p;
    struct param *weight[3], *norm[3][4];
    size_t h, wide;
    struct steps *told; /* where calls are written down; NULL: nowhere */
    var *in;            /* of the last call */
    double ceiling;
};

static size_t prepared, folded, with_form, without_form;
static struct prims real;

static status spy_conv_prepare(struct device *d, const tensor *x, const tensor *w, struct conv_shape s,
                               struct conv_ready *out)
{
    prepared++;
    return real.conv2d_prepare(d, x, w, s, out);
}
static status spy_depthwise_prepare(struct device *d, const tensor *w, struct conv_ready *out)
{
    prepared++;
    return real.depthwise_prepare(d, w, out);
}
static status spy_fold(struct device *d, const tensor *mean, const tensor *variance, const tensor *gain,
                       const tensor *bias, double epsilon, tensor *scale, tensor *shift)
{
    folded++;
    return real.batch_fold(d, mean, variance, gain, bias, epsilon, scale, shift);
}
static void see(const struct conv_ready *ready)
{
    EXPECT(!ready || ready->memory); /* one without memory is none */
    ++*(ready ? &with_form : &without_form);
}
static status spy_conv_affine(struct device *d, const struct conv_affine_args *a, tensor *y)
{
    see(a->ready);
    return real.conv2d_affine(d, a, y);
}
static status spy_conv(struct device *d, const tensor *x, const tensor *w, struct conv_shape s, tensor *y)
{
    see(NULL);
    return real.conv2d(d, x, w, s, y);
}
static status spy_depthwise(struct device *d, const struct depthwise_args *a, tensor *y)
{
    see(a->ready);
    return real.depthwise(d, a, y);
}
static status spy_block(struct device *d, const struct bottleneck_args *a, tensor *y)
{
    if (a->expand.w) see(a->expand.ready);
    see(a->depthwise.ready);
    see(a->project.ready);
    return real.bottleneck(d, a, y);
}

static void watch(struct device *d)
{
    struct prims *p = &d->prim[DT_F32];
    real = *p;
    p->conv2d_prepare = spy_conv_prepare;
    p->depthwise_prepare = spy_depthwise_prepare;
    p->batch_fold = spy_fold;
    p->conv2d_affine = spy_conv_affine;
    p->conv2d = spy_conv;
    p->depthwise = spy_depthwise;
    if (p->bottleneck) p->bottleneck = spy_block;
}

static struct param *add(struct scene *s, struct random *r, const char *name, int number, int rank, const size_t *dim,
                         double low, double high)
{
    static float x[MOST];
    char full[64];
    struct param *out = NULL;
    snprintf(full, sizeof full, "%s%d", name, number);
    if (params_add(s->p, full, DT_F32, rank, dim, &out) != OK) return NULL;
    for (size_t i = 0; i < tensor_count(&out->value); i++) x[i] = (float)(low + (high - low) * random_unit(r));
    EXPECT_OK(s->w.dev->upload(s->w.dev, out->value.data, x, tensor_bytes(&out->value)));
    return out;
}

static bool scene_open(struct scene *s, enum kind kind, size_t h, size_t wide)
{
    static const size_t shapes[KINDS][3][4] = {[CONV] = {{OUT, C, 3, 3}},
                                               [CONV_NORM] = {{OUT, C, 3, 3}},
                                               [DEPTHWISE] = {{C, 1, 3, 3}},
                                               [DEPTHWISE_NORM] = {{C, 1, 3, 3}},
                                               [BLOCK] = {{OUT, C, 1, 1}, {OUT, 1, 3, 3}, {C, OUT, 1, 1}}};
    static const char *const names[] = {"gain", "bias", "mean", "variance"};
    struct random r = {.seed = 11};
    *s = (struct scene){.h = h, .wide = wide, .ceiling = 6};
    if (!world_open(&s->w, 1, DT_F32, TAPE_INFERENCE)) return false;
    s->p = params_new(s->w.dev);
    for (int i = 0; s->p && i < (int)weights_of[kind]; i++) {
        s->weight[i] = add(s, &r, "weight", i, 4, shapes[kind][i], -0.5, 0.5);
        for (int k = 0; k < 4; k++) s->norm[i][k] = add(s, &r, names[k], i, 1, shapes[kind][i], 0.5, 1.5);
    }
    return s->p != NULL;
}

static void scene_close(struct scene *s)
{
    params_free(s->p);
    world_close(&s->w);
}

static struct batch_norm norm(const struct scene *s, int i)
{
    return (struct batch_norm){s->norm[i][0], s->norm[i][1], s->norm[i][2], s->norm[i][3], 0.1, 1e-5};
}

static var *call_traced(struct scene *s, enum kind kind)
{
    static double x[MOST];
    tape *t = s->w.t;
    struct random r = {.seed = 4};
    const struct depthwise_shape around = {1, 1, 1, 1, 1};
    const struct batch_norm bn = norm(s, 0);
    tape_reset(t, TAPE_INFERENCE);
    for (size_t i = 0; i < s->h * s->wide * C; i++) x[i] = random_unit(&r) - 0.4;
    var *in = world_constant(&s->w, DIMS(1, s->h, s->wide, C), x), *v[3] = {NULL};
    s->in = in;
    if (s->told) EXPECT_OK(steps_input(s->told, in));
    for (size_t i = 0; i < weights_of[kind]; i++) v[i] = tape_param(t, s->weight[i]);
    const struct conv_norm how = {.stride = 1, .pad = 1, .slope = 0.1, .ceiling = s->ceiling < 1 ? s->ceiling : 0};
    const struct bottleneck block = {.expand = {v[0], norm(s, 0)},
                                     .depthwise = {v[1], norm(s, 1)},
                                     .project = {v[2], norm(s, 2)},
                                     .shape = around,
                                     .ceiling = s->ceiling,
                                     .residual = true};
    switch (kind) {
    case CONV: return op_conv2d(t, in, v[0], 1, 1);
    case CONV_NORM: return op_conv2d_norm(t, in, v[0], &bn, &how);
    case DEPTHWISE: return op_depthwise(t, in, v[0], &around);
    case DEPTHWISE_NORM: return op_depthwise_norm(t, in, v[0], &bn, &around, s->ceiling);
    default: return op_bottleneck(t, in, &block);
    }
}

static var *call(struct scene *s, enum kind kind)
{
    tape_trace(s->w.t, s->told);
    var *y = call_traced(s, kind);
    tape_trace(s->w.t, NULL);
    return y;
}

static size_t read(struct scene *s, const var *y, double *out)
{
    const size_t n = y ? tensor_count(&y->value) : 0;
    return n && n <= MOST && world_read(&s->w, &y->value, out) ? n : 0;
}

static void expect_close(const char *what, const double *seen, const double *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(seen[i] - wanted[i]) <= 1e-5 * (1 + fabs(wanted[i])))) {
            test_failed(__FILE__, __LINE__, "%s: number %zu is %.9g, wanted %.9g", what, i, seen[i], wanted[i]);
            return;
        }
}

static double wanted[MOST], seen[MOST];

static void check_kind(enum kind kind, size_t h, size_t wide)
{
    struct scene s;
    REQUIRE(scene_open(&s, kind, h, wide));
    const size_t n = read(&s, call(&s, kind), wanted);
    EXPECT_INT(n, h * wide * (kind == CONV || kind == CONV_NORM ? OUT : C));
    watch(s.w.dev);
    params_freeze(s.p);
    prepared = folded = 0;
    for (int k = 0; k < 3; k++) {
        with_form = without_form = 0;
        EXPECT_INT(read(&s, call(&s, kind), seen), n);
        expect_close(kinds[kind], seen, wanted, n);
        EXPECT_INT(prepared, weights_of[kind]); /* the first time, and never again */
        EXPECT_INT(folded, norms_of[kind]);
        size_t forms = 0;
        for (size_t i = 0; i < weights_of[kind]; i++) forms += s.weight[i]->ready.memory != NULL;
        if (with_form != forms || with_form + without_form != weights_of[kind])
            test_failed(__FILE__, __LINE__, "%s: %zu forms are there, %zu are used, %zu weights are not in one",
                        kinds[kind], forms, with_form, without_form);
    }
    params_thaw(s.p);
    scene_close(&s);
}

TEST(prepared_forms_and_folded_norms_are_made_once_and_used)
{
    if (test_is_for_cpu()) return;
    for (int kind = 0; kind < KINDS; kind++) {
        check_kind((enum kind)kind, 6, 6);
        check_kind((enum kind)kind, 28, 14);
    }
}

static status no_conv_form(struct device *d, const tensor *x, const tensor *w, struct conv_shape s,
                           struct conv_ready *out)
{
    (void)d, (void)x, (void)w, (void)s;
    prepared++;
    out->made = true;
    return OK;
}
static status no_depthwise_form(struct device *d, const tensor *w, struct conv_ready *out)
{
    return no_conv_form(d, w, w, (struct conv_shape){0}, out);
}

/* A device may have no form of its own for some weights; it is asked once. */
TEST(weights_without_a_form_are_used_as_they_are)
{
    if (test_is_for_cpu()) return;
    for (int kind = 0; kind < KINDS; kind++) {
        struct scene s;
        REQUIRE(scene_open(&s, (enum kind)kind, 6, 6));
        const size_t n = read(&s, call(&s, (enum kind)kind), wanted);
        watch(s.w.dev);
        s.w.dev->prim[DT_F32].conv2d_prepare = no_conv_form;
        s.w.dev->prim[DT_F32].depthwise_prepare = no_depthwise_form;
        params_freeze(s.p);
        prepared = 0;
        for (int k = 0; k < 2; k++) {
            with_form = without_form = 0;
            EXPECT_INT(read(&s, call(&s, (enum kind)kind), seen), n);
            expect_close(kinds[kind], seen, wanted, n);
            EXPECT_INT(prepared, weights_of[kind]);
            EXPECT(with_form == 0 && without_form == weights_of[kind]);
        }
        params_thaw(s.p);
        scene_close(&s);
    }
}

static const char *const names[] = {
#define PRIM(name, params) #name,
#define PRIM_MAY PRIM
#include "tensor/prims.def"
#undef PRIM_MAY
#undef PRIM
};
enum { PRIMS = sizeof names / sizeof *names };
typedef void (*entry)(void);

/* Frozen and not: either the same numbers, or a failure that names the primitive and the op. */
static void check_without(struct scene *s, enum kind kind, size_t lacking)
{
    struct prims *table = &s->w.dev->prim[DT_F32];
    const struct prims whole = *table;
    memset((char *)table + lacking * sizeof(entry), 0, sizeof(entry));
    const var *y = call(s, kind);
    *table = whole;
    if ((y != NULL) != (tape_status(s->w.t) == OK))
        test_failed(__FILE__, __LINE__, "%s without %s gives %s", kinds[kind], names[lacking], y ? "a map" : "nothing");
    if (y) expect_close(names[lacking], seen, wanted, read(s, y, seen));
    else if (!strstr(error_text(), names[lacking]) || !strstr(error_text(), kinds[kind]))
        test_failed(__FILE__, __LINE__, "%s without %s says \"%s\"", kinds[kind], names[lacking], error_text());
}

TEST(convolutions_on_a_device_without_a_primitive_name_it_or_do_without)
{
    if (test_is_for_cpu()) return;
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < 4; i++) {
            struct scene s;
            REQUIRE(scene_open(&s, (enum kind)kind, i / 2 ? 28 : 6, i / 2 ? 14 : 6));
            EXPECT(read(&s, call(&s, (enum kind)kind), wanted) > 0);
            for (size_t k = 0; k < PRIMS; k++) {
                if (i % 2) params_freeze(s.p); /* makes the forms anew each time */
                check_without(&s, (enum kind)kind, k);
                params_thaw(s.p);
            }
            scene_close(&s);
        }
}

/* What was told, carried out step by step. */
static var *told(struct scene *s, const struct step *of, var *const *at)
{
    tape *t = s->w.t;
    var *x = at[of->in[0]];
    const struct step_conv *c = &of->conv;
    const struct depthwise_shape around = {c->stride, c->pad[0], c->pad[1], c->pad[2], c->pad[3]};
    switch (of->kind) {
    case STEP_CONV:
        if (c->groups > 1) return op_depthwise(t, x, tape_constant(t, &c->weight), &around);
        EXPECT(c->pad[0] == c->pad[1] && c->pad[0] == c->pad[2] && c->pad[0] == c->pad[3]);
        return op_conv2d(t, x, tape_constant(t, &c->weight), c->stride, c->pad[0]);
    case STEP_NORM: {
        var *deviation = op_sqrt(t, op_affine(t, tape_constant(t, &of->norm.variance), 1, of->norm.epsilon));
        var *y = op_div(t, op_sub(t, x, tape_constant(t, &of->norm.mean)), deviation);
        return op_add(t, op_mul(t, y, tape_constant(t, &of->norm.gain)), tape_constant(t, &of->norm.bias));
    }
    case STEP_ADD: return op_add(t, x, at[of->in[1]]);
    case STEP_LEAKY_RELU: return op_leaky_relu(t, x, of->slope);
    case STEP_CLIP: return op_clip(t, x, of->clip.low, of->clip.high);
    default: test_failed(__FILE__, __LINE__, "a step of kind %d", of->kind); return NULL;
    }
}

TEST(what_a_convolution_tells_gives_its_result)
{
    if (test_is_for_cpu()) return;
    for (int i = 0; i < 2 * KINDS; i++) {
        const int kind = i / 2;
        struct scene s;
        struct steps steps = {0};
        var *at[32] = {NULL};
        REQUIRE(scene_open(&s, (enum kind)kind, 6, 5));
        if (i % 2) s.ceiling = 0.5;
        s.told = &steps;
        const var *y = call(&s, (enum kind)kind);
        const size_t n = read(&s, y, wanted);
        REQUIRE(n && y->step == steps.count && steps.count < 32);
        at[1] = s.in;
        for (size_t k = 2; k <= steps.count; k++) {
            const struct step *of = steps_at(&steps, k);
            at[k] = told(&s, of, at);
            REQUIRE(at[k]);
            EXPECT(of->rank == 4 && !memcmp(of->dim, at[k]->value.dim, 4 * sizeof *of->dim));
        }
        EXPECT_INT(read(&s, at[steps.count], seen), n);
        expect_close(kinds[kind], seen, wanted, n);
        steps_free(&steps);
        scene_close(&s);
    }
}
