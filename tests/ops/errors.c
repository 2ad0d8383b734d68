/* errors.c - each shape rule refuses in one sentence that names the op and what it saw. */
#include "tests/ops/world.h"
#include "tests/test.h"

struct vars { /* what a case may use */
    tape *t;
    var *m23, *m32, *v4, *cube, *map, *scalar, *other, *index;
    const tensor *labels3;
};

struct error_case {
    var *(*call)(const struct vars *v);
    status st;
    const char *sentence;
};

static const tensor *reals(const struct vars *v) { return &v->v4->value; }

static var *e_missing(const struct vars *v) { return op_mul(v->t, v->v4, NULL); }
static var *e_types(const struct vars *v) { return op_mul(v->t, v->v4, v->other); }
static var *e_index(const struct vars *v) { return op_exp(v->t, v->index); }
static var *e_binary(const struct vars *v) { return op_div(v->t, v->m23, v->m32); }
static var *e_sum(const struct vars *v) { return op_sum(v->t, v->m23, 4, DROP_AXES); }
static var *e_mean(const struct vars *v)
{
    return op_mean(v->t, world_constant(&(struct world){.t = v->t, .type = DT_F64}, DIMS(0, 2), NULL), 1, DROP_AXES);
}
static var *e_softmax(const struct vars *v) { return op_softmax(v->t, v->m23, 2); }
static var *e_log_softmax(const struct vars *v) { return op_log_softmax(v->t, v->m23, -3); }
static var *e_l2norm(const struct vars *v) { return op_l2norm(v->t, v->scalar, 0); }
static var *e_top_k(const struct vars *v) { return op_top_k(v->t, v->m23, 1, 4, NULL); }
static var *e_top_0(const struct vars *v) { return op_top_k(v->t, v->m23, 0, 0, NULL); }
static var *e_reshape(const struct vars *v) { return op_reshape(v->t, v->m23, DIMS(4, 2)); }
static var *e_permute(const struct vars *v) { return op_permute(v->t, v->m23, (int[]){1, -1}); }
static var *e_permute_axis(const struct vars *v) { return op_permute(v->t, v->m23, (int[]){0, 5}); }
static var *e_concat(const struct vars *v) { return op_concat(v->t, 2, (var *[]){v->m23, v->m32}, 0); }
static var *e_concat_none(const struct vars *v) { return op_concat(v->t, 0, NULL, 0); }
static var *e_slice(const struct vars *v) { return op_slice(v->t, v->m23, 1, 2, 4); }
static var *e_slice_empty(const struct vars *v) { return op_slice(v->t, v->m23, 0, 1, 1); }
static var *e_gather(const struct vars *v) { return op_gather(v->t, v->m23, 0, reals(v)); }
static var *e_gather_none(const struct vars *v) { return op_gather(v->t, v->m23, 0, NULL); }
static var *e_matmul(const struct vars *v) { return op_matmul(v->t, v->m23, false, v->m32, true); }
static var *e_matmul_rank(const struct vars *v) { return op_matmul(v->t, v->m23, false, v->v4, false); }
static var *e_batch(const struct vars *v)
{
    return op_matmul(v->t, v->cube, false, op_reshape(v->t, v->m23, DIMS(3, 2, 1)), false);
}
static var *e_linear(const struct vars *v) { return op_linear(v->t, v->m23, v->m32, NULL); }
static var *e_bias(const struct vars *v) { return op_linear(v->t, v->m23, v->m23, v->v4); }
static var *e_transport(const struct vars *v) { return op_transport(v->t, v->m23, v->cube, v->cube); }
static var *e_sqdist(const struct vars *v) { return op_sqdist(v->t, v->m23, v->m32); }
static var *e_solve(const struct vars *v) { return op_solve(v->t, v->m23, v->m23); }
static var *e_cholesky_solve(const struct vars *v) { return op_cholesky_solve(v->t, v->m32, v->m32); }
static var *e_qr(const struct vars *v)
{
    var *r;
    return op_qr(v->t, v->m23, &r);
}
static var *e_class_rows(const struct vars *v) { return op_class_mean(v->t, v->m23, v->labels3, 2); }
static var *e_class_way(const struct vars *v) { return op_class_mean(v->t, v->m32, v->labels3, 4); }
static var *e_class_none(const struct vars *v) { return op_class_mean(v->t, v->m32, NULL, 2); }
static var *e_class_scalar(const struct vars *v) { return op_class_mean(v->t, v->scalar, v->labels3, 1); }
static var *e_entropy(const struct vars *v) { return op_cross_entropy(v->t, v->v4, v->labels3); }
static var *e_nll(const struct vars *v) { return op_nll(v->t, v->m23, reals(v)); }
static var *e_labels(const struct vars *v) { return op_nll(v->t, v->m32, op_labels(v->t, (int32_t[]){0, 2, 1}, 3, 2)); }
static var *e_pool(const struct vars *v) { return op_adaptive_pool(v->t, v->cube, 1, 1); }
static var *e_pool_flat(const struct vars *v)
{
    return op_adaptive_pool(v->t, world_constant(&(struct world){.t = v->t, .type = DT_F64}, DIMS(1, 1, 0, 2), NULL), 1,
                            1);
}
static var *e_pool_thin(const struct vars *v)
{
    return op_adaptive_pool(v->t, world_constant(&(struct world){.t = v->t, .type = DT_F64}, DIMS(1, 1, 2, 0), NULL), 1,
                            1);
}
static var *e_pool_to(const struct vars *v)
{
    return op_adaptive_pool(v->t, op_reshape(v->t, v->m23, DIMS(1, 1, 2, 3)), 0, 1);
}
static var *e_conv(const struct vars *v) { return op_conv2d(v->t, v->m23, v->map, 1, 0); }
static var *e_depthwise(const struct vars *v)
{
    return op_depthwise(v->t, v->m23, v->map, &(struct depthwise_shape){.stride = 1});
}
static var *e_depthwise_stride(const struct vars *v)
{
    return op_depthwise(v->t, v->map, v->map, &(struct depthwise_shape){.stride = 0});
}
static var *e_depthwise_filters(const struct vars *v)
{
    return op_depthwise(v->t, v->map, v->map, &(struct depthwise_shape){.stride = 1});
}
static var *e_depthwise_border(const struct vars *v)
{
    return op_depthwise(v->t, op_reshape(v->t, v->map, DIMS(1, 2, 2, 2)), op_reshape(v->t, v->map, DIMS(2, 1, 2, 2)),
                        &(struct depthwise_shape){.stride = 1, .bottom = 2});
}
static var *e_depthwise_large(const struct vars *v)
{
    return op_depthwise(v->t, op_reshape(v->t, v->map, DIMS(1, 1, 4, 2)), op_reshape(v->t, v->map, DIMS(2, 1, 2, 2)),
                        &(struct depthwise_shape){.stride = 1});
}
static var *e_clip(const struct vars *v) { return op_clip(v->t, v->m23, 6, 0); }
static var *e_max_pool(const struct vars *v)
{
    return op_max_pool(v->t, v->map, &(struct pool_shape){.size = 3, .stride = 2});
}
static var *e_max_pool_border(const struct vars *v)
{
    return op_max_pool(v->t, v->map, &(struct pool_shape){.size = 2, .stride = 2, .pad = 2});
}
static var *e_pad(const struct vars *v) { return op_pad(v->t, v->v4, &(struct pad){1, 1, 1, 1}); }
static var *e_conv_stride(const struct vars *v) { return op_conv2d(v->t, v->map, v->map, 0, 0); }
static var *e_conv_channels(const struct vars *v) { return op_conv2d(v->t, v->map, v->map, 1, 1); }
static var *e_conv_large(const struct vars *v)
{
    return op_conv2d(v->t, op_reshape(v->t, v->map, DIMS(2, 2, 1, 2)), op_reshape(v->t, v->map, DIMS(2, 2, 1, 2)), 1,
                     0);
}
static var *e_max_pool2(const struct vars *v) { return op_max_pool2(v->t, op_reshape(v->t, v->map, DIMS(1, 1, 4, 2))); }
static var *e_dropout(const struct vars *v) { return op_dropout(v->t, v->map, 1.5, &(struct random){0}); }
static var *e_dropout_index(const struct vars *v) { return op_dropout(v->t, v->index, 0.5, &(struct random){0}); }
static var *e_drop_block(const struct vars *v) { return op_drop_block(v->t, v->map, 0.1, 3, &(struct random){0}); }
static var *batch_norm(const struct vars *v, var *x, var *gain)
{
    struct param g = {.name = "g", .value = gain->value}, s = {.name = "s", .value = v->v4->value};
    return op_batch_norm(v->t, x, &(struct batch_norm){&g, &g, &s, &s, 0.1, 1e-5}, true);
}
static var *e_norm(const struct vars *v) { return batch_norm(v, v->v4, v->v4); }
static var *e_norm_gain(const struct vars *v) { return batch_norm(v, v->m23, v->v4); }
static var *e_norm_few(const struct vars *v) { return batch_norm(v, op_reshape(v->t, v->v4, DIMS(1, 4)), v->v4); }
static var *norm_act(const struct vars *v, var *x, var *residual, double slope, bool halve)
{
    struct param g = {.value = v->v4->value}, s = g;
    const struct batch_norm bn = {&g, &g, &s, &s, 0.1, 1e-5};
    const struct norm_act how = {slope, halve, true, 0};
    return op_norm_act_pool(v->t, x, &bn, residual, residual ? &bn : NULL, &how);
}
static var *e_norm_act(const struct vars *v)
{
    return norm_act(v, op_reshape(v->t, v->map, DIMS(2, 4)), NULL, -1, false);
}
static var *e_norm_act_pool(const struct vars *v)
{
    return norm_act(v, op_reshape(v->t, v->map, DIMS(2, 4)), NULL, 1, true);
}
static var *e_norm_act_parts(const struct vars *v)
{
    struct param g = {.value = v->v4->value}, s = g;
    const struct batch_norm bn = {&g, &g, &s, &s, 0.1, 1e-5};
    const struct norm_act how = {.slope = 1, .batch_statistics = true, .first = 1};
    return op_norm_act_pool(v->t, op_reshape(v->t, v->map, DIMS(2, 4)), &bn, NULL, NULL, &how);
}
static var *e_norm_act_alike(const struct vars *v)
{
    return norm_act(v, op_reshape(v->t, v->map, DIMS(2, 4)), op_reshape(v->t, v->map, DIMS(2, 1, 4)), 1, false);
}
/* A block of one channel that becomes four, with a filter of that side. */
static var *bottleneck(const struct vars *v, size_t side, double ceiling)
{
    struct param g = {.value = v->v4->value}, one = {.value = v->v4->value};
    one.value.dim[0] = 1;
    const struct bottleneck_layer middle = {
        op_reshape(v->t, side == 1 ? op_slice(v->t, v->v4, 0, 0, 1) : v->v4, DIMS(1, 1, side, side)),
        {&one, &one, &one, &one, 0.1, 1e-5}};
    const struct bottleneck_layer last = {op_reshape(v->t, v->v4, DIMS(4, 1, 1, 1)), {&g, &g, &g, &g, 0.1, 1e-5}};
    return op_bottleneck(
        v->t, op_reshape(v->t, v->map, DIMS(8, 1, 1, 1)),
        &(struct bottleneck){.depthwise = middle, .project = last, .shape = {.stride = 1}, .ceiling = ceiling});
}
static var *e_bottleneck(const struct vars *v) { return bottleneck(v, 1, 6); }
static var *e_bottleneck_large(const struct vars *v) { return bottleneck(v, 2, 6); }
static var *e_bottleneck_ceiling(const struct vars *v) { return bottleneck(v, 1, 0); }
static var *e_conv_norm(const struct vars *v)
{
    struct param g = {.value = v->v4->value};
    var *weight = op_reshape(v->t, v->v4, DIMS(4, 1, 1, 1));
    return op_conv2d_norm(v->t, op_reshape(v->t, v->map, DIMS(1, 2, 4, 1)), weight,
                          &(struct batch_norm){&g, &g, &g, &g, 0.1, 1e-5},
                          &(struct conv_norm){.stride = 1, .slope = 1});
}
static var *e_conv_norm_pool(const struct vars *v)
{
    const tensor map = v->map->value, four = v->v4->value;
    struct param g = {.value = four};
    tape_reset(v->t, TAPE_INFERENCE);
    var *x = tape_constant(v->t, &map), *weight = tape_constant(v->t, &four);
    return op_conv2d_norm(v->t, op_reshape(v->t, x, DIMS(1, 1, 8, 1)), op_reshape(v->t, weight, DIMS(4, 1, 1, 1)),
                          &(struct batch_norm){&g, &g, &g, &g, 0.1, 1e-5},
                          &(struct conv_norm){.stride = 1, .slope = 1, .pool = true});
}
static var *e_norm_none(const struct vars *v) { return op_batch_norm(v->t, v->m23, &(struct batch_norm){0}, true); }

