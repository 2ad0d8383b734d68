/* deepemd - the earth mover's distance between maps (Zhang et al., CVPR 2020): the locations of the query are carried to those of a
 * class at the least cost, where alike locations are near and what matters weighs more.
 *
 * A location weighs relu of its inner product with the other map's mean, + 0.001, + 0.00001, both sides scaled to sum 1.
 * Similarity is the cosine of features from which their mean over channels was taken; logit = temperature times the most
 * similarity that a flow between the weights can have. The flow is a constant for gradients, which is exact, and as in the
 * paper so are the weights; `wgrad` passes gradients through them as well. No learned parameters.
 *
 * With several shots a class has a map of its own that is fitted to them (heads/deepemd_fit.c). No gradient passes a fit:
 * training uses the first shot of each class, as the released code does. */
#include "heads/deepemd.h"
#include "heads/matrix.h"
#include "heads/shots.h"
#include <stdlib.h>

enum { AUTO, FIRST, FIT };
static const char *const shots_names[] = {"auto", "first", "fit", NULL};

static const struct option deepemd_options[] = {
    OPT_FLOAT_INSIDE(struct deepemd, temperature, "temperature", 12.5, 0, 1e6, "multiplies the similarities"),
    OPT_NAME(struct deepemd, shots, "shots", AUTO, shots_names,
             "several shots: fit a map to them, or take the first; auto fits unless gradients are asked for"),
    OPT_INT(struct deepemd, wgrad, "wgrad", 0, 0, 1, "1: gradients pass through the weights of locations too"),
    OPT_INT(struct deepemd, epochs, "sfc_epochs", 100, 0, 1e6,
            "rounds over the shots in a fit; 20 in the released code"),
    OPT_INT(struct deepemd, batch, "sfc_batch", 4, 1, 1e6, "shots of one step of a fit"),
    OPT_INT(struct deepemd, seed, "sfc_seed", 0, 0, 1e15, "chooses the order of the shots in a fit"),
    OPT_FLOAT_INSIDE(struct deepemd, rate, "sfc_lr", 100, 0, 1e9,
                     "learning rate of a fit; with Conv-4 about 1 is better"),
    OPT_FLOAT(struct deepemd, momentum, "sfc_momentum", 0.9, 0, 1, "momentum of a fit"),
    OPT_FLOAT(struct deepemd, dampening, "sfc_dampening", 0.9, 0, 1, "dampening of a fit's momentum"),
    OPT_FLOAT(struct deepemd, decay, "sfc_weight_decay", 0, 0, 1, "weight decay of a fit"),
    OPT_END};

bool deepemd_weigh(tape *t, var *classes, var *query, var *query_mean, struct deepemd_weights *out)
{
    var *class_mean = op_mean(t, classes, 1u << 2, DROP_AXES);
    var *of_query = op_matmul(t, class_mean, false, query, false);     /* [nq, way, rq] */
    var *of_classes = op_matmul(t, query_mean, false, classes, false); /* [way, nq, rs] */
    out->query = op_affine(t, op_relu(t, of_query), 1, 1e-3);
    out->classes = op_affine(t, op_relu(t, op_permute(t, of_classes, (int[]){1, 0, 2})), 1, 1e-3);
    return out->query && out->classes;
}

static var *scaled(tape *t, var *weights)
{
    var *w = op_affine(t, weights, 1, 1e-5);
    return op_div(t, w, op_sum(t, w, 1u << 2, KEEP_AXES));
}

var *deepemd_centred(tape *t, var *maps)
{
    return op_l2norm(t, op_sub(t, maps, op_mean(t, maps, 1u << 1, KEEP_AXES)), 1);
}

var *deepemd_columns(tape *t, var *centred)
{
    if (!centred) return NULL;
    const size_t way = centred->value.dim[0], c = centred->value.dim[1], rs = centred->value.dim[2];
    return op_reshape(t, op_permute(t, centred, (int[]){1, 0, 2}), 2, (size_t[]){c, way * rs});
}

var *deepemd_carry(tape *t, const struct deepemd_weights *w, var *directions, var *columns)
{
    if (!w->query || !w->classes) return NULL;
    const size_t nq = w->query->value.dim[0], way = w->query->value.dim[1], rq = w->query->value.dim[2];
    var *cost = op_matmul(t, directions, true, columns, false);
    cost = op_reshape(t, cost, 4, (size_t[]){nq, rq, way, w->classes->value.dim[2]});
    return op_transport(t, cost, scaled(t, w->query), scaled(t, w->classes));
}

enum { COLUMNS, CLASSES, SHARED }; /* of minus the class maps, and the class maps */

static var *carry_some(tape *t, const void *context, var *const *shared, var *query, size_t first)
{
    const struct deepemd *s = context;
    struct deepemd_weights w;
    (void)first;
    if (!query) return NULL;
    var *weighed = s->wgrad ? query : tape_constant(t, &query->value);
    if (!deepemd_weigh(t, shared[CLASSES], weighed, op_mean(t, weighed, 1u << 2, DROP_AXES), &w)) return NULL;
    return deepemd_carry(t, &w, deepemd_centred(t, query), shared[COLUMNS]);
}

