/* solve.cu - solving with LU, Cholesky or triangular factors: one block of threads a matrix and WIDTH right-hand sides. */
#include "cuda/block.cuh"

enum { WIDTH = 64 };
enum method { BY_LU, BY_LU_TRANSPOSED, BY_CHOLESKY, BY_TRIANGLE };

/* x = b when they are not the same already; then in place. */
template <typename real>
__global__ void solve_kernel(enum method method, struct triangle s, struct matrices<real> t, const int *pivot,
                             struct matrices<real> b, struct matrices<real> x)
{
    const size_t n = x.rows, matrix = blockIdx.x, first = (size_t)blockIdx.y * WIDTH;
    const size_t columns = x.columns - first < WIDTH ? x.columns - first : WIDTH;
    const real *from = b.at(matrix) + first, *factors = t.at(matrix);
    real *to = x.data + matrix * n * x.columns + first;
    if (from != to)
        for (size_t e = threadIdx.x; e < n * columns; e += THREADS) {
            const size_t at = e / columns * x.columns + e % columns;
            to[at] = from[at];
        }
    if (method == BY_CHOLESKY) {
        block_triangle({false, false, false}, n, factors, to, x.columns, columns);
        block_triangle({false, true, false}, n, factors, to, x.columns, columns);
    } else if (method == BY_TRIANGLE) {
        block_triangle(s, n, factors, to, x.columns, columns);
    } else {
        block_lu_solve(n, factors, pivot + (t.batch == 1 ? 0 : matrix * n), method == BY_LU_TRANSPOSED, to, x.columns,
                       columns);
    }
}

template <typename real>
static status solve(struct device *d, enum method method, struct triangle s, const tensor *t, const int *pivot,
                    const tensor *b, tensor *x)
{
    struct gpu *g = gpu_enter(d);
    const struct matrices<real> mx = matrices_of<real>(x);
    const size_t across = size_div_up(mx.columns, WIDTH);
    if (mx.batch == 0 || mx.rows == 0 || mx.columns == 0) return OK;
    if (across > 65535)
        return g->fail(ST_UNSUPPORTED, "%zu right-hand sides are too many for the GPU", mx.columns);
    solve_kernel<<<dim3((unsigned)mx.batch, (unsigned)across), THREADS, 0, g->stream>>>(
        method, s, matrices_of<real>(t), pivot, matrices_of<real>(b), mx);
    return LAUNCHED(g, "a solve");
}

template <typename real>
status lu_solve(struct device *d, const tensor *lu, const tensor *pivot, bool transposed, const tensor *b, tensor *x)
{
    return solve<real>(d, transposed ? BY_LU_TRANSPOSED : BY_LU, {}, lu, ints(pivot), b, x);
}

template <typename real> status cholesky_solve(struct device *d, const tensor *l, const tensor *b, tensor *x)
{
    return solve<real>(d, BY_CHOLESKY, {}, l, NULL, b, x);
}

template <typename real>
status triangular_solve(struct device *d, bool upper, bool transposed, const tensor *t, const tensor *b, tensor *x)
{
    return solve<real>(d, BY_TRIANGLE, {upper, transposed, false}, t, NULL, b, x);
}

template <typename real> static void enter(struct prims *p)
{
    p->lu_solve = lu_solve<real>;
    p->cholesky_solve = cholesky_solve<real>;
    p->triangular_solve = triangular_solve<real>;
}

void table_solve(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
