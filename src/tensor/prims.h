/* prims.h - the table of primitives, made from prims.def, and the argument structs that some of them take. */
#ifndef TENSOR_PRIMS_H
#define TENSOR_PRIMS_H
#include "tensor/tensor.h"

struct device;

enum binary_kind { BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_DIV };
enum unary_kind { UNARY_EXP, UNARY_LOG, UNARY_SQRT, UNARY_RELU };

/* A tensor seen as [outer, n, inner], for work along one axis. */
struct axis {
    size_t outer, n, inner;
};

struct conv_shape {
    size_t stride, pad; /* both axes alike; the border is zeros */
};

/* Weights in the form in which their device multiplies them, for those that do not change any more. Who holds one gives
 * its memory back with the device's release. For maps in bf16 the caller may bring memory of its own, for as many bf16
 * numbers as the weights have with their inputs rounded up to a multiple of 8: so a training step keeps the form that its
 * forward pass made until it has gone back. */
struct conv_ready {
    bool made;    /* conv2d_prepare was asked */
    int form;     /* the device's own: which maps it serves; for others the weights themselves are used */
    void *memory; /* NULL: the device has no such form */
};

/* Maps [n, h, w, c] by filters [c, 1, kh, kw], with rows and columns of zeros around the map: not as many on each side where
 * files of another framework want that. */
struct depthwise_shape {
    size_t stride, top, left, bottom, right;
};

/* y = min(max(z, 0), ceiling) with z = depthwise * scale + shift; ceiling 0: y = z. */
struct depthwise_args {
    const tensor *x, *w;
    const struct conv_ready *ready; /* of w, or NULL: the result is the same */
    struct depthwise_shape shape;
    const tensor *scale, *shift; /* [c]; NULL: the convolution alone */
    double ceiling;
};

/* A block of MobileNetV2 in one: a 1x1 convolution that widens the map, cut at the ceiling; a depthwise one, cut likewise; a
 * 1x1 convolution that narrows it; and x added. Each with scale and shift of its channels. */
struct bottleneck_args {
    const tensor *x;
    struct bottleneck_part {
        const tensor *w;                /* of the first: NULL where the map is not widened */
        const struct conv_ready *ready; /* of w, or NULL: the result is the same */
        const tensor *scale, *shift;
    } expand, depthwise, project;
    struct depthwise_shape shape;
    double ceiling; /* above 0 */
    bool residual;  /* y has x's shape, and x is added */
};

/* Squares of size x size, stride apart; pad places around the map belong to none of its numbers, fewer than size. */
struct pool_shape {
    size_t size, stride, pad;
};

/* y = leaky_relu(conv2d * scale + shift), not above the ceiling; with `pool` the largest of each 2 x 2 square of that, as in
 * max_pool2. */
struct conv_affine_args {
    const tensor *x, *w;
    const struct conv_ready *ready; /* of w, or NULL: the result is the same */
    struct conv_shape shape;
    const tensor *scale, *shift; /* [out]; NULL, without pooling: the convolution alone */
    double slope;                /* 1: no activation; not negative */
    double ceiling;              /* 0: none */
    bool pool;
};

/* The same of pictures [n, c, h, w] as they come, with so many zeros around them; `ready` is for maps of that size. */
struct conv_enter_args {
    struct conv_affine_args conv; /* x: the pictures; shape.pad: 0 */
    size_t top, left, bottom, right;
};

/* Batch norm of x [..., c], plus that of a residual of the same shape, then an activation (u above 0, else slope u; 1:
 * none; not negative), then with `pool` the largest of each 2 x 2 square of [n, h, w, c] as in max_pool2. */
struct norm_act_args {
    struct norm_input {
        const tensor *x; /* of the second: NULL without a residual */
        const tensor *w; /* NULL, or of the second, with pooling, in bf16 alone: [c, 3, 1, 1], the residual is x by w */
        const tensor *mean, *variance, *gain, *bias;
        double epsilon;
    } of[2];
    double slope;
    bool pool;
};
struct norm_act_grads { /* each may be NULL */
    struct {
        tensor *x;
        bool add;            /* to x's; else it is overwritten whole */
        tensor *gain, *bias; /* added to */
    } of[2];
};

/* A first layer in training: pictures by 3x3 filters of stride 1, batch norm by the batch's own statistics, activation as
 * above, the largest of each 2 x 2 square. `moments`, of f64, are sums over all places of a filter: of the products of the 27
 * numbers under it, and in the last row of the numbers; they stand by row and column of the filter, then colour. */
enum { RGB_PATCH = 27 };
struct rgb_norm_args {
    const tensor *x, *w; /* [n, h, w, 3], [out, 3, 3, 3] */
    size_t pad;
    const tensor *moments;                /* [RGB_PATCH + 1, RGB_PATCH] */
    const tensor *mean, *variance, *gain; /* [out] */
    const tensor *scaled, *shift;         /* what the way forward took: w times the norm's scale; its shift [out] */
    double epsilon, slope;
};
struct rgb_norm_grads { /* each may be NULL; added to */
    tensor *w, *gain, *bias;
};

/* The mutual walk between one query's features and all support features (methods: docs/mcl.md). Inputs are raw
 * features; every output may be NULL. `gradient` asks for the derivative in the same sweep. */
enum walk_solver { WALK_AUTO, WALK_FULL, WALK_BLOCK, WALK_REDUCED, WALK_DEFLATED, WALK_QR, WALK_PINV, WALK_ITERATE };

