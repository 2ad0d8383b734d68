/* gradient.c - the backward function of every op against differences.
 *
 * The table op_table is walked, so an op without a case fails. Inputs are random; a case whose function has kinks
 * gets numbers on a shuffled grid, far from ties and from zero. */
#include "tests/ops/world.h"
#include "tests/test.h"

enum { MOST = 128, INPUTS = 3, DIRECTIONS = 3 };

struct grad_case {
    const char *op, *what;
    struct {
        int rank;
        size_t dim[4];
    } in[INPUTS]; /* rank 0: no such input */
    double low, high;
    bool grid;
    var *(*build)(struct world *w, var **in);
};

static var *g_add(struct world *w, var **in) { return op_add(w->t, in[0], in[1]); }
static var *g_sub(struct world *w, var **in) { return op_sub(w->t, in[0], in[1]); }
static var *g_mul(struct world *w, var **in) { return op_mul(w->t, in[0], in[1]); }
static var *g_div(struct world *w, var **in) { return op_div(w->t, in[0], in[1]); }
static var *g_exp(struct world *w, var **in) { return op_exp(w->t, in[0]); }
static var *g_log(struct world *w, var **in) { return op_log(w->t, in[0]); }
static var *g_sqrt(struct world *w, var **in) { return op_sqrt(w->t, in[0]); }
static var *g_relu(struct world *w, var **in) { return op_relu(w->t, in[0]); }
static var *g_affine(struct world *w, var **in) { return op_affine(w->t, in[0], -1.5, 0.25); }
static var *g_sum(struct world *w, var **in) { return op_sum(w->t, in[0], 5, KEEP_AXES); }
static var *g_mean(struct world *w, var **in) { return op_mean(w->t, in[0], 2, DROP_AXES); }
static var *g_softmax(struct world *w, var **in) { return op_softmax(w->t, in[0], 1); }
static var *g_softmax_last(struct world *w, var **in) { return op_softmax(w->t, in[0], -1); }
static var *g_log_softmax(struct world *w, var **in) { return op_log_softmax(w->t, in[0], 1); }
static var *g_log_softmax_last(struct world *w, var **in) { return op_log_softmax(w->t, in[0], -1); }
static var *g_l2norm(struct world *w, var **in) { return op_l2norm(w->t, in[0], 1); }
static var *g_l2norm_last(struct world *w, var **in) { return op_l2norm(w->t, in[0], -1); }
static var *g_top_k(struct world *w, var **in) { return op_top_k(w->t, in[0], 1, 2, NULL); }
static var *g_max(struct world *w, var **in) { return op_max(w->t, in[0], -1); }
static var *g_permute(struct world *w, var **in) { return op_permute(w->t, in[0], (int[]){2, 0, 1}); }
static var *g_slice(struct world *w, var **in) { return op_slice(w->t, in[0], 1, 1, 3); }
static var *g_nn(struct world *w, var **in) { return op_matmul(w->t, in[0], false, in[1], false); }
static var *g_nt(struct world *w, var **in) { return op_matmul(w->t, in[0], false, in[1], true); }
static var *g_tn(struct world *w, var **in) { return op_matmul(w->t, in[0], true, in[1], false); }
static var *g_tt(struct world *w, var **in) { return op_matmul(w->t, in[0], true, in[1], true); }
static var *g_linear(struct world *w, var **in) { return op_linear(w->t, in[0], in[1], in[2]); }
static var *g_cosine(struct world *w, var **in) { return op_cosine(w->t, in[0], in[1]); }
static var *g_sqdist(struct world *w, var **in) { return op_sqdist(w->t, in[0], in[1]); }
static var *g_pool(struct world *w, var **in) { return op_adaptive_pool(w->t, in[0], 2, 3); }

static var *g_concat(struct world *w, var **in) { return op_concat(w->t, 3, (var *[]){in[0], in[1], in[0]}, -2); }

/* the input serves twice, so that reshape also adds to a gradient that is there already */
static var *g_reshape(struct world *w, var **in)
{
    var *y = op_reshape(w->t, in[0], DIMS(4, 6));
    return y ? op_mul(w->t, y, op_reshape(w->t, op_exp(w->t, in[0]), DIMS(4, 6))) : NULL;
}

