/* norm_half.cu - batch statistics, and batch norm + residual + activation + 2x2 pooling with its derivative, over maps in
 * bf16 (the formulas: norm_act_pool.cu).
 *
 * These passes only move memory, so each map is read once a pass and nothing in between is stored. The statistics are
 * summed around the first row, so that a mean far from 0 cancels nothing. */
#include "cuda/half.cuh"
#include "cuda/mixed.cuh"

static size_t channels_of(const tensor *x) { return x->dim[x->rank - 1]; }
static size_t rows_of(const tensor *x) { return span_of(x, 0, x->rank - 1); }
static const bf16 *maps(const tensor *x) { return x ? (const bf16 *)x->data : NULL; }

template <int V> static status stats(struct gpu *g, const tensor *x, float *mean, float *variance)
{
    const size_t c = channels_of(x), rows = rows_of(x);
    const bf16 *px = maps(x);
    void *memory;
    PASS(gpu_scratch(g, sums_memory(2, rows, c, V) * sizeof(float), &memory));
    return sums_run<2, V>(
        g, rows, c, (float *)memory,
        [=] __device__(unsigned vector, unsigned from, unsigned step, float(*sums)[V]) {
            enum { U = 4 };
            packed<V> first, in[U];
            float shift[V];
            first.load(px, vector * V);
            first.unpack(shift);
            by_rows<U>(
                from, step, (unsigned)rows, [&](unsigned i, int u) { in[u].load(px, (size_t)i * c + vector * V); },
                [&](unsigned, int u) {
                    float e[V];
                    in[u].unpack(e);
#pragma unroll
                    for (int k = 0; k < V; k++) {
                        const float apart = e[k] - shift[k];
                        sums[0][k] += apart;
                        sums[1][k] += apart * apart;
                    }
                });
        },
        [=] __device__(unsigned j, const double *total) {
            const double m = total[0] / (double)rows, v = total[1] / (double)rows - m * m;
            mean[j] = (float)((double)__bfloat162float(px[j]) + m);
            variance[j] = (float)(v > 0 ? v : 0);
        });
}

status stats_half(struct gpu *g, const tensor *x, tensor *mean, tensor *variance)
{
    float *m = reals<float>(mean), *v = reals<float>(variance);
    return channels_of(x) % 8 ? stats<1>(g, x, m, v) : stats<8>(g, x, m, v);
}

/* One or two normalised inputs; with pooling a row is a cell of 2 x 2 pixels. */
struct inputs {
    const bf16 *x[2];
    const float *mean[2], *variance[2], *gain[2], *bias[2];
    float epsilon[2], low;
    size_t c;
    unsigned h, w, oh, ow, ch, cw; /* of maps, of results, of cells: one more where a side is odd */
    size_t cells, results;
};

static struct inputs inputs_of(const struct norm_act_args *a)
{
    const tensor *x = a->of[0].x;
    struct inputs n = {};
    for (int i = 0; i < 2 && a->of[i].x; i++) {
        n.x[i] = maps(a->of[i].x);
        n.mean[i] = reals<float>(a->of[i].mean);
        n.variance[i] = reals<float>(a->of[i].variance);
        n.gain[i] = reals<float>(a->of[i].gain);
        n.bias[i] = reals<float>(a->of[i].bias);
        n.epsilon[i] = (float)a->of[i].epsilon;
    }
    n.low = (float)a->slope;
    n.c = channels_of(x);
    n.cells = n.results = rows_of(x);
    if (!a->pool) return n;
    n.h = (unsigned)x->dim[1];
    n.w = (unsigned)x->dim[2];
    n.oh = n.h / 2;
    n.ow = n.w / 2;
    n.ch = (n.h + 1) / 2;
    n.cw = (n.w + 1) / 2;
    n.cells = x->dim[0] * n.ch * n.cw;
    n.results = x->dim[0] * n.oh * n.ow;
    return n;
}

