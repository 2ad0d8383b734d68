/* winograd.c - the maps of Winograd's convolution, V channels at a time. See cpu/winograd.h and cpu/portable/winograd.c.
 *
 * A map of 6 numbers treats the points A and -A (B and -B) together: their rows differ in the sign of the odd terms.
 * Of two-dimensional maps to 6x6, two rows are made at a time, which fit in the registers; the inputs are read again for
 * the next two, which is cheaper than to store what lies between. */
#include "cpu/winograd.h"
#include "cpu/simd/vec.h"
#include "base/size.h"

#define INLINE static inline __attribute__((always_inline))
/* A function for whole vectors that stays one: in a loop, compilers keep 36 addresses over the rounds, in memory. */
#define WHOLE static __attribute__((noinline)) void
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

static const real A = (real)WINOGRAD_A, B = (real)WINOGRAD_B, A2 = (real)WINOGRAD_A2, B2 = (real)WINOGRAD_B2;
static const real A3 = (real)(WINOGRAD_A * WINOGRAD_A2), B3 = (real)(WINOGRAD_B * WINOGRAD_B2);
static const real A2B2 = (real)(WINOGRAD_A2 * WINOGRAD_B2), A2_B2 = (real)(WINOGRAD_A2 + WINOGRAD_B2);
static const real N0 = (real)WINOGRAD_N0, NA = (real)WINOGRAD_NA, NB = (real)WINOGRAD_NB;

/* to and from six numbers: x[i] are inputs, y[i] outputs */
INLINE void input_ends(vec x0, vec x2, vec x4, vec *y)
{
    *y = vec_fma(vec_set(A2B2), x0, vec_nfma(vec_set(A2_B2), x2, x4));
}

/* the points p and -p; q2 is the other point's square */
INLINE void input_pair(real p, real q2, vec x1, vec x2, vec x3, vec x4, vec y[2])
{
    const vec even = vec_nfma(vec_set(q2), x2, x4), odd = vec_nfma(vec_set(q2), x1, x3);
    y[0] = vec_fma(vec_set(p), odd, even);
    y[1] = vec_nfma(vec_set(p), odd, even);
}

INLINE void input_six(const vec x[6], vec y[6])
{
    input_ends(x[0], x[2], x[4], y);
    input_pair(A, B2, x[1], x[2], x[3], x[4], y + 1);
    input_pair(B, A2, x[1], x[2], x[3], x[4], y + 3);
    input_ends(x[1], x[3], x[5], y + 5);
}

INLINE void store_six(real *v, size_t step, const vec y[6], size_t lanes)
{
    for (size_t j = 0; j < 6; j++) vec_store_some(v + j * step, y[j], lanes);
}

INLINE void input_row(const vec half[6], real *v, size_t step, size_t lanes)
{
    vec y[6];
    input_six(half, y);
    store_six(v, step, y, lanes);
}

/* One vector of channels; `lanes` is V at the calls that matter. */
INLINE void input_patch(const real *x, size_t row, size_t pixel, real *v, size_t step, size_t lanes)
{
#define X(i, j) vec_load_some(x + (i)*row + (j)*pixel, lanes)
    vec one[6], pair[2], other[6];
    for (size_t j = 0; j < 6; j++) input_ends(X(0, j), X(2, j), X(4, j), one + j);
    input_row(one, v, step, lanes);
    for (size_t j = 0; j < 6; j++) {
        input_pair(A, B2, X(1, j), X(2, j), X(3, j), X(4, j), pair);
        one[j] = pair[0];
        other[j] = pair[1];
    }
    input_row(one, v + 6 * step, step, lanes);
    input_row(other, v + 12 * step, step, lanes);
    for (size_t j = 0; j < 6; j++) {
        input_pair(B, A2, X(1, j), X(2, j), X(3, j), X(4, j), pair);
        one[j] = pair[0];
        other[j] = pair[1];
    }
    input_row(one, v + 18 * step, step, lanes);
    input_row(other, v + 24 * step, step, lanes);
    for (size_t j = 0; j < 6; j++) input_ends(X(1, j), X(3, j), X(5, j), one + j);
    input_row(one, v + 30 * step, step, lanes);
#undef X
}

