/* conv.cu - convolution of channels-last maps, and its derivatives, as matrix products over patches.
 *
 * A patch is the kh * kw * in numbers under the filter at one output, in the order ky, kx, channel; weights are brought
 * into that order once a call, [out, patch]. Pictures are taken so many at a time that their patches fit PATCH_BYTES. A
 * filter of one pixel with stride 1 needs no patches: the map is its own. */
#include "cuda/mixed.cuh"

enum { PATCH_BYTES = 512 << 20 };

struct conv {
    size_t n, h, w, in; /* of the map */
    size_t oh, ow, out; /* of the result */
    size_t kh, kw, stride, pad;
    size_t patch, places; /* numbers of a patch, outputs of a picture */
    size_t chunk;         /* pictures at a time */
    bool plain;           /* the map is its own patches */
};

static struct conv conv_of(const tensor *x, const tensor *w, const tensor *y, struct conv_shape s, size_t real_bytes)
{
    struct conv c = {x->dim[0], x->dim[1], x->dim[2], x->dim[3], y->dim[1], y->dim[2], y->dim[3],
                     w->dim[2], w->dim[3], s.stride,  s.pad,     0,         0,         0,         false};
    c.patch = c.kh * c.kw * c.in;
    c.places = c.oh * c.ow;
    c.plain = c.kh == 1 && c.kw == 1 && c.stride == 1 && c.pad == 0;
    const size_t each_picture = size_max(1, c.patch * c.places * real_bytes);
    c.chunk = size_max(1, size_min(c.n, PATCH_BYTES / each_picture));
    return c;
}

/* The weights [out, in, kh, kw] as [out, patch]. */
template <typename real>
static status order_weights(struct gpu *g, const struct conv c, const real *w, real *ordered)
{
    return each(g, c.out * c.patch, [=] __device__(size_t i) {
        const size_t channel = i % c.in, tap = i / c.in % (c.kh * c.kw), o = i / c.patch;
        ordered[i] = w[(o * c.in + channel) * c.kh * c.kw + tap];
    });
}

/* The patches of `count` pictures from `first` on: [count * places, patch]. */
template <typename real>
static status gather_patches(struct gpu *g, const struct conv c, const real *x, size_t first, size_t count, real *to)
{
    return each(g, count * c.places * c.patch, [=] __device__(size_t i) {
        const size_t channel = i % c.in, tap = i / c.in % (c.kh * c.kw), place = i / c.patch;
        const size_t picture = first + place / c.places, at = place % c.places;
        const size_t row = at / c.ow * c.stride + tap / c.kw, column = at % c.ow * c.stride + tap % c.kw;
        const bool inside = row >= c.pad && row - c.pad < c.h && column >= c.pad && column - c.pad < c.w;
        to[i] = inside ? x[((picture * c.h + row - c.pad) * c.w + column - c.pad) * c.in + channel] : (real)0;
    });
}

/* dx += for each pixel, what the patches that hold it say. One thread a number: nothing is added to twice. */
template <typename real>
static status scatter_patches(struct gpu *g, const struct conv c, const real *from, size_t first, size_t count,
                              real *dx)
{
    return each(g, count * c.h * c.w * c.in, [=] __device__(size_t i) {
        const size_t channel = i % c.in, column = i / c.in % c.w + c.pad, row = i / (c.in * c.w) % c.h + c.pad;
        const size_t picture = i / (c.in * c.w * c.h);
        real sum = 0;
        for (size_t ky = 0; ky < c.kh; ky++) {
            if (row < ky || (row - ky) % c.stride || (row - ky) / c.stride >= c.oh) continue;
            for (size_t kx = 0; kx < c.kw; kx++) {
                if (column < kx || (column - kx) % c.stride || (column - kx) / c.stride >= c.ow) continue;
                const size_t place = (picture * c.oh + (row - ky) / c.stride) * c.ow + (column - kx) / c.stride;
                sum += from[place * c.patch + (ky * c.kw + kx) * c.in + channel];
            }
        }
        dx[first * c.h * c.w * c.in + i] += sum;
    });
}

