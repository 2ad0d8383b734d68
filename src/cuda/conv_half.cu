/* conv_half.cu - convolutions of maps in bf16, or of maps in f32 with TF32 products: pictures by conv_first.cu, 64 channels
 * by conv_64.cu where it serves, the rest by cuDNN.
 *
 * Filters [out, in, kh, kw] are brought into its order [out, kh, kw, in] and type once a step, or once for all where they
 * are frozen. Its tensor cores want channels in groups of eight, so a thinner map is widened first. */
#include "cuda/dnn.cuh"
#include "cuda/filters.cuh"
#include "cuda/half.cuh"
#include "cuda/mixed.cuh"

static struct dnn_shape shape_of(const tensor *x, const tensor *w, const tensor *y, struct conv_shape s,
                                 enum dnn_kind kind)
{
    return {(int64_t)x->dim[0], (int64_t)x->dim[1], (int64_t)x->dim[2], (int64_t)size_round_up(x->dim[3], 8),
            (int64_t)y->dim[1], (int64_t)y->dim[2], (int64_t)y->dim[3], (int64_t)w->dim[2],
            (int64_t)w->dim[3], (int64_t)s.stride,  (int64_t)s.pad,     kind,
            is_half(x)};
}

/* Scratch of a call, aligned for cuDNN; each NULL when not asked for. */
struct room {
    void *filters, *maps;
};
static status room_take(struct gpu *g, const struct dnn_shape *c, size_t maps, struct room *out)
{
    const size_t bytes = c->half ? sizeof(bf16) : sizeof(float);
    struct cursor at = {};
    void *memory;
    for (int pass = 0; pass < 2; pass++) {
        at.bytes = 0;
        out->filters = cursor_take<char>(&at, (size_t)(c->out * c->kh * c->kw * c->in) * bytes);
        out->maps = cursor_take<char>(&at, maps * bytes);
        if (pass == 0) PASS(gpu_scratch(g, at.bytes, &memory));
        at.at = (char *)memory;
    }
    return OK;
}

template <typename T> static status order_filters(struct gpu *g, const struct dnn_shape c, const tensor *w, T *to)
{
    struct filters f;
    PASS(filters_of(g, w->dim[0], w->dim[1], (size_t)c.in, (size_t)(c.kh * c.kw), &f));
    return filters_order(g, &f, reals<float>(w), NULL, to);
}

/* x with zeros for the channels that it lacks; x itself when it lacks none. */
template <typename T> static status widen(struct gpu *g, const struct dnn_shape c, const tensor *x, void *room, T **out)
{
    const size_t in = x->dim[3], wide = (size_t)c.in;
    const T *from = (const T *)x->data;
    T *to = (T *)room;
    *out = (T *)x->data;
    if (in == wide) return OK;
    *out = to;
    return each(g, span_of(x, 0, 3) * wide, [=] __device__(size_t i) {
        to[i] = i % wide < in ? from[i / wide * in + i % wide] : narrowed<T>(0);
    });
}
static size_t widened_count(const struct dnn_shape *c, const tensor *x)
{
    return (size_t)c->in == x->dim[3] ? 0 : span_of(x, 0, 3) * (size_t)c->in;
}

/* Filters in order that outlast the call: `form` says of which type. */
enum form { FORM_F32 = 1, FORM_BF16 };
static enum form form_of(const tensor *x) { return is_half(x) ? FORM_BF16 : FORM_F32; }

status conv_half_prepare(struct gpu *g, const tensor *x, const tensor *w, struct conv_shape s, struct conv_ready *out)
{
    const struct dnn_shape c = shape_of(x, w, w, s, DNN_FORWARD); /* of the result only the filters count here */
    const size_t numbers = w->dim[0] * (size_t)(c.kh * c.kw * c.in);
    void *room = is_half(x) ? out->memory : NULL;
    *out = {true, 0, NULL};
    if ((is_half(x) && first_serves(x, w, s)) || conv_64_serves(g, x, w, s)) return OK;
    if (!room) GPU_TRY(g, cudaMalloc(&room, numbers * (is_half(x) ? sizeof(bf16) : sizeof(float))));
    out->memory = room;
    out->form = form_of(x);
    return is_half(x) ? order_filters(g, c, w, (bf16 *)out->memory) : order_filters(g, c, w, (float *)out->memory);
}

