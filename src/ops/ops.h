/* ops.h - what can be written on a tape. Shapes stand beside each; every op checks them and fails in words.
 *
 * Axes may be negative, counting from the last. Index and label arguments are i32 tensors on the tape's device, made
 * with tape_upload; their range is checked where they come from the host (ops/labels.c). */
#ifndef OPS_OPS_H
#define OPS_OPS_H
#include "base/random.h"
#include "ops/tape.h"

/* elementwise with numpy broadcasting */
var *op_add(tape *t, var *a, var *b);
var *op_sub(tape *t, var *a, var *b);
var *op_mul(tape *t, var *a, var *b);
var *op_div(tape *t, var *a, var *b);
var *op_exp(tape *t, var *x);
var *op_log(tape *t, var *x);
var *op_sqrt(tape *t, var *x);
var *op_relu(tape *t, var *x);
var *op_affine(tape *t, var *x, double mul, double add); /* mul x + add */

/* sums; `axes` is a bit mask (1 << axis); the summed axes are dropped, or kept with size 1 */
enum keep_axes { DROP_AXES, KEEP_AXES };
var *op_sum(tape *t, var *x, unsigned axes, enum keep_axes keep);
var *op_mean(tape *t, var *x, unsigned axes, enum keep_axes keep);

/* along one axis */
var *op_softmax(tape *t, var *x, int axis);
var *op_log_softmax(tape *t, var *x, int axis);
var *op_l2norm(tape *t, var *x, int axis); /* vectors shorter than 1e-12 become 0 with gradient 0 */
var *op_max(tape *t, var *x, int axis);    /* drops the axis; ties: lowest index */
var *op_top_k(tape *t, var *x, int axis, size_t k, var **index);

/* layout */
var *op_reshape(tape *t, var *x, int rank, const size_t *dim); /* no copy */
var *op_permute(tape *t, var *x, const int *order);
var *op_channels_last(tape *t, var *x);  /* f32 [n, c, h, w] to bf16 maps [n, h, w, c] */
var *op_channels_first(tape *t, var *x); /* and back */
var *op_concat(tape *t, size_t count, var *const *x, int axis);
var *op_slice(tape *t, var *x, int axis, size_t from, size_t to);
var *op_gather(tape *t, var *x, int axis, const tensor *index); /* index: i32 [k], any order, repeats allowed */

/* matrices: [m, k] or [batch, m, k]; a missing or unit batch stretches */
var *op_matmul(tape *t, var *a, bool ta, var *b, bool tb);
var *op_linear(tape *t, var *x, var *weight, var *bias); /* [n, in] [out, in] [out] or NULL to [n, out] */
var *op_cosine(tape *t, var *a, var *b);                 /* all pairs: [(b,) m, k] [(b,) n, k] to [(b,) m, n] */
var *op_sqdist(tape *t, var *a, var *b);                 /* the same with squared distance */
var *op_solve(tape *t, var *a, var *b);                  /* a x = b by LU: [(b,) n, n] [(b,) n, k] */
var *op_cholesky_solve(tape *t, var *a, var *b);         /* a symmetric positive definite */
var *op_qr(tape *t, var *a, var **r);                    /* thin: returns q [(b,) m, n], *r [(b,) n, n]; m >= n */

/* Optimal transport, `b` times `g` problems side by side: cost [b, m, g, n], supply [b, g, m], demand [b, g, n], whose sums
 * agree, to the least cost [b, g]. */
var *op_transport(tape *t, var *cost, var *supply, var *demand);
/* Small problems of one episode, solved on the host in double. Rows are sorted by class: class c has the rows first[c] up
 * to first[c + 1]. */
/* x [rows, C] to [way, d, C]: an orthonormal basis of the first K - 1 directions of each class, zero rows behind it. Only
 * functions of the spans may be differentiated. */
var *op_subspace(tape *t, var *x, const size_t *first, size_t way);
struct svm {
    double c, ridge;    /* bound of the dual variables; what is added to the kernel's diagonal */
    int64_t iterations; /* of the interior point; 0: until it has converged */
};
/* The dual variables [rows, way] of a Crammer-Singer machine on x [rows, C], with the kernel x x^T. */
var *op_svm(tape *t, var *x, const size_t *first, size_t way, const struct svm *s);

