/* feat - class means that have looked at each other (Ye et al., CVPR 2020): one layer of self-attention over the pooled class means
 * of the episode, then squared distances.
 *
 * For vectors p [n, C]: q, k, v = p Wq^T, p Wk^T, p Wv^T; a = softmax(q k^T / sqrt(C)); p' = layer_norm(p + (a v) Wo^T + bo).
 * score_c = -|query - p'_c|^2; the temperature divides it in the loss.
 *
 * With `balance` above 0 the loss has the authors' second part: the pictures of each class of the episode, support and query,
 * pass the same layer together and give a centre by their mean; every one of them is then classified by its distance to the centres,
 * divided by `temperature2`. The authors choose balance and temperatures for each data set; the defaults are those of
 * ResNet-12 on miniImageNet at 1-shot.
 *
 * Left out: the dropout inside the layer (0.1 and 0.5), because a head draws nothing, and the choice of cosines. */
#include "heads/head.h"
#include "heads/pool.h"
#include "heads/shots.h"
#include <math.h>

struct feat {
    double temperature, temperature2, balance;
    struct pool_settings pool;
};

static const struct option options[] = {
    OPT_FLOAT_INSIDE(struct feat, temperature, "temperature", 64, 0, 1e12, "divides the distances in the loss"),
    OPT_FLOAT_INSIDE(struct feat, temperature2, "temperature2", 64, 0, 1e12, "the same in the second part of the loss"),
    OPT_FLOAT(struct feat, balance, "balance", 0.01, 0, 1e6, "weight of the second part of the loss"),
    POOL_QUERY_OPTIONS(struct feat, POOL_MEAN), OPT_END};

enum { QUERY, KEY, VALUE, OUT_WEIGHT, OUT_BIAS, NORM_GAIN, NORM_BIAS, PARAMS };
static size_t dim_all(size_t channels, int axis) { return (void)axis, channels; }
static const struct head_param feat_params[] = {
    [QUERY] = {.name = "head.query.weight", .rank = 2, .dim = dim_all, .start_normal = 1, .by_channels = true},
    [KEY] = {.name = "head.key.weight", .rank = 2, .dim = dim_all, .start_normal = 1, .by_channels = true},
    [VALUE] = {.name = "head.value.weight", .rank = 2, .dim = dim_all, .start_normal = 1, .by_channels = true},
    [OUT_WEIGHT] = {.name = "head.out.weight", .rank = 2, .dim = dim_all, .start_normal = 1, .by_channels = true},
    [OUT_BIAS] = {.name = "head.out.bias", .rank = 1, .dim = dim_all},
    [NORM_GAIN] = {.name = "head.norm.weight", .rank = 1, .dim = dim_all, .start = 1},
    [NORM_BIAS] = {.name = "head.norm.bias", .rank = 1, .dim = dim_all},
    [PARAMS] = {.name = NULL}};

/* Rows [n, C] scaled to mean 0 and variance 1 each. */
static var *layer_norm(tape *t, var *x, var *gain, var *bias)
{
    var *centred = op_sub(t, x, op_mean(t, x, 1u << 1, KEEP_AXES));
    var *variance = op_mean(t, op_mul(t, centred, centred), 1u << 1, KEEP_AXES);
    var *scaled = op_div(t, centred, op_sqrt(t, op_affine(t, variance, 1, 1e-5)));
    return op_add(t, op_mul(t, scaled, gain), bias);
}

/* The set [n, C] after one look at itself. */
static var *adapt(tape *t, var *const *v, var *p)
{
    if (!p) return NULL;
    const double scale = 1 / sqrt((double)p->value.dim[1]);
    var *q = op_linear(t, p, v[QUERY], NULL), *k = op_linear(t, p, v[KEY], NULL);
    var *attention = op_softmax(t, op_affine(t, op_matmul(t, q, false, k, true), scale, 0), 1);
    var *seen = op_matmul(t, attention, false, op_linear(t, p, v[VALUE], NULL), false);
    return layer_norm(t, op_add(t, p, op_linear(t, seen, v[OUT_WEIGHT], v[OUT_BIAS])), v[NORM_GAIN], v[NORM_BIAS]);
}