static var *g_gather(struct world *w, var **in)
{
    return op_gather(w->t, in[0], 1, world_index(w, 5, (int32_t[]){2, 0, 2, 2, 1}));
}

/* a + 4 on the diagonal, so that the system is well conditioned */
static var *steady(struct world *w, var *a)
{
    return op_add(w->t, a, world_constant(w, DIMS(3, 3), NUMBERS(4, 0, 0, 0, 4, 0, 0, 0, 4)));
}

static var *g_solve(struct world *w, var **in) { return op_solve(w->t, steady(w, in[0]), in[1]); }

/* through a^T a + 4, because the gradient is that of a symmetric matrix */
static var *g_cholesky_solve(struct world *w, var **in)
{
    return op_cholesky_solve(w->t, steady(w, op_matmul(w->t, in[0], true, in[0], false)), in[1]);
}

static var *g_qr(struct world *w, var **in)
{
    var *r = NULL, *q = op_qr(w->t, in[0], &r);
    return op_concat(w->t, 2, (var *[]){q, r}, -2);
}

/* rows [n, 4] with a shared matrix [3, 4], and the number of the row */
static var *chunk_body(tape *t, const void *context, var *const *shared, var *each, size_t first)
{
    const double *factor = context;
    var *y = op_matmul(t, op_exp(t, each), false, shared[0], true);
    return op_affine(t, y, factor[first / 2], 0);
}

static var *g_chunks(struct world *w, var **in)
{
    static const double factor[] = {1, -2, 3};
    const struct chunks c = {.rows = 2, .columns = 3, .body = chunk_body, .context = factor};
    return op_chunks(w->t, &c, 1, &in[1], in[0]);
}

static var *g_class_mean(struct world *w, var **in)
{
    return op_class_mean(w->t, in[0], op_labels(w->t, (int32_t[]){1, 0, 2, 1, 1}, 5, 3), 3);
}

static var *g_cross_entropy(struct world *w, var **in)
{
    return op_cross_entropy(w->t, in[0], op_labels(w->t, (int32_t[]){1, 0, 2, 1, 1}, 5, 3));
}

static var *g_nll(struct world *w, var **in)
{
    return op_nll(w->t, in[0], op_labels(w->t, (int32_t[]){1, 0, 2, 1, 1}, 5, 3));
}

static var *g_conv(struct world *w, var **in) { return op_conv2d(w->t, in[0], in[1], 1, 1); }
static var *g_depthwise(struct world *w, var **in)
{
    return op_depthwise(w->t, in[0], in[1], &(struct depthwise_shape){1, 1, 1, 1, 1});
}
static var *g_depthwise_uneven(struct world *w, var **in)
{
    return op_depthwise(w->t, in[0], in[1], &(struct depthwise_shape){2, 0, 1, 1, 0});
}
static var *g_clip(struct world *w, var **in) { return op_clip(w->t, in[0], -1, 1.2); }
static var *g_max_pool(struct world *w, var **in) { return op_max_pool(w->t, in[0], &(struct pool_shape){3, 2, 1}); }
static var *g_pad(struct world *w, var **in) { return op_pad(w->t, in[0], &(struct pad){1, 0, 2, 3}); }
static var *g_conv_stride(struct world *w, var **in) { return op_conv2d(w->t, in[0], in[1], 2, 0); }
static var *g_leaky_relu(struct world *w, var **in) { return op_leaky_relu(w->t, in[0], 0.2); }
static var *g_max_pool2(struct world *w, var **in) { return op_max_pool2(w->t, in[0]); }

/* A leaf as a parameter that shares its value and its gradient, which therefore counts as written. */
static struct param as_param(struct world *w, var *leaf)
{
    struct param p = {.name = "leaf", .value = leaf->value, .grad = leaf->value, .trained = leaf->needs_grad};
    if (!leaf->grad.data) return p;
    EXPECT_OK(w->dev->zero(w->dev, leaf->grad.data, tensor_bytes(&leaf->grad)));
    leaf->grad_is_written = true;
    p.grad = leaf->grad;
    return p;
}

