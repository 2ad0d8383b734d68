/* winograd.c - the specification of the maps of Winograd's convolution: matrices applied to rows and columns. */
#include "cpu/winograd.h"
#include "cpu/portable/portable.h"
#include "base/size.h"

#define A WINOGRAD_A
#define B WINOGRAD_B
#define A2 WINOGRAD_A2
#define B2 WINOGRAD_B2
#define N0 WINOGRAD_N0
#define NA WINOGRAD_NA
#define NB WINOGRAD_NB

/* The rows belong to the points 0, A, -A, B, -B and infinity; OUTPUT's columns do. */
static const double INPUT[6][6] = {{A2 * B2, 0, -A2 - B2, 0, 1, 0}, {0, -A *B2, -B2, A, 1, 0},
                                   {0, A *B2, -B2, -A, 1, 0},       {0, -B *A2, -A2, B, 1, 0},
                                   {0, B *A2, -A2, -B, 1, 0},       {0, A2 *B2, 0, -A2 - B2, 0, 1}};
static const double OUTPUT[4][6] = {
    {1, 1, 1, 1, 1, 0}, {0, A, -A, B, -B, 0}, {0, A2, A2, B2, B2, 0}, {0, A *A2, -A *A2, B *B2, -B *B2, 1}};
static const double OUTPUT_TURNED[6][4] = {{1, 0, 0, 0},      {1, A, A2, A *A2},   {1, -A, A2, -A *A2},
                                           {1, B, B2, B *B2}, {1, -B, B2, -B *B2}, {0, 0, 0, 1}};
static const double WEIGHTS[6][3] = {{N0, 0, 0},          {NA, NA *A, NA *A2},  {NA, -NA *A, NA *A2},
                                     {NB, NB *B, NB *B2}, {NB, -NB *B, NB *B2}, {0, 0, 1}};
static const double WEIGHTS_TURNED[3][6] = {
    {N0, NA, NA, NB, NB, 0}, {0, NA *A, -NA *A, NB *B, -NB *B, 0}, {0, NA *A2, NA *A2, NB *B2, NB *B2, 1}};

/* y = m x m' for every channel: m is [to, from], x [from, from], y [to, to]. A row and a step of x or y are x_row and
 * x_pixel numbers long. Blocks of channels make the innermost loop one that compilers turn into vectors. */
enum { BLOCK = 16, MOST = 6 };

static void multiply(const double *m, size_t to, size_t from, const real *x, size_t step, size_t channels,
                     real (*y)[BLOCK], size_t y_step)
{
    for (size_t i = 0; i < to; i++)
        for (size_t c = 0; c < channels; c++) {
            double sum = 0;
            for (size_t p = 0; p < from; p++) sum += m[i * from + p] * (double)x[p * step + c];
            y[i * y_step][c] = (real)sum;
        }
}

static void sandwich(const double *m, size_t to, size_t from, const real *x, size_t x_row, size_t x_pixel,
                     size_t channels, real (*y)[BLOCK])
{
    real half[MOST * MOST][BLOCK]; /* [to, from] */
    for (size_t q = 0; q < from; q++) multiply(m, to, from, x + q * x_pixel, x_row, channels, half + q, from);
    for (size_t i = 0; i < to; i++) multiply(m, to, from, half[i * from], BLOCK, channels, y + i * to, 1);
}

/* The same to memory: element (i, j) at (i to + j) y_step. */
static void transform(const double *m, size_t to, size_t from, const real *x, size_t x_row, size_t x_pixel,
                      size_t channels, real *y, size_t y_step)
{
    real result[MOST * MOST][BLOCK];
    for (size_t first = 0; first < channels; first += BLOCK) {
        const size_t count = size_min(BLOCK, channels - first);
        sandwich(m, to, from, x + first, x_row, x_pixel, count, result);
        for (size_t i = 0; i < to * to; i++)
            for (size_t c = 0; c < count; c++) y[i * y_step + first + c] = result[i][c];
    }
}

void K(winograd_input)(size_t channels, const real *x, size_t x_row, size_t x_pixel, real *v, size_t v_step)
{
    transform(*INPUT, 6, 6, x, x_row, x_pixel, channels, v, v_step);
}

void K(winograd_output_grad)(size_t channels, const real *dy, size_t dy_row, size_t dy_pixel, real *m, size_t m_step)
{
    transform(*OUTPUT_TURNED, 6, 4, dy, dy_row, dy_pixel, channels, m, m_step);
}

void K(winograd_weights)(size_t channels, const real *w, size_t first, size_t rows, real *u, size_t u_step)
{
    real result[MOST * MOST][BLOCK];
    for (size_t from = 0; from < channels; from += BLOCK) {
        const size_t count = size_min(BLOCK, channels - from);
        sandwich(*WEIGHTS, 6, 3, w + from, 3 * channels, channels, count, result);
        for (size_t i = 0; i < 6 * rows; i++)
            for (size_t c = 0; c < count; c++) u[i * u_step + from + c] = result[6 * first + i][c];
    }
}

void K(winograd_weights_grad)(size_t channels, const real *u, size_t u_step, real *dw)
{
    transform(*WEIGHTS_TURNED, 3, 6, u, 6 * u_step, u_step, channels, dw, channels);
}

static real scaled(real z, const real *scale, const real *shift, size_t c)
{
    return scale ? z * scale[c] + shift[c] : z;
}

static real bent(real z, real slope) { return z <= 0 ? slope * z : z; } /* this way round, NaN stays NaN */

static real larger(real a, real b) { return b > a || b != b ? b : a; }

/* Channel c of result (i, j), from the tile's 4x4 outputs. */
static real result_of(const struct winograd_end *end, real (*tile)[BLOCK], size_t i, size_t j, size_t first, size_t c)
{
    const real *scale = end->scale, *shift = end->shift;
    const size_t at = end->pool ? 8 * i + 2 * j : 4 * i + j;
    real z = scaled(tile[at][c], scale, shift, first + c);
    for (size_t k = 1; end->pool && k < 4; k++)
        z = larger(z, scaled(tile[at + k / 2 * 4 + k % 2][c], scale, shift, first + c));
    return scale ? bent(z, (real)end->slope) : z;
}

void K(winograd_output)(size_t channels, const real *m, size_t m_step, const struct winograd_end *end, real *y,
                        size_t y_row, size_t y_pixel)
{
    real tile[MOST * MOST][BLOCK];
    const size_t unit = end->pool ? 2 : 1, rows = end->rows / unit, columns = end->columns / unit;
    for (size_t first = 0; first < channels; first += BLOCK) {
        const size_t count = size_min(BLOCK, channels - first);
        sandwich(*OUTPUT, 4, 6, m + first, 6 * m_step, m_step, count, tile);
        for (size_t i = 0; i < rows * columns; i++)
            for (size_t c = 0; c < count; c++) {
                real *at = y + i / columns * y_row + i % columns * y_pixel + first + c;
                const real z = result_of(end, tile, i / columns, i % columns, first, c);
                *at = end->add ? *at + z : z;
            }
    }
}

void K(scale_shift_leaky)(size_t rows, size_t channels, const real *scale, const real *shift, real slope, real *y)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < channels; c++)
            y[i * channels + c] = bent(scaled(y[i * channels + c], scale, shift, c), slope);
}
