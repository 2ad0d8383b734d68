/* label-prop - label propagation between features (after Zhou et al., NIPS 2003): the class maps and one query's map form a
 * graph, and labels spread along it.
 *
 * Edges weigh exp(gamma (cos - 1)), none from a node to itself; What = D^-1/2 W D^-1/2. With F = (I - factor What)^-1 Y,
 * a class is as likely as the mean of F over the query's nodes. What is symmetric, so one right-hand side suffices:
 * z = (I - factor What)^-1 m, m = 1/rq on the query's nodes, and the class sums of z. No learned parameters. */
#include "heads/head.h"
#include "heads/matrix.h"

struct label_prop {
    double gamma, factor;
};

static const struct option label_prop_options[] = {
    OPT_FLOAT_INSIDE(struct label_prop, gamma, "gamma", 20, 0, 1000, "sharpness of the edges"),
    OPT_FLOAT_INSIDE(struct label_prop, factor, "factor", 0.99, 0, 1, "how far labels spread"), OPT_END};

/* [n, C, r] as unit rows [n, r, C] */
static var *directions(tape *t, var *maps) { return op_l2norm(t, op_permute(t, maps, (int[]){0, 2, 1}), 2); }

/* Cosines of all nodes of each query's graph, support first: [nq, m + rq, m + rq]. */
static var *cosines(tape *t, var *support, var *query)
{
    if (!support || !query) return NULL;
    const size_t m = support->value.dim[0], nq = query->value.dim[0];
    var *ones = matrix_filled(t, support->value.type, 3, (size_t[]){nq, 1, 1}, 1);
    var *ss = op_reshape(t, op_matmul(t, support, false, support, true), 3, (size_t[]){1, m, m});
    var *qs = op_matmul(t, query, false, support, true); /* [nq, rq, m] */
    var *qq = op_matmul(t, query, false, query, true);
    var *above = op_concat(t, 2, (var *[]){op_mul(t, ss, ones), op_permute(t, qs, (int[]){0, 2, 1})}, 2);
    return op_concat(t, 2, (var *[]){above, op_concat(t, 2, (var *[]){qs, qq}, 2)}, 1);
}

/* I - factor What */
static var *system_of(tape *t, const struct label_prop *s, var *phi)
{
    if (!phi) return NULL;
    const size_t nq = phi->value.dim[0], n = phi->value.dim[1];
    var *identity = matrix_identity(t, phi->value.type, n);
    var *w = op_mul(t, op_exp(t, op_affine(t, phi, s->gamma, -s->gamma)), op_affine(t, identity, -1, 1));
    var *root = op_sqrt(t, op_sum(t, w, 1u << 2, KEEP_AXES)); /* D^1/2 [nq, n, 1] */
    w = op_div(t, op_div(t, w, root), op_reshape(t, root, 3, (size_t[]){nq, 1, n}));
    return op_sub(t, identity, op_affine(t, w, s->factor, 0));
}

/* m as [nq, n, 1] */
static var *at_query(tape *t, dtype type, size_t nq, size_t m, size_t rq)
{
    var *support = matrix_filled(t, type, 3, (size_t[]){nq, m, 1}, 0);
    return op_concat(t, 2, (var *[]){support, matrix_filled(t, type, 3, (size_t[]){nq, rq, 1}, 1 / (double)rq)}, 1);
}

static bool label_prop_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                               unsigned want, struct head_result *out)
{
    var *maps = op_class_mean(t, e->support, e->support_labels, e->way); /* [way, C, rs] */
    (void)params;
    (void)want;
    if (!maps || !e->query) return false;
    const size_t c = maps->value.dim[1], rs = maps->value.dim[2], m = e->way * rs;
    const size_t nq = e->query->value.dim[0], rq = e->query->value.dim[2];
    var *support = op_reshape(t, directions(t, maps), 2, (size_t[]){m, c});
    var *a = system_of(t, settings, cosines(t, support, directions(t, e->query)));
    var *z = op_cholesky_solve(t, a, at_query(t, maps->value.type, nq, m, rq));
    var *raw = op_reshape(t, op_slice(t, z, 1, 0, m), 3, (size_t[]){nq, e->way, rs});
    raw = op_sum(t, raw, 1u << 2, DROP_AXES);
    out->scores = op_div(t, raw, op_sum(t, raw, 1u << 1, KEEP_AXES));
    if (e->query_labels) out->loss = op_nll(t, op_log(t, out->scores), e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

const struct head label_prop_head = {.name = "label-prop",
                                     .title = "labels spread along a graph of all features",
                                     .paper = "Zhou et al., Learning with Local and Global Consistency, NIPS 2003",
                                     .options = label_prop_options,
                                     .settings_bytes = sizeof(struct label_prop),
                                     .probabilities = true,
                                     .forward = label_prop_forward};