static var *batch_norm(struct world *w, var **in, bool batch)
{
    var *mean = world_constant(w, DIMS(3), NUMBERS(0.25, 0, -0.5));
    var *variance = world_constant(w, DIMS(3), NUMBERS(0.5, 1, 2));
    struct param gain = as_param(w, in[1]), bias = as_param(w, in[2]);
    struct param m = {.name = "mean", .value = mean->value}, v = {.name = "variance", .value = variance->value};
    return op_batch_norm(w->t, in[0], &(struct batch_norm){&gain, &bias, &m, &v, 0.1, 1e-5}, batch);
}

static var *g_batch(struct world *w, var **in) { return batch_norm(w, in, true); }
static var *g_running(struct world *w, var **in) { return batch_norm(w, in, false); }

/* The residual shares gain and bias, so that all six inputs of the op have a gradient here. */
static var *norm_act(struct world *w, var **in, bool residual, struct norm_act how)
{
    var *mean = world_constant(w, DIMS(3), NUMBERS(0.25, 0, -0.5));
    var *variance = world_constant(w, DIMS(3), NUMBERS(0.5, 1, 2));
    struct param gain = as_param(w, in[1]), bias = as_param(w, in[2]);
    struct param m = {.name = "mean", .value = mean->value}, v = {.name = "variance", .value = variance->value};
    const struct batch_norm bn = {&gain, &bias, &m, &v, 0.1, 1e-5}, other = {&gain, &bias, &m, &v, 0, 1e-3};
    return op_norm_act_pool(w->t, in[0], &bn, residual ? op_exp(w->t, in[0]) : NULL, residual ? &other : NULL, &how);
}

static var *g_norm_act(struct world *w, var **in)
{
    return norm_act(w, in, false, (struct norm_act){.slope = 0.2, .batch_statistics = true});
}
static var *g_norm_relu(struct world *w, var **in) { return norm_act(w, in, false, (struct norm_act){0}); }
static var *g_norm_pool(struct world *w, var **in)
{
    return norm_act(w, in, false, (struct norm_act){.slope = 0.2, .pool = true, .batch_statistics = true});
}
static var *g_norm_add(struct world *w, var **in)
{
    return norm_act(w, in, true, (struct norm_act){.slope = 1, .batch_statistics = true});
}
static var *g_norm_parts(struct world *w, var **in)
{
    return norm_act(w, in, true, (struct norm_act){.slope = 0.1, .pool = true, .batch_statistics = true, .first = 1});
}
static var *g_norm_add_pool(struct world *w, var **in)
{
    return norm_act(w, in, true, (struct norm_act){.slope = 0.1, .pool = true, .batch_statistics = true});
}

/* Two pictures of 5 x 6: squares leave a row out. */
static var *g_rgb_norm(struct world *w, var **in)
{
    double x[2 * 5 * 6 * 3];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (double)(i * 37 % 41) / 20 - 1;
    var *pictures = world_constant(w, DIMS(2, 5, 6, 3), x), *mean = world_constant(w, DIMS(2), NUMBERS(0.25, -0.5));
    var *variance = world_constant(w, DIMS(2), NUMBERS(0.5, 2));
    struct param gain = as_param(w, in[1]), bias = as_param(w, in[2]);
    struct param m = {.name = "mean", .value = mean->value}, v = {.name = "variance", .value = variance->value};
    const struct batch_norm bn = {&gain, &bias, &m, &v, 0.1, 1e-5};
    if (op_rgb_norm_offered(w->t, pictures, &in[0]->value)) return op_rgb_norm(w->t, pictures, in[0], &bn, 1, 0.2);
    return op_norm_act_pool(w->t, op_conv2d(w->t, pictures, in[0], 1, 1), &bn, NULL,
                            NULL, /* this device goes without */
                            &(struct norm_act){.slope = 0.2, .pool = true, .batch_statistics = true});
}

static const size_t first_rows[] = {0, 3, 5};

