/* reconstruct.cu - errors of ridge regression on the features of groups (heads/frn.c, the form by rows), in four launches:
 * cosines of all queries and of the support with itself (two, cosines.cu); for each group, A = S S^T + lambda I inverted and
 * N = (rho^2 - 2 rho) A^-1 - rho^2 lambda A^-2; for each query and group, the sum over locations of k.(N k) + |q|^2.
 *
 * With unit vectors the products stay in the range of halves: k and S S^T are cosines times both norms. */
#include "cuda/cosines.cuh"

enum { SIDE = 32, FORM_THREADS = SIDE * SIDE };                        /* a group's matrix, each thread T x T numbers */
enum { ERROR_THREADS = 128, LOCATIONS = 64, QUADS = LOCATIONS / 4 };   /* locations that are looked at together */
enum { TALL = 8, WIDE = 8, WARP_COLUMNS = 32, PER_LINE = 8 };          /* a thread's numbers; those a warp loads of a row */

struct reconstruct {
    struct cosines c;
    int m, groups;  /* m: features of a group */
    const float *r; /* [2] */
    double share, ridge;
    const float *factor; /* [1] */
    double scale;
    float *forms; /* N, [groups, m, m] */
    float *y;     /* [nq, groups] */
    unsigned long long *fault;
};

static __device__ inline double norm_of(float inverse) { return inverse > 0 ? 1 / (double)inverse : inverse; }

/* An element of a group's A; the half below the diagonal counts. */
static __device__ inline float system_at(const struct reconstruct &k, int i, int j, double lambda)
{
    const size_t first = (size_t)blockIdx.x * (size_t)k.m, low = first + (size_t)min(i, j), high = first + (size_t)max(i, j);
    const double a = norm_of(k.c.support_inverse[high]), b = norm_of(k.c.support_inverse[low]);
    if (i == j) return (float)(a * a + lambda);
    return (float)((double)k.c.phi[(k.c.nq * k.c.rq + high) * k.c.row + low] * a * b);
}

/* Where a thread's numbers lie: rows ty + 32 u, columns tx + 32 v. */
struct spot {
    int tx, ty;
};

/* One step of Gauss and Jordan, in place: pivot number kk of the rows and columns [32 KB, 32 KB + 32). */
template <int T, int KB>
static __device__ inline void sweep(float (&a)[T][T], struct spot s, int kk, const float *row, const float *column, float d)
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

/* All pivots of a block of 32, by calls for each; false at one that is not positive. Lines lie double, so that one barrier a
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

template <int T> __global__ void __launch_bounds__(FORM_THREADS) forms_kernel(const struct reconstruct k)
{
    enum { N = T * SIDE, STEP = N + 1 };
    extern __shared__ float inverse[]; /* [m, STEP] */
    __shared__ float row[2][N], column[2][N];
    const struct spot s = {(int)threadIdx.x % SIDE, (int)threadIdx.x / SIDE};
    const double lambda = k.share * exp((double)k.r[0]) + k.ridge, rho = exp((double)k.r[1]);
    const float once = (float)(rho * rho - 2 * rho), twice = (float)(-rho * rho * lambda);
    float a[T][T], square[T][T] = {};
#pragma unroll
    for (int u = 0; u < T; u++)
#pragma unroll
        for (int v = 0; v < T; v++) {
            const int i = s.ty + SIDE * u, j = s.tx + SIDE * v;
            a[u][v] = i < k.m && j < k.m ? system_at(k, i, j, lambda) : 0;
        }
    if (!invert<T>(k, a, s, row, column)) return; /* the whole block */
#pragma unroll
    for (int u = 0; u < T; u++)
#pragma unroll
        for (int v = 0; v < T; v++)
            if (s.ty + SIDE * u < k.m) inverse[(s.ty + SIDE * u) * STEP + s.tx + SIDE * v] = a[u][v];
    __syncthreads();
    for (int b = 0; b < k.m; b++) {
        const float *line = inverse + b * STEP;
#pragma unroll
        for (int u = 0; u < T; u++)
#pragma unroll
            for (int v = 0; v < T; v++) square[u][v] = fmaf(line[s.ty + SIDE * u], line[s.tx + SIDE * v], square[u][v]);
    }
    float *to = k.forms + (size_t)blockIdx.x * (size_t)(k.m * k.m);
