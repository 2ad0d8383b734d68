/* centroid - associative alignment by centroids (Afrasiyabi et al., ECCV 2020): pictures of the base classes that look like a class
 * of the episode are used as further examples of it, after they were drawn towards the mean of its shots.
 *
 * For each episode: a cosine classifier with an additive angular margin is fitted to the pooled shots; base classes are given to
 * the classes for which it takes their pictures (heads/related.h); then, round by round, the features are aligned and the
 * classifier fitted to both (heads/centroid_fit.c). The score of a class is `align-scale` times a cosine.
 *
 * The authors align the whole network, anew for each episode. A head has features and no network: what is aligned here is one
 * linear layer behind it, which starts as the identity. So an episode costs milliseconds and not minutes, and less can change;
 * their numbers are not to be expected of it. Other choices where the paper is silent: gradients of the alignment pass through the
 * shots' means as well; layer and classifier have one Adam each for all of their steps; a class without related pictures stays
 * among the means but draws none. The network is meant to be pre-trained with the loss `angular`. */
#include "heads/centroid.h"
#include "heads/fit.h"
#include "heads/shots.h"
#include "ops/host.h"

static const struct option centroid_options[] = {
    OPT_INT(struct centroid, steps, "steps", 200, 0, 1000000, "steps of the first fit, to the shots alone"),
    OPT_INT(struct centroid, rounds, "rounds", 150, 0, 1000000, "rounds of alignment"),
    OPT_INT(struct centroid, related, "related", 10, 0, 1000000, "base classes that a class may have"),
    OPT_INT(struct centroid, draw, "draw", 50, 1, 1000000, "their pictures in a round, of each class at most"),
    OPT_FLOAT(struct centroid, rate, "lr", 0.001, 0, 1e6, "learning rate of the classifier"),
    OPT_FLOAT(struct centroid, layer_rate, "layer-lr", 0.0001, 0, 1e6, "learning rate of the layer that is aligned"),
    OPT_FLOAT_INSIDE(struct centroid, scale, "scale", 5, 0, 1e6, "what multiplies the cosines in the first fit"),
    OPT_FLOAT_INSIDE(struct centroid, align_scale, "align-scale", 15, 0, 1e6, "what multiplies them afterwards"),
    OPT_FLOAT(struct centroid, margin, "margin", 0.001, 0, 1.5, "angle that is added to the true class's in a fit"),
    OPT_INT(struct centroid, seed, "seed", 0, 0, 1000000000, "seed of the start weights and of the draws"),
    POOL_QUERY_OPTIONS(struct centroid, POOL_MEAN),
    OPT_END};

static status check(const tape *t, const struct episode *e)
{
    if (tape_get_mode(t) == TAPE_TRAINING)
        return fail(ST_USAGE,
                    "the head centroid is fitted to each episode and has nothing to train; use it to evaluate");
    if (!e->base)
        return fail(ST_USAGE, "the head centroid needs pictures of base classes, those that the network was trained "
                              "on; give them with --base");
    if (e->base->features.dim[1] != e->support->value.dim[1])
        return fail(ST_SHAPE, "the base features have %zu channels, but those of the episode have %zu",
                    e->base->features.dim[1], e->support->value.dim[1]);
    return OK;
}

/* The classifier's start, drawn by what the shots look like and not by how they are named (heads/fit.h). */
static status start(tape *t, const struct centroid *s, const tensor *support, size_t way, const int32_t *labels,
                    tensor *weight)
{
    status st = OK;
    double *x;
    struct fit_weights w = {0};
    const struct fit_settings how = {.seed = s->seed};
    TRY(host_read(t, support, &x));
    const struct fit_task task = {
        .shots = support->dim[0], .way = way, .channels = support->dim[1], .x = x, .labels = labels};
    TRY(fit_draw(t, &how, &task, &w));
    TRY(host_write(t, support->type, 2, (size_t[]){way, support->dim[1]}, w.weight, weight));
done:
    return st;
}

static status fit_episode(tape *t, const struct centroid *s, const struct episode *e, struct centroid_fitted *f)
{
    status st = OK;
    struct shots shots;
    void *memory;
    if (!shots_sort(t, e, &shots)) return tape_status(t);
    const size_t ns = shots.first[e->way];
    const var *pooled = op_mean(t, shots.support, 1u << 2, DROP_AXES);
    TRY(tape_host(t, ns * sizeof(int32_t), &memory));
    int32_t *labels = memory;
    for (size_t c = 0; c < e->way; c++)
        for (size_t i = shots.first[c]; i < shots.first[c + 1]; i++) labels[i] = (int32_t)c;
    const tensor *sorted = op_labels(t, labels, ns, e->way);
    TRY(tape_status(t));
    TRY(start(t, s, &pooled->value, e->way, labels, &f->weight));
    const struct centroid_task task = {&pooled->value, shots.first, sorted, e->way, e->base};
    TRY(centroid_fit(t, s, &task, f));
done:
    return st;
}

static bool centroid_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                             unsigned want, struct head_result *out)
{
    const struct centroid *s = settings;
    struct centroid_fitted f;
    struct pooled p;
    (void)params;
    (void)want;
    if (!e->support || !e->query) return false;
    status st = check(t, e);
    if (st != OK) return tape_fail(t, st) != NULL;
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    if (!maps || !pool_features(t, &s->pool, maps, e->query, &p)) return false;
    st = fit_episode(t, s, e, &f);
    if (st != OK) return tape_fail(t, st) != NULL;
    var *query = op_linear(t, p.query, tape_constant(t, &f.layer), tape_constant(t, &f.shift));
    out->scores = op_affine(t, op_cosine(t, query, tape_constant(t, &f.weight)), s->align_scale, 0);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

const struct head centroid_head = {
    .name = "centroid",
    .title = "a cosine classifier fitted to each episode and to aligned pictures of base classes",
    .paper = "Afrasiyabi et al., Associative Alignment for Few-shot Image Classification, ECCV 2020",
    .options = centroid_options,
    .settings_bytes = sizeof(struct centroid),
    .pools = true,
    .fitted = true,
    .base = true,
    .forward = centroid_forward};