struct walk_args {
    /* the episode */
    const tensor *proto; /* [way, C, rs] class maps, already averaged over shots */
    const tensor *query; /* [nq, C, rq] */
    double gamma, beta;  /* inverse temperatures query -> support and support -> query */
    double alpha;        /* in [0, 1]: 0 is the unidirectional limit, 1 the stationary distribution */
    enum walk_solver solver;
    /* results, each NULL or a tensor of the shape given */
    tensor *prob;       /* [nq, way] class masses */
    tensor *log_prob;   /* [nq, way] their logarithms, right also where prob underflows */
    tensor *pi_support; /* [nq, way*rs] */
    tensor *pi_query;   /* [nq, rq] */
    /* the derivative: of the mean negative log likelihood of `labels`, or of given cotangents; never both */
    const tensor *labels;       /* i32 [nq], class index of each query, or NULL */
    const tensor *d_prob;       /* [nq, way] or NULL */
    const tensor *d_log_prob;   /* [nq, way] or NULL */
    const tensor *d_pi_support; /* [nq, way*rs] or NULL */
    const tensor *d_pi_query;   /* [nq, rq] or NULL */
    tensor *loss;               /* scalar, with labels */
    tensor *d_proto, *d_query;  /* overwritten, not added to; NULL: no derivative */
};

/* Problems of optimal transport side by side: of each of `b` groups of rows to each of `g` groups of columns. Weights are
 * not negative and not all 0; demand is scaled to the sum of its supply. Exact up to rounding. */
struct transport_args {
    const tensor *cost;   /* [b, m, g, n] */
    const tensor *supply; /* [b, g, m] */
    const tensor *demand; /* [b, g, n] */
    tensor *value;        /* [b, g] the least sum of flow * cost */
    tensor *flow;         /* as cost, or NULL */
    tensor *supply_price,
        *demand_price; /* as supply and demand, or NULL: what one unit more would cost; only sums of the
                                          * two, one of each, have a meaning */
};

/* Heads in one call. Maps are [pictures, C, locations]; `scale` multiplies the result. None of these is asked for more than
 * its bounds allow, nor for an empty map. */
enum { CLASS_DISTANCE_WAY = 256, NEAREST_K = 8, RECONSTRUCT_ROWS = 128 };

/* y [nq, way]: the squared distance of a query's mean over its locations to the mean of those of a class's pictures. */
struct class_distance_args {
    const tensor *support, *labels; /* labels: i32 [ns]; each of up to CLASS_DISTANCE_WAY classes has a picture */
    const tensor *query;
    double scale;
};

/* y [nq, groups]: the sum over a query's locations of the k largest cosines with the features of a group. Groups are equally
 * many pictures, one group behind the other; a feature shorter than 1e-12 has cosine 0. */
struct nearest_args {
    const tensor *support, *query;
    size_t groups, k; /* k: up to NEAREST_K, and no more than a group has features */
    double scale;
};

/* y [nq, groups]: the sum over a query's locations of the squared error |rho q Hat - q|^2 of ridge regression on the features
 * of a group (heads/frn.c), which are up to RECONSTRUCT_ROWS and no more than C; groups as in nearest_args. */
struct reconstruct_args {
    const tensor *support, *query;
    size_t groups;
    const tensor *r; /* [2]: lambda = share exp(r0) + ridge, rho = exp(r1) */
    double share, ridge;
    const tensor *factor; /* [1]: multiplies the result, beside scale */
    double scale;
};

/* Pictures that lie on the device as bytes, [height, width, 3], and what a network is shown of them. */
struct picture_item {
    const uint8_t *rgb;     /* memory of the device */
    uint32_t width, height; /* of the picture */
    int32_t left, top;      /* of the part that is shown; pictures_crop: it may reach beyond the edges */
    uint32_t part_width, part_height;
    float factor[3];  /* of brightness, contrast, saturation */
    uint8_t order[4]; /* in which they are changed: their numbers, and 3 for nothing */
    uint32_t flip;    /* 1: left and right change places, at the end */
};
struct pictures_args {
    const void *items;     /* struct picture_item, memory of the device: one for each picture of y */
    float mean[3], std[3]; /* y = (byte / 255 - mean) / std, in float */
    size_t longest;        /* no part is wider or taller */
    bool channels_last;    /* y is [n, side, side, 3]; else [n, 3, side, side] */
};

/* What training has shown since it was last zero; memory of the device. */
struct tallied {
    double loss;           /* the sum of loss * weight */
    uint64_t right, broke; /* rows told right; 1 + the first step whose loss was not finite, 0: none */
};

/* One parameter that an optimiser changes. */
struct learned {
    const tensor *grad;
    tensor *state
        [2]; /* SGD: the momentum, which may be NULL when its factor is 0; Adam: m and v, 0 before the first step */
    tensor *value;
};

struct
    sgd_args { /* g = grad + decay value; v = momentum v + (1 - dampening) g; value -= rate v, or rate (g + momentum v) */
    double rate, momentum, dampening, decay;
    bool nesterov;
    bool first; /* v = g: the momentum tensor is not read, nor dampened */
};

struct adam_args { /* decay is added to the gradient, before the moments */
    double rate, beta1, beta2, epsilon, decay;
    double correction1, correction2; /* 1 - beta1^t and 1 - beta2^t at step t = 1, 2, ... */
};

struct prims {
#define PRIM(name, params) status(*name) params;
#define PRIM_MAY PRIM
#include "tensor/prims.def"
#undef PRIM_MAY
#undef PRIM
};
#endif