/* through the projectors, because the gradient is that of the spans */
static var *g_subspace(struct world *w, var **in)
{
    var *basis = op_subspace(w->t, in[0], first_rows, 2);
    return op_matmul(w->t, basis, true, basis, false);
}

static var *g_svm(struct world *w, var **in)
{
    return op_svm(w->t, in[0], first_rows, 2, &(struct svm){.c = 0.3, .ridge = 0.5});
}

static const struct walk walk_settings = {.gamma = 4, .beta = 3, .alpha = 0.5, .solver = WALK_AUTO};

static var *g_walk(struct world *w, var **in)
{
    struct walk_vars out;
    const unsigned all = WALK_PROB | WALK_LOG_PROB | WALK_PI_SUPPORT | WALK_PI_QUERY;
    if (!op_walk(w->t, in[0], in[1], &walk_settings, all, &out)) return NULL;
    return op_concat(w->t, 4, (var *[]){out.prob, out.log_prob, out.pi_support, out.pi_query}, 1);
}

static var *g_walk_nll(struct world *w, var **in)
{
    struct walk_vars out;
    return op_walk_nll(w->t, in[0], in[1], op_labels(w->t, (int32_t[]){1, 0, 1}, 3, 2), &walk_settings, 0, &out);
}

/* costs alone, and weights that keep their sum */
static var *g_transport(struct world *w, var **in)
{
    return op_transport(w->t, in[0], op_softmax(w->t, in[1], 2), op_softmax(w->t, in[2], 2));
}