/* u = sum of x scale + shift, of one vector of channels. */
template <int V, int N> struct affine {
    float scale[N][V], shift[N][V];

    __device__ affine(const struct inputs &n, size_t first)
    {
#pragma unroll
        for (int i = 0; i < N; i++)
#pragma unroll
            for (int k = 0; k < V; k++) {
                const size_t j = first + k;
                scale[i][k] = n.gain[i][j] * rsqrtf(n.variance[i][j] + n.epsilon[i]);
                shift[i][k] = n.bias[i][j] - n.mean[i][j] * scale[i][k];
            }
    }
    __device__ void unit(const float x[N][V], float u[V]) const
    {
#pragma unroll
        for (int k = 0; k < V; k++) {
            u[k] = x[0][k] * scale[0][k] + shift[0][k];
            if (N == 2) u[k] += x[N - 1][k] * scale[N - 1][k] + shift[N - 1][k];
        }
    }
};

/* Where a cell's pixels lie, and which of its four are on the map. */
struct cell {
    size_t corner; /* pixel */
    bool right, below;
    size_t result;
};
static __device__ inline struct cell cell_of(const struct inputs &n, unsigned i)
{
    const unsigned each = n.ch * n.cw, picture = i / each, at = i - picture * each, row = at / n.cw, column = at - row * n.cw;
    struct cell c;
    c.corner = ((size_t)picture * n.h + 2 * row) * n.w + 2 * column;
    c.right = 2 * column + 1 < n.w;
    c.below = 2 * row + 1 < n.h;
    c.result = ((size_t)picture * n.oh + row) * n.ow + column;
    return c;
}
/* The corner of result i. */
static __device__ inline size_t corner_of(const struct inputs &n, unsigned i)
{
    const unsigned each = n.oh * n.ow, picture = i / each, at = i - picture * each, row = at / n.ow;
    return ((size_t)picture * n.h + 2 * row) * n.w + 2 * (at - row * n.ow);
}
static __device__ inline size_t beside(const struct inputs &n, size_t corner, int p)
{
    return corner + (p & 1) + (p & 2 ? n.w : 0);
}

/* All inputs of one pixel, as they lie. */
template <int V, int N> struct pixel {
    packed<V> of[N];
    __device__ void load(const struct inputs &n, size_t at, size_t first)
    {
#pragma unroll
        for (int i = 0; i < N; i++) of[i].load(n.x[i], at * n.c + first);
    }
    __device__ void unpack(float x[N][V]) const
    {
#pragma unroll
        for (int i = 0; i < N; i++) of[i].unpack(x[i]);
    }
};

/* The units of four pixels, and which one each channel takes: the first of the largest, a NaN before all. */
template <int V, int N>
static __device__ inline void choose(const affine<V, N> &a, const pixel<V, N> in[4], float top[V], int best[V])
{
#pragma unroll
    for (int p = 0; p < 4; p++) {
        float x[N][V], u[V];
        in[p].unpack(x);
        a.unit(x, u);
#pragma unroll
        for (int k = 0; k < V; k++) {
            const bool better = p == 0 || u[k] > top[k] || (u[k] != u[k] && top[k] == top[k]);
            top[k] = better ? u[k] : top[k];
            best[k] = better ? p : best[k];
        }
    }
}

template <int V> static __device__ inline void bend(float low, const float u[V], float y[V])
{
#pragma unroll
    for (int k = 0; k < V; k++) y[k] = u[k] <= 0 ? low * y[k] : y[k];
}

template <int V, int N, bool POOL> static status forward(struct gpu *g, const struct inputs n, bf16 *y)
{
    return spread_run(g, n.results, n.c, V, [=] __device__(unsigned vector, unsigned from, unsigned step) {
        enum { PIXELS = POOL ? 4 : 1, U = N * PIXELS > 4 ? 1 : N * PIXELS > 2 ? 2 : 4 };
        const size_t first = vector * V;
        const affine<V, N> a(n, first);
        pixel<V, N> in[U][PIXELS];
        by_rows<U>(
            from, step, (unsigned)n.results,
            [&](unsigned i, int u) {
                const size_t corner = POOL ? corner_of(n, i) : i;
#pragma unroll
                for (int p = 0; p < PIXELS; p++) in[u][p].load(n, POOL ? beside(n, corner, p) : corner, first);
            },
            [&](unsigned i, int u) {
                float top[V], out[V];
                if (POOL) {
                    int best[V];
                    choose<V, N>(a, in[u], top, best);
                } else {
                    float x[N][V];
                    in[u][0].unpack(x);
                    a.unit(x, top);
                }
#pragma unroll
                for (int k = 0; k < V; k++) out[k] = top[k];
                bend<V>(n.low, top, out);
                store<V>(y, (size_t)i * n.c + first, out);
            });
    });
}