WHOLE input_whole(const real *x, size_t row, size_t pixel, real *v, size_t step)
{
    input_patch(x, row, pixel, v, step, V);
}

void K(winograd_input)(size_t channels, const real *x, size_t x_row, size_t x_pixel, real *v, size_t v_step)
{
    size_t c = 0;
    for (; c + V <= channels; c += V) input_whole(x + c, x_row, x_pixel, v + c, v_step);
    if (c < channels) input_patch(x + c, x_row, x_pixel, v + c, v_step, channels - c);
}

INLINE void output_four(const vec x[6], vec y[4])
{
    const vec even_a = vec_add(x[1], x[2]), odd_a = vec_sub(x[1], x[2]);
    const vec even_b = vec_add(x[3], x[4]), odd_b = vec_sub(x[3], x[4]);
    y[0] = vec_add(x[0], vec_add(even_a, even_b));
    y[1] = vec_fma(vec_set(A), odd_a, vec_mul(vec_set(B), odd_b));
    y[2] = vec_fma(vec_set(A2), even_a, vec_mul(vec_set(B2), even_b));
    y[3] = vec_fma(vec_set(A3), odd_a, vec_fma(vec_set(B3), odd_b, x[5]));
}

INLINE vec scaled(vec z, const real *scale, const real *shift, size_t c, size_t lanes)
{
    return vec_fma(z, vec_load_some(scale + c, lanes), vec_load_some(shift + c, lanes));
}

INLINE vec bent(vec z, real slope) { return vec_if_le(z, vec_zero(), vec_mul(z, vec_set(slope)), z); }

/* A row of a tile, without pooling. */
INLINE void output_row(const struct winograd_end *end, const vec half[6], size_t c, real *y, size_t pixel, size_t lanes)
{
    vec z[4];
    output_four(half, z);
    UNROLL for (size_t j = 0; j < 4; j++)
    {
        if (j >= end->columns) continue; /* not an end of the loop, which then would not unroll */
        real *at = y + j * pixel;
        if (end->scale) z[j] = bent(scaled(z[j], end->scale, end->shift, c, lanes), (real)end->slope);
        vec_store_some(at, end->add ? vec_add(vec_load_some(at, lanes), z[j]) : z[j], lanes);
    }
}

/* Two rows of a tile to one of their largest. */
INLINE void output_pooled(const struct winograd_end *end, const vec upper[6], const vec lower[6], size_t c, real *y,
                          size_t pixel, size_t lanes)
{
    vec z[2][4];
    output_four(upper, z[0]);
    output_four(lower, z[1]);
    UNROLL for (size_t k = 0; k < 8; k++) if (end->scale)
        z[k / 4][k % 4] = scaled(z[k / 4][k % 4], end->scale, end->shift, c, lanes);
    UNROLL for (size_t j = 0; j < 2; j++)
    {
        if (2 * j + 2 > end->columns) continue;
        vec top = vec_max_nan(vec_max_nan(z[0][2 * j], z[0][2 * j + 1]), vec_max_nan(z[1][2 * j], z[1][2 * j + 1]));
        if (end->scale) top = bent(top, (real)end->slope);
        vec_store_some(y + j * pixel, top, lanes);
    }
}

/* `pool` is a constant at every call. */
INLINE void output_tile(const struct winograd_end *end, const bool pool, const real *m, size_t step, size_t c, real *y,
                        size_t row, size_t pixel, size_t lanes)
{
    vec column[6], four[4], half[4][6];
    UNROLL for (size_t j = 0; j < 6; j++)
    {
        UNROLL for (size_t i = 0; i < 6; i++) column[i] = vec_load_some(m + (6 * i + j) * step + c, lanes);
        output_four(column, four);
        UNROLL for (size_t i = 0; i < 4; i++) half[i][j] = four[i];
    }
    if (pool) {
        UNROLL for (size_t i = 0; i < 2; i++) if (2 * i + 2 <= end->rows)
            output_pooled(end, half[2 * i], half[2 * i + 1], c, y + i * row + c, pixel, lanes);
        return;
    }
    UNROLL for (size_t i = 0; i < 4; i++) if (i < end->rows) output_row(end, half[i], c, y + i * row + c, pixel, lanes);
}

