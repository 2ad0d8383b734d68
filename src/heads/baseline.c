/* baseline - a fresh classifier fitted to the pooled shots of every episode (Chen et al., ICLR 2019): linear, or, as baseline++,
 * by cosines with a learned length for each class (their code; their paper has pure cosines, --head.norm 0).
 *
 * There is nothing to train on episodes. The released plug-in of baseline+mcl is never called there, so that it equals
 * baseline; here it weighs the query. */
#include "heads/fit.h"

#define COSINE_OPTIONS \
    OPT_FLOAT_INSIDE(struct fitted, fit.scale, "scale", 2, 0, 1e6, "what multiplies the cosines"), \
        OPT_INT(struct fitted, fit.norm, "norm", 1, 0, 1, "1: classes have learned lengths; 0: cosines alone")

static const struct option plain_options[] = {FIT_OPTIONS, POOL_QUERY_OPTIONS(struct fitted, POOL_MEAN), OPT_END};
static const struct option plugged_options[] = {FIT_OPTIONS, POOL_QUERY_OPTIONS(struct fitted, POOL_MCL_QUERY),
                                                OPT_END};
static const struct option plain_cosine[] = {FIT_OPTIONS, COSINE_OPTIONS, POOL_QUERY_OPTIONS(struct fitted, POOL_MEAN),
                                             OPT_END};
static const struct option plugged_cosine[] = {FIT_OPTIONS, COSINE_OPTIONS,
                                               POOL_QUERY_OPTIONS(struct fitted, POOL_MCL_QUERY), OPT_END};

static bool baseline_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                             unsigned want, struct head_result *out)
{
    (void)params;
    (void)want;
    return fitted_forward(t, settings, FIT_LINEAR, "baseline", e, out);
}

static bool cosine_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                           struct head_result *out)
{
    (void)params;
    (void)want;
    return fitted_forward(t, settings, FIT_NORMED, "baseline++", e, out);
}

#define BASELINE(name_, title_, table, forward_) \
    { \
        .name = name_, .title = title_, .paper = "Chen et al., A Closer Look at Few-shot Classification, ICLR 2019", \
        .options = table, .settings_bytes = sizeof(struct fitted), .pools = true, .fitted = true, .forward = forward_ \
    }

const struct head baseline_head = BASELINE("baseline", "a linear classifier fitted to each episode", plain_options,
                                           baseline_forward);
const struct head baseline_mcl_head = BASELINE("baseline+mcl", "baseline with the query weighted by centrality",
                                               plugged_options, baseline_forward);
const struct head baseline_pp_head = BASELINE("baseline++", "a cosine classifier fitted to each episode", plain_cosine,
                                              cosine_forward);
const struct head baseline_pp_mcl_head = BASELINE("baseline+++mcl", "baseline++ with the query weighted by centrality",
                                                  plugged_cosine, cosine_forward);