/* classes and losses; labels: i32 [n], 0 <= label < way */
var *op_class_mean(tape *t, var *x, const tensor *labels,
                   size_t way);                                    /* [n, ...] to [way, ...]; each class has a row */
var *op_cross_entropy(tape *t, var *logits, const tensor *labels); /* [n, way] to a scalar, mean */
var *op_nll(tape *t, var *log_prob, const tensor *labels);         /* the same from log probabilities */

/* Heads in one call, where the device offers that and nobody wants a gradient. Each is asked first whether it is offered; where
 * not, a head goes through the ops above. Maps are [pictures, C, locations]; groups are equally many support pictures, one
 * group behind the other. Results are multiplied by `scale`. What each is: tensor/prims.h. */
bool op_class_distance_offered(const tape *t, const var *support, size_t way, const var *query);
var *op_class_distance(tape *t, var *support, const tensor *labels, size_t way, var *query, double scale);
bool op_nearest_offered(const tape *t, const var *support, const var *query, size_t k);
var *op_nearest(tape *t, var *support, size_t groups, var *query, size_t k, double scale);
struct reconstruct {
    size_t groups;
    double share, ridge, scale;
};
bool op_reconstruct_offered(const tape *t, const var *support, const var *query, size_t groups);
/* r [2] and factor [1] are parameters. */
var *op_reconstruct(tape *t, var *support, var *query, var *r, var *factor, const struct reconstruct *s);

/* Rows of an input on which something is computed one by one, in chunks that bound the memory. */
struct chunks {
    size_t rows;    /* at most, of one chunk: see chunks_rows */
    size_t columns; /* of the result */
    /* From `rows` rows of `each`, the first of which is number `first`, to [rows, columns]. May run more than once for the
     * same rows, on a tape of its own. */
    var *(*body)(tape *t, const void *context, var *const *shared, var *each, size_t first);
    const void *context; /* must live until the tape is reset */
};
/* [n, columns] from each [n, ...] and up to 7 inputs that all rows share. Where one chunk is enough, the body runs on the tape
 * itself. */
var *op_chunks(tape *t, const struct chunks *c, int count, var *const *shared, var *each);
/* How many rows of a chunk keep memory small when one row needs that many numbers. */
size_t chunks_rows(const tape *t, dtype type, size_t numbers);

/* feature maps */
var *op_adaptive_pool(tape *t, var *x, size_t height, size_t width); /* [n, c, h, w], average */

/* networks: maps are channels-last, [n, h, w, c] */
var *op_conv2d(tape *t, var *x, var *weight, size_t stride, size_t pad); /* weight [out, c, kh, kw]; zero border */
struct batch_norm {
    struct param *gain, *bias;     /* [c] */
    struct param *mean, *variance; /* [c] running statistics: buffers */
    double momentum, epsilon;      /* momentum: the share of the new batch in the running statistics */
};
/* batch_statistics: normalises by this batch, and updates the running statistics; else normalises by those. */
var *op_batch_norm(tape *t, var *x, const struct batch_norm *bn, bool batch_statistics);
/* Batch norm and what may follow it in one pass: act(norm(x) + norm(residual)), then the largest of each 2x2 square as in
 * op_max_pool2. Without a residual, residual_bn is NULL. */
struct norm_act {
    double slope; /* of the activation below 0, where its derivative is taken too; 0: relu, 1: none; not negative */
    bool pool, batch_statistics;
    size_t
        first; /* statistics of a batch: so many pictures at its beginning, and the others, have each their own; 0: all the same */
};
var *op_norm_act_pool(tape *t, var *x, const struct batch_norm *bn, var *residual, const struct batch_norm *residual_bn,
                      const struct norm_act *how);
/* A first layer in training: op_conv2d of pictures [n, h, w, 3] by weights [out, 3, 3, 3] with stride 1, then op_norm_act_pool
 * with pooling and the statistics of the batch. What stands between the two is never stored. Offered where the device can do
 * so and pictures are constants. */
bool op_rgb_norm_offered(const tape *t, const var *x, const tensor *weight);
var *op_rgb_norm(tape *t, var *x, var *weight, const struct batch_norm *bn, size_t pad, double slope);
/* On inference tapes, maps in bf16: the pooled end of a block whose residual is the 1x1 convolution of pictures by w, with
 * running statistics. The residual is made where it is added and never stored. */
