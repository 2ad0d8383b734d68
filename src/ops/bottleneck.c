/* bottleneck - an inverted residual block (Sandler et al. 2018) with its norms folded in: inference only.
 *
 * Its inner maps have six times the channels of its ends. A device that offers the whole block need never store them; on
 * others, and where rows of the map are too short or too few to be worth the trouble, the block is made layer by layer. */
#include "ops/norm.h"
#include "ops/ops.h"
#include "ops/steps.h"

enum { EXPAND, DEPTHWISE, PROJECT, LAYERS, SHORTEST_ROW = 7, FEWEST_ROWS = 28 };

struct attr {
    struct norm_running of[LAYERS];
    struct depthwise_shape shape;
    double ceiling;
    bool widens, residual;
};

/* Inputs: x, then weight, gain and bias of the layers from the first on. saved: scale and shift of each. */
static int first_input(const struct attr *a, int layer) { return 1 + 3 * (a->widens ? layer : layer - 1); }

/* Fills in a layer: its norm as scale and shift, its weights in the device's form. */
static status fold_layer(struct node *n, int layer, tensor folded[2], struct bottleneck_part *out)
{
    const struct attr *a = n->attr;
    const int first = first_input(a, layer);
    struct conv_ready *ready = n->in[first]->ready;
    const tensor *w = &n->in[first]->value;
    folded[0] = n->saved[2 * layer];
    folded[1] = n->saved[2 * layer + 1];
    status st = norm_fold(n, first + 1, &a->of[layer], &folded[0], &folded[1]);
    if (st == OK && ready && !ready->made) {
        tensor map = layer == EXPAND ? n->in[0]->value : n->out[0]->value; /* that it meets */
        map.dim[3] = w->dim[1];
        st = layer == DEPTHWISE ? N_PRIM(n, depthwise_prepare, w, ready)
                                : N_PRIM(n, conv2d_prepare, &map, w, ((struct conv_shape){1, 0}), ready);
    }
    *out = (struct bottleneck_part){w, ready && ready->memory ? ready : NULL, &folded[0], &folded[1]};
    return st;
}

static status pointwise(struct node *n, const struct bottleneck_part *p, const tensor *x, double ceiling, tensor *y)
{
    const struct conv_affine_args args = {.x = x,
                                          .w = p->w,
                                          .ready = p->ready,
                                          .shape = {1, 0},
                                          .scale = p->scale,
                                          .shift = p->shift,
                                          .slope = ceiling > 0 ? 0 : 1,
                                          .ceiling = ceiling};
    return N_PRIM(n, conv2d_affine, &args, y);
}

static status by_layers(struct node *n, const struct bottleneck_args *b)
{
    const tensor *x = b->x;
    tensor *y = &n->out[0]->value, wide, inner;
    status st = OK;
    if (b->expand.w) {
        const size_t dim[4] = {x->dim[0], x->dim[1], x->dim[2], b->expand.w->dim[0]};
        TRY(tape_tensor(n->tape, n->type, 4, dim, &wide));
        TRY(pointwise(n, &b->expand, x, b->ceiling, &wide));
    } else {
        wide = *x;
    }
    const size_t dim[4] = {y->dim[0], y->dim[1], y->dim[2], wide.dim[3]};
    TRY(tape_tensor(n->tape, n->type, 4, dim, &inner));
    const struct depthwise_args middle = {.x = &wide,
                                          .w = b->depthwise.w,
                                          .ready = b->depthwise.ready,
                                          .shape = b->shape,
                                          .scale = b->depthwise.scale,
                                          .shift = b->depthwise.shift,
                                          .ceiling = b->ceiling};
    TRY(N_PRIM(n, depthwise, &middle, &inner));
    if (b->expand.w) tape_release_tensor(n->tape, &wide);
    TRY(pointwise(n, &b->project, &inner, 0, y));
    tape_release_tensor(n->tape, &inner);
    if (b->residual) TRY(N_PRIM(n, axpy, 1, x, y));
done:
    return st;
}

static status bottleneck_forward(struct node *n)
{
    const struct attr *a = n->attr;
    struct bottleneck_args b = {
        .x = &n->in[0]->value, .shape = a->shape, .ceiling = a->ceiling, .residual = a->residual};
    tensor folded[LAYERS][2];
    status st = OK;
    if (a->widens) TRY(fold_layer(n, EXPAND, folded[EXPAND], &b.expand));
    TRY(fold_layer(n, DEPTHWISE, folded[DEPTHWISE], &b.depthwise));
    TRY(fold_layer(n, PROJECT, folded[PROJECT], &b.project));
    const size_t *dim = n->out[0]->value.dim;
    const bool whole = dim[2] >= SHORTEST_ROW && dim[0] * dim[1] >= FEWEST_ROWS;
    if (!whole || !n->dev->prim[n->type].bottleneck) return by_layers(n, &b);
    TRY(N_PRIM(n, bottleneck, &b, &n->out[0]->value));
done:
    return st;
}

static size_t pointwise_steps(const struct node *n, struct steps *to, size_t x, int layer)
{
    const struct attr *a = n->attr;
    const int first = first_input(a, layer);
    const struct step_conv conv = {.weight = n->in[first]->value, .stride = 1, .groups = 1};
    return norm_steps(to, steps_conv(to, x, &conv), n, first + 1, &a->of[layer]);
}

