/* gemm.c - the specification of matrix products and of turning and packing matrices.
 *
 * One row of one panel of c is summed at a time, over the panel's whole width: that is the one concession to speed, and
 * the reason why a panel must be readable to its end. */
#include "cpu/portable/portable.h"
#include "base/size.h"

void K(gemm_sum)(size_t terms, size_t a_term, size_t b_term, size_t m, size_t n, size_t k, const real *a, size_t a_row,
                 size_t a_col, const real *b, size_t b_row, size_t b_panel, real *c, size_t c_row, bool add)
{
    for (size_t j = 0; j < n; j += GEMM_WIDTH) {
        const real *panel = b + j / GEMM_WIDTH * b_panel;
        const size_t columns = size_min(GEMM_WIDTH, n - j);
        for (size_t i = 0; i < m; i++) {
            real sum[GEMM_WIDTH] = {0};
            for (size_t t = 0; t < terms; t++)
                for (size_t p = 0; p < k; p++) {
                    const real factor = a[t * a_term + i * a_row + p * a_col];
                    for (size_t w = 0; w < GEMM_WIDTH; w++) sum[w] += factor * panel[t * b_term + p * b_row + w];
                }
            real *row = c + i * c_row + j;
            for (size_t w = 0; w < columns; w++) row[w] = add ? row[w] + sum[w] : sum[w];
        }
    }
}

void K(gemm)(size_t m, size_t n, size_t k, const real *a, size_t a_row, size_t a_col, const real *b, size_t b_row,
             size_t b_panel, real *c, size_t c_row, bool add)
{
    K(gemm_sum)(1, 0, 0, m, n, k, a, a_row, a_col, b, b_row, b_panel, c, c_row, add);
}

void K(gemm_affine)(size_t terms, size_t a_term, size_t b_term, size_t m, size_t n, size_t k, const real *a,
                    size_t a_row, size_t a_col, const real *b, size_t b_row, size_t b_panel, real *c, size_t c_row,
                    const struct gemm_end *end)
{
    const real *scale = end->scale, *shift = end->shift, *residual = end->residual;
    K(gemm_sum)(terms, a_term, b_term, m, n, k, a, a_row, a_col, b, b_row, b_panel, c, c_row, false);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const size_t at = i * c_row + j;
            c[at] = c[at] * scale[j] + shift[j];
            if (end->ceiling > 0 && c[at] < 0) c[at] = 0;
            if (end->ceiling > 0 && c[at] > (real)end->ceiling) c[at] = (real)end->ceiling;
            if (residual) c[at] += residual[at];
        }
}

void K(gemm_pack)(size_t k, size_t n, const real *b, size_t b_row, size_t b_col, real *packed)
{
    for (size_t j = 0; j < n; j += GEMM_WIDTH)
        for (size_t p = 0; p < k; p++)
            for (size_t w = 0; w < GEMM_WIDTH; w++) *packed++ = j + w < n ? b[p * b_row + (j + w) * b_col] : 0;
}

void K(transpose)(size_t rows, size_t columns, const real *x, size_t x_row, real *y, size_t y_row)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) y[j * y_row + i] = x[i * x_row + j];
}
