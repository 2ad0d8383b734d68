/* gnn - a graph network over the pictures of the episode (Garcia and Bruna, ICLR 2018), in the form that the feature-wise transformation
 * was used with (Tseng et al., ICLR 2020).
 *
 * Pooled vectors pass a linear layer; with the one-hot label beside it (zeros for the query) each is a node. A graph has all
 * shots and one query. Twice every node looks at the others, with weights that a small network reads from the differences
 * |x_a - x_b|, and grows by what it saw; a last look gives the logits. A norm uses the statistics of the graph that it is in, so that
 * scores do not depend on the other queries.
 *
 * Choices of this file: a graph's own statistics, where the published code takes those of the graphs that happen to be in a batch; one query a graph, as the original has it, not one of each class, which would use their labels; at most
 * WAY classes, since the label is an input of the trained network, and for the same reason classes may not be renamed; biases
 * before a norm are left out, where they change nothing; layers are narrower where there are fewer than 64 channels. */
#include "base/size.h"
#include "heads/head.h"
#include "heads/matrix.h"
#include "heads/pool.h"
#include "heads/shots.h"

enum { WAY = 5, LOOKS = 3, EDGE_LAYERS = 5 };

struct gnn {
    struct pool_settings pool;
};

static const struct option options[] = {POOL_QUERY_OPTIONS(struct gnn, POOL_MEAN), OPT_END};

/* 128, 192, 96 and 48 as published */
static size_t width(size_t channels) { return size_min(128, 2 * channels); }
static size_t wide(size_t channels) { return 3 * width(channels) / 2; }
static size_t narrow(size_t channels) { return 3 * width(channels) / 4; }
static size_t growth(size_t channels) { return 3 * width(channels) / 8; }
static size_t node(size_t channels, size_t look) { return width(channels) + WAY + look * growth(channels); }

#define SHAPE(name, rows, columns) \
    static size_t name(size_t c, int axis) { return axis ? (columns) : (rows); }
SHAPE(dim_enter, width(c), c)
SHAPE(dim_edge0, wide(c), node(c, 0))
SHAPE(dim_edge1, wide(c), node(c, 1))
SHAPE(dim_edge2, wide(c), node(c, 2))
SHAPE(dim_wide, wide(c), wide(c))
SHAPE(dim_fold, narrow(c), wide(c))
SHAPE(dim_narrow, narrow(c), narrow(c))
SHAPE(dim_score, 1, narrow(c))
SHAPE(dim_grow0, growth(c), 2 * node(c, 0))
SHAPE(dim_grow1, growth(c), 2 * node(c, 1))
SHAPE(dim_last, WAY, 2 * node(c, 2))

/* Uniform starts within the root of the inputs, for the published widths. */
#define WEIGHT(name_, dim_, half) \
    { \
        .name = "head." name_ ".weight", .rank = 2, .dim = dim_, .start_uniform = half \
    }
#define BIAS(name_, dim_, half) \
    { \
        .name = "head." name_ ".bias", .rank = 1, .dim = dim_, .start_uniform = half \
    }
#define NORM(name_, dim_) \
    {.name = "head." name_ ".gain", .rank = 1, .dim = dim_, .start = 1}, \
    { \
        .name = "head." name_ ".shift", .rank = 1, .dim = dim_ \
    }
#define NORMED(name_, dim_, half) WEIGHT(name_, dim_, half), NORM(name_, dim_)
#define EDGE(look, dim_, half) \
    NORMED("edge" look ".0", dim_, half), NORMED("edge" look ".1", dim_wide, 0.0722), \
        NORMED("edge" look ".2", dim_fold, 0.0722), NORMED("edge" look ".3", dim_narrow, 0.102), \
        WEIGHT("edge" look ".4", dim_score, 0.102), BIAS("edge" look ".4", dim_score, 0.102)

enum {
    ENTER = 0,
    EDGE_PARAMS = 3 * (EDGE_LAYERS - 1) + 2,
    FIRST_EDGE = 3,
    FIRST_GROW = FIRST_EDGE + LOOKS * EDGE_PARAMS
};
enum { LAST_LOOK = FIRST_GROW + 3 * (LOOKS - 1), PARAMS = LAST_LOOK + 2 };
static const struct head_param gnn_params[] = {
    {.name = "head.enter.weight", .rank = 2, .dim = dim_enter, .start_uniform = 1, .by_channels = true},
    NORM("enter", dim_enter),
    EDGE("0", dim_edge0, 0.0867),
    EDGE("1", dim_edge1, 0.0743),
    EDGE("2", dim_edge2, 0.0661),
    NORMED("grow0", dim_grow0, 0.0613),
    NORMED("grow1", dim_grow1, 0.0526),
    WEIGHT("last", dim_last, 0.0467),
    BIAS("last", dim_last, 0.0467),
    {.name = NULL}};