/* With pooling, the second input being pictures of 3 channels by w [c, 3]: made here, never stored. */
template <int V> static status forward_thin(struct gpu *g, const struct inputs n, const float *w, bf16 *y)
{
    return spread_run(g, n.results, n.c, V, [=] __device__(unsigned vector, unsigned from, unsigned step) {
        enum { U = 2, COLOURS = 3 };
        const size_t first = vector * V;
        const affine<V, 2> a(n, first);
        float by[COLOURS][V];
#pragma unroll
        for (int k = 0; k < V; k++)
#pragma unroll
            for (int e = 0; e < COLOURS; e++) by[e][k] = w[(first + k) * COLOURS + e] * a.scale[1][k];
        packed<V> in[U][4];
        packed<1> colour[U][4][COLOURS];
        by_rows<U>(
            from, step, (unsigned)n.results,
            [&](unsigned i, int u) {
                const size_t corner = corner_of(n, i);
#pragma unroll
                for (int p = 0; p < 4; p++) {
                    const size_t at = beside(n, corner, p);
                    in[u][p].load(n.x[0], at * n.c + first);
#pragma unroll
                    for (int e = 0; e < COLOURS; e++) colour[u][p][e].load(n.x[1], at * COLOURS + e);
                }
            },
            [&](unsigned i, int u) {
                float top[V], out[V];
#pragma unroll
                for (int p = 0; p < 4; p++) {
                    float x[V], rgb[COLOURS];
                    in[u][p].unpack(x);
#pragma unroll
                    for (int e = 0; e < COLOURS; e++) colour[u][p][e].unpack(&rgb[e]);
#pragma unroll
                    for (int k = 0; k < V; k++) {
                        const float side = rgb[0] * by[0][k] + rgb[1] * by[1][k] + rgb[2] * by[2][k] + a.shift[1][k];
                        const float z = x[k] * a.scale[0][k] + a.shift[0][k] + side;
                        top[k] = p == 0 || z > top[k] || z != z ? z : top[k];
                    }
                }
#pragma unroll
                for (int k = 0; k < V; k++) out[k] = top[k];
                bend<V>(n.low, top, out);
                store<V>(y, (size_t)i * n.c + first, out);
            });
    });
}

/* The way back: dx = scale g + slope (x - mean) + shift for each input. */
struct back {
    const bf16 *dy;
    float *slope[2], *shift[2]; /* [c] */
    bf16 *dx[2];                /* NULL: not wanted */
    bool add[2];
};

/* Sums of g and of g (x - mean) of each input. */
template <int V, int N, bool POOL, typename Finish>
static status sum_back(struct gpu *g, const struct inputs n, const bf16 *dy, float *memory, Finish finish)
{
    return sums_run<1 + N, V>(
        g, n.results, n.c, memory,
        [=] __device__(unsigned vector, unsigned from, unsigned step, float(*sums)[V]) {
            enum { PIXELS = POOL ? 4 : 1, U = N * PIXELS > 4 ? 1 : N * PIXELS > 2 ? 2 : 4 };
            const size_t first = vector * V;
            const affine<V, N> a(n, first);
            pixel<V, N> in[U][PIXELS];
            packed<V> down[U];
            by_rows<U>(
                from, step, (unsigned)n.results,
                [&](unsigned i, int u) {
                    const size_t corner = POOL ? corner_of(n, i) : i;
                    down[u].load(dy, (size_t)i * n.c + first);
#pragma unroll
                    for (int p = 0; p < PIXELS; p++) in[u][p].load(n, POOL ? beside(n, corner, p) : corner, first);
                },
                [&](unsigned, int u) {
                    float d[V], top[V], at[N][V];
                    int best[V];
                    down[u].unpack(d);
                    in[u][0].unpack(at);
                    if (POOL) choose<V, N>(a, in[u], top, best);
                    else a.unit(at, top);
                    bend<V>(n.low, top, d);
#pragma unroll
                    for (int p = 1; p < PIXELS; p++) {
                        float x[N][V];
                        in[u][p].unpack(x);
#pragma unroll
                        for (int e = 0; e < N; e++)
#pragma unroll
                            for (int k = 0; k < V; k++) at[e][k] = best[k] == p ? x[e][k] : at[e][k];
                    }
#pragma unroll
                    for (int k = 0; k < V; k++) {
                        sums[0][k] += d[k];
#pragma unroll
                        for (int e = 0; e < N; e++) sums[1 + e][k] += d[k] * (at[e][k] - n.mean[e][first + k]);
                    }
                });
        },
        finish);
}