template <typename T>
static status forward(struct gpu *g, const tensor *x, const tensor *w, const struct conv_ready *ready, struct conv_shape s,
                      tensor *y)
{
    const struct dnn_shape c = shape_of(x, w, y, s, DNN_FORWARD);
    const bool kept = ready && ready->form == form_of(x);
    struct room room;
    T *from;
    PASS(room_take(g, &c, widened_count(&c, x), &room));
    if (kept) room.filters = ready->memory;
    else PASS(order_filters(g, c, w, (T *)room.filters));
    PASS(widen(g, c, x, room.maps, &from));
    return dnn_run(g, &c, from, room.filters, y->data);
}

status conv_half(struct gpu *g, const tensor *x, const tensor *w, const struct conv_ready *ready, struct conv_shape s,
                 tensor *y)
{
    if (count_of(y) == 0) return OK;
    if (is_half(x) && first_serves(x, w, s)) return first_conv(g, x, w, NULL, y);
    if (conv_64_serves(g, x, w, s)) return conv_64(g, x, w, NULL, y);
    return is_half(x) ? forward<bf16>(g, x, w, ready, s, y) : forward<float>(g, x, w, ready, s, y);
}

static status bend(struct gpu *g, const float *scale, const float *shift, float low, tensor *y)
{
    const size_t c = y->dim[3];
    float *py = reals<float>(y);
    return each(g, count_of(y), [=] __device__(size_t i) {
        const float z = py[i] * scale[i % c] + shift[i % c];
        py[i] = z > 0 ? z : low * z;
    });
}

template <int V> static status bend_half(struct gpu *g, const float *scale, const float *shift, float low, tensor *y)
{
    const size_t c = y->dim[3], rows = span_of(y, 0, 3);
    bf16 *py = (bf16 *)y->data;
    return spread_run(g, rows, c, V, [=] __device__(unsigned vector, unsigned from, unsigned step) {
        enum { U = 4 };
        packed<V> in[U];
        float s[V], b[V];
        for (int k = 0; k < V; k++) s[k] = scale[vector * V + k], b[k] = shift[vector * V + k];
        by_rows<U>(
            from, step, (unsigned)rows, [&](unsigned i, int u) { in[u].load(py, (size_t)i * c + vector * V); },
            [&](unsigned i, int u) {
                float z[V];
                in[u].unpack(z);
#pragma unroll
                for (int k = 0; k < V; k++) {
                    z[k] = z[k] * s[k] + b[k];
                    z[k] = z[k] > 0 ? z[k] : low * z[k];
                }
                store<V>(py, (size_t)i * c + vector * V, z);
            });
    });
}

/* The map before pooling is kept aside. */
static status pooled(struct gpu *g, const struct conv_affine_args *a, tensor *y)
{
    tensor whole = *y;
    whole.dim[1] = (a->x->dim[1] + 2 * a->shape.pad - a->w->dim[2]) / a->shape.stride + 1;
    whole.dim[2] = (a->x->dim[2] + 2 * a->shape.pad - a->w->dim[3]) / a->shape.stride + 1;
    PASS(gpu_aside(g, count_of(&whole) * (is_half(y) ? sizeof(bf16) : sizeof(float)), &whole.data));
    PASS(conv_half(g, a->x, a->w, a->ready, a->shape, &whole));
    return affine_pool(g, a, &whole, y);
}

status conv_half_affine(struct gpu *g, const struct conv_affine_args *a, tensor *y)
{
    const float *by = reals<float>(a->scale), *and_add = reals<float>(a->shift), low = (float)a->slope;
    const struct conv_after after = {by, and_add, low, a->pool};
    if (is_half(a->x) && first_serves(a->x, a->w, a->shape)) return first_conv(g, a->x, a->w, &after, y);
    if (a->pool) return pooled(g, a, y);
    if (conv_64_serves(g, a->x, a->w, a->shape)) return conv_64(g, a->x, a->w, &after, y);
    PASS(conv_half(g, a->x, a->w, a->ready, a->shape, y));
    if (!is_half(y)) return bend(g, by, and_add, low, y);
    return y->dim[3] % 8 ? bend_half<1>(g, by, and_add, low, y) : bend_half<8>(g, by, and_add, low, y);
}

