/* transpose.c - turning a matrix around in blocks that fit the registers: 8 x 8 floats or 4 x 4 doubles.
 *
 * Both instruction sets use 256-bit vectors here: the work is shuffles, of which wider ones are not more. */
#include "cpu/simd/vec.h"
#include <immintrin.h>

#if CENTRA_REAL == 32
enum { BLOCK = 8 };

static inline void block(const float *x, size_t x_row, float *y, size_t y_row)
{
    __m256 a[8], b[8];
    for (int i = 0; i < 4; i++) { /* rows i and i + 4 side by side: after that only 128-bit halves are shuffled */
        const __m256 lo = _mm256_castps128_ps256(_mm_loadu_ps(x + (size_t)i * x_row));
        a[i] = _mm256_insertf128_ps(lo, _mm_loadu_ps(x + (size_t)(i + 4) * x_row), 1);
        const __m256 hi = _mm256_castps128_ps256(_mm_loadu_ps(x + (size_t)i * x_row + 4));
        a[i + 4] = _mm256_insertf128_ps(hi, _mm_loadu_ps(x + (size_t)(i + 4) * x_row + 4), 1);
    }
    for (int i = 0; i < 8; i += 4) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
        b[i + 2] = _mm256_unpacklo_ps(a[i + 2], a[i + 3]);
        b[i + 3] = _mm256_unpackhi_ps(a[i + 2], a[i + 3]);
        a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
        a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xEE);
        a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
        a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xEE);
    }
    for (int i = 0; i < 8; i++) _mm256_storeu_ps(y + (size_t)i * y_row, a[i]);
}
#else
enum { BLOCK = 4 };

static inline void block(const double *x, size_t x_row, double *y, size_t y_row)
{
    const __m256d r0 = _mm256_loadu_pd(x), r1 = _mm256_loadu_pd(x + x_row);
    const __m256d r2 = _mm256_loadu_pd(x + 2 * x_row), r3 = _mm256_loadu_pd(x + 3 * x_row);
    const __m256d a = _mm256_unpacklo_pd(r0, r1), b = _mm256_unpackhi_pd(r0, r1);
    const __m256d c = _mm256_unpacklo_pd(r2, r3), d = _mm256_unpackhi_pd(r2, r3);
    _mm256_storeu_pd(y, _mm256_permute2f128_pd(a, c, 0x20));
    _mm256_storeu_pd(y + y_row, _mm256_permute2f128_pd(b, d, 0x20));
    _mm256_storeu_pd(y + 2 * y_row, _mm256_permute2f128_pd(a, c, 0x31));
    _mm256_storeu_pd(y + 3 * y_row, _mm256_permute2f128_pd(b, d, 0x31));
}
#endif

static void edge(size_t rows, size_t columns, const real *x, size_t x_row, real *y, size_t y_row)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) y[j * y_row + i] = x[i * x_row + j];
}

void K(transpose)(size_t rows, size_t columns, const real *x, size_t x_row, real *y, size_t y_row)
{
    const size_t whole_rows = rows / BLOCK * BLOCK, whole_columns = columns / BLOCK * BLOCK;
    for (size_t i = 0; i < whole_rows; i += BLOCK)
        for (size_t j = 0; j < whole_columns; j += BLOCK) block(x + i * x_row + j, x_row, y + j * y_row + i, y_row);
    edge(whole_rows, columns - whole_columns, x + whole_columns, x_row, y + whole_columns * y_row, y_row);
    edge(rows - whole_rows, columns, x + whole_rows * x_row, x_row, y + whole_rows, y_row);
}
