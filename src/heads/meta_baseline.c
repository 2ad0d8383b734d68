/* meta-baseline - cosine to the class mean with a learned temperature (Chen et al., ICCV 2021), on a network that was pre-trained as
 * a classifier. The class mean is that of raw pooled shots. */
#include "heads/pool.h"
#include "heads/head.h"

struct meta_baseline {
    struct pool_settings pool;
};

static const struct option options[] = {POOL_OPTIONS(struct meta_baseline, POOL_MEAN), OPT_END};

static size_t dim_one(size_t channels, int axis) { return (void)channels, (void)axis, 1; }
static const struct head_param meta_baseline_params[] = {
    {.name = "head.temperature", .rank = 1, .dim = dim_one, .start = 10}, {.name = NULL}};

static bool meta_baseline_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                                  unsigned want, struct head_result *out)
{
    const struct meta_baseline *s = settings;
    struct pooled p;
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    (void)want;
    if (!maps || !pool_features(t, &s->pool, maps, e->query, &p)) return false;
    var *temperature = head_var(t, params, &meta_baseline_params[0], maps->value.dim[1], maps->value.type);
    out->scores = op_mul(t, pool_compare(t, &p, op_cosine), temperature);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

const struct head meta_baseline_head = {
    .name = "meta-baseline",
    .title = "cosine to the class means with a learned temperature",
    .paper = "Chen et al., Meta-Baseline: Exploring Simple Meta-Learning for Few-Shot Learning, ICCV 2021",
    .options = options,
    .settings_bytes = sizeof(struct meta_baseline),
    .params = meta_baseline_params,
    .pools = true,
    .forward = meta_baseline_forward};