static const struct grad_case cases[] = {
    {"adaptive_pool", "5x4 to 2x3", {{4, {2, 1, 5, 4}}}, -1, 1, false, g_pool},
    {"affine", "", {{2, {3, 4}}}, -1, 1, false, g_affine},
    {"batch_norm", "batch statistics", {{4, {2, 2, 3, 3}}, {1, {3}}, {1, {3}}}, -1, 1, false, g_batch},
    {"batch_norm", "running statistics", {{4, {2, 2, 3, 3}}, {1, {3}}, {1, {3}}}, -1, 1, false, g_running},
    {"binary", "add, stretched", {{3, {2, 1, 4}}, {2, {3, 1}}}, -1, 1, false, g_add},
    {"binary", "sub, stretched", {{2, {3, 4}}, {1, {4}}}, -1, 1, false, g_sub},
    {"binary", "mul, stretched", {{3, {2, 3, 1}}, {2, {3, 4}}}, -1, 1, false, g_mul},
    {"binary", "mul", {{2, {3, 4}}, {2, {3, 4}}}, -1, 1, false, g_mul},
    {"binary", "div, stretched", {{2, {3, 1}}, {2, {1, 4}}}, 0.5, 2, false, g_div},
    {"binary", "div", {{2, {3, 4}}, {2, {3, 4}}}, 0.5, 2, false, g_div},
    {"cholesky_solve", "", {{2, {3, 3}}, {2, {3, 2}}}, -1, 1, false, g_cholesky_solve},
    {"cholesky_solve", "batch", {{3, {2, 3, 3}}, {3, {2, 3, 2}}}, -1, 1, false, g_cholesky_solve},
    {"cholesky_solve", "one matrix for all", {{2, {3, 3}}, {3, {2, 3, 2}}}, -1, 1, false, g_cholesky_solve},
    {"chunks", "the last one shorter", {{2, {5, 4}}, {2, {3, 4}}}, -1, 1, false, g_chunks},
    {"class_mean", "", {{3, {5, 2, 3}}}, -1, 1, false, g_class_mean},
    {"clip", "", {{2, {3, 4}}}, -2, 2, true, g_clip},
    {"concat", "middle axis", {{3, {2, 1, 3}}, {3, {2, 2, 3}}}, -1, 1, false, g_concat},
    {"conv2d", "3x3", {{4, {1, 4, 5, 2}}, {4, {3, 2, 3, 3}}}, -1, 1, false, g_conv},
    {"conv2d", "3x2, stride 2", {{4, {2, 5, 4, 2}}, {4, {3, 2, 3, 2}}}, -1, 1, false, g_conv_stride},
    {"cross_entropy", "", {{2, {5, 3}}}, -2, 2, false, g_cross_entropy},
    {"depthwise", "3x3", {{4, {2, 4, 5, 2}}, {4, {2, 1, 3, 3}}}, -1, 1, false, g_depthwise},
    {"depthwise", "3x2, stride 2", {{4, {2, 5, 4, 2}}, {4, {2, 1, 3, 2}}}, -1, 1, false, g_depthwise_uneven},
    {"gather", "with repeats", {{3, {2, 3, 2}}}, -1, 1, false, g_gather},
    {"l2norm", "middle axis", {{3, {2, 3, 2}}}, 0.2, 1, false, g_l2norm},
    {"l2norm", "last axis", {{2, {3, 5}}}, -1, 1, false, g_l2norm_last},
    {"leaky_relu", "", {{2, {3, 4}}}, -2, 2, true, g_leaky_relu},
    {"log_softmax", "middle axis", {{3, {2, 3, 2}}}, -2, 2, false, g_log_softmax},
    {"log_softmax", "last axis", {{2, {3, 5}}}, -2, 2, false, g_log_softmax_last},
    {"matmul", "nn", {{2, {3, 4}}, {2, {4, 2}}}, -1, 1, false, g_nn},
    {"matmul", "nt", {{2, {3, 4}}, {2, {2, 4}}}, -1, 1, false, g_nt},
    {"matmul", "tn", {{2, {4, 3}}, {2, {4, 2}}}, -1, 1, false, g_tn},
    {"matmul", "tt", {{2, {4, 3}}, {2, {2, 4}}}, -1, 1, false, g_tt},
    {"matmul", "nn, batch", {{3, {2, 3, 4}}, {3, {2, 4, 2}}}, -1, 1, false, g_nn},
    {"matmul", "nn, one b for all", {{3, {3, 2, 4}}, {2, {4, 2}}}, -1, 1, false, g_nn},
    {"matmul", "nt, one b for all", {{3, {3, 2, 4}}, {2, {2, 4}}}, -1, 1, false, g_nt},
    {"matmul", "tn, one b for all", {{3, {3, 4, 2}}, {2, {4, 2}}}, -1, 1, false, g_tn},
    {"matmul", "nn, one a for all", {{2, {3, 4}}, {3, {2, 4, 2}}}, -1, 1, false, g_nn},
    {"matmul", "tt, one a for all", {{3, {1, 4, 3}}, {3, {2, 2, 4}}}, -1, 1, false, g_tt},
    {"matmul", "linear", {{2, {3, 4}}, {2, {2, 4}}, {1, {2}}}, -1, 1, false, g_linear},
    {"matmul", "cosine", {{3, {2, 3, 4}}, {2, {2, 4}}}, -1, 1, false, g_cosine},
    {"max_pool", "3x3, stride 2", {{4, {1, 5, 6, 3}}}, -2, 2, true, g_max_pool},
    {"max_pool2", "", {{4, {1, 5, 4, 3}}}, -2, 2, true, g_max_pool2},
    {"nll", "", {{2, {5, 3}}}, -2, 0, false, g_nll},
    {"norm_act_pool", "leaky", {{4, {2, 2, 3, 3}}, {1, {3}}, {1, {3}}}, -1, 1, false, g_norm_act},
    {"norm_act_pool", "relu, running", {{4, {2, 2, 3, 3}}, {1, {3}}, {1, {3}}}, -1, 1, false, g_norm_relu},
    {"norm_act_pool", "pooled", {{4, {2, 4, 5, 3}}, {1, {3}}, {1, {3}}}, -1, 1, false, g_norm_pool},
    {"rgb_norm", "", {{4, {2, 3, 3, 3}}, {1, {2}}, {1, {2}}}, -1, 1, false, g_rgb_norm},
    {"norm_act_pool", "residual", {{2, {5, 3}}, {1, {3}}, {1, {3}}}, -1, 1, false, g_norm_add},
    {"norm_act_pool", "residual, pooled", {{4, {1, 5, 4, 3}}, {1, {3}}, {1, {3}}}, -1, 1, false, g_norm_add_pool},
    {"norm_act_pool", "two parts", {{4, {3, 4, 3, 3}}, {1, {3}}, {1, {3}}}, -1, 1, false, g_norm_parts},
    {"pad", "", {{3, {2, 3, 4}}}, -1, 1, false, g_pad},
    {"permute", "", {{3, {2, 3, 4}}}, -1, 1, false, g_permute},
    {"qr", "tall", {{2, {5, 3}}}, -1, 1, false, g_qr},
    {"qr", "square, batch", {{3, {2, 3, 3}}}, -1, 1, true, g_qr},
    {"reshape", "", {{3, {2, 3, 4}}}, -1, 1, false, g_reshape},
    {"slice", "middle axis", {{3, {2, 4, 3}}}, -1, 1, false, g_slice},
    {"softmax", "middle axis", {{3, {2, 3, 2}}}, -2, 2, false, g_softmax},
    {"softmax", "last axis", {{2, {3, 5}}}, -2, 2, false, g_softmax_last},
    {"solve", "", {{2, {3, 3}}, {2, {3, 2}}}, -1, 1, false, g_solve},
    {"solve", "batch", {{3, {2, 3, 3}}, {3, {2, 3, 2}}}, -1, 1, false, g_solve},
    {"solve", "one matrix for all", {{2, {3, 3}}, {3, {2, 3, 2}}}, -1, 1, false, g_solve},
    {"solve", "one right side for all", {{3, {2, 3, 3}}, {2, {3, 2}}}, -1, 1, false, g_solve},
    {"sqdist", "", {{2, {3, 4}}, {2, {2, 4}}}, -1, 1, false, g_sqdist},
    {"sqdist", "batch", {{3, {2, 3, 4}}, {3, {2, 2, 4}}}, -1, 1, false, g_sqdist},
    {"sqdist", "one b for all", {{3, {2, 3, 4}}, {2, {2, 4}}}, -1, 1, false, g_sqdist},
    {"sqdist", "one a for all", {{2, {3, 4}}, {3, {2, 2, 4}}}, -1, 1, false, g_sqdist},
    {"subspace", "", {{2, {5, 4}}}, -1, 1, false, g_subspace},
    {"sum", "two axes", {{3, {2, 3, 4}}}, -1, 1, false, g_sum},
    {"sum", "mean", {{3, {2, 3, 4}}}, -1, 1, false, g_mean},
    {"svm", "", {{2, {5, 4}}}, -1, 1, false, g_svm},
    {"top_k", "middle axis", {{3, {2, 4, 3}}}, -2, 2, true, g_top_k},
    {"top_k", "max", {{2, {3, 5}}}, -2, 2, true, g_max},
    {"transport", "", {{4, {2, 3, 2, 4}}, {3, {2, 2, 3}}, {3, {2, 2, 4}}}, -1, 1, false, g_transport},
    {"unary", "exp", {{1, {7}}}, -1, 1, false, g_exp},
    {"unary", "log", {{1, {7}}}, 0.5, 2, false, g_log},
    {"unary", "sqrt", {{1, {7}}}, 0.5, 2, false, g_sqrt},
    {"unary", "relu", {{2, {3, 4}}}, -2, 2, true, g_relu},
    {"walk", "all outputs", {{3, {2, 3, 4}}, {3, {3, 3, 2}}}, -1, 1, false, g_walk},
    {"walk_nll", "", {{3, {2, 3, 4}}, {3, {3, 3, 2}}}, -1, 1, false, g_walk_nll},
};
enum { CASES = sizeof cases / sizeof *cases };