/* Memory for the ordered weights, the patches of a chunk and, unless `results` is NULL, its results. */
template <typename real>
static status reserve(struct gpu *g, const struct conv *c, real **weights, real **patches, real **results)
{
    struct cursor at = {};
    void *memory;
    for (int pass = 0; pass < 2; pass++) {
        at.bytes = 0;
        *weights = cursor_take<real>(&at, c->out * c->patch);
        *patches = c->plain ? NULL : cursor_take<real>(&at, c->chunk * c->places * c->patch);
        if (results) *results = cursor_take<real>(&at, c->chunk * c->places * c->out);
        if (pass == 0) PASS(gpu_scratch(g, at.bytes, &memory));
        at.at = (char *)memory;
    }
    return OK;
}

/* The convolution of `count` pictures from `first` on. */
template <typename real>
static status convolve(struct gpu *g, const struct conv *c, const real *x, size_t first, size_t count,
                       const real *weights, real *patches, real *to)
{
    const real *from = c->plain ? x + first * c->places * c->in : patches;
    if (!c->plain) PASS(gather_patches(g, *c, x, first, count, patches));
    const struct product<real> p = {false, true, count * c->places, c->out, c->patch, 1, from, weights, to, c->patch,
                                    c->patch, c->out, 0, 0, 0, 1, 0};
    return product_run(g, &p);
}

template <typename real>
status conv2d(struct device *d, const tensor *x, const tensor *w, struct conv_shape s, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    const struct conv c = conv_of(x, w, y, s, sizeof(real));
    real *weights, *patches;
    PASS(reserve(g, &c, &weights, &patches, (real **)NULL));
    PASS(order_weights(g, c, reals<real>(w), weights));
    for (size_t first = 0; first < c.n; first += c.chunk)
        PASS(convolve(g, &c, reals<real>(x), first, size_min(c.chunk, c.n - first), weights, patches,
                      reals<real>(y) + first * c.places * c.out));
    return OK;
}

/* leaky_relu(conv2d * scale + shift), the last part in place. */
template <typename real> static status affine_plain(struct device *d, const struct conv_affine_args *a, tensor *y)
{
    const size_t c = y->dim[3];
    const real *ps = reals<real>(a->scale), *pb = reals<real>(a->shift), low = (real)a->slope;
    real *py = reals<real>(y);
    PASS(conv2d<real>(d, a->x, a->w, a->shape, y));
    return each(gpu_enter(d), count_of(y), [=] __device__(size_t i) {
        const real z = py[i] * ps[i % c] + pb[i % c];
        py[i] = z > 0 ? z : low * z;
    });
}

/* The largest of 2x2 of that, of `count` pictures' results; NaN before all. */
template <typename real>
static status pool_affine(struct gpu *g, const struct conv c, const struct conv_affine_args *a, size_t count,
                          const real *from, real *to)
{
    const real *ps = reals<real>(a->scale), *pb = reals<real>(a->shift), low = (real)a->slope;
    const size_t high = c.oh / 2, wide = c.ow / 2, out = c.out, oh = c.oh, ow = c.ow;
    return each(g, count * high * wide * out, [=] __device__(size_t i) {
        const size_t channel = i % out, column = i / out % wide, row = i / (out * wide) % high;
        const size_t picture = i / (out * wide * high);
        const real *at = from + ((picture * oh + 2 * row) * ow + 2 * column) * out + channel;
        real top = at[0] * ps[channel] + pb[channel];
        for (int k = 1; k < 4; k++) {
            const real z = at[(k / 2 * ow + k % 2) * out] * ps[channel] + pb[channel];
            if (z > top || z != z) top = z;
        }
        to[i] = top > 0 ? top : low * top;
    });
}

