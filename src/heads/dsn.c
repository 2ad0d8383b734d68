/* dsn - adaptive subspaces (Simon et al., CVPR 2020): a class is as near as the flat through its pooled shots.
 *
 * score = -scale |r|^2 / C with r what is left of the query beside the flat. By default, as in the paper, the flat is the affine
 * hull of the shots: through their mean, along what they differ in. --head.center 0 is the released code: the first K - 1
 * left singular vectors of the shots themselves, through the origin; a single shot then spans a line.
 *
 * With a single shot a class would be a point, as in proto. As the authors do, training and evaluation at 1-shot therefore
 * add each support picture's mirror image as a second shot, before the network (heads/mirror.h). The authors' code for
 * Conv-4 takes the distance itself (`sqrt`) and pushes the subspaces apart (`lamb`, 0.03 there): both off by default. */
#include "heads/pool.h"
#include "heads/shots.h"

struct dsn {
    int64_t center, root;
    double lamb;
    struct pool_settings pool;
};

#define DSN_OPTIONS \
    OPT_INT(struct dsn, center, "center", 1, 0, 1, "1: flats through the class means; 0: through the origin"), \
        OPT_INT(struct dsn, root, "sqrt", 0, 0, 1, "1: distances instead of their squares"), \
        OPT_FLOAT(struct dsn, lamb, "lamb", 0, 0, 1e6, "weight in the loss of the overlap of the subspaces")

static const struct option plain_options[] = {DSN_OPTIONS, POOL_QUERY_OPTIONS(struct dsn, POOL_MEAN), OPT_END};
static const struct option plugged_options[] = {DSN_OPTIONS, POOL_QUERY_OPTIONS(struct dsn, POOL_MCL_QUERY), OPT_END};

static size_t dim_one(size_t channels, int axis) { return (void)channels, (void)axis, 1; }
static const struct head_param dsn_params[] = {{.name = "head.scale", .rank = 1, .dim = dim_one, .start = 1},
                                               {.name = NULL}};

/* i32 [ns]: the class of each sorted shot */
static const tensor *sorted_labels(tape *t, const struct shots *shots, size_t way)
{
    void *host;
    const size_t ns = shots->first[way];
    const status st = tape_host(t, ns * sizeof(int32_t), &host);
    if (st != OK) return tape_fail(t, st), NULL;
    for (size_t c = 0; c < way; c++)
        for (size_t i = shots->first[c]; i < shots->first[c + 1]; i++) ((int32_t *)host)[i] = (int32_t)c;
    return op_labels(t, host, ns, way);
}

struct flats {
    var *mean;  /* [way, 1, C]; NULL: through the origin */
    var *basis; /* [way, d, C]; NULL: the flats are the points `mean` */
};

static bool span(tape *t, const struct dsn *s, const struct shots *shots, size_t way, struct flats *out)
{
    var *x = op_mean(t, shots->support, 1u << 2, DROP_AXES); /* [ns, C] */
    const tensor *labels = sorted_labels(t, shots, way);
    *out = (struct flats){0};
    if (!x || !labels) return false;
    const size_t channels = x->value.dim[1];
    if (s->center) {
        var *means = op_class_mean(t, x, labels, way);
        out->mean = op_reshape(t, means, 3, (size_t[]){way, 1, channels});
        if (shots->first[way] == way) return out->mean != NULL; /* one shot each */
        x = op_sub(t, x, op_gather(t, means, 0, labels));
    }
    out->basis = op_subspace(t, x, shots->first, way);
    return out->basis != NULL;
}

/* Squared distances [nq, way] of query [nq, C]. */
static var *distances(tape *t, const struct flats *f, var *query)
{
    if (!query) return NULL;
    const size_t nq = query->value.dim[0], channels = query->value.dim[1];
    const size_t way = (f->basis ? f->basis : f->mean)->value.dim[0];
    if (!f->basis) return op_sqdist(t, query, op_reshape(t, f->mean, 2, (size_t[]){way, channels}));
    var *q = op_reshape(t, query, 3, (size_t[]){1, nq, channels});
    if (f->mean) q = op_sub(t, q, f->mean); /* [way, nq, C] */
    var *inside = op_matmul(t, op_matmul(t, q, false, f->basis, true), false, f->basis, false);
    var *rest = op_sub(t, q, inside);
    var *square = op_reshape(t, op_sum(t, op_mul(t, rest, rest), 1u << 2, DROP_AXES), 2, (size_t[]){way, nq});
    return op_permute(t, square, (const int[]){1, 0});
}

/* sum over pairs of classes of |U_j U_k^T|^2: that of all pairs; a class with itself gives its dimension, a constant */
static var *overlap(tape *t, var *basis)
{
    if (!basis) return NULL;
    const size_t way = basis->value.dim[0], d = basis->value.dim[1], channels = basis->value.dim[2];
    var *rows = op_reshape(t, basis, 2, (size_t[]){way * d, channels});
    var *own = op_matmul(t, basis, false, basis, true), *all = op_matmul(t, rows, false, rows, true);
    return op_sub(t, op_sum(t, op_mul(t, all, all), 3, DROP_AXES), op_sum(t, op_mul(t, own, own), 7, DROP_AXES));
}

static bool dsn_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                        struct head_result *out)
{
    const struct dsn *s = settings;
    struct shots shots;
    struct pooled p;
    struct flats f;
    (void)want;
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    if (!maps || !pool_features(t, &s->pool, maps, e->query, &p) || !shots_sort(t, e, &shots)) return false;
    if (!span(t, s, &shots, e->way, &f)) return false;
    var *scale = head_var(t, params, &dsn_params[0], maps->value.dim[1], maps->value.type);
    var *far = distances(t, &f, p.query);
    if (s->root) far = op_sqrt(t, op_affine(t, far, 1, 1e-12));
    else far = op_affine(t, far, 1 / (double)maps->value.dim[1], 0);
    out->scores = op_mul(t, op_affine(t, far, -1, 0), scale);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    if (out->loss && f.basis && s->lamb > 0)
        out->loss = op_add(t, out->loss, op_affine(t, overlap(t, f.basis), s->lamb, 0));
    return out->scores && (out->loss || !e->query_labels);
}

#define DSN(name_, title_, table) \
    { \
        .name = name_, .title = title_, .paper = "Simon et al., Adaptive Subspaces for Few-Shot Learning, CVPR 2020", \
        .options = table, .settings_bytes = sizeof(struct dsn), .params = dsn_params, .pools = true, .mirrors = true, \
        .forward = dsn_forward \
    }

const struct head dsn_head = DSN("dsn", "distance to the flat through the pooled shots", plain_options);
const struct head dsn_mcl_head = DSN("dsn+mcl", "dsn with the query weighted by centrality", plugged_options);