struct point {
    double x[INPUTS][MOST];
};

static size_t input_count(const struct grad_case *c, int i)
{
    size_t n = c->in[i].rank ? 1 : 0;
    for (int k = 0; k < c->in[i].rank; k++) n *= c->in[i].dim[k];
    return n;
}

/* Rounded to float, so that both types start from the same numbers. */
static void draw(const struct grad_case *c, struct random *r, struct point *p)
{
    for (int i = 0; i < INPUTS; i++) {
        const size_t n = input_count(c, i);
        for (size_t k = 0; k < n; k++) {
            double at = c->grid ? ((double)k + 0.5) / (double)n : random_unit(r);
            p->x[i][k] = (double)(float)(c->low + (c->high - c->low) * at);
        }
        for (size_t k = n; c->grid && k > 1; k--) { /* shuffle */
            size_t other = (size_t)random_below(r, k);
            double held = p->x[i][k - 1];
            p->x[i][k - 1] = p->x[i][other];
            p->x[i][other] = held;
        }
    }
}

/* One evaluation: the loss sum(y * weights), y, and, on a training tape, the gradients. */
struct result {
    double loss, y[MOST];
    size_t n;
    struct point grad;
};

static bool evaluate(struct world *w, const struct grad_case *c, const struct point *p, const double *weights,
                     enum tape_mode mode, struct result *out)
{
    var *in[INPUTS] = {NULL};
    tape_reset(w->t, mode);
    for (int i = 0; i < INPUTS && c->in[i].rank; i++) in[i] = world_leaf(w, c->in[i].rank, c->in[i].dim, p->x[i]);
    var *y = c->build(w, in);
    if (!y || tensor_count(&y->value) > MOST) return false;
    out->n = tensor_count(&y->value);
    if (!world_read(w, &y->value, out->y)) return false;
    out->loss = 0;
    for (size_t i = 0; i < out->n; i++) out->loss += out->y[i] * weights[i];
    if (mode == TAPE_INFERENCE) return true;
    if (world_back(w, y, weights) != OK) return false;
    for (int i = 0; i < INPUTS && in[i]; i++)
        if (!world_read(w, &in[i]->grad, out->grad.x[i])) return false;
    return true;
}

