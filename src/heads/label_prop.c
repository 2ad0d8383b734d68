/* label-prop - label propagation between features (after Zhou et al., NIPS 2003): the class maps and one query's map form a
 * graph, and labels spread along it.
 *
 * Edges weigh exp(gamma (cos - 1)), none from a node to itself; D are their sums at each node, What = D^-1/2 W D^-1/2. With
 * F = (I - factor What)^-1 Y, a class is as likely as the mean of F over the query's nodes. What is symmetric, so one
 * right-hand side suffices: z = (I - factor What)^-1 m, m = 1/rq on the query's nodes, and the class sums of z. That is
 * z = D^1/2 (D - factor W)^-1 D^1/2 m, whose large matrices need no division. All queries share the edges between support
 * nodes, so these are weighed once. No learned parameters. */
#include "base/size.h"
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

/* The weights of edges within the support [1, m, m], from query to support [nq, rq, m], within each query [nq, rq, rq]. */
struct graph {
    var *ss, *qs, *qq;
};

static var *weights(tape *t, double gamma, var *cosines) { return op_exp(t, op_affine(t, cosines, gamma, -gamma)); }

/* The same without edges from a node to itself. */
static var *own_weights(tape *t, double gamma, var *cosines, size_t nodes, dtype type)
{
    var *others = op_affine(t, matrix_identity(t, type, nodes), -1, 1);
    return op_mul(t, weights(t, gamma, cosines), others);
}

/* The degrees of its nodes on the diagonal, less `factor` times the weights between them: [nq, n, n]. */
static var *own_block(tape *t, double factor, var *w, var *degrees)
{
    if (!w) return NULL;
    var *identity = matrix_identity(t, w->value.type, w->value.dim[2]);
    return op_sub(t, op_mul(t, identity, degrees), op_affine(t, w, factor, 0));
}

/* D - factor W, support first: [nq, m + rq, m + rq]. */
static var *system_of(tape *t, double factor, const struct graph *g, var *support_degrees, var *query_degrees)
{
    var *ss = own_block(t, factor, g->ss, support_degrees), *qq = own_block(t, factor, g->qq, query_degrees);
    var *qs = op_affine(t, g->qs, -factor, 0);
    var *above = op_concat(t, 2, (var *[]){ss, op_permute(t, qs, (int[]){0, 2, 1})}, 2);
    return op_concat(t, 2, (var *[]){above, op_concat(t, 2, (var *[]){qs, qq}, 2)}, 1);
}

/* z on the support's nodes, [nq, m, 1] */
static var *spread(tape *t, double factor, const struct graph *g)
{
    const size_t nq = g->qs->value.dim[0], rq = g->qs->value.dim[1], m = g->qs->value.dim[2];
    var *ds = op_add(t, op_sum(t, g->ss, 1u << 1, KEEP_AXES), op_sum(t, g->qs, 1u << 1, KEEP_AXES)); /* [nq, 1, m] */
    var *dq = op_add(t, op_sum(t, g->qs, 1u << 2, KEEP_AXES), op_sum(t, g->qq, 1u << 2, KEEP_AXES)); /* [nq, rq, 1] */
    var *none = matrix_filled(t, g->qs->value.type, 3, (size_t[]){nq, m, 1}, 0);
    var *at_query = op_concat(t, 2, (var *[]){none, op_affine(t, op_sqrt(t, dq), 1 / (double)rq, 0)}, 1);
    var *x = op_cholesky_solve(t, system_of(t, factor, g, ds, dq), at_query);
    return op_mul(t, op_slice(t, x, 1, 0, m), op_reshape(t, op_sqrt(t, ds), 3, (size_t[]){nq, m, 1}));
}

/* What the chunks of queries share: the settings, and as inputs the support's directions [m, C] and edges [1, m, m]. */
enum { SUPPORT, EDGES, SHARED };
struct job {
    struct label_prop s;
    size_t way;
};

/* Probabilities [nq, way] of some queries. */
static var *score_some(tape *t, const void *context, var *const *shared, var *maps, size_t first)
{
    const struct job *j = context;
    (void)first;
    var *query = directions(t, maps);
    if (!query || !shared[SUPPORT]) return NULL;
    const size_t nq = query->value.dim[0], rq = query->value.dim[1], m = shared[SUPPORT]->value.dim[0];
    var *qq = op_matmul(t, query, false, query, true);
    const struct graph g = {.ss = shared[EDGES],
                            .qs = weights(t, j->s.gamma, op_matmul(t, query, false, shared[SUPPORT], true)),
                            .qq = own_weights(t, j->s.gamma, qq, rq, query->value.type)};
    if (!g.ss || !g.qs || !g.qq) return NULL;
    var *raw = op_reshape(t, spread(t, j->s.factor, &g), 3, (size_t[]){nq, j->way, m / j->way});
    raw = op_sum(t, raw, 1u << 2, DROP_AXES);
    return op_div(t, raw, op_sum(t, raw, 1u << 1, KEEP_AXES));
}

static bool label_prop_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                               unsigned want, struct head_result *out)
{
    const struct label_prop *s = settings;
    var *maps = op_class_mean(t, e->support, e->support_labels, e->way); /* [way, C, rs] */
    void *job;
    (void)params;
    (void)want;
    if (!maps || !e->query) return false;
    const size_t c = maps->value.dim[1], m = e->way * maps->value.dim[2], rq = e->query->value.dim[2], all = m + rq;
    const dtype type = maps->value.type;
    const status st = tape_host(t, sizeof(struct job), &job);
    if (st != OK) return tape_fail(t, st) != NULL;
    *(struct job *)job = (struct job){*s, e->way};
    var *support = op_reshape(t, directions(t, maps), 2, (size_t[]){m, c});
    var *ss = op_reshape(t, op_matmul(t, support, false, support, true), 3, (size_t[]){1, m, m});
    var *const shared[SHARED] = {[SUPPORT] = support, [EDGES] = own_weights(t, s->gamma, ss, m, type)};
    /* a few systems at least, since each is one thread's */
    const size_t few = tape_get_mode(t) == TAPE_TRAINING ? 2 : 4;
    const size_t rows = size_max(few, chunks_rows(t, type, 2 * rq * c + 2 * m * m + m * all + 2 * all * all));
    const struct chunks chunks = {rows, e->way, score_some, job};
    out->scores = op_chunks(t, &chunks, SHARED, shared, e->query);
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
