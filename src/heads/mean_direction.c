/* mean-direction - the inner product of a pooled query with its class's mean, scaled to length 1; the query keeps its length. It
 * validates networks while they are pre-trained with a linear classifier. No learned parameters. */
#include "heads/head.h"
#include "heads/pool.h"

struct mean_direction {
    struct pool_settings pool; /* plain averages: the table has no line for it */
};

static const struct option no_options[] = {OPT_END};

static bool mean_direction_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                                   unsigned want, struct head_result *out)
{
    const struct mean_direction *s = settings;
    struct pooled p;
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    (void)params;
    (void)want;
    if (!maps || !pool_features(t, &s->pool, maps, e->query, &p)) return false;
    out->scores = op_matmul(t, p.query, false, op_l2norm(t, p.classes, 1), true);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

const struct head mean_direction_head = {.name = "mean-direction",
                                         .title = "inner product with the direction of the class mean",
                                         .paper = "the validation of linear pre-training in Liu et al., CVPR 2022",
                                         .options = no_options,
                                         .settings_bytes = sizeof(struct mean_direction),
                                         .forward = mean_direction_forward};