static var *e_param(const struct vars *v) { return tape_param(v->t, NULL); }

static const struct error_case cases[] = {
    {e_missing, ST_USAGE, "op binary: input 2 is missing"},
    {e_types, ST_USAGE, "op binary: input 2 is f32 but input 1 is f64; they must be alike"},
    {e_index, ST_USAGE, "op unary: input 1 is i32; it must be f32 or f64"},
    {e_binary, ST_SHAPE,
     "op binary: cannot divide shapes [2, 3] and [3, 2]: sizes must be equal or 1, counted from the last"},
    {e_sum, ST_USAGE, "op sum: the axis mask 0x4 names an axis that shape [2, 3] does not have"},
    {e_mean, ST_SHAPE, "op sum: there is no mean over an empty axis of shape [0, 2]"},
    {e_softmax, ST_USAGE, "op softmax: there is no axis 2 in shape [2, 3]"},
    {e_log_softmax, ST_USAGE, "op log_softmax: there is no axis -3 in shape [2, 3]"},
    {e_l2norm, ST_USAGE, "op l2norm: there is no axis 0 in shape []"},
    {e_top_k, ST_USAGE, "op top_k: k is 4, but axis 1 of shape [2, 3] allows 1 to 3"},
    {e_top_0, ST_USAGE, "op top_k: k is 0, but axis 0 of shape [2, 3] allows 1 to 2"},
    {e_reshape, ST_SHAPE, "op reshape: [2, 3] has 6 elements and cannot become [4, 2]"},
    {e_permute, ST_USAGE, "op permute: axis 1 appears twice in the order"},
    {e_permute_axis, ST_USAGE, "op permute: there is no axis 5 in shape [2, 3]"},
    {e_concat, ST_SHAPE, "op concat: shapes [2, 3] and [3, 2] differ in more than axis 0"},
    {e_concat_none, ST_USAGE, "op concat: nothing to join"},
    {e_slice, ST_USAGE, "op slice: 2 to 4 is no part of axis 1, which has size 3"},
    {e_slice_empty, ST_USAGE, "op slice: 1 to 1 is no part of axis 0, which has size 2"},
    {e_gather, ST_USAGE, "op gather: the index is f64 of shape [4]; it must be i32 of rank 1"},
    {e_gather_none, ST_USAGE, "op gather: the index is missing"},
    {e_matmul, ST_SHAPE, "op matmul: shapes [2, 3] and [3, 2] transposed do not multiply: the inner sizes are 3 and 2"},
    {e_matmul_rank, ST_SHAPE, "op matmul: input 2 has shape [4]; it must be a matrix or a batch of them"},
    {e_batch, ST_SHAPE, "op matmul: the batches of [2, 2, 2] and [3, 2, 1] differ; they must be equal or 1"},
    {e_linear, ST_SHAPE, "op linear: input [2, 3] and weight [3, 2] do not fit [n, in] and [out, in]"},
    {e_bias, ST_SHAPE, "op linear: bias [4] does not fit weight [2, 3]; it must be [2]"},
    {e_sqdist, ST_SHAPE, "op sqdist: rows of [2, 3] and [3, 2] have 3 and 2 numbers; they must be equally long"},
    {e_transport, ST_SHAPE,
     "op transport: costs are [2, 3], supplies [2, 2, 2] and demands [2, 2, 2]; they must be [b, m, g, n], [b, g, m] "
     "and [b, "
     "g, n]"},
    {e_solve, ST_SHAPE,
     "op solve: shapes [2, 3] and [2, 3] are no system of equations; they must be [n, n] and [n, k]"},
    {e_cholesky_solve, ST_SHAPE,
     "op cholesky_solve: shapes [3, 2] and [3, 2] are no system of equations; they must be [n, n] and [n, k]"},
    {e_qr, ST_SHAPE, "op qr: the input has shape [2, 3]; it must be [m, n] with m >= n, or a batch of them"},
    {e_class_rows, ST_SHAPE, "op class_mean: the labels have shape [3]; there are 2 rows"},
    {e_class_way, ST_USAGE, "op class_mean: 4 classes cannot each have one of 3 rows"},
    {e_class_none, ST_USAGE, "op class_mean: the labels are missing"},
    {e_class_scalar, ST_SHAPE, "op class_mean: the input is a single number; it must have rows"},
    {e_entropy, ST_SHAPE, "op cross_entropy: the scores have shape [4]; they must be [n, way], not empty"},
    {e_nll, ST_USAGE, "op nll: the labels are f64; they must be i32"},
    {e_labels, ST_VALUE, "label 1 is 2, but must lie between 0 and 1 (there are 2 classes)"},
    {e_pool, ST_SHAPE, "op adaptive_pool: the input has shape [2, 2, 2]; it must be [n, c, h, w], not empty"},
    {e_pool_flat, ST_SHAPE, "op adaptive_pool: the input has shape [1, 1, 0, 2]; it must be [n, c, h, w], not empty"},
    {e_pool_thin, ST_SHAPE, "op adaptive_pool: the input has shape [1, 1, 2, 0]; it must be [n, c, h, w], not empty"},
    {e_pool_to, ST_USAGE, "op adaptive_pool: cannot pool to 0 x 1 cells"},
    {e_conv, ST_SHAPE, "op conv2d: shapes [2, 3] and [2, 2, 2, 1]; they must be [n, h, w, in] and [out, in, kh, kw]"},
    {e_conv_stride, ST_USAGE,
     "op conv2d: stride 0 and border 0; the stride must be at least 1, the border at most 65536"},
    {e_depthwise, ST_SHAPE,
     "op depthwise: maps [2, 3] and weights [2, 2, 2, 1] do not fit: they must be [n, h, w, c] and [c, 1, kh, kw]"},
    {e_depthwise_stride, ST_SHAPE,
     "op depthwise: maps [2, 2, 2, 1] and weights [2, 2, 2, 1] do not fit: the stride must be at least 1"},
    {e_depthwise_filters, ST_SHAPE,
     "op depthwise: maps [2, 2, 2, 1] and weights [2, 2, 2, 1] do not fit: there must be one filter for each channel"},
    {e_depthwise_border, ST_SHAPE,
     "op depthwise: maps [1, 2, 2, 2] and weights [2, 1, 2, 2] do not fit: a border must be narrower than the filter"},
    {e_depthwise_large, ST_SHAPE,
     "op depthwise: maps [1, 1, 4, 2] and weights [2, 1, 2, 2] do not fit: the filter is larger than the map with its "
     "border"},
    {e_clip, ST_USAGE, "op clip: the bounds are 6 and 0; the first must not be above"},
    {e_max_pool, ST_SHAPE,
     "op max_pool: the input has shape [2, 2, 2, 1]; it must be [n, h, w, c], not smaller than a window of 3"},
    {e_max_pool_border, ST_USAGE,
     "op max_pool: windows of 2, 2 apart, border 2; the border must be narrower than a window"},
    {e_pad, ST_SHAPE, "op pad: the input has shape [4]; it must be [..., h, w], not empty, and borders at most 65536"},
    {e_conv_channels, ST_SHAPE,
     "op conv2d: maps [2, 2, 2, 1] and weights [2, 2, 2, 1] do not fit: the numbers of channels differ"},
    {e_conv_large, ST_SHAPE,
     "op conv2d: maps [2, 2, 1, 2] and weights [2, 2, 1, 2] do not fit: the filter is larger than the map with its "
     "border"},
    {e_max_pool2, ST_SHAPE,
     "op max_pool2: the input has shape [1, 1, 4, 2]; it must be [n, h, w, c] with h and w at least 2"},
    {e_dropout, ST_USAGE, "op dropout: the rate is 1.5, but must lie between 0 and 0.999"},
    {e_dropout_index, ST_USAGE, "op dropout: input 1 is i32; it must be f32 or f64"},
    {e_drop_block, ST_SHAPE,
     "op drop_block: a square of 3 does not fit maps of shape [2, 2, 2, 1]; they must be [n, h, w, c]"},
    {e_conv_norm_pool, ST_SHAPE,
     "op conv2d_norm: 1 x 8 results and slope 1; pooling needs 2 x 2, and no slope is negative"},
    {e_bottleneck, ST_USAGE,
     "op bottleneck: it has no way back; use an inference tape, or the convolution and norm_act_pool"},
    {e_bottleneck_large, ST_SHAPE,
     "op bottleneck: the layers of the block do not fit: the filter is larger than the map with its border"},
    {e_bottleneck_ceiling, ST_SHAPE, "op bottleneck: the layers of the block do not fit: the ceiling must be above 0"},
    {e_conv_norm, ST_USAGE,
     "op conv2d_norm: it has no way back; use an inference tape, or the convolution and norm_act_pool"},
    {e_norm_act, ST_SHAPE,
     "op norm_act_pool: the input has shape [2, 4], the slope is -1: the slope must not be negative"},
    {e_norm_act_pool, ST_SHAPE,
     "op norm_act_pool: the input has shape [2, 4], the slope is 1: pooling needs [n, h, w, c] with h and w at least "
     "2"},
    {e_norm_act_parts, ST_SHAPE,
     "op norm_act_pool: shape [2, 4] is cut after 1 of its first axis; each part needs 2 numbers a channel"},
    {e_norm_act_alike, ST_SHAPE,
     "op norm_act_pool: the input is f64 [2, 4] and the residual f64 [2, 1, 4]; they must be alike"},
    {e_norm, ST_SHAPE, "op batch_norm: the input has shape [4]; it must be [..., channels]"},
    {e_norm_gain, ST_SHAPE, "op batch_norm: the gain is f64 [4]; there are 3 channels of f64"},
    {e_norm_few, ST_SHAPE,
     "op batch_norm: shape [1, 4] has fewer than 2 numbers a channel, which is too few for statistics of the batch"},
    {e_norm_none, ST_USAGE, "a parameter that the network needs was never added"},
    {e_param, ST_USAGE, "a parameter that the network needs was never added"},
};

TEST(ops_refuse_bad_shapes_in_words)
{
    static const double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tape_reset(w.t, TAPE_TRAINING);
        struct vars v = {.t = w.t};
        v.m23 = world_leaf(&w, DIMS(2, 3), x);
        v.m32 = world_leaf(&w, DIMS(3, 2), x);
        v.v4 = world_leaf(&w, DIMS(4), x);
        v.cube = world_leaf(&w, DIMS(2, 2, 2), x);
        v.map = world_leaf(&w, DIMS(2, 2, 2, 1), x);
        v.scalar = world_leaf(&w, 0, NULL, x);
        v.other = tape_upload(w.t, DT_F32, DIMS(4), (float[]){1, 2, 3, 4});
        v.index = tape_upload(w.t, DT_I32, DIMS(3), (int32_t[]){0, 1, 1});
        REQUIRE(v.m23 && v.m32 && v.v4 && v.cube && v.map && v.scalar && v.other && v.index);
        v.labels3 = &v.index->value;
        EXPECT(!cases[i].call(&v));
        EXPECT_STATUS(tape_status(w.t), cases[i].st);
        EXPECT_TEXT(error_text(), cases[i].sentence);
    }
    world_close(&w);
}
