/* reduce.cu - sums over any axes, and their opposite.
 *
 * x is seen as sums of `length` terms. Neighbouring threads take neighbouring terms when the innermost axis is summed, and
 * neighbouring sums when it is kept. A long sum is cut into parts, by shape alone, which are added in order; short ones of
 * neighbouring terms, such as those over a map's locations, have eight threads each. Everything is added in double. */
#include "cuda/broadcast.cuh"

struct axes { /* innermost first */
    int rank;
    size_t dim[MAX_RANK], step[MAX_RANK], count;

    __device__ size_t offset(size_t i) const
    {
        size_t at = 0;
        for (int k = 0; k < rank; k++) {
            at += (k + 1 < rank ? i % dim[k] : i) * step[k];
            i /= dim[k];
        }
        return at;
    }
};

struct reduction {
    struct axes kept, summed;
    unsigned lanes; /* sums of a block */
    size_t part, parts;
};

enum { KEPT_LANES = 32, LEAST_TERMS = 16, ENOUGH_BLOCKS = 1024, SHORT = 256, SHORT_SLOTS = 8 };

static void axes_push(struct axes *a, size_t dim, size_t step)
{
    a->dim[a->rank] = dim;
    a->step[a->rank++] = step;
    a->count *= dim;
}

static struct reduction plan(const tensor *x, const tensor *y)
{
    const struct broadcast c = broadcast_make(y, x, x); /* y's step is 0 where summed */
    struct reduction r = {};
    r.kept.count = r.summed.count = 1;
    for (int i = 0; i < c.rank; i++) axes_push(c.a[i] ? &r.kept : &r.summed, c.dim[i], c.b[i]);
    r.lanes = c.rank && c.a[0] ? KEPT_LANES : 1;
    const size_t blocks = size_div_up(r.kept.count, r.lanes), least = LEAST_TERMS * (THREADS / r.lanes);
    r.parts = size_min(size_div_up(r.summed.count, least), size_max(1, ENOUGH_BLOCKS / blocks));
    r.part = size_div_up(r.summed.count, r.parts);
    return r;
}

/* partial [parts, sums], or, when there is one part, y += scale sum */
template <typename real>
__global__ void reduce_kernel(struct reduction r, const real *x, double scale, real *y, double *partial)
{
    __shared__ double shared[THREADS];
    const unsigned slots = THREADS / r.lanes, lane = threadIdx.x % r.lanes, slot = threadIdx.x / r.lanes;
    const size_t sum = (size_t)blockIdx.x * r.lanes + lane, from = blockIdx.y * r.part;
    const size_t to = from + r.part < r.summed.count ? from + r.part : r.summed.count;
    double total = 0;
    if (sum < r.kept.count) {
        const real *first = x + r.kept.offset(sum);
        for (size_t i = from + slot; i < to; i += slots) total += (double)first[r.summed.offset(i)];
    }
    shared[threadIdx.x] = total;
    for (unsigned half = slots / 2; half; half /= 2) {
        __syncthreads();
        if (slot < half) shared[threadIdx.x] += shared[threadIdx.x + half * r.lanes];
    }
    if (slot || sum >= r.kept.count) return;
    if (partial) partial[blockIdx.y * r.kept.count + sum] = shared[lane];
    else y[sum] += (real)(scale * shared[lane]);
}

static bool is_short(const struct reduction *r)
{
    return r->lanes == 1 && r->summed.rank == 1 && r->summed.step[0] == 1 && r->summed.count <= SHORT;
}

template <typename real> __global__ void short_kernel(struct reduction r, const real *x, double scale, real *y)
{
    const unsigned slot = threadIdx.x % SHORT_SLOTS;
    const size_t sum = (size_t)blockIdx.x * (THREADS / SHORT_SLOTS) + threadIdx.x / SHORT_SLOTS;
    double total = 0;
    if (sum < r.kept.count) {
        const real *first = x + r.kept.offset(sum);
#pragma unroll 4
        for (unsigned i = slot; i < r.summed.count; i += SHORT_SLOTS) total += (double)first[i];
    }
    for (unsigned half = SHORT_SLOTS / 2; half; half /= 2)
        total += __shfl_down_sync(0xffffffffu, total, half, SHORT_SLOTS);
    if (slot == 0 && sum < r.kept.count) y[sum] += (real)(scale * total);
}

/* `partial` has room for the sums of all parts. */
template <typename real>
static status add_long(struct gpu *g, const struct reduction &r, const real *x, double scale, real *out, double *partial)
{
    const size_t sums = r.kept.count, parts = r.parts;
    const dim3 grid((unsigned)size_div_up(sums, r.lanes), (unsigned)parts);
    reduce_kernel<<<grid, THREADS, 0, g->stream>>>(r, x, scale, out, partial);
    PASS(LAUNCHED(g, "reduce_add"));
    if (parts == 1) return OK;
    return each(g, sums, [=] __device__(size_t i) {
        double total = 0;
        for (size_t p = 0; p < parts; p++) total += partial[p * sums + i];
        out[i] += (real)(scale * total);
    });
}

template <typename real> status reduce_add(struct device *d, const tensor *x, double scale, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    void *memory = NULL;
    if (count_of(x) == 0) return OK;
    const struct reduction r = plan(x, y);
    const size_t sums = r.kept.count;
    if (size_div_up(sums, r.lanes) > 0x7fffffff)
        return g->fail(ST_UNSUPPORTED, "%zu sums are too many for the GPU", sums);
    if (is_short(&r)) {
        const unsigned blocks = (unsigned)size_div_up(sums, THREADS / SHORT_SLOTS);
        short_kernel<<<blocks, THREADS, 0, g->stream>>>(r, reals<real>(x), scale, reals<real>(y));
        return LAUNCHED(g, "reduce_add");
    }
    if (r.parts > 1) PASS(gpu_scratch(g, sums * r.parts * sizeof(double), &memory));
    return add_long(g, r, reals<real>(x), scale, reals<real>(y), (double *)memory);
}

template <typename real> status expand_add(struct device *d, const tensor *x, double scale, tensor *y)
{
    const struct broadcast s = broadcast_make(x, y, y);
    const real *px = reals<real>(x), m = (real)scale;
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(y), [=] __device__(size_t i) {
        size_t from, to;
        s.find(i, &from, &to);
        py[i] += m * px[from];
    });
}

template <typename real> static void enter(struct prims *p)
{
    p->reduce_add = reduce_add<real>;
    p->expand_add = expand_add<real>;
}

void table_reduce(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
