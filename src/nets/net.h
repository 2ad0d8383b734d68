/* net.h - a network turns pictures [n, 3, H, W] into feature maps [n, C, h, w].
 *
 * Each network is one file and one line in nets.def; settings are an option table, parameters are listed by name (the
 * released names, so that published files load). Inside a network maps are channels-last, [n, h, w, C]: what the convolutions
 * of every device like best; only the two ends are turned. Batch statistics belong to a part of a pass: support and query have
 * each their own, support first (methods 5.6). */
#ifndef NETS_NET_H
#define NETS_NET_H
#include "base/option.h"
#include "base/random.h"
#include "ops/ops.h"

enum net_mode {
    NET_TRAIN,  /* batch statistics, running ones updated; dropout */
    NET_FROZEN, /* running statistics, weights still learn (the released fix_bn) */
    NET_EVAL    /* running statistics */
};

struct net_pass {
    enum net_mode mode;
    struct random random; /* dropout's stream */
    uint64_t calls;       /* forward calls before this one: DropBlock's ramp */
    size_t first; /* training: so many pictures at the beginning, and the others, have each statistics of their own; 0:
                             all have the same */
};

struct net {
    const char *name, *title, *paper;
    const struct option *options;
    size_t settings_bytes;
    size_t least; /* side of the smallest pictures of which a map is left */
    /* Adds all parameters and running statistics of type `type`, with their start values drawn from r; r NULL:
     * without, for parameters that will be loaded. */
    status (*params)(const void *settings, dtype type, struct random *r, struct params *p);
    size_t (*channels)(const void *settings);
    /* Whether training draws random numbers, once a pass; NULL: it does not. */
    bool (*draws)(const void *settings);
    /* x [n, 3, H, W] to [n, C, h, w]; NULL after a failure, which the tape holds. */
    var *(*forward)(tape *t, const void *settings, struct params *p, struct net_pass *pass, var *x);
};
/* conv4, conv4-19, mobilenetv2, resnet12, resnet18, wrn; sorted by name, NULL-terminated. */
extern const struct net *const net_table[];
status net_find(const char *name, const struct net **out); /* ST_USAGE with a "did you mean" */
#endif
