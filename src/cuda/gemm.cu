/* gemm.cu - matrix products by cuBLAS, which thinks in columns: c = a b by rows is c^T = b^T a^T by columns. */
#include "cuda/gpu.cuh"
#include <climits>

static cublasStatus_t call(cublasHandle_t h, cublasOperation_t tb, cublasOperation_t ta, int n, int m, int k,
                           const struct product<float> *p)
{
    const float alpha = (float)p->alpha, beta = (float)p->beta;
    return cublasSgemmStridedBatched(h, tb, ta, n, m, k, &alpha, p->b, (int)p->b_row, (long long)p->b_step, p->a,
                                     (int)p->a_row, (long long)p->a_step, &beta, p->c, (int)p->c_row,
                                     (long long)p->c_step, (int)p->batch);
}

static cublasStatus_t call(cublasHandle_t h, cublasOperation_t tb, cublasOperation_t ta, int n, int m, int k,
                           const struct product<double> *p)
{
    return cublasDgemmStridedBatched(h, tb, ta, n, m, k, &p->alpha, p->b, (int)p->b_row, (long long)p->b_step, p->a,
                                     (int)p->a_row, (long long)p->a_step, &p->beta, p->c, (int)p->c_row,
                                     (long long)p->c_step, (int)p->batch);
}

/* A product of nothing: c = beta c. */
template <typename real> static status only_scale(struct gpu *g, const struct product<real> *p)
{
    const struct product<real> q = *p;
    return each(g, q.batch * q.m * q.n, [=] __device__(size_t i) {
        real *c = q.c + i / (q.m * q.n) * q.c_step + i / q.n % q.m * q.c_row + i % q.n;
        *c = q.beta == 0 ? (real)0 : (real)(q.beta * (double)*c);
    });
}

template <typename real> status product_run(struct gpu *g, const struct product<real> *p)
{
    const size_t sizes[] = {p->m, p->n, p->depth, p->batch, p->a_row, p->b_row, p->c_row};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] > INT_MAX)
            return g->fail(ST_UNSUPPORTED, "a matrix product of size %zu is too large for the GPU", sizes[i]);
    if (!p->batch || !p->m || !p->n) return OK;
    if (!p->depth) return only_scale(g, p);
    BLAS_TRY(g, call(g->blas, p->tb ? CUBLAS_OP_T : CUBLAS_OP_N, p->ta ? CUBLAS_OP_T : CUBLAS_OP_N, (int)p->n,
                     (int)p->m, (int)p->depth, p));
    return OK;
}
template status product_run<float>(struct gpu *g, const struct product<float> *p);
template status product_run<double>(struct gpu *g, const struct product<double> *p);

template <typename real>
status gemm(struct device *d, bool ta, bool tb, double alpha, const tensor *a, const tensor *b, double beta, tensor *c)
{
    const struct matrices<real> x = matrices_of<real>(a), y = matrices_of<real>(b), z = matrices_of<real>(c);
    struct product<real> p = {ta,     tb,        z.rows,    z.columns, ta ? x.rows : x.columns, z.batch,
                              x.data, y.data,    z.data,    x.columns, y.columns,               z.columns,
                              0,      0,         z.rows * z.columns,   alpha,                   beta};
    p.a_step = x.batch == 1 ? 0 : x.rows * x.columns;
    p.b_step = y.batch == 1 ? 0 : y.rows * y.columns;
    if (p.batch > 1 && p.b_step == 0 && !ta && x.batch == z.batch && p.m * p.batch <= INT_MAX) {
        p.m *= p.batch; /* matrices that share b are one tall matrix */
        p.batch = 1;
    }
    return product_run(gpu_enter(d), &p);
}

template <typename real> static void enter(struct prims *p) { p->gemm = gemm<real>; }

void table_gemm(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
