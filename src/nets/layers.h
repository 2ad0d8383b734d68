/* layers.h - what networks are made of: parameters under the released names, and passes through them.
 *
 * A layer is known by its name within the list of parameters: a convolution "layer1.0" has "layer1.0.weight", a batch
 * norm "layer1.1" has weight, bias, running_mean and running_var. The count of batches that published files carry
 * (num_batches_tracked) changes no result and is left out. */
#ifndef NETS_LAYERS_H
#define NETS_LAYERS_H
#include "nets/net.h"

enum { LAYER_NAME = 64 };

/* Start values of a convolution's weights [out, in, k, k]. */
enum layer_start {
    START_XAVIER,  /* uniform, half-width sqrt(6 / (k k (in + out))) (Glorot and Bengio 2010) */
    START_KAIMING, /* normal, deviation sqrt(2 / (out k k)) (He et al. 2015, fan out) */
    START_FAN_IN   /* uniform, half-width 1 / sqrt(in k k) */
};

struct layer_list { /* what the functions that add parameters share */
    struct params *p;
    dtype type;
    struct random *random;
};

status layer_conv_params(struct layer_list *l, const char *name, size_t out, size_t in, size_t k,
                         enum layer_start start);
/* Gain 1, bias 0, running mean 0, running variance 1. */
status layer_norm_params(struct layer_list *l, const char *name, size_t channels);

struct layer_pass { /* what a forward pass shares */
    tape *t;
    struct params *p;
    struct net_pass *pass;
};

/* BORDER_SAME: k / 2 zeros on each side, so that with stride 1 a map keeps its size. */
enum layer_border { BORDER_SAME, BORDER_NONE };
var *layer_conv(const struct layer_pass *l, const char *name, var *x, size_t stride, enum layer_border border);
/* Whether norms are folded into convolutions: inference without records. */
bool layer_folds(const struct layer_pass *l);
/* Early layers have large maps and few weights. In inference a processor leads `few` pictures at a time through them, f(l,
 * settings, some of them), and joins the results; elsewhere, and with no more than that, all at once. The bits are the same. */
typedef var *layer_early(const struct layer_pass *l, const void *settings, var *pictures);
var *layer_in_parts(const struct layer_pass *l, layer_early *f, const void *settings, size_t few, var *pictures);
struct layer_after { /* what a batch norm has, and what follows it */
    double momentum;
    double slope;   /* of the activation below 0 */
    bool pool;      /* to half the size */
    double ceiling; /* of the activation, which is 0 below 0 then; 0: none */
};
var *layer_norm(const struct layer_pass *l, const char *name, var *x, const struct layer_after *after);
/* A convolution, the norm behind it and what follows: one op in inference. */
var *layer_conv_norm(const struct layer_pass *l, const char *conv, const char *norm, var *x, size_t stride,
                     enum layer_border border, const struct layer_after *after);
/* The same with a filter for each channel; not pooled, and no activation but one with a ceiling. */
var *layer_depthwise_norm(const struct layer_pass *l, const char *conv, const char *norm, var *x,
                          const struct depthwise_shape *shape, const struct layer_after *after);
/* A block of layer_conv_norm, layer_depthwise_norm and layer_conv_norm as one op, where layer_folds: each layer's norm is
 * NAME.norm, activations are cut at the ceiling. */
struct layer_bottleneck {
    const char *expand, *depthwise, *project; /* expand: NULL for none */
    struct depthwise_shape shape;
    double ceiling;
    bool residual;
};
var *layer_bottleneck(const struct layer_pass *l, const struct layer_bottleneck *b, var *x);
/* The end of a residual block: norm(x) + norm(residual), then what follows. */
var *layer_norm_both(const struct layer_pass *l, const char *name, var *x, const char *residual_name, var *residual,
                     const struct layer_after *after);

/* The same where the residual is a 1x1 convolution of `from`: one op in inference where that is cheaper. */
struct layer_shortcut {
    const char *conv, *norm;
    var *from;
};
var *layer_norm_shortcut(const struct layer_pass *l, const char *name, var *x, const struct layer_shortcut *side,
                         const struct layer_after *after);

/* Whether pictures are [n, 3, H, W] with sides of at least `least`; else the tape holds a sentence with the net's name. */
bool layer_fits(tape *t, const char *net, size_t least, const var *pictures);
/* [n, 3, H, W] to channels-last, and the result back to [n, C, h, w]. */
var *layer_enter(tape *t, var *pictures);
/* The first of these and a network's first layer_conv_norm, with so many zeros around the pictures: one op in inference where
 * the device reads pictures as they come. */
var *layer_enter_norm(const struct layer_pass *l, const char *conv, const char *norm, var *pictures, size_t stride,
                      const struct pad *border, const struct layer_after *after);
var *layer_leave(tape *t, var *x);
#endif