/* Nothing is kept where no tensor cores are asked for: to bring weights into order costs little there. */
static status conv2d_prepare(struct device *, const tensor *, const tensor *, struct conv_shape, struct conv_ready *out)
{
    *out = {true, 0, NULL};
    return OK;
}

/* Nothing above the ceiling of a result that is finished otherwise; NaN stays. */
template <typename real> static status cut(struct gpu *g, const struct conv_affine_args *a, tensor *y)
{
    real *py = reals<real>(y), most = (real)a->ceiling;
    if (!(a->ceiling > 0)) return OK;
    if (is_half(y)) return g->fail(ST_UNSUPPORTED, "convolutions with a ceiling are not there for bf16; use tf32 or f32");
    return each(g, count_of(y), [=] __device__(size_t i) {
        if (py[i] > most) py[i] = most;
    });
}

template <typename real> static status affine_any(struct device *d, const struct conv_affine_args *a, tensor *y)
{
    if (!a->scale) return conv2d<real>(d, a->x, a->w, a->shape, y);
    if (!a->pool) return affine_plain<real>(d, a, y);
    struct gpu *g = gpu_enter(d);
    tensor whole = *y; /* the shape before pooling; it has no memory of its own */
    whole.dim[1] = (a->x->dim[1] + 2 * a->shape.pad - a->w->dim[2]) / a->shape.stride + 1;
    whole.dim[2] = (a->x->dim[2] + 2 * a->shape.pad - a->w->dim[3]) / a->shape.stride + 1;
    const struct conv c = conv_of(a->x, a->w, &whole, a->shape, sizeof(real));
    const size_t each_picture = (c.oh / 2) * (c.ow / 2) * c.out;
    real *weights, *patches, *results;
    PASS(reserve(g, &c, &weights, &patches, &results));
    PASS(order_weights(g, c, reals<real>(a->w), weights));
    for (size_t first = 0; first < c.n; first += c.chunk) {
        const size_t count = size_min(c.chunk, c.n - first);
        PASS(convolve(g, &c, reals<real>(a->x), first, count, weights, patches, results));
        PASS(pool_affine(g, c, a, count, results, reals<real>(y) + first * each_picture));
    }
    return OK;
}

template <typename real> status conv2d_affine(struct device *d, const struct conv_affine_args *a, tensor *y)
{
    PASS(affine_any<real>(d, a, y));
    return cut<real>(gpu_enter(d), a, y);
}

template <typename real>
status conv2d_grad_x(struct device *d, const tensor *w, const struct conv_ready *, const tensor *dy, struct conv_shape s,
                     bool add, tensor *dx)
{
    struct gpu *g = gpu_enter(d);
    const struct conv c = conv_of(dx, w, dy, s, sizeof(real));
    real *weights, *patches;
    PASS(reserve(g, &c, &weights, &patches, (real **)NULL));
    PASS(order_weights(g, c, reals<real>(w), weights));
    if (!c.plain && !add) PASS(d->zero(d, dx->data, count_of(dx) * sizeof(real))); /* patches overlap: they are added */
    for (size_t first = 0; first < c.n; first += c.chunk) {
        const size_t count = size_min(c.chunk, c.n - first), rows = count * c.places;
        real *to = c.plain ? reals<real>(dx) + first * c.places * c.in : patches;
        const struct product<real> p = {false, false, rows, c.patch, c.out, 1,
                                        reals<real>(dy) + first * c.places * c.out, weights, to, c.out, c.patch,
                                        c.patch, 0, 0, 0, 1, c.plain && add ? 1.0 : 0.0};
        PASS(product_run(g, &p));
        if (!c.plain) PASS(scatter_patches(g, c, patches, first, count, reals<real>(dx)));
    }
    return OK;
}