static size_t bottleneck_tell(const struct node *n, struct steps *to)
{
    const struct attr *a = n->attr;
    const int middle = first_input(a, DEPTHWISE);
    size_t x = n->in[0]->step;
    if (a->widens) x = steps_clip(to, pointwise_steps(n, to, x, EXPAND), 0, a->ceiling);
    x = norm_steps(to, depthwise_steps(to, x, &n->in[middle]->value, &a->shape), n, middle + 1, &a->of[DEPTHWISE]);
    x = pointwise_steps(n, to, steps_clip(to, x, 0, a->ceiling), PROJECT);
    return a->residual ? steps_add(to, x, n->in[0]->step) : x;
}

const struct op bottleneck_op = {
    .name = "bottleneck", .forward = bottleneck_forward, .backward = NULL, .tell = bottleneck_tell};

/* NULL, or why the layers do not fit each other; dim is the shape of the result. */
static const char *misfit(const struct node *n, const struct attr *a, size_t dim[4])
{
    const tensor *x = &n->in[0]->value, *of[LAYERS];
    for (int i = a->widens ? EXPAND : DEPTHWISE; i < LAYERS; i++) {
        of[i] = &n->in[first_input(a, i)]->value;
        if (of[i]->rank != 4) return "weights must have 4 axes";
        if (i != DEPTHWISE && (of[i]->dim[2] != 1 || of[i]->dim[3] != 1)) return "the outer filters must be 1 x 1";
    }
    const size_t *w = of[DEPTHWISE]->dim, hidden = a->widens ? of[EXPAND]->dim[0] : x->dim[3];
    const struct depthwise_shape *s = &a->shape;
    if (a->widens && of[EXPAND]->dim[1] != x->dim[3]) return "the numbers of channels differ";
    if (!hidden || w[0] != hidden || w[1] != 1 || of[PROJECT]->dim[1] != hidden || !of[PROJECT]->dim[0])
        return "the numbers of channels differ";
    if (!s->stride || s->top >= w[2] || s->bottom >= w[2] || s->left >= w[3] || s->right >= w[3])
        return "a stride is at least 1, and a border narrower than the filter";
    if (!x->dim[1] || !x->dim[2] || x->dim[1] + s->top + s->bottom < w[2] || x->dim[2] + s->left + s->right < w[3])
        return "the filter is larger than the map with its border";
    dim[0] = x->dim[0];
    dim[1] = (x->dim[1] + s->top + s->bottom - w[2]) / s->stride + 1;
    dim[2] = (x->dim[2] + s->left + s->right - w[3]) / s->stride + 1;
    dim[3] = of[PROJECT]->dim[0];
    for (int i = 1; a->residual && i < 4; i++)
        if (dim[i] != x->dim[i]) return "what is added does not have the result's shape";
    return a->ceiling > 0 ? NULL : "the ceiling must be above 0";
}

/* Weight, gain and bias of a layer as inputs; false when something is missing. */
static bool add_layer(tape *t, const struct bottleneck_layer *l, struct norm_running *of, var **in)
{
    in[0] = l->weight;
    in[1] = tape_param(t, l->norm.gain);
    in[2] = tape_param(t, l->norm.bias);
    if (!in[0] || !in[1] || !in[2] || !tape_param(t, l->norm.mean) || !tape_param(t, l->norm.variance)) return false;
    *of = (struct norm_running){
        .mean = l->norm.mean->value, .variance = l->norm.variance->value, .epsilon = l->norm.epsilon};
    return true;
}

var *op_bottleneck(tape *t, var *x, const struct bottleneck *b)
{
    struct attr a = {.shape = b->shape, .ceiling = b->ceiling, .widens = b->expand.weight, .residual = b->residual};
    const struct bottleneck_layer *layers[LAYERS] = {&b->expand, &b->depthwise, &b->project};
    var *in[1 + 3 * LAYERS] = {x};
    size_t dim[4];
    for (int i = a.widens ? EXPAND : DEPTHWISE; i < LAYERS; i++)
        if (!add_layer(t, layers[i], &a.of[i], in + first_input(&a, i))) return NULL;
    struct node *n = node_new(t, &bottleneck_op, first_input(&a, LAYERS), in, &a, sizeof a);
    if (!n) return NULL;
    if (x->value.rank != 4)
        return node_fail(n, ST_SHAPE, "the input has rank %d; it must be [n, h, w, c]", x->value.rank);
    const char *why = misfit(n, &a, dim);
    if (why) return node_fail(n, ST_SHAPE, "the layers of the block do not fit: %s", why);
    for (int i = a.widens ? EXPAND : DEPTHWISE; i < LAYERS; i++) {
        const size_t channels = in[first_input(&a, i)]->value.dim[0];
        if (!norm_folds(n, first_input(&a, i) + 1, &a.of[i], channels)) return NULL;
        NODE_TRY(n, node_save(n, 2 * i, n->type, 1, &channels));
        NODE_TRY(n, node_save(n, 2 * i + 1, n->type, 1, &channels));
    }
    NODE_TRY(n, node_out(n, 4, dim));
    return node_run(n);
}
