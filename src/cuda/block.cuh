/* block.cuh - small linear algebra by one block of threads: sums, LU factors, triangular solves.
 *
 * Matrices are row-major, in shared or in device memory; every function is called by all threads of a block of THREADS and
 * leaves what it wrote visible to all of them. `shared` is room for THREADS doubles. */
#ifndef CUDA_BLOCK_CUH
#define CUDA_BLOCK_CUH
#include "cuda/gpu.cuh"

/* The sum of x over the block, along a fixed tree. */
static __device__ inline double block_sum(double x, double *shared)
{
    const unsigned t = threadIdx.x;
    shared[t] = x;
    for (unsigned half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (t < half) shared[t] += shared[t + half];
    }
    __syncthreads();
    x = shared[0];
    __syncthreads();
    return x;
}

/* The largest x over the block; NaN when one is. */
static __device__ inline double block_max(double x, double *shared)
{
    const unsigned t = threadIdx.x;
    shared[t] = x;
    for (unsigned half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (t < half) {
            const double other = shared[t + half];
            if (other > shared[t] || other != other) shared[t] = other;
        }
    }
    __syncthreads();
    x = shared[0];
    __syncthreads();
    return x;
}

/* The row >= column with the largest element in `column`; among equals the first. */
template <typename real>
static __device__ inline size_t block_pivot(size_t n, const real *a, size_t column, double *shared)
{
    __shared__ int places[THREADS];
    const unsigned t = threadIdx.x;
    double most = -1;
    int place = (int)column;
    for (size_t i = column + t; i < n; i += THREADS) {
        const double x = fabs((double)a[i * n + column]);
        if (x > most) most = x, place = (int)i;
    }
    shared[t] = most;
    places[t] = place;
    for (unsigned half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (t < half && (shared[t + half] > shared[t] || (shared[t + half] == shared[t] && places[t + half] < places[t])))
            shared[t] = shared[t + half], places[t] = places[t + half];
    }
    __syncthreads();
    const size_t best = (size_t)places[0];
    __syncthreads();
    return best;
}

/* Replaces a [n, n] by its factors, partial pivoting; pivot[i] is the row that changed places with row i. Returns n, or the
 * first i whose pivot is at most `tolerance` times the largest element. A NaN counts as a good pivot: it shows. */
template <typename real>
static __device__ size_t block_lu(size_t n, real *a, int *pivot, double tolerance, double *shared)
{
    double most = 0;
    for (size_t i = threadIdx.x; i < n * n; i += THREADS) most = fmax(most, fabs((double)a[i]));
    const double least = tolerance * block_max(most, shared);
    for (size_t i = 0; i < n; i++) {
        const size_t p = block_pivot(n, a, i, shared);
        if (threadIdx.x == 0) pivot[i] = (int)p;
        if (p != i)
            for (size_t j = threadIdx.x; j < n; j += THREADS) {
                const real x = a[i * n + j];
                a[i * n + j] = a[p * n + j];
                a[p * n + j] = x;
            }
        __syncthreads();
        const real top = a[i * n + i];
        if (fabs((double)top) <= least) return i;
        for (size_t r = i + 1 + threadIdx.x; r < n; r += THREADS) a[r * n + i] /= top;
        __syncthreads();
        const size_t side = n - i - 1;
        for (size_t e = threadIdx.x; e < side * side; e += THREADS) {
            const size_t r = i + 1 + e / side, j = i + 1 + e % side;
            a[r * n + j] -= a[r * n + i] * a[i * n + j];
        }
        __syncthreads();
    }
    return n;
}

struct triangle {
    bool upper, transposed, unit; /* solve with t or its transpose; unit: the diagonal is taken as 1 and not read */
};

/* Solves in place for `columns` right-hand sides x [n, columns], row step x_row. */
template <typename real>
static __device__ void block_triangle(struct triangle s, size_t n, const real *t, real *x, size_t x_row, size_t columns)
{
    const bool forward = s.upper == s.transposed;
    for (size_t k = 0; k < n; k++) {
        const size_t i = forward ? k : n - 1 - k, open = n - 1 - k, first = forward ? i + 1 : 0;
        __syncthreads();
        if (!s.unit)
            for (size_t c = threadIdx.x; c < columns; c += THREADS) x[i * x_row + c] /= t[i * n + i];
        __syncthreads();
        for (size_t e = threadIdx.x; e < open * columns; e += THREADS) {
            const size_t j = first + e / columns, c = e % columns;
            x[j * x_row + c] -= (s.transposed ? t[i * n + j] : t[j * n + i]) * x[i * x_row + c];
        }
    }
    __syncthreads();
}

/* The exchanges of an LU, in order or undone. */
template <typename real>
static __device__ void block_exchange(size_t n, const int *pivot, bool undo, real *x, size_t x_row, size_t columns)
{
    __syncthreads();
    for (size_t c = threadIdx.x; c < columns; c += THREADS)
        for (size_t k = 0; k < n; k++) {
            const size_t i = undo ? n - 1 - k : k, p = (size_t)pivot[i];
            const real value = x[i * x_row + c];
            x[i * x_row + c] = x[p * x_row + c];
            x[p * x_row + c] = value;
        }
    __syncthreads();
}

/* With rows exchanged in order, a is l u; so a^T is u^T l^T and the exchanges, undone in reverse, come last. */
template <typename real>
static __device__ void block_lu_solve(size_t n, const real *lu, const int *pivot, bool transposed, real *x, size_t x_row,
                                      size_t columns)
{
    const struct triangle l = {false, transposed, true}, u = {true, transposed, false};
    if (!transposed) block_exchange(n, pivot, false, x, x_row, columns);
    block_triangle(transposed ? u : l, n, lu, x, x_row, columns);
    block_triangle(transposed ? l : u, n, lu, x, x_row, columns);
    if (transposed) block_exchange(n, pivot, true, x, x_row, columns);
}
#endif
