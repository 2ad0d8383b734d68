/* affine_pool.cu - what follows a convolution in inference where its map is pooled: scale, shift, activation and the largest
 * of each 2 x 2 square, from a map of the full size that is kept aside. */
#include "cuda/half.cuh"
#include "cuda/mixed.cuh"

struct squares {
    const float *scale, *shift;
    float low;
    size_t c;
    unsigned w, oh, ow, h;
    size_t results;
    __device__ size_t corner(unsigned i) const
    {
        const unsigned each = oh * ow, picture = i / each, at = i - picture * each, row = at / ow;
        return ((size_t)picture * h + 2 * row) * w + 2 * (at - row * ow);
    }
    __device__ float bent(float u) const { return u > 0 ? u : low * u; }
};

template <int V> static status pool_half(struct gpu *g, const struct squares s, const bf16 *from, bf16 *to)
{
    return spread_run(g, s.results, s.c, V, [=] __device__(unsigned vector, unsigned first, unsigned step) {
        enum { U = 2 };
        packed<V> in[U][4];
        float by[V], add[V];
        for (int k = 0; k < V; k++) by[k] = s.scale[vector * V + k], add[k] = s.shift[vector * V + k];
        by_rows<U>(
            first, step, (unsigned)s.results,
            [&](unsigned i, int u) {
                const size_t corner = s.corner(i);
#pragma unroll
                for (int p = 0; p < 4; p++)
                    in[u][p].load(from, (corner + (p & 1) + (p & 2 ? s.w : 0)) * s.c + vector * V);
            },
            [&](unsigned i, int u) {
                float top[V];
#pragma unroll
                for (int p = 0; p < 4; p++) {
                    float x[V];
                    in[u][p].unpack(x);
#pragma unroll
                    for (int k = 0; k < V; k++) {
                        const float z = x[k] * by[k] + add[k];
                        top[k] = p == 0 || z > top[k] || z != z ? z : top[k];
                    }
                }
#pragma unroll
                for (int k = 0; k < V; k++) top[k] = s.bent(top[k]);
                store<V>(to, (size_t)i * s.c + vector * V, top);
            });
    });
}

static status pool_single(struct gpu *g, const struct squares s, const float *from, float *to)
{
    return each(g, s.results * s.c, [=] __device__(size_t i) {
        const size_t j = i % s.c, corner = s.corner((unsigned)(i / s.c));
        float top = 0;
        for (int p = 0; p < 4; p++) {
            const float z = from[(corner + (p & 1) + (p & 2 ? s.w : 0)) * s.c + j] * s.scale[j] + s.shift[j];
            if (p == 0 || z > top || z != z) top = z;
        }
        to[i] = s.bent(top);
    });
}

status affine_pool(struct gpu *g, const struct conv_affine_args *a, const tensor *whole, tensor *y)
{
    const struct squares s = {reals<float>(a->scale), reals<float>(a->shift), (float)a->slope, y->dim[3],
                              (unsigned)whole->dim[2], (unsigned)y->dim[1],  (unsigned)y->dim[2],
                              (unsigned)whole->dim[1], span_of(y, 0, 3)};
    if (s.results >= 1u << 31) return g->fail(ST_UNSUPPORTED, "maps of %zu pixels are too many for one pass", s.results);
    if (!is_half(y)) return pool_single(g, s, reals<float>(whole), reals<float>(y));
    const bf16 *from = (const bf16 *)whole->data;
    return s.c % 8 ? pool_half<1>(g, s, from, (bf16 *)y->data) : pool_half<8>(g, s, from, (bf16 *)y->data);
}