static void check_directions(struct world *w, const struct grad_case *c, const struct point *p, const double *weights,
                             const struct result *at, struct random *r)
{
    const double step = 1e-6;
    for (int d = 0; d < DIRECTIONS; d++) {
        struct point up = *p, down = *p;
        struct result high, low;
        double analytic = 0;
        for (int i = 0; i < INPUTS; i++) {
            for (size_t k = 0; k < input_count(c, i); k++) {
                const double direction = random_normal(r);
                analytic += direction * at->grad.x[i][k];
                up.x[i][k] += step * direction;
                down.x[i][k] -= step * direction;
            }
        }
        bool both = evaluate(w, c, &up, weights, TAPE_INFERENCE, &high) &&
                    evaluate(w, c, &down, weights, TAPE_INFERENCE, &low);
        const double slope = both ? (high.loss - low.loss) / (2 * step) : (double)NAN;
        if (!(fabs(slope - analytic) <= 1e-6 * (1 + fabs(slope))))
            test_failed(__FILE__, __LINE__, "%s (%s): slope %.12g by backward, %.12g by differences", c->op, c->what,
                        analytic, slope);
    }
}

static void check_near(const struct grad_case *c, const char *what, const double *seen, const double *wanted, size_t n)
{
    double largest = 1;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(wanted[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(seen[i] - wanted[i]) <= 1e-4 * largest))
            test_failed(__FILE__, __LINE__, "%s (%s): %s[%zu] is %.9g in f32, %.9g in f64", c->op, c->what, what, i,
                        seen[i], wanted[i]);
}

static void check_same(const struct grad_case *c, const char *what, const double *seen, const double *wanted, size_t n,
                       double times)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(seen[i] - times * wanted[i]) <= 1e-12 * (1 + fabs(wanted[i]))))
            test_failed(__FILE__, __LINE__, "%s (%s), %s: gradient %zu is %.15g, wanted %.15g", c->op, c->what, what, i,
                        seen[i], times * wanted[i]);
}

