/* featurewise.h - feature-wise transformation (Tseng et al., ICLR 2020): in training each channel of a residual block's norms is
 * stretched and shifted at random, as if the pictures came from another domain.
 *
 * y = gain norm(x) + bias with gain = 1 + e softplus(a), bias = e' softplus(b), e and e' standard normal: one draw for each
 * channel and pass, shared by all pictures. softplus(x) = ln(1 + exp(100 x)) / 100. The paper fixes a = 0.3 and b = 0.5; its
 * second form, which learns them with several source domains, is not what the MCL paper quotes and not here. */
#ifndef NETS_FEATUREWISE_H
#define NETS_FEATUREWISE_H
#include "nets/layers.h"

struct featurewise {
    bool on;
    double gain, bias; /* a and b */
};

/* layer_norm_both with the transformation of both norms. Draws from the pass's stream; in NET_EVAL it is layer_norm_both. */
var *featurewise_norm_both(const struct layer_pass *l, const struct featurewise *f, const char *name, var *x,
                           const char *residual_name, var *residual, const struct layer_after *after);
#endif