/* dx += from; channels are in groups of eight. */
static status add_half(struct gpu *g, const bf16 *from, tensor *dx)
{
    const size_t c = dx->dim[3], rows = span_of(dx, 0, 3);
    bf16 *to = (bf16 *)dx->data;
    return spread_run(g, rows, c, 8, [=] __device__(unsigned vector, unsigned first, unsigned step) {
        enum { U = 4 };
        packed<8> a[U], b[U];
        by_rows<U>(
            first, step, (unsigned)rows,
            [&](unsigned i, int u) {
                a[u].load(from, (size_t)i * c + vector * 8);
                b[u].load(to, (size_t)i * c + vector * 8);
            },
            [&](unsigned i, int u) {
                float x[8], y[8];
                a[u].unpack(x);
                b[u].unpack(y);
#pragma unroll
                for (int k = 0; k < 8; k++) x[k] += y[k];
                store<8>(to, (size_t)i * c + vector * 8, x);
            });
    });
}

template <typename T>
static status grad_x(struct gpu *g, const tensor *w, const struct conv_ready *ready, const tensor *dy, struct conv_shape s,
                     bool add, tensor *dx)
{
    const struct dnn_shape c = shape_of(dx, w, dy, s, DNN_DATA);
    const size_t in = dx->dim[3], wide = (size_t)c.in;
    const bool aside = add || in != wide;
    struct room room;
    T *to = (T *)dx->data;
    PASS(room_take(g, &c, aside ? span_of(dx, 0, 3) * wide : 0, &room));
    if (ready && ready->form == form_of(dx)) room.filters = ready->memory;
    else PASS(order_filters(g, c, w, (T *)room.filters));
    PASS(dnn_run(g, &c, aside ? room.maps : dx->data, room.filters, dy->data));
    if (!aside) return OK;
    const T *from = (const T *)room.maps;
    if (in == wide && sizeof(T) == sizeof(bf16)) return add_half(g, (const bf16 *)room.maps, dx);
    return each(g, count_of(dx), [=] __device__(size_t i) {
        const float e = widened(from[i / in * wide + i % in]);
        to[i] = narrowed<T>(add ? widened(to[i]) + e : e);
    });
}

status conv_half_grad_x(struct gpu *g, const tensor *w, const struct conv_ready *ready, const tensor *dy,
                        struct conv_shape s, bool add, tensor *dx)
{
    if (count_of(dx) == 0) return OK;
    if (!add && conv_64_serves(g, dx, w, s)) return conv_64_grad_x(g, w, dy, dx);
    return is_half(dx) ? grad_x<bf16>(g, w, ready, dy, s, add, dx) : grad_x<float>(g, w, ready, dy, s, add, dx);
}

template <typename T>
static status grad_w(struct gpu *g, const tensor *x, const tensor *dy, struct conv_shape s, tensor *dw)
{
    const struct dnn_shape c = shape_of(x, dw, dy, s, DNN_FILTER);
    struct filters f;
    struct room room;
    T *from;
    PASS(filters_of(g, dw->dim[0], dw->dim[1], (size_t)c.in, (size_t)(c.kh * c.kw), &f));
    PASS(room_take(g, &c, widened_count(&c, x), &room));
    PASS(widen(g, c, x, room.maps, &from));
    PASS(dnn_run(g, &c, from, room.filters, dy->data));
    return filters_add(g, &f, (const T *)room.filters, reals<float>(dw));
}

status conv_half_grad_w(struct gpu *g, const tensor *x, const tensor *dy, struct conv_shape s, tensor *dw)
{
    if (count_of(dy) == 0) return OK;
    if (is_half(x) && first_serves(x, dw, s)) return first_grad_w(g, x, dy, dw);
    return is_half(x) ? grad_w<bf16>(g, x, dy, s, dw) : grad_w<float>(g, x, dy, s, dw);
}