_Static_assert(sizeof gnn_params / sizeof *gnn_params == PARAMS + 1, "the places of the parameters");

/* x [g, n, c] normalised in each graph over its n rows, with gain and shift, and an activation */
static var *normed(tape *t, struct param *const *gain_shift, var *x, double slope)
{
    const double epsilon = 1e-5;
    var *apart = op_sub(t, x, op_mean(t, x, 1u << 1, KEEP_AXES));
    var *variance = op_mean(t, op_mul(t, apart, apart), 1u << 1, KEEP_AXES); /* [g, 1, c] */
    var *scale = op_div(t, tape_param(t, gain_shift[0]), op_sqrt(t, op_affine(t, variance, 1, epsilon)));
    var *y = op_add(t, op_mul(t, apart, scale), tape_param(t, gain_shift[1]));
    return slope == 1 ? y : op_leaky_relu(t, y, slope);
}

/* A linear layer on nodes or pairs [g, n, in], its norm and an activation, with the parameters weight, gain, shift. */
static var *layer(tape *t, struct param *const *v, var *x, double slope)
{
    return normed(t, v + 1, op_matmul(t, x, false, tape_param(t, v[0]), true), slope);
}

/* |x_a - x_b| for all pairs of nodes x [g, n, c]: [g, n n, c] */
static var *differences(tape *t, var *x)
{
    const size_t g = x->value.dim[0], n = x->value.dim[1], c = x->value.dim[2];
    var *a = op_reshape(t, x, 4, (size_t[]){g, n, 1, c}), *b = op_reshape(t, x, 4, (size_t[]){g, 1, n, c});
    var *size = op_leaky_relu(t, op_sub(t, a, b), -1);
    return op_reshape(t, size, 3, (size_t[]){g, n * n, c});
}

/* Each node beside what it sees of the others: [g, n, 2c]. */
static var *look(tape *t, struct param *const *v, var *x)
{
    if (!x) return NULL;
    const size_t g = x->value.dim[0], n = x->value.dim[1];
    var *y = differences(t, x);
    for (int i = 0; i < EDGE_LAYERS - 1; i++) y = layer(t, v + 3 * i, y, 0.01);
    if (!y) return NULL;
    y = op_reshape(t, y, 2, (size_t[]){g * n * n, y->value.dim[2]});
    y = op_linear(t, y, tape_param(t, v[EDGE_PARAMS - 2]), tape_param(t, v[EDGE_PARAMS - 1]));
    var *itself = op_affine(t, matrix_identity(t, x->value.type, n), -1e8, 0); /* a node does not see itself */
    var *edges = op_softmax(t, op_add(t, op_reshape(t, y, 3, (size_t[]){g, n, n}), itself), 2);
    return op_concat(t, 2, (var *[]){x, op_matmul(t, edges, false, x, false)}, 2);
}

/* i32 [nq (ns + 1)]: the rows of each graph, all shots and then its query, of shots followed by queries */
static const tensor *graphs(tape *t, size_t ns, size_t nq)
{
    void *host;
    const size_t n = nq * (ns + 1);
    const status st = tape_host(t, n * sizeof(int32_t), &host);
    if (st != OK) return tape_fail(t, st), NULL;
    for (size_t i = 0; i < n; i++) {
        const size_t row = i % (ns + 1);
        ((int32_t *)host)[i] = (int32_t)(row < ns ? row : ns + i / (ns + 1));
    }
    const var *v = tape_upload(t, DT_I32, 1, &n, host);
    return v ? &v->value : NULL;
}

/* What the chunks of queries share: the parameters, and as inputs the shots after the first linear layer [ns, width], and their
 * labels as nodes have them [ns, WAY]. */
enum { SHOTS, KNOWN, SHARED };
struct job {
    struct param *v[PARAMS];
    size_t way;
};

/* Nodes [nq, ns + 1, width + WAY], of queries [nq, C]. */
static var *nodes(tape *t, struct param *const *v, var *const *shared, var *query)
{
    if (!shared[SHOTS] || !query) return NULL;
    const dtype type = query->value.type;
    const size_t ns = shared[SHOTS]->value.dim[0], nq = query->value.dim[0], n = ns + 1;
    var *entered = op_linear(t, query, tape_param(t, v[ENTER]), NULL);
    var *x = op_concat(t, 2, (var *[]){shared[SHOTS], entered}, 0);
    const tensor *index = graphs(t, ns, nq);
    if (!x || !index) return NULL;
    x = op_reshape(t, op_gather(t, x, 0, index), 3, (size_t[]){nq, n, x->value.dim[1]});
    var *unknown = matrix_filled(t, type, 2, (size_t[]){nq, WAY}, 0);
    var *labels = op_gather(t, op_concat(t, 2, (var *[]){shared[KNOWN], unknown}, 0), 0, index);
    return op_concat(t, 2, (var *[]){normed(t, v + ENTER + 1, x, 1), op_reshape(t, labels, 3, (size_t[]){nq, n, WAY})},
                     2);
}