/* With one input a constant, the gradients of the others stay. */
static void check_constants(struct world *w, const struct grad_case *c, const struct point *p, const double *weights,
                            const struct result *at)
{
    static double seen[MOST];
    for (int fixed = 0; fixed < INPUTS && c->in[1].rank && c->in[fixed].rank; fixed++) {
        var *in[INPUTS] = {NULL};
        tape_reset(w->t, TAPE_TRAINING);
        for (int i = 0; i < INPUTS && c->in[i].rank; i++)
            in[i] = (i == fixed ? world_constant : world_leaf)(w, c->in[i].rank, c->in[i].dim, p->x[i]);
        var *y = c->build(w, in);
        if (!y || world_back(w, y, weights) != OK) {
            test_failed(__FILE__, __LINE__, "%s (%s), constant input %d: %s", c->op, c->what, fixed, error_text());
            continue;
        }
        if (in[fixed]->grad.data) /* nobody asked for it */
            test_failed(__FILE__, __LINE__, "%s (%s): the constant %d has a gradient", c->op, c->what, fixed);
        for (int i = 0; i < INPUTS && in[i]; i++)
            if (i != fixed && world_read(w, &in[i]->grad, seen))
                check_same(c, "a constant beside", seen, at->grad.x[i], input_count(c, i), 1);
    }
}

/* Used twice, an input has the sum of both gradients. Ops that draw numbers are left out by their values. */
static void check_sums(struct world *w, const struct grad_case *c, const struct point *p, const double *weights,
                       const struct result *at)
{
    static double seen[MOST];
    var *in[INPUTS] = {NULL};
    tape_reset(w->t, TAPE_TRAINING);
    for (int i = 0; i < INPUTS && c->in[i].rank; i++) in[i] = world_leaf(w, c->in[i].rank, c->in[i].dim, p->x[i]);
    var *y = c->build(w, in), *again = c->build(w, in);
    if (!y || !again || !world_read(w, &again->value, seen)) {
        test_failed(__FILE__, __LINE__, "%s (%s), twice: %s", c->op, c->what, error_text());
        return;
    }
    if (memcmp(seen, at->y, at->n * sizeof *seen)) return;
    EXPECT_OK(world_back(w, op_add(w->t, y, again), weights));
    for (int i = 0; i < INPUTS && in[i]; i++)
        if (world_read(w, &in[i]->grad, seen)) check_same(c, "twice", seen, at->grad.x[i], input_count(c, i), 2);
}

static void check_case(struct world *w64, struct world *w32, const struct grad_case *c, struct random *r)
{
    struct point p = {0};
    struct result f64, f32;
    double weights[MOST];
    draw(c, r, &p);
    for (size_t i = 0; i < MOST; i++) weights[i] = (double)(float)random_normal(r);
    if (!evaluate(w64, c, &p, weights, TAPE_TRAINING, &f64) || !evaluate(w32, c, &p, weights, TAPE_TRAINING, &f32)) {
        tape_status(w64->t);
        tape_status(w32->t);
        test_failed(__FILE__, __LINE__, "%s (%s): %s", c->op, c->what, error_text());
        return;
    }
    check_directions(w64, c, &p, weights, &f64, r);
    check_constants(w64, c, &p, weights, &f64);
    check_sums(w64, c, &p, weights, &f64);
    check_near(c, "y", f32.y, f64.y, f64.n);
    for (int i = 0; i < INPUTS; i++) check_near(c, "dx", f32.grad.x[i], f64.grad.x[i], input_count(c, i));
}

TEST(every_op_has_the_gradient_that_differences_show)
{
    struct world w64 = {0}, w32 = {0};
    struct random r = test_random();
    REQUIRE(world_open(&w64, 1, DT_F64, TAPE_TRAINING));
    REQUIRE(world_open(&w32, 1, DT_F32, TAPE_TRAINING));
    for (const struct op *const *op = op_table; *op; op++) {
        bool found = !(*op)->backward || !strncmp((*op)->name, "channels_", 9); /* bf16: tests/ops/channels.c */
        for (size_t i = 0; i < CASES; i++) {
            if (strcmp(cases[i].op, (*op)->name)) continue;
            found = true;
            check_case(&w64, &w32, &cases[i], &r);
        }
        if (!found) test_failed(__FILE__, __LINE__, "op %s has no case here", (*op)->name);
    }
    world_close(&w64);
    world_close(&w32);
}
