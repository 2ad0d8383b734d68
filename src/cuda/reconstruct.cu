/* reconstruct.cu - errors of ridge regression on the features of groups (heads/frn.c, the form by rows), in four launches:
 * cosines of all queries and of the support with itself (two, cosines.cu); for each group, A = S S^T + lambda I inverted; for
 * each query and group, the sum over locations of (rho^2 - 2 rho) k.u - rho^2 lambda u.u + |q|^2, where u = A^-1 k.
 *
 * With unit vectors the products stay in the range of halves: k and S S^T are cosines times both norms. */
#include "cuda/cosines.cuh"
#include <cuda_pipeline.h>

enum { SIDE = 16, INVERSE_THREADS = SIDE * SIDE };      /* a group's matrix, each thread T x T numbers */
enum { TALL = 8, WIDE = 8, DEEP = 4, MOST_TILES = 16 }; /* a thread's locations and columns, and terms at a time */
enum { FEW_THREADS = 128, MOST_THREADS = MOST_TILES * MOST_TILES, SMALL_SHARED = 1 << 10 };

struct bench {      /* a query and group in shared memory */
    int deep;       /* m rounded up to DEEP */
    int step;       /* m rounded up to WIDE: a row of the inverse */
    int line;       /* a location's numbers: `deep`, or DEEP more, so that neighbours begin in other banks */
    int wide, tall; /* tiles of threads: step / WIDE, and those of the locations that are looked at together / TALL */
};

struct reconstruct {
    struct cosines c;
    int m, groups;  /* m: features of a group */
    const float *r; /* [2] */
    double share, ridge;
    const float *factor; /* [1] */
    double scale;
    struct bench b;
    float *inverses; /* |s_i| A^-1, [groups, deep, step], with zeros beyond m */
    float *terms;    /* [2]: rho^2 - 2 rho, -rho^2 lambda */
    float *y;        /* [nq, groups] */
    unsigned long long *fault;
};

static __device__ inline double norm_of(float inverse) { return inverse > 0 ? 1 / (double)inverse : inverse; }

/* An element of a group's A, with the norms of its features; the half below the diagonal counts. */
static __device__ inline float system_at(const struct reconstruct &k, int i, int j, const double *norms, double lambda)
{
    const size_t first = (size_t)blockIdx.x * (size_t)k.m, low = first + (size_t)min(i, j),
                 high = first + (size_t)max(i, j);
    if (i == j) return (float)(norms[i] * norms[i] + lambda);
    return (float)((double)k.c.phi[(k.c.nq * k.c.rq + high) * k.c.row + low] * norms[i] * norms[j]);
}

/* Where a thread's numbers lie: rows ty + 16 u, columns tx + 16 v. */
struct spot {
    int tx, ty;
};

/* One step of Gauss and Jordan, in place: pivot number kk of the rows and columns [16 KB, 16 KB + 16). */
template <int T, int KB>
static __device__ inline void sweep(float (&a)[T][T], struct spot s, int kk, const float *row, const float *column,
                                    float d)
{
    float left[T], up[T];
#pragma unroll
    for (int u = 0; u < T; u++) {
        left[u] = -column[s.ty + SIDE * u] * d;
        up[u] = row[s.tx + SIDE * u];
    }
#pragma unroll
    for (int u = 0; u < T; u++)
#pragma unroll
        for (int v = 0; v < T; v++) {
            const bool in_row = u == KB && s.ty == kk, in_column = v == KB && s.tx == kk;
            const float elsewhere = fmaf(left[u], up[v], a[u][v]);
            a[u][v] = in_row ? in_column ? d : up[v] * d : in_column ? left[u] : elsewhere;
        }
}

/* All pivots of a block of 16, by calls for each; false at one that is not positive. Lines lie double, so that one barrier a
 * step is enough. */
template <int T, int KB>
static __device__ inline bool sweep_block(const struct reconstruct &k, float (&a)[T][T], struct spot s,
                                          float (*row)[T * SIDE], float (*column)[T * SIDE])
{
    const int pivots = min((int)SIDE, k.m - KB * SIDE);
    for (int kk = 0; kk < pivots; kk++) {
        const int now = kk % 2, at = KB * SIDE + kk;
#pragma unroll
        for (int u = 0; u < T; u++) {
            if (s.tx == kk) column[now][s.ty + SIDE * u] = a[u][KB];
            if (s.ty == kk) row[now][s.tx + SIDE * u] = a[KB][u];
        }
        __syncthreads();
        const float pivot = row[now][at];
        if (!(pivot > 0 && isfinite(pivot))) {
            if (threadIdx.x == 0) fault_report(k.fault, FAULT_NOT_DEFINITE, blockIdx.x, (size_t)at);
            return false;
        }
        sweep<T, KB>(a, s, kk, row[now], column[now], 1 / pivot);
    }
    __syncthreads(); /* the next block begins with the first lines again */
    return true;
}