WHOLE output_whole(const struct winograd_end *end, const real *m, size_t step, size_t c, real *y, size_t row,
                   size_t pixel)
{
    output_tile(end, false, m, step, c, y, row, pixel, V);
}

WHOLE pooled_whole(const struct winograd_end *end, const real *m, size_t step, size_t c, real *y, size_t row,
                   size_t pixel)
{
    output_tile(end, true, m, step, c, y, row, pixel, V);
}

static void output_part(const struct winograd_end *end, const real *m, size_t step, size_t c, real *y, size_t row,
                        size_t pixel, size_t lanes)
{
    if (end->pool) output_tile(end, true, m, step, c, y, row, pixel, lanes);
    else output_tile(end, false, m, step, c, y, row, pixel, lanes);
}

void K(winograd_output)(size_t channels, const real *m, size_t m_step, const struct winograd_end *end, real *y,
                        size_t y_row, size_t y_pixel)
{
    size_t c = 0;
    for (; c + V <= channels; c += V)
        if (end->pool) pooled_whole(end, m, m_step, c, y, y_row, y_pixel);
        else output_whole(end, m, m_step, c, y, y_row, y_pixel);
    if (c < channels) output_part(end, m, m_step, c, y, y_row, y_pixel, channels - c);
}

/* the points p and -p of four numbers */
INLINE void spread_pair(real p, real p2, real p3, const vec x[4], vec y[2])
{
    const vec even = vec_fma(vec_set(p2), x[2], x[0]);
    const vec odd = vec_fma(vec_set(p3), x[3], vec_mul(vec_set(p), x[1]));
    y[0] = vec_add(even, odd);
    y[1] = vec_sub(even, odd);
}

INLINE void spread_row(const vec x[4], real *m, size_t step, size_t lanes)
{
    vec y[6] = {x[0]};
    spread_pair(A, A2, A3, x, y + 1);
    spread_pair(B, B2, B3, x, y + 3);
    y[5] = x[3];
    store_six(m, step, y, lanes);
}

INLINE void spread_tile(const real *x, size_t row, size_t pixel, real *m, size_t step, size_t lanes)
{
    vec in[4], pair[2], half[6][4];
    for (size_t j = 0; j < 4; j++) {
        for (size_t i = 0; i < 4; i++) in[i] = vec_load_some(x + i * row + j * pixel, lanes);
        half[0][j] = in[0];
        spread_pair(A, A2, A3, in, pair);
        half[1][j] = pair[0];
        half[2][j] = pair[1];
        spread_pair(B, B2, B3, in, pair);
        half[3][j] = pair[0];
        half[4][j] = pair[1];
        half[5][j] = in[3];
    }
    for (size_t i = 0; i < 6; i++) spread_row(half[i], m + 6 * i * step, step, lanes);
}

WHOLE spread_whole(const real *x, size_t row, size_t pixel, real *m, size_t step)
{
    spread_tile(x, row, pixel, m, step, V);
}

void K(winograd_output_grad)(size_t channels, const real *dy, size_t dy_row, size_t dy_pixel, real *m, size_t m_step)
{
    size_t c = 0;
    for (; c + V <= channels; c += V) spread_whole(dy + c, dy_row, dy_pixel, m + c, m_step);
    if (c < channels) spread_tile(dy + c, dy_row, dy_pixel, m + c, m_step, channels - c);
}