/* The second part: all pictures x [n, C], sorted by class, against the centres of their adapted sets. */
static var *contrast(tape *t, const struct feat *s, var *const *v, const struct shots *all, size_t way)
{
    var *x = op_mean(t, all->support, 1u << 2, DROP_AXES), *centres = NULL; /* of one location */
    void *host;
    const size_t n = all->first[way];
    const status st = tape_host(t, n * sizeof(int32_t), &host);
    if (st != OK) return tape_fail(t, st);
    for (size_t c = 0; c < way; c++) {
        var *own = adapt(t, v, op_slice(t, x, 0, all->first[c], all->first[c + 1]));
        var *centre = op_mean(t, own, 1u << 0, KEEP_AXES);
        centres = c ? op_concat(t, 2, (var *[]){centres, centre}, 0) : centre;
        for (size_t i = all->first[c]; i < all->first[c + 1]; i++) ((int32_t *)host)[i] = (int32_t)c;
    }
    var *logits = op_affine(t, op_sqdist(t, x, centres), -1 / s->temperature2, 0);
    return op_cross_entropy(t, logits, op_labels(t, host, n, way));
}

/* x [n, C] as maps of one location */
static var *as_maps(tape *t, var *x)
{
    return x ? op_reshape(t, x, 3, (size_t[]){x->value.dim[0], x->value.dim[1], 1}) : NULL;
}

/* Pooled support and query as one set of labelled pictures. */
static bool join(tape *t, const struct episode *e, var *query, struct shots *out)
{
    struct episode all = *e;
    tensor both;
    struct device *d = tape_device(t);
    const size_t ns = e->support_labels->dim[0], n = ns + e->query_labels->dim[0];
    status st = tape_tensor(t, DT_I32, 1, &n, &both);
    if (st == OK) st = d->copy(d, both.data, e->support_labels->data, ns * sizeof(int32_t));
    if (st == OK)
        st = d->copy(d, (char *)both.data + ns * sizeof(int32_t), e->query_labels->data, (n - ns) * sizeof(int32_t));
    if (st != OK) return tape_fail(t, st) != NULL;
    var *support = as_maps(t, op_mean(t, e->support, 1u << 2, DROP_AXES));
    all.support = op_concat(t, 2, (var *[]){support, as_maps(t, query)}, 0);
    all.support_labels = &both;
    return shots_sort(t, &all, out);
}

static bool feat_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                         struct head_result *out)
{
    const struct feat *s = settings;
    struct pooled p;
    struct shots all;
    var *v[PARAMS];
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    (void)want;
    if (!maps || !pool_features(t, &s->pool, maps, e->query, &p)) return false;
    for (int i = 0; i < PARAMS; i++) v[i] = head_var(t, params, &feat_params[i], maps->value.dim[1], maps->value.type);
    out->scores = op_affine(t, op_sqdist(t, p.query, adapt(t, v, p.classes)), -1, 0);
    if (!e->query_labels || !out->scores) return out->scores != NULL;
    out->loss = op_cross_entropy(t, op_affine(t, out->scores, 1 / s->temperature, 0), e->query_labels);
    if (s->balance > 0 && join(t, e, p.query, &all))
        out->loss = op_add(t, out->loss, op_affine(t, contrast(t, s, v, &all, e->way), s->balance, 0));
    return out->loss && tape_status(t) == OK;
}

const struct head feat_head = {
    .name = "feat",
    .title = "squared distance to class means adapted by attention",
    .paper = "Ye et al., Few-Shot Learning via Embedding Adaptation with Set-to-Set Functions, CVPR 2020",
    .options = options,
    .settings_bytes = sizeof(struct feat),
    .params = feat_params,
    .pools = true,
    .forward = feat_forward};