#pragma unroll
    for (int u = 0; u < T; u++)
#pragma unroll
        for (int v = 0; v < T; v++) {
            const int i = s.ty + SIDE * u, j = s.tx + SIDE * v;
            if (i < k.m && j < k.m) to[i * k.m + j] = fmaf(once, a[u][v], twice * square[u][v]);
        }
}

/* k of one query and group in shared memory, turned around: number b of the location `loc`. Quads of locations change places
 * from line to line, so that eight lines can be written, and read by quads, without two lanes meeting in a bank. */
static __device__ inline int turned(int b, int loc) { return b * LOCATIONS + ((loc / 4) ^ (b % QUADS)) * 4 + loc % 4; }

struct bench { /* shared memory of a query and group */
    float *form;   /* [m, step] */
    float *scaled; /* [m, LOCATIONS], see turned */
    float *own;    /* [m] norms of the group's features */
    float *norm;   /* [LOCATIONS] of the query's */
    int step;      /* m rounded up to the columns of a warp */
};

static __host__ __device__ inline int step_of(int m) { return (m + WARP_COLUMNS - 1) / WARP_COLUMNS * WARP_COLUMNS; }
static __host__ __device__ inline size_t bench_floats(int m)
{
    return (size_t)m * (size_t)(step_of(m) + LOCATIONS) + RECONSTRUCT_ROWS + LOCATIONS;
}

static __device__ inline struct bench bench_lay(int m, float *memory)
{
    const int step = step_of(m);
    float *scaled = memory + m * step, *own = scaled + m * LOCATIONS;
    return {memory, scaled, own, own + RECONSTRUCT_ROWS, step};
}

static __device__ inline void load_form(const struct reconstruct &k, const struct bench &b, int group)
{
    const float *from = k.forms + (size_t)group * (size_t)(k.m * k.m);
    for (int e = (int)threadIdx.x; e < k.m * b.step; e += ERROR_THREADS) {
        const int i = e / b.step, j = e % b.step;
        b.form[e] = j < k.m ? from[i * k.m + j] : 0;
    }
    for (int j = (int)threadIdx.x; j < k.m; j += ERROR_THREADS)
        b.own[j] = (float)norm_of(k.c.support_inverse[(size_t)group * (size_t)k.m + (size_t)j]);
}

/* The norms of up to LOCATIONS of a query's locations, then k. */
static __device__ inline void load_locations(const struct reconstruct &k, const struct bench &b, int query, int group,
                                             int first)
{
    const size_t line = (size_t)query * k.c.rq + (size_t)first;
    const int t = (int)threadIdx.x, live = min((int)LOCATIONS, (int)k.c.rq - first);
    const int in_line = t % PER_LINE, in_quad = t % 32 / PER_LINE, warp = t / 32, warps = ERROR_THREADS / 32;
    const int lines = (k.m + PER_LINE - 1) / PER_LINE;
    if (t < LOCATIONS) b.norm[t] = t < live ? (float)norm_of(k.c.query_inverse[line + (size_t)t]) : 0;
    __syncthreads();
    for (int e = warp; e < lines * QUADS; e += warps) {
        const int i = e / QUADS * PER_LINE + in_line, loc = e % QUADS * 4 + in_quad;
        if (i >= k.m) continue;
        const float phi = loc < live ? k.c.phi[(line + (size_t)loc) * k.c.row + (size_t)(group * k.m + i)] : 0;
        b.scaled[turned(i, loc)] = phi * b.norm[loc] * b.own[i];
    }
    __syncthreads();
}

/* A thread has the locations 4 i.. and 32 + 4 i.. of i = lane / 4, and the columns 4 j.. and 16 + 4 j.. of j = lane % 4 of its
 * warp's 32. */
static __device__ inline int place_in(int four, int apart, int i) { return 4 * four + (i < 4 ? i : apart + i - 4); }