var *deepemd_logits(tape *t, const struct deepemd *s, var *classes, var *query)
{
    void *context;
    if (!classes || !query) return NULL;
    const size_t way = classes->value.dim[0], c = classes->value.dim[1], rs = classes->value.dim[2];
    const status st = tape_host(t, sizeof *s, &context);
    if (st != OK) return tape_fail(t, st);
    *(struct deepemd *)context = *s;
    var *const shared[SHARED] = {[COLUMNS] = deepemd_columns(t, op_affine(t, deepemd_centred(t, classes), -1, 0)),
                                 [CLASSES] = s->wgrad ? classes : tape_constant(t, &classes->value)};
    const size_t numbers = 2 * query->value.dim[2] * (c + way * rs);
    const struct chunks chunks = {chunks_rows(t, classes->value.type, numbers), way, carry_some, context};
    return op_affine(t, op_chunks(t, &chunks, SHARED, shared, query), -s->temperature, 0);
}

static var *first_shots(tape *t, const struct shots *shots, size_t way)
{
    void *host;
    const status st = tape_host(t, way * sizeof(int32_t), &host);
    if (st != OK) return tape_fail(t, st);
    for (size_t c = 0; c < way; c++) ((int32_t *)host)[c] = (int32_t)shots->first[c];
    const var *index = tape_upload(t, DT_I32, 1, &way, host);
    return index ? op_gather(t, shots->support, 0, &index->value) : NULL;
}

struct ranked {
    double sum;
    int32_t shot;
};

static int by_sum(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->sum != y->sum) return x->sum < y->sum ? -1 : 1;
    return (x->shot > y->shot) - (x->shot < y->shot);
}

/* Shots in an order that depends on their features alone, so that a fit forgets how they and the classes came. */
static status rank_shots(tape *t, var *support, size_t ns, struct ranked *out)
{
    status st = OK;
    struct device *d = tape_device(t);
    void *host;
    var *sums = op_sum(t, tape_constant(t, &support->value), 6, DROP_AXES); /* [ns] */
    if (!sums) return tape_status(t);
    TRY(tape_host(t, tensor_bytes(&sums->value), &host));
    TRY(d->download(d, host, sums->value.data, tensor_bytes(&sums->value)));
    for (size_t i = 0; i < ns; i++) {
        out[i].sum = sums->value.type == DT_F32 ? (double)((float *)host)[i] : ((double *)host)[i];
        out[i].shot = (int32_t)i;
    }
    qsort(out, ns, sizeof *out, by_sum);
done:
    return st;
}

/* A new order of all shots for each epoch. */
static void draw_order(const struct ranked *ranked, size_t ns, size_t epochs, uint64_t seed, int32_t *order)
{
    const struct random root = {.seed = seed};
    for (size_t e = 0; e < epochs; e++, order += ns) {
        struct random r = random_branch(&root, e);
        for (size_t i = 0; i < ns; i++) {
            const size_t other = (size_t)random_below(&r, i + 1); /* the shuffle that fills as it goes */
            if (other < i) order[i] = order[other];
            order[other] = ranked[i].shot;
        }
    }
}

static var *fitted(tape *t, const struct deepemd *s, const struct shots *shots, const struct episode *e)
{
    status st = OK;
    void *ranked, *labels, *order;
    const size_t ns = shots->first[e->way];
    var *start = op_class_mean(t, e->support, e->support_labels, e->way);
    if (!start) return NULL;
    struct deepemd_fit f = {.support = &shots->support->value, .epochs = (size_t)s->epochs, .count = ns};
    tensor maps = {0};
    TRY(tape_tensor(t, start->value.type, 3, start->value.dim, &maps));
    TRY(tape_device(t)->copy(tape_device(t), maps.data, start->value.data, tensor_bytes(&maps)));
    TRY(tape_host(t, ns * sizeof(struct ranked), &ranked));
    TRY(tape_host(t, ns * sizeof(int32_t), &labels));
    TRY(tape_host(t, f.epochs * ns * sizeof(int32_t), &order));
    TRY(rank_shots(t, shots->support, ns, ranked));
    draw_order(ranked, ns, f.epochs, (uint64_t)s->seed, order);
    for (size_t c = 0; c < e->way; c++)
        for (size_t i = shots->first[c]; i < shots->first[c + 1]; i++) ((int32_t *)labels)[i] = (int32_t)c;
    f.labels = labels;
    f.order = order;
    TRY(deepemd_fit_maps(t, s, &f, &maps));
    return tape_constant(t, &maps);
done:
    return tape_fail(t, st);
}

static bool deepemd_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                            unsigned want, struct head_result *out)
{
    const struct deepemd *s = settings;
    struct shots shots;
    (void)params;
    (void)want;
    if (!e->query || !shots_sort(t, e, &shots)) return false;
    const bool several = shots.first[e->way] > e->way;
    const bool fits = several && (s->shots == FIT || (s->shots == AUTO && tape_get_mode(t) == TAPE_INFERENCE));
    var *maps = fits ? fitted(t, s, &shots, e) : several ? first_shots(t, &shots, e->way) : shots.support;
    out->scores = deepemd_logits(t, s, maps, e->query);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

const struct head deepemd_head = {
    .name = "deepemd",
    .title = "least cost of carrying the query's map to a class's (earth mover's distance)",
    .paper =
        "Zhang et al., DeepEMD: Few-Shot Image Classification with Differentiable Earth Mover's Distance, CVPR 2020",
    .options = deepemd_options,
    .settings_bytes = sizeof(struct deepemd),
    .forward = deepemd_forward};