template <int T, int KB = 0>
static __device__ inline bool invert(const struct reconstruct &k, float (&a)[T][T], struct spot s,
                                     float (*row)[T * SIDE], float (*column)[T * SIDE])
{
    if constexpr (KB < T) return sweep_block<T, KB>(k, a, s, row, column) && invert<T, KB + 1>(k, a, s, row, column);
    else return true;
}

template <int T> __global__ void __launch_bounds__(INVERSE_THREADS) inverses_kernel(const struct reconstruct k)
{
    enum { N = T * SIDE };
    __shared__ float row[2][N], column[2][N];
    __shared__ double norms[N];
    const struct spot s = {(int)threadIdx.x % SIDE, (int)threadIdx.x / SIDE};
    const double lambda = k.share * exp((double)k.r[0]) + k.ridge, rho = exp((double)k.r[1]);
    const int t = (int)threadIdx.x;
    float a[T][T];
    if (t < N) norms[t] = t < k.m ? norm_of(k.c.support_inverse[(size_t)blockIdx.x * (size_t)k.m + (size_t)t]) : 0;
    if (blockIdx.x == 0 && t < 2) k.terms[t] = (float)(t ? -rho * rho * lambda : rho * rho - 2 * rho);
    __syncthreads();
#pragma unroll
    for (int u = 0; u < T; u++)
#pragma unroll
        for (int v = 0; v < T; v++) {
            const int i = s.ty + SIDE * u, j = s.tx + SIDE * v;
            a[u][v] = i < k.m && j < k.m ? system_at(k, i, j, norms, lambda) : 0;
        }
    if (!invert<T>(k, a, s, row, column)) return; /* the whole block */
    float *to = k.inverses + (size_t)blockIdx.x * (size_t)(k.b.deep * k.b.step);
#pragma unroll
    for (int u = 0; u < T; u++)
#pragma unroll
        for (int v = 0; v < T; v++) {
            const int i = s.ty + SIDE * u, j = s.tx + SIDE * v;
            if (i < k.b.deep && j < k.b.step) to[i * k.b.step + j] = i < k.m && j < k.m ? (float)norms[i] * a[u][v] : 0;
        }
}

/* The parts of a block's shared memory. */
struct shelf {
    float *inverse; /* [deep, step] */
    float *phi;     /* [TALL * tall, line] cosines of the locations with the group's features */
    float *own;     /* [step] norms of the group's features */
    float *norm;    /* [TALL * tall] of the locations */
};
static __host__ __device__ inline size_t shelf_floats(const struct bench &b)
{
    return (size_t)(b.deep * b.step + TALL * b.tall * b.line + b.step + TALL * b.tall);
}
static __device__ inline struct shelf shelf_lay(const struct bench &b, float *memory)
{
    float *phi = memory + b.deep * b.step, *own = phi + TALL * b.tall * b.line;
    return {memory, phi, own, own + b.step};
}

static __device__ inline void fetch_group(const struct reconstruct &k, const struct shelf &s, int group)
{
    const int numbers = k.b.deep * k.b.step;
    const float *from = k.inverses + (size_t)group * (size_t)numbers;
    for (int e = 4 * (int)threadIdx.x; e < numbers; e += 4 * (int)blockDim.x)
        __pipeline_memcpy_async(s.inverse + e, from + e, sizeof(float4));
    for (int j = (int)threadIdx.x; j < k.b.step; j += (int)blockDim.x)
        s.own[j] = j < k.m ? (float)norm_of(k.c.support_inverse[(size_t)group * (size_t)k.m + (size_t)j]) : 0;
}