/* Scores [nq, way] of some pooled queries. */
static var *converse(tape *t, const void *context, var *const *shared, var *queries, size_t first)
{
    const struct job *j = context;
    struct param *const *v = j->v;
    (void)first;
    var *x = nodes(t, v, shared, queries);
    for (size_t i = 0; i < LOOKS - 1; i++) {
        var *seen = look(t, v + FIRST_EDGE + i * EDGE_PARAMS, x);
        x = op_concat(t, 2, (var *[]){x, layer(t, v + FIRST_GROW + 3 * i, seen, 0.01)}, 2);
    }
    var *seen = look(t, v + FIRST_EDGE + (LOOKS - 1) * EDGE_PARAMS, x);
    if (!seen) return NULL;
    const size_t g = seen->value.dim[0], n = seen->value.dim[1], c = seen->value.dim[2];
    var *query = op_reshape(t, op_slice(t, seen, 1, n - 1, n), 2, (size_t[]){g, c});
    return op_slice(t, op_linear(t, query, tape_param(t, v[LAST_LOOK]), tape_param(t, v[LAST_LOOK + 1])), 1, 0, j->way);
}

/* Numbers that the values of a graph of n nodes take: 2 of a difference, 6 for each output of a layer. */
static size_t graph_numbers(size_t channels, size_t n)
{
    const size_t layers = 2 * wide(channels) + 2 * narrow(channels);
    return LOOKS * n * n * (2 * node(channels, LOOKS - 1) + 6 * layers);
}

/* Scores of pooled queries [nq, C], with shots sorted by class. */
static var *scores_of(tape *t, const struct job *j, const struct shots *shots, var *query)
{
    var *x = op_mean(t, shots->support, 1u << 2, DROP_AXES);
    if (!x || !query) return NULL;
    const dtype type = x->value.type;
    const size_t ns = x->value.dim[0];
    var *known = matrix_one_hot(t, type, shots->first, j->way);
    if (j->way < WAY)
        known = op_concat(t, 2, (var *[]){known, matrix_filled(t, type, 2, (size_t[]){ns, WAY - j->way}, 0)}, 1);
    var *const shared[SHARED] = {[SHOTS] = op_linear(t, x, tape_param(t, j->v[ENTER]), NULL), [KNOWN] = known};
    const struct chunks chunks = {chunks_rows(t, type, graph_numbers(x->value.dim[1], ns + 1)), j->way, converse, j};
    return op_chunks(t, &chunks, SHARED, shared, query);
}

static bool gnn_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                        struct head_result *out)
{
    const struct gnn *s = settings;
    struct shots shots;
    struct pooled p;
    void *host;
    (void)want;
    if (e->way > WAY)
        return tape_fail(t, fail(ST_VALUE, "gnn can tell %d classes apart; this episode has %zu", WAY, e->way)) != NULL;
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    if (!maps || !pool_features(t, &s->pool, maps, e->query, &p) || !shots_sort(t, e, &shots)) return false;
    if (maps->value.dim[1] < 2)
        return tape_fail(t, fail(ST_SHAPE, "gnn needs features of at least 2 channels; these have 1")) != NULL;
    const status st = tape_host(t, sizeof(struct job), &host);
    if (st != OK) return tape_fail(t, st) != NULL;
    struct job *j = host;
    j->way = e->way;
    for (int i = 0; i < PARAMS; i++) {
        j->v[i] = params ? params_find(params, gnn_params[i].name) : NULL;
        if (!j->v[i]) return tape_fail(t, fail(ST_USAGE, "the parameter %s is missing", gnn_params[i].name)) != NULL;
    }
    out->scores = scores_of(t, j, &shots, p.query);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

const struct head gnn_head = {.name = "gnn",
                              .title = "a graph network over shots and query, for up to 5 classes",
                              .paper = "Garcia and Bruna, Few-Shot Learning with Graph Neural Networks, ICLR 2018",
                              .options = options,
                              .settings_bytes = sizeof(struct gnn),
                              .params = gnn_params,
                              .pools = true,
                              .named = true,
                              .forward = gnn_forward};
