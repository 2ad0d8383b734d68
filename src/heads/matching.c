/* matching - matching networks without full context embeddings (Vinyals et al., NIPS 2016): attention over the shots by
 * cosine.
 *
 * With z = temperature * cos(query, shot), the logit of a class is ln(mean over its shots of exp z); scores are logits
 * divided by the temperature, so that with one shot a score is a cosine. The variant `proto` takes the cosine to the
 * class's mean instead, as the released code of MCL does, and so does every class whose vector depends on the query
 * (pool mcl-support, mcl-both). No learned parameters. */
#include "heads/pool.h"
#include "heads/shots.h"
#include <math.h>

enum { BY_SHOTS, BY_PROTO };
static const char *const variant_names[] = {"shots", "proto", NULL};

struct matching {
    double temperature;
    int variant;
    struct pool_settings pool;
};

#define TEMPERATURE \
    OPT_FLOAT_INSIDE(struct matching, temperature, "temperature", 32, 0, 1e6, "multiplies the cosines in the loss")
#define VARIANT \
    OPT_NAME(struct matching, variant, "variant", BY_SHOTS, variant_names, \
             "attention over all shots, or cosine to the class mean")

static const struct option plain_options[] = {TEMPERATURE, VARIANT, POOL_OPTIONS(struct matching, POOL_MEAN), OPT_END};
static const struct option plugged_options[] = {TEMPERATURE, VARIANT, POOL_OPTIONS(struct matching, POOL_MCL_BOTH),
                                                OPT_END};

/* ln(mean exp z) over the columns of z [nq, k], taken from the largest on, which may be a constant: its gradient is 0. */
static var *log_mean_exp(tape *t, var *z)
{
    if (!z) return NULL;
    const size_t nq = z->value.dim[0], k = z->value.dim[1];
    var *top = op_max(t, z, 1);
    top = op_reshape(t, top ? tape_constant(t, &top->value) : NULL, 2, (size_t[]){nq, 1});
    var *sum = op_sum(t, op_exp(t, op_sub(t, z, top)), 1u << 1, KEEP_AXES);
    return op_affine(t, op_add(t, op_log(t, sum), top), 1, -log((double)k));
}

static var *attend(tape *t, const struct matching *s, const struct episode *e, var *query)
{
    struct shots shots;
    void *host;
    if (!shots_sort(t, e, &shots)) return NULL;
    const status st = tape_host(t, e->way * sizeof(var *), &host);
    if (st != OK) return tape_fail(t, st);
    var **each = host;
    var *vectors = op_mean(t, shots.support, 1u << 2, DROP_AXES);
    var *z = op_affine(t, op_cosine(t, query, vectors), s->temperature, 0); /* [nq, ns] */
    for (size_t c = 0; c < e->way; c++)
        each[c] = log_mean_exp(t, op_slice(t, z, 1, shots.first[c], shots.first[c + 1]));
    return op_affine(t, op_concat(t, e->way, each, 1), 1 / s->temperature, 0);
}

static bool matching_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                             unsigned want, struct head_result *out)
{
    const struct matching *s = settings;
    struct pooled p;
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    (void)params;
    (void)want;
    if (!maps || !pool_features(t, &s->pool, maps, e->query, &p)) return false;
    if (s->variant == BY_PROTO || p.class_weights) out->scores = pool_compare(t, &p, op_cosine);
    else out->scores = attend(t, s, e, p.query);
    if (e->query_labels) out->loss = op_cross_entropy(t, op_affine(t, out->scores, s->temperature, 0), e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

#define MATCHING(name_, title_, table) \
    { \
        .name = name_, .title = title_, .paper = "Vinyals et al., Matching Networks for One Shot Learning, NIPS 2016", \
        .options = table, .settings_bytes = sizeof(struct matching), .pools = true, .forward = matching_forward \
    }

const struct head matching_head = MATCHING("matching", "attention over the shots by cosine (MatchingNet)",
                                           plain_options);
const struct head matching_mcl_head = MATCHING("matching+mcl", "matching with vectors weighted by centrality",
                                               plugged_options);