/* The cosines of some locations, `size` of them at a time; zeros beyond the last location and beyond m. */
template <int SIZE>
static __device__ inline void fetch_phi(const struct reconstruct &k, const struct shelf &s, const float *from, int live)
{
    const int pieces = k.b.deep / SIZE, all = TALL * k.b.tall * pieces;
    for (int e = (int)threadIdx.x; e < all; e += (int)blockDim.x) {
        const int loc = e / pieces, i = e % pieces * SIZE;
        float *to = s.phi + loc * k.b.line + i;
        if (loc < live && i < k.m)
            __pipeline_memcpy_async(to, from + (size_t)loc * k.c.row + (size_t)i, SIZE * sizeof(float));
        else
            for (int at = 0; at < SIZE; at++) to[at] = 0;
    }
}

static __device__ inline void fetch_locations(const struct reconstruct &k, const struct shelf &s, int query, int group,
                                              int first)
{
    const int locations = TALL * k.b.tall, live = min(locations, (int)k.c.rq - first);
    const size_t line = (size_t)query * k.c.rq + (size_t)first;
    const float *from = k.c.phi + line * k.c.row + (size_t)group * (size_t)k.m;
    if (k.m % 4 == 0) fetch_phi<4>(k, s, from, live);
    else fetch_phi<1>(k, s, from, live);
    for (int i = (int)threadIdx.x; i < locations; i += (int)blockDim.x)
        s.norm[i] = i < live ? (float)norm_of(k.c.query_inverse[line + (size_t)i]) : 0;
}

/* A thread's tile of phi (|s| A^-1), which is u / |q|: the locations row + tall u, and the columns 4 column.. and
 * step / 2 + 4 column... */
static __device__ inline void solve_tile(const struct bench &b, const struct shelf &s, int row, int column,
                                         float (&sums)[TALL][WIDE])
{
    for (int i = 0; i < b.deep; i += DEEP) {
        float left[TALL][DEEP], right[WIDE];
#pragma unroll
        for (int u = 0; u < TALL; u++) *(float4 *)left[u] = *(const float4 *)(s.phi + (row + b.tall * u) * b.line + i);
#pragma unroll
        for (int d = 0; d < DEEP; d++) {
            const float *from = s.inverse + (i + d) * b.step + 4 * column;
            *(float4 *)right = *(const float4 *)from;
            *(float4 *)(right + 4) = *(const float4 *)(from + b.step / 2);
#pragma unroll
            for (int u = 0; u < TALL; u++)
#pragma unroll
                for (int v = 0; v < WIDE; v++) sums[u][v] = fmaf(left[u][d], right[v], sums[u][v]);
        }
    }
}

/* The sum of (rho^2 - 2 rho) k.u - rho^2 lambda u.u over a thread's tile. */
static __device__ inline double tile_sum(const struct reconstruct &k, const struct shelf &s)
{
    const struct bench &b = k.b;
    const int row = (int)threadIdx.x / b.wide, column = (int)threadIdx.x % b.wide;
    const float once = k.terms[0], twice = k.terms[1];
    float sums[TALL][WIDE] = {};
    double total = 0;
    if (row >= b.tall) return 0;
    solve_tile(b, s, row, column, sums);
#pragma unroll
    for (int u = 0; u < TALL; u++) {
        const int loc = row + b.tall * u;
        float part = 0;
#pragma unroll
        for (int v = 0; v < WIDE; v++) {
            const int j = 4 * column + v % 4 + v / 4 * (b.step / 2);
            if (j >= k.m) continue;
            part = fmaf(sums[u][v], fmaf(once * s.own[j], s.phi[loc * b.line + j], twice * sums[u][v]), part);
        }
        total += (double)part * ((double)s.norm[loc] * (double)s.norm[loc]);
    }
    return total;
}

/* The sum over all threads of a block, in its first. */
static __device__ inline double block_total(double x)
{
    __shared__ double warps[MOST_THREADS / 32];
    for (int half = 16; half; half /= 2) x += __shfl_xor_sync(0xffffffffu, x, half);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x) return 0;
    x = 0;
    for (unsigned i = 0; i < blockDim.x / 32; i++) x += warps[i];
    return x;
}

/* One block a query and group. */
__global__ void __launch_bounds__(MOST_THREADS) errors_kernel(const struct reconstruct k)
{
    extern __shared__ __align__(16) float shared[];
    const int t = (int)threadIdx.x, query = (int)blockIdx.x, group = (int)blockIdx.y;
    const struct shelf s = shelf_lay(k.b, shared);
    double total = 0;
    fetch_group(k, s, group);
    for (int first = 0; first < (int)k.c.rq; first += TALL * k.b.tall) {
        __syncthreads(); /* the last locations are done with */
        fetch_locations(k, s, query, group, first);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        total += tile_sum(k, s);
        if (t < TALL * k.b.tall) total += (double)s.norm[t] * (double)s.norm[t];
    }
    total = block_total(total);
    if (t == 0) k.y[(size_t)query * (size_t)k.groups + (size_t)group] = (float)(k.scale * (double)k.factor[0] * total);
}

