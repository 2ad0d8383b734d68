/* proto - prototypical networks (Snell et al., NIPS 2017): a class is as near as the mean of its pooled pictures.
 *
 * Scores are the negative squared distances themselves; the temperature divides them for the loss only, since it does
 * not move the best class. Distances are taken from differences, not by expanding the square. No learned parameters. */
#include "heads/head.h"
#include "heads/pool.h"

struct proto {
    double temperature;
    struct pool_settings pool;
};

#define TEMPERATURE \
    OPT_FLOAT_INSIDE(struct proto, temperature, "temperature", 64, 0, 1e12, "divides the distances in the loss")

static const struct option plain_options[] = {TEMPERATURE, POOL_OPTIONS(struct proto, POOL_MEAN), OPT_END};
static const struct option plugged_options[] = {TEMPERATURE, POOL_OPTIONS(struct proto, POOL_MCL_BOTH), OPT_END};

static var *scores_of(tape *t, const struct proto *s, const struct episode *e)
{
    struct pooled p;
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    if (!maps || !pool_features(t, &s->pool, maps, e->query, &p)) return NULL;
    return op_affine(t, pool_compare(t, &p, op_sqdist), -1, 0);
}

static bool proto_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                          struct head_result *out)
{
    const struct proto *s = settings;
    (void)params;
    (void)want;
    if (s->pool.mode == POOL_MEAN && op_class_distance_offered(t, e->support, e->way, e->query))
        out->scores = op_class_distance(t, e->support, e->support_labels, e->way, e->query, -1);
    else out->scores = scores_of(t, s, e);
    if (e->query_labels)
        out->loss = op_cross_entropy(t, op_affine(t, out->scores, 1 / s->temperature, 0), e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

#define PROTO(name_, title_, table) \
    { \
        .name = name_, .title = title_, \
        .paper = "Snell et al., Prototypical Networks for Few-shot Learning, NIPS 2017", .options = table, \
        .settings_bytes = sizeof(struct proto), .pools = true, .forward = proto_forward \
    }

const struct head proto_head = PROTO("proto", "squared distance to the class means (ProtoNet)", plain_options);
const struct head proto_mcl_head = PROTO("proto+mcl", "proto with vectors weighted by centrality", plugged_options);