/* three taps to six points */
INLINE void weights_six(const vec x[3], vec y[6])
{
    const vec a = vec_fma(vec_set(A2), x[2], x[0]), b = vec_fma(vec_set(B2), x[2], x[0]);
    const vec na = vec_set(NA), nb = vec_set(NB);
    y[0] = vec_mul(vec_set(N0), x[0]);
    y[1] = vec_mul(na, vec_fma(vec_set(A), x[1], a));
    y[2] = vec_mul(na, vec_nfma(vec_set(A), x[1], a));
    y[3] = vec_mul(nb, vec_fma(vec_set(B), x[1], b));
    y[4] = vec_mul(nb, vec_nfma(vec_set(B), x[1], b));
    y[5] = x[2];
}

/* One row of places; `row` is a constant at every call, so that of the six numbers of a column only one is made. */
INLINE void weights_six_places(const size_t row, size_t channels, const real *w, real *u, size_t u_step, size_t lanes)
{
    vec tap[3], six[6], half[3];
    UNROLL for (size_t j = 0; j < 3; j++)
    {
        UNROLL for (size_t i = 0; i < 3; i++) tap[i] = vec_load_some(w + (3 * i + j) * channels, lanes);
        weights_six(tap, six);
        half[j] = six[row];
    }
    weights_six(half, six);
    store_six(u, u_step, six, lanes);
}

INLINE void weights_row(const size_t row, size_t channels, const real *w, real *u, size_t u_step)
{
    size_t c = 0;
    for (; c + V <= channels; c += V) weights_six_places(row, channels, w + c, u + c, u_step, V);
    if (c < channels) weights_six_places(row, channels, w + c, u + c, u_step, channels - c);
}

void K(winograd_weights)(size_t channels, const real *w, size_t first, size_t rows, real *u, size_t u_step)
{
    for (size_t row = first; row < first + rows; row++, u += 6 * u_step) switch (row) {
        case 0: weights_row(0, channels, w, u, u_step); break;
        case 1: weights_row(1, channels, w, u, u_step); break;
        case 2: weights_row(2, channels, w, u, u_step); break;
        case 3: weights_row(3, channels, w, u, u_step); break;
        case 4: weights_row(4, channels, w, u, u_step); break;
        default: weights_row(5, channels, w, u, u_step); break;
        }
}

/* six points to three taps */
INLINE void taps_three(const vec x[6], vec y[3])
{
    const vec even_a = vec_mul(vec_set(NA), vec_add(x[1], x[2])), odd_a = vec_mul(vec_set(NA), vec_sub(x[1], x[2]));
    const vec even_b = vec_mul(vec_set(NB), vec_add(x[3], x[4])), odd_b = vec_mul(vec_set(NB), vec_sub(x[3], x[4]));
    y[0] = vec_fma(vec_set(N0), x[0], vec_add(even_a, even_b));
    y[1] = vec_fma(vec_set(A), odd_a, vec_mul(vec_set(B), odd_b));
    y[2] = vec_fma(vec_set(A2), even_a, vec_fma(vec_set(B2), even_b, x[5]));
}

void K(winograd_weights_grad)(size_t channels, const real *u, size_t u_step, real *dw)
{
    for (size_t c = 0; c < channels; c += V) {
        const size_t lanes = size_min(V, channels - c);
        vec six[6], taps[3], half[3][6];
        for (size_t j = 0; j < 6; j++) {
            for (size_t i = 0; i < 6; i++) six[i] = vec_load_some(u + (6 * i + j) * u_step + c, lanes);
            taps_three(six, taps);
            for (size_t i = 0; i < 3; i++) half[i][j] = taps[i];
        }
        for (size_t i = 0; i < 3; i++) {
            taps_three(half[i], taps);
            for (size_t j = 0; j < 3; j++) vec_store_some(dw + (3 * i + j) * channels + c, taps[j], lanes);
        }
    }
}

void K(scale_shift_leaky)(size_t rows, size_t channels, const real *scale, const real *shift, real slope, real *y)
{
    for (size_t i = 0; i < rows; i++, y += channels)
        for (size_t c = 0; c < channels; c += V) {
            const size_t lanes = size_min(V, channels - c);
            vec_store_some(y + c, bent(scaled(vec_load_some(y + c, lanes), scale, shift, c, lanes), slope), lanes);
        }
}