static status invert_all(struct gpu *g, const struct reconstruct *k)
{
    const unsigned groups = (unsigned)k->groups;
    if (k->m <= 2 * SIDE) inverses_kernel<2><<<groups, INVERSE_THREADS, 0, g->stream>>>(*k);
    else if (k->m <= 4 * SIDE) inverses_kernel<4><<<groups, INVERSE_THREADS, 0, g->stream>>>(*k);
    else if (k->m <= 7 * SIDE) inverses_kernel<7><<<groups, INVERSE_THREADS, 0, g->stream>>>(*k);
    else inverses_kernel<8><<<groups, INVERSE_THREADS, 0, g->stream>>>(*k);
    return LAUNCHED(g, "reconstruct: the inverses");
}

static status add_errors(struct gpu *g, const struct reconstruct *k)
{
    const size_t bytes = shelf_floats(k->b) * sizeof(float);
    const size_t threads = size_max(FEW_THREADS, size_round_up((size_t)(k->b.wide * k->b.tall), 32));
    const dim3 grid((unsigned)k->c.nq, (unsigned)k->groups);
    GPU_TRY(g,
            cudaFuncSetAttribute((const void *)errors_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    errors_kernel<<<grid, (unsigned)threads, bytes, g->stream>>>(*k);
    return LAUNCHED(g, "reconstruct: the errors");
}

/* As many locations together as there are threads and shared memory for, in turns of equal size. */
static status bench_make(struct gpu *g, int m, size_t rq, struct bench *out)
{
    struct bench b = {};
    int most = 0;
    GPU_TRY(g, cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, g->number));
    b.deep = (int)size_round_up((size_t)m, DEEP);
    b.step = (int)size_round_up((size_t)m, WIDE);
    b.line = b.deep / 4 % 2 ? b.deep : b.deep + DEEP;
    b.wide = b.step / WIDE;
    size_t turns = size_div_up(rq, MOST_TILES * TALL);
    do b.tall = (int)size_div_up(size_div_up(rq, turns++), TALL);
    while (b.tall > 1 && shelf_floats(b) * sizeof(float) + SMALL_SHARED > (size_t)most);
    *out = b;
    return OK;
}

static void lay(struct reconstruct *k, struct cursor *memory)
{
    cosines_lay(&k->c, memory);
    k->inverses = cursor_take<float>(memory, (size_t)k->groups * (size_t)(k->b.deep * k->b.step));
    k->terms = cursor_take<float>(memory, 2);
}

static status run_part(struct gpu *g, struct reconstruct *k)
{
    void *memory;
    struct cursor cursor = {};
    lay(k, &cursor);
    PASS(gpu_scratch(g, cursor.bytes, &memory));
    cursor = {(char *)memory, 0};
    lay(k, &cursor);
    PASS(cosines_run(g, &k->c));
    PASS(invert_all(g, k));
    return add_errors(g, k);
}

static status reconstruct(struct device *d, const struct reconstruct_args *a, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    struct reconstruct all = {};
    size_t queries;
    if (a->groups > 0xffff) return g->fail(ST_UNSUPPORTED, "%zu groups are too many for the GPU", a->groups);
    PASS(cosines_make(g, a->support, a->query, true, &all.c, &queries));
    all.m = (int)(all.c.ns / a->groups * all.c.rs);
    all.groups = (int)a->groups;
    PASS(bench_make(g, all.m, all.c.rq, &all.b));
    all.r = reals<float>(a->r);
    all.share = a->share;
    all.ridge = a->ridge;
    all.factor = reals<float>(a->factor);
    all.scale = a->scale;
    all.fault = g->fault;
    for (size_t from = 0; from < all.c.nq; from += queries) {
        struct reconstruct part = all;
        part.c.nq = size_min(queries, all.c.nq - from);
        part.c.query += from * all.c.channels * all.c.rq;
        part.y = reals<float>(y) + from * a->groups;
        PASS(run_part(g, &part));
    }
    return OK;
}

void table_reconstruct(struct prims p[DT_REALS]) { p[DT_F32].reconstruct = reconstruct; }