/* The sum of k.(N k) over a thread's locations and columns. */
static __device__ inline double forms_sum(const struct reconstruct &k, const struct bench &b)
{
    const int lane = (int)threadIdx.x % 32, tall = lane / 4, wide = lane % 4;
    const int column = (int)threadIdx.x / 32 * WARP_COLUMNS;
    float sums[TALL][WIDE] = {}, total = 0;
    if (column >= k.m) return 0; /* the whole warp */
    for (int i = 0; i < k.m; i++) {
        float left[TALL], right[WIDE];
        *(float4 *)left = *(const float4 *)(b.scaled + turned(i, 4 * tall));
        *(float4 *)(left + 4) = *(const float4 *)(b.scaled + turned(i, LOCATIONS / 2 + 4 * tall));
        *(float4 *)right = *(const float4 *)(b.form + i * b.step + column + 4 * wide);
        *(float4 *)(right + 4) = *(const float4 *)(b.form + i * b.step + column + WARP_COLUMNS / 2 + 4 * wide);
#pragma unroll
        for (int u = 0; u < TALL; u++)
#pragma unroll
            for (int v = 0; v < WIDE; v++) sums[u][v] = fmaf(left[u], right[v], sums[u][v]);
    }
#pragma unroll
    for (int v = 0; v < WIDE; v++) {
        const int j = column + place_in(wide, WARP_COLUMNS / 2, v);
        if (j >= k.m) continue;
#pragma unroll
        for (int u = 0; u < TALL; u++)
            total = fmaf(sums[u][v], b.scaled[turned(j, place_in(tall, LOCATIONS / 2, u))], total);
    }
    return (double)total;
}

/* One block a query and group. */
__global__ void __launch_bounds__(ERROR_THREADS) errors_kernel(const struct reconstruct k)
{
    extern __shared__ __align__(16) float shared[];
    __shared__ double sums[ERROR_THREADS];
    const int t = (int)threadIdx.x, query = (int)blockIdx.x, group = (int)blockIdx.y;
    const struct bench b = bench_lay(k.m, shared);
    double total = 0;
    load_form(k, b, group);
    for (int first = 0; first < (int)k.c.rq; first += LOCATIONS) {
        __syncthreads();
        load_locations(k, b, query, group, first);
        total += forms_sum(k, b);
        if (t < LOCATIONS) total += (double)b.norm[t] * (double)b.norm[t];
    }
    sums[t] = total;
    for (int half = ERROR_THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (t < half) sums[t] += sums[t + half];
    }
    if (t == 0) k.y[(size_t)query * (size_t)k.groups + (size_t)group] = (float)(k.scale * (double)k.factor[0] * sums[0]);
}

static status invert_all(struct gpu *g, const struct reconstruct *k)
{
    typedef void entry(const struct reconstruct);
    static entry *const kernels[] = {forms_kernel<1>, forms_kernel<2>, forms_kernel<3>, forms_kernel<4>};
    const int t = (k->m - 1) / SIDE;
    const size_t bytes = (size_t)k->m * (size_t)((t + 1) * SIDE + 1) * sizeof(float);
    GPU_TRY(g, cudaFuncSetAttribute((const void *)kernels[t], cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    kernels[t]<<<(unsigned)k->groups, FORM_THREADS, bytes, g->stream>>>(*k);
    return LAUNCHED(g, "reconstruct: the inverses");
}

static status add_errors(struct gpu *g, const struct reconstruct *k)
{
    const size_t bytes = bench_floats(k->m) * sizeof(float);
    const dim3 grid((unsigned)k->c.nq, (unsigned)k->groups);
    GPU_TRY(g, cudaFuncSetAttribute((const void *)errors_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    errors_kernel<<<grid, ERROR_THREADS, bytes, g->stream>>>(*k);
    return LAUNCHED(g, "reconstruct: the errors");
}

static void lay(struct reconstruct *k, struct cursor *memory)
{
    cosines_lay(&k->c, memory);
    k->forms = cursor_take<float>(memory, (size_t)k->groups * (size_t)(k->m * k->m));
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