template <typename real>
status conv2d_grad_w(struct device *d, const tensor *x, const tensor *dy, struct conv_shape s, tensor *dw)
{
    struct gpu *g = gpu_enter(d);
    const struct conv c = conv_of(x, dw, dy, s, sizeof(real));
    real *sums, *patches, *out = reals<real>(dw);
    if (c.n == 0) return OK;
    PASS(reserve(g, &c, &sums, &patches, (real **)NULL));
    for (size_t first = 0; first < c.n; first += c.chunk) {
        const size_t count = size_min(c.chunk, c.n - first), rows = count * c.places;
        const real *from = c.plain ? reals<real>(x) + first * c.places * c.in : patches;
        if (!c.plain) PASS(gather_patches(g, c, reals<real>(x), first, count, patches));
        const struct product<real> p = {true, false, c.out, c.patch, rows, 1,
                                        reals<real>(dy) + first * c.places * c.out, from, sums, c.out, c.patch,
                                        c.patch, 0, 0, 0, 1, first ? 1.0 : 0.0};
        PASS(product_run(g, &p));
    }
    return each(g, c.out * c.patch, [=] __device__(size_t i) {
        const size_t channel = i % c.in, tap = i / c.in % (c.kh * c.kw), o = i / c.patch;
        out[(o * c.in + channel) * c.kh * c.kw + tap] += sums[i];
    });
}

/* In single precision other maths may be asked for. */
static bool by_tensor_cores(struct gpu *g, const tensor *x) { return is_half(x) || g->device->maths != MATHS_F32; }

static status conv2d_f32(struct device *d, const tensor *x, const tensor *w, struct conv_shape s, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    return by_tensor_cores(g, x) ? conv_half(g, x, w, NULL, s, y) : conv2d<float>(d, x, w, s, y);
}

static status conv2d_affine_f32(struct device *d, const struct conv_affine_args *a, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    if (!by_tensor_cores(g, a->x)) return conv2d_affine<float>(d, a, y);
    PASS(a->scale ? conv_half_affine(g, a, y) : conv_half(g, a->x, a->w, a->ready, a->shape, y));
    return cut<float>(g, a, y);
}

static status conv2d_prepare_f32(struct device *d, const tensor *x, const tensor *w, struct conv_shape s,
                                 struct conv_ready *out)
{
    struct gpu *g = gpu_enter(d);
    return by_tensor_cores(g, x) ? conv_half_prepare(g, x, w, s, out) : conv2d_prepare(d, x, w, s, out);
}

static status conv2d_grad_x_f32(struct device *d, const tensor *w, const struct conv_ready *ready, const tensor *dy,
                                struct conv_shape s, bool add, tensor *dx)
{
    struct gpu *g = gpu_enter_beside(d);
    return by_tensor_cores(g, dx) ? conv_half_grad_x(g, w, ready, dy, s, add, dx)
                                  : conv2d_grad_x<float>(d, w, ready, dy, s, add, dx);
}

static status conv2d_grad_w_f32(struct device *d, const tensor *x, const tensor *dy, struct conv_shape s, tensor *dw)
{
    struct gpu *g = gpu_enter_beside(d), *beside;
    if (!by_tensor_cores(g, x)) return conv2d_grad_w<float>(d, x, dy, s, dw);
    PASS(gpu_beside(g, &beside));
    return conv_half_grad_w(beside, x, dy, s, dw);
}

template <typename real> static void enter(struct prims *p)
{
    p->conv2d = conv2d<real>;
    p->conv2d_affine = conv2d_affine<real>;
    p->conv2d_prepare = conv2d_prepare;
    p->conv2d_grad_x = conv2d_grad_x<real>;
    p->conv2d_grad_w = conv2d_grad_w<real>;
}

void table_conv(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
    p[DT_F32].conv2d = conv2d_f32;
    p[DT_F32].conv2d_affine = conv2d_affine_f32;
    p[DT_F32].conv2d_prepare = conv2d_prepare_f32;
    p[DT_F32].conv2d_grad_x = conv2d_grad_x_f32;
    p[DT_F32].conv2d_grad_w = conv2d_grad_w_f32;
}
