/* negative-margin - neg-cosine and neg-softmax (Liu et al., ECCV 2020): classifiers fitted to the pooled shots of each episode, by
 * cosines or by inner products, without a bias.
 *
 * The negative margin belongs to the training of the network (train/pretrain.c); the authors fit at test time with scale
 * 5 and no margin, which is the default here. --head.released 1 is the released code of MCL: scale 30 or 10 and a margin of
 * +0.4, which it takes from its classes' defaults, and for neg-softmax a rate of 1.01. */
#include "heads/fit.h"

struct negative {
    struct fitted fitted; /* first, so that its option lines fit */
    int64_t released;
};

#define MARGIN_OPTIONS \
    OPT_FLOAT_INSIDE(struct fitted, fit.scale, "scale", 5, 0, 1e6, "what multiplies the scores"), \
        OPT_FLOAT(struct fitted, fit.margin, "margin", 0, -1e3, 1e3, "taken from the true class during the fit"), \
        OPT_INT(struct negative, released, "released", 0, 0, 1, "1: scale, margin and rate of the released code")

static const struct option plain_options[] = {FIT_OPTIONS, MARGIN_OPTIONS, POOL_QUERY_OPTIONS(struct fitted, POOL_MEAN),
                                              OPT_END};
static const struct option plugged_options[] = {FIT_OPTIONS, MARGIN_OPTIONS,
                                                POOL_QUERY_OPTIONS(struct fitted, POOL_MCL_QUERY), OPT_END};

static bool cosine_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                           struct head_result *out)
{
    const struct negative *s = settings;
    struct fitted f = s->fitted;
    (void)params;
    (void)want;
    if (s->released) {
        f.fit.scale = 30;
        f.fit.margin = 0.4;
    }
    return fitted_forward(t, &f, FIT_COSINE, "neg-cosine", e, out);
}

static bool softmax_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                            unsigned want, struct head_result *out)
{
    const struct negative *s = settings;
    struct fitted f = s->fitted;
    (void)params;
    (void)want;
    if (s->released) {
        f.fit.scale = 10;
        f.fit.margin = 0.4;
        f.fit.rate = 1.01;
    }
    return fitted_forward(t, &f, FIT_MARGIN, "neg-softmax", e, out);
}

#define NEGATIVE(name_, title_, table, forward_) \
    { \
        .name = name_, .title = title_, \
        .paper = "Liu et al., Negative Margin Matters: Understanding Margin in Few-shot Classification, ECCV 2020", \
        .options = table, .settings_bytes = sizeof(struct negative), .pools = true, .fitted = true, \
        .forward = forward_ \
    }

const struct head neg_cosine_head = NEGATIVE("neg-cosine", "cosines with weights fitted to each episode", plain_options,
                                             cosine_forward);
const struct head neg_cosine_mcl_head = NEGATIVE("neg-cosine+mcl", "neg-cosine with the query weighted by centrality",
                                                 plugged_options, cosine_forward);
const struct head neg_softmax_head = NEGATIVE("neg-softmax", "inner products with weights fitted to each episode",
                                              plain_options, softmax_forward);
const struct head neg_softmax_mcl_head = NEGATIVE(
    "neg-softmax+mcl", "neg-softmax with the query weighted by centrality", plugged_options, softmax_forward);