template <int V, int N> struct constants { /* of a vector of channels; the mean is in the shift */
    float slope[N][V], shift[N][V];
    __device__ constants(const struct inputs &n, const struct back &b, size_t first)
    {
#pragma unroll
        for (int e = 0; e < N; e++)
#pragma unroll
            for (int k = 0; k < V; k++) {
                slope[e][k] = b.slope[e][first + k];
                shift[e][k] = b.shift[e][first + k] - slope[e][k] * n.mean[e][first + k];
            }
    }
};

/* One pixel's derivative of every input; `own` is g. */
template <int V, int N>
static __device__ inline void give_pixel(const struct inputs &n, const struct back &b, const affine<V, N> &a,
                                         const constants<V, N> &s, size_t at, const pixel<V, N> &in, const float own[V])
{
    float x[N][V];
    in.unpack(x);
#pragma unroll
    for (int e = 0; e < N; e++) {
        float d[V];
        if (!b.dx[e]) continue;
#pragma unroll
        for (int k = 0; k < V; k++) d[k] = a.scale[e][k] * own[k] + (s.slope[e][k] * x[e][k] + s.shift[e][k]);
        if (b.add[e])
#pragma unroll
            for (int k = 0; k < V; k++) d[k] += __bfloat162float(b.dx[e][at + k]);
        store<V>(b.dx[e], at, d);
    }
}

template <int V, int N> static status give_cells(struct gpu *g, const struct inputs n, const struct back b)
{
    return spread_run(g, n.cells, n.c, V, [=] __device__(unsigned vector, unsigned from, unsigned step) {
        const size_t first = vector * V;
        const affine<V, N> a(n, first);
        const constants<V, N> s(n, b, first);
        enum { U = N == 1 ? 2 : 1 };
        pixel<V, N> in[U][4];
        packed<V> down[U];
        by_rows<U>(
            from, step, (unsigned)n.cells,
            [&](unsigned i, int u) {
                const struct cell c = cell_of(n, i);
                in[u][0].load(n, c.corner, first);
                if (c.right) in[u][1].load(n, c.corner + 1, first);
                if (c.below) in[u][2].load(n, c.corner + n.w, first);
                if (c.right && c.below) {
                    in[u][3].load(n, c.corner + n.w + 1, first);
                    down[u].load(b.dy, c.result * n.c + first);
                }
            },
            [&](unsigned i, int u) {
                const struct cell c = cell_of(n, i);
                float d[V] = {}, top[V];
                int best[V];
#pragma unroll
                for (int k = 0; k < V; k++) best[k] = -1;
                if (c.right && c.below) {
                    down[u].unpack(d);
                    choose<V, N>(a, in[u], top, best);
                    bend<V>(n.low, top, d);
                }
#pragma unroll
                for (int p = 0; p < 4; p++) {
                    float own[V];
                    if ((p & 1 && !c.right) || (p & 2 && !c.below)) continue;
#pragma unroll
                    for (int k = 0; k < V; k++) own[k] = best[k] == p ? d[k] : 0;
                    give_pixel<V, N>(n, b, a, s, beside(n, c.corner, p) * n.c + first, in[u][p], own);
                }
            });
    });
}

template <int V, int N> static status give_pixels(struct gpu *g, const struct inputs n, const struct back b)
{
    return spread_run(g, n.results, n.c, V, [=] __device__(unsigned vector, unsigned from, unsigned step) {
        const size_t first = vector * V;
        const affine<V, N> a(n, first);
        const constants<V, N> s(n, b, first);
        enum { U = N == 1 ? 4 : 2 };
        pixel<V, N> in[U];
        packed<V> down[U];
        by_rows<U>(
            from, step, (unsigned)n.results,
            [&](unsigned i, int u) {
                in[u].load(n, i, first);
                down[u].load(b.dy, (size_t)i * n.c + first);
            },
            [&](unsigned i, int u) {
                float x[N][V], d[V], top[V];
                in[u].unpack(x);
                a.unit(x, top);
                down[u].unpack(d);
                bend<V>(n.low, top, d);
                give_pixel<V, N>(n, b, a, s, (size_t)i * n.c + first, in[u], d);
            });
    });
}