var *op_norm_thin(tape *t, var *x, const struct batch_norm *bn, var *pictures, var *w,
                  const struct batch_norm *residual_bn, double slope);
/* On inference tapes: a convolution, batch norm with running statistics, activation and 2x2 pooling as one. */
struct conv_norm {
    size_t stride, pad;
    double slope; /* of the activation below 0, not negative */
    bool pool;
    double ceiling; /* of the activation; 0: none */
};
var *op_conv2d_norm(tape *t, var *x, var *weight, const struct batch_norm *bn, const struct conv_norm *how);
/* So many zeros around maps. */
struct pad {
    size_t top, left, bottom, right;
};
/* The same of pictures [n, c, h, w] as they come, framed by their own border instead of `pad`, which is 0. Offered where the
 * device reads them so. */
bool op_enter_norm_offered(const tape *t, const var *pictures);
var *op_enter_norm(tape *t, var *pictures, var *weight, const struct batch_norm *bn, const struct pad *border,
                   const struct conv_norm *how);
/* Each channel by a filter of its own: weight [c, 1, kh, kw]. */
var *op_depthwise(tape *t, var *x, var *weight, const struct depthwise_shape *s);
/* On inference tapes: the same, batch norm with running statistics and, unless the ceiling is 0, min(max(z, 0), ceiling). */
var *op_depthwise_norm(tape *t, var *x, var *weight, const struct batch_norm *bn, const struct depthwise_shape *s,
                       double ceiling);
/* On inference tapes: a 1x1 convolution, a depthwise one and a 1x1 one, each with a norm with running statistics, the first two
 * with min(max(z, 0), ceiling); then x is added where `residual` says so. Without a first weight the map is not widened. */
struct bottleneck {
    struct bottleneck_layer {
        var *weight;
        struct batch_norm norm;
    } expand, depthwise, project;
    struct depthwise_shape shape;
    double ceiling;
    bool residual;
};
var *op_bottleneck(tape *t, var *x, const struct bottleneck *b);
var *op_clip(tape *t, var *x, double low,
             double high); /* any shape; the derivative is 1 strictly between them, else 0 */
var *op_max_pool(tape *t, var *x, const struct pool_shape *s); /* among equals the gradient goes to the first */
/* Around maps whose last two axes are height and width. */
var *op_pad(tape *t, var *x, const struct pad *p);
var *op_leaky_relu(tape *t, var *x, double slope); /* any shape; the derivative at 0 is the slope */
var *op_max_pool2(tape *t, var *x);                /* 2x2, stride 2; an odd last row or column is dropped */
/* Each element survives with 1 - rate and is then divided by that. */
var *op_dropout(tape *t, var *x, double rate, struct random *r);
/* DropBlock (Ghiasi et al. 2018): each position of a square of `block` is, with seed_rate, the corner of an erased one;
 * what survives is scaled so that the sum over the batch stays the same on average. */
var *op_drop_block(tape *t, var *x, double seed_rate, size_t block, struct random *r);
/* The same with given corners: seeds [n, h - block + 1, w - block + 1, c] on the host, not 0: a corner. */
var *op_drop_block_at(tape *t, var *x, const unsigned char *seeds, size_t block);

/* the mutual walk; proto [way, C, rs], query [nq, C, rq] */
struct walk {
    double gamma, beta, alpha;
    enum walk_solver solver;
};
struct walk_vars {
    var *prob, *log_prob;       /* [nq, way] */
    var *pi_support, *pi_query; /* [nq, way*rs], [nq, rq] */
};
/* Every output is computed on demand: `want` is a mask of WALK_* below. False after a failure. A gradient through
 * log_prob treats masses below 1e-30 as that; walk_nll has no such limit. */
enum { WALK_PROB = 1, WALK_LOG_PROB = 2, WALK_PI_SUPPORT = 4, WALK_PI_QUERY = 8 };
bool op_walk(tape *t, var *proto, var *query, const struct walk *w, unsigned want, struct walk_vars *out);
/* Mean negative log likelihood, its derivative made in the same sweep. Outputs of `out` are values only. */
var *op_walk_nll(tape *t, var *proto, var *query, const tensor *labels, const struct walk *w, unsigned want,
                 struct walk_vars *out);

/* Host labels checked (0 <= label < way) and uploaded; NULL after a failure. */
const tensor *op_labels(tape *t, const int32_t *labels, size_t n, size_t way);
#endif
