/* transpose.c - turning a matrix around in blocks that fit the registers: 8 x 8 floats or 4 x 4 doubles.
 *
 * Both instruction sets use 256-bit vectors here: the work is shuffles, of which wider ones are not more. Three rows, the
 * colours of a picture, are too few for such blocks: they have a way of their own to become the triples of its pixels. */
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

/* BLOCK columns of three rows, one behind the other. Numbers are laid out three times over, of which blends keep one. */
static inline void triples(const float *x, size_t x_row, float *y)
{
    const __m256 r = _mm256_loadu_ps(x), g = _mm256_loadu_ps(x + x_row), b = _mm256_loadu_ps(x + 2 * x_row);
    const __m256i front = _mm256_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2), middle = _mm256_setr_epi32(2, 3, 3, 3, 4, 4, 4, 5),
                  back = _mm256_setr_epi32(5, 5, 6, 6, 6, 7, 7, 7);
#define MIX(order, gs, bs) \
    _mm256_blend_ps(_mm256_blend_ps(_mm256_permutevar8x32_ps(r, order), _mm256_permutevar8x32_ps(g, order), gs), \
                    _mm256_permutevar8x32_ps(b, order), bs)
    _mm256_storeu_ps(y, MIX(front, 0x92, 0x24));
    _mm256_storeu_ps(y + 8, MIX(middle, 0x24, 0x49));
    _mm256_storeu_ps(y + 16, MIX(back, 0x49, 0x92));
#undef MIX
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

static inline void triples(const double *x, size_t x_row, double *y)
{
    const __m256d r = _mm256_loadu_pd(x), g = _mm256_loadu_pd(x + x_row), b = _mm256_loadu_pd(x + 2 * x_row);
#define MIX(order, gs, bs) \
    _mm256_blend_pd(_mm256_blend_pd(_mm256_permute4x64_pd(r, order), _mm256_permute4x64_pd(g, order), gs), \
                    _mm256_permute4x64_pd(b, order), bs)
    _mm256_storeu_pd(y, MIX(_MM_SHUFFLE(1, 0, 0, 0), 0x2, 0x4));
    _mm256_storeu_pd(y + 4, MIX(_MM_SHUFFLE(2, 2, 1, 1), 0x9, 0x2));
    _mm256_storeu_pd(y + 8, MIX(_MM_SHUFFLE(3, 3, 3, 2), 0x4, 0x9));
#undef MIX
}
#endif

static void edge(size_t rows, size_t columns, const real *x, size_t x_row, real *y, size_t y_row)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) y[j * y_row + i] = x[i * x_row + j];
}

void K(transpose)(size_t rows, size_t columns, const real *x, size_t x_row, real *y, size_t y_row)
{
    const bool colours = rows == 3 && y_row == 3;
    const size_t whole_rows = colours ? 3 : rows / BLOCK * BLOCK, whole_columns = columns / BLOCK * BLOCK;
    for (size_t j = 0; colours && j < whole_columns; j += BLOCK) triples(x + j, x_row, y + j * 3);
    for (size_t i = 0; !colours && i < whole_rows; i += BLOCK)
        for (size_t j = 0; j < whole_columns; j += BLOCK) block(x + i * x_row + j, x_row, y + j * y_row + i, y_row);
    edge(whole_rows, columns - whole_columns, x + whole_columns, x_row, y + whole_columns * y_row, y_row);
    edge(rows - whole_rows, columns, x + whole_rows * x_row, x_row, y + whole_rows, y_row);
}