/* dgain and dbias, and the constants of dx. */
struct gradients {
    float *dgain[2], *dbias[2];
    bool batch;
    double pixels; /* of a channel */
};

template <int V, int N, bool POOL>
static status backward(struct gpu *g, const struct inputs n, struct back b, const struct gradients to)
{
    struct cursor at = {};
    void *memory;
    float *parts;
    for (int pass = 0; pass < 2; pass++) {
        at.bytes = 0;
        parts = cursor_take<float>(&at, sums_memory(1 + N, n.results, n.c, V));
        for (int i = 0; i < N; i++) {
            b.slope[i] = cursor_take<float>(&at, n.c);
            b.shift[i] = cursor_take<float>(&at, n.c);
        }
        if (pass == 0) PASS(gpu_scratch(g, at.bytes, &memory));
        at.at = (char *)memory;
    }
    PASS((sum_back<V, N, POOL>(g, n, b.dy, parts, [=] __device__(unsigned j, const double *total) {
        for (int i = 0; i < N; i++) {
            const double inverse = 1 / sqrt((double)n.variance[i][j] + (double)n.epsilon[i]);
            const double scale = (double)n.gain[i][j] * inverse;
            if (to.dbias[i]) to.dbias[i][j] += (float)total[0];
            if (to.dgain[i]) to.dgain[i][j] += (float)(total[1 + i] * inverse);
            b.slope[i][j] = (float)(to.batch ? -scale * inverse * inverse * total[1 + i] / to.pixels : 0);
            b.shift[i][j] = (float)(to.batch ? -scale * total[0] / to.pixels : 0);
        }
    })));
    if (!b.dx[0] && (N == 1 || !b.dx[1])) return OK;
    return POOL ? give_cells<V, N>(g, n, b) : give_pixels<V, N>(g, n, b);
}

/* Calls what<V, N, POOL> for the shape at hand. */
#define BY_SHAPE(what, n, pool, ...) \
    ((n).c % 8 == 0 ? BY_INPUTS(what, 8, n, pool, __VA_ARGS__) : BY_INPUTS(what, 1, n, pool, __VA_ARGS__))
#define BY_INPUTS(what, v, n, pool, ...) \
    ((n).x[1] ? ((pool) ? what<v, 2, true>(__VA_ARGS__) : what<v, 2, false>(__VA_ARGS__)) \
              : ((pool) ? what<v, 1, true>(__VA_ARGS__) : what<v, 1, false>(__VA_ARGS__)))

status norm_half(struct gpu *g, const struct norm_act_args *a, tensor *y)
{
    const struct inputs n = inputs_of(a);
    bf16 *py = (bf16 *)y->data;
    if (a->of[1].w) {
        const float *w = reals<float>(a->of[1].w);
        return n.c % 8 ? forward_thin<1>(g, n, w, py) : forward_thin<8>(g, n, w, py);
    }
    return BY_SHAPE(forward, n, a->pool, g, n, py);
}

status norm_half_grad(struct gpu *g, const struct norm_act_args *a, bool batch, const tensor *dy,
                      const struct norm_act_grads *to)
{
    const struct inputs n = inputs_of(a);
    struct back b = {};
    struct gradients grads = {};
    b.dy = maps(dy);
    grads.batch = batch;
    grads.pixels = (double)rows_of(a->of[0].x);
    for (int i = 0; i < 2; i++) {
        b.dx[i] = to->of[i].x ? (bf16 *)to->of[i].x->data : NULL;
        b.add[i] = to->of[i].add;
        grads.dgain[i] = reals<float>(to->of[i].gain);
        grads.dbias[i] = reals<float>(to->of[i].bias);
    }
    return BY_SHAPE(backward, n, a->pool, g, n, b, grads);
}
