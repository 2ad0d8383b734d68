/* gemm.c - matrix products by outer products in registers.
 *
 * A tile of ROWS x 2 vectors of c stays in registers while k runs; b is read in panels two vectors wide and a by
 * broadcasting single numbers, so a may have any strides and needs no packing. Rows are shared out evenly: 25 rows are
 * 13 + 12, not 14 + 11. There is no blocking over k: with a panel of b and the rows of a in the second-level cache the
 * loads (about 7 bytes a cycle) are far below what that cache gives, and c is touched once. */
#include "cpu/simd/vec.h"
#include "base/size.h"
#include <math.h>

#if defined(__AVX512F__)
enum { ROWS = 14 }; /* 28 accumulators, 2 of b, 1 of a: 31 of 32 registers */
#else
enum { ROWS = 6 }; /* 12 + 2 + 1 of 16 */
#endif

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

struct product { /* what all tiles of a call share */
    size_t terms, a_term, b_term, k, a_row, a_col, b_row, c_row;
    bool add, fetch;
    const real *scale, *shift; /* of the panel's columns; NULL: sums are written as they are */
    real lowest, highest;
    const real *residual, *c; /* or NULL; where both begin */
};

/* Products so short that c, when it is not near, is what one waits for. */
enum { SHORT = 192 };

static inline __attribute__((always_inline)) void store_row(real *c, vec v, bool add, size_t lanes)
{
    if (lanes >= V) {
        vec_store(c, add ? vec_add(vec_load(c), v) : v);
    } else if (lanes > 0) {
        vec_store_part(c, add ? vec_add(vec_load_part(c, lanes), v) : v, lanes);
    }
}

/* Column v of a tile's vectors, on its way from the registers to c: an affine map, cut at both ends, and the residual. */
static inline __attribute__((always_inline)) void finish(const struct product *g, const size_t rows, const size_t v,
                                                         vec sum[ROWS][2], real *c, size_t lanes)
{
    const vec scale = vec_load_some(g->scale + v * V, lanes), shift = vec_load_some(g->shift + v * V, lanes);
    const vec lowest = vec_set(g->lowest), highest = vec_set(g->highest);
    UNROLL for (size_t i = 0; i < rows; i++)
    {
        real *to = c + i * g->c_row + v * V;
        vec z = vec_min(highest, vec_max(lowest, vec_fma(sum[i][v], scale, shift))); /* a NaN stays */
        if (g->residual) z = vec_add(vec_load_some(g->residual + (to - g->c), lanes), z);
        vec_store_some(to, z, lanes);
    }
}

/* rows, vecs and unit are constants at every call, so that the loops vanish; unit: a_row is 1. */
static inline __attribute__((always_inline)) void tile(const struct product *g, const size_t rows, const size_t vecs,
                                                       const bool unit, const real *a, const real *b, real *c,
                                                       size_t columns)
{
    const size_t a_row = unit ? 1 : g->a_row;
    vec sum[ROWS][2];
    UNROLL for (size_t i = 0; i < rows; i++)
    {
        sum[i][0] = sum[i][1] = vec_set(0);
        if (g->fetch) { /* c is needed at the end only: time enough to bring it near */
            __builtin_prefetch(c + i * g->c_row, 1);
            if (vecs > 1) __builtin_prefetch(c + i * g->c_row + V, 1);
        }
    }
    for (size_t t = 0; t < g->terms; t++) {
        const real *at = a + t * g->a_term, *bt = b + t * g->b_term;
        for (size_t p = 0; p < g->k; p++) {
            const vec b0 = vec_load(bt), b1 = vecs > 1 ? vec_load(bt + V) : b0;
            UNROLL for (size_t i = 0; i < rows; i++)
            {
                const vec ai = vec_set(at[i * a_row]);
                sum[i][0] = vec_fma(ai, b0, sum[i][0]);
                if (vecs > 1) sum[i][1] = vec_fma(ai, b1, sum[i][1]);
            }
            at += g->a_col;
            bt += g->b_row;
        }
    }
    if (g->scale) {
        finish(g, rows, 0, sum, c, columns);
        if (vecs > 1) finish(g, rows, 1, sum, c, columns - V);
        return;
    }
    UNROLL for (size_t i = 0; i < rows; i++)
    {
        store_row(c + i * g->c_row, sum[i][0], g->add, columns);
        if (vecs > 1) store_row(c + i * g->c_row + V, sum[i][1], g->add, columns > V ? columns - V : 0);
    }
}

typedef void (*tile_function)(const struct product *g, const real *a, const real *b, real *c, size_t columns);

#define TILE(n) \
    static void tile_##n##_1(const struct product *g, const real *a, const real *b, real *c, size_t columns) \
    { \
        if (g->a_row == 1) tile(g, n, 1, true, a, b, c, columns); \
        else tile(g, n, 1, false, a, b, c, columns); \
    } \
    static void tile_##n##_2(const struct product *g, const real *a, const real *b, real *c, size_t columns) \
    { \
        if (g->a_row == 1) tile(g, n, 2, true, a, b, c, columns); \
        else tile(g, n, 2, false, a, b, c, columns); \
    }
#define PAIR(n) \
    { \
        tile_##n##_1, tile_##n##_2 \
    }

/* a list, which the formatter takes for code */
/* clang-format off */
TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6)
#if defined(__AVX512F__)
TILE(7) TILE(8) TILE(9) TILE(10) TILE(11) TILE(12) TILE(13) TILE(14)
#endif

static const tile_function tiles[ROWS][2] = {
    PAIR(1), PAIR(2), PAIR(3), PAIR(4), PAIR(5), PAIR(6),
#if defined(__AVX512F__)
    PAIR(7), PAIR(8), PAIR(9), PAIR(10), PAIR(11), PAIR(12), PAIR(13), PAIR(14),
#endif
};
/* clang-format on */

static void multiply(struct product *g, size_t m, size_t n, const real *a, const real *b, size_t b_panel, real *c)
{
    const real *scale = g->scale, *shift = g->shift;
    const size_t groups = size_div_up(m, ROWS);
    for (size_t j = 0; j < n; j += 2 * V) {
        const real *panel = b + j / (2 * V) * b_panel;
        const size_t columns = size_min(2 * V, n - j);
        size_t row = 0;
        if (scale) {
            g->scale = scale + j;
            g->shift = shift + j;
        }
        for (size_t group = 0; group < groups; group++) {
            const size_t rows = m / groups + (group < m % groups);
            tiles[rows - 1][columns > V](g, a + row * g->a_row, panel, c + row * g->c_row + j, columns);
            row += rows;
        }
    }
}

void K(gemm_sum)(size_t terms, size_t a_term, size_t b_term, size_t m, size_t n, size_t k, const real *a, size_t a_row,
                 size_t a_col, const real *b, size_t b_row, size_t b_panel, real *c, size_t c_row, bool add)
{
    struct product g = {terms, a_term, b_term, k, a_row, a_col, b_row, c_row, .add = add};
    g.fetch = add || terms * k < SHORT;
    multiply(&g, m, n, a, b, b_panel, c);
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
    struct product g = {terms, a_term, b_term, k, a_row, a_col, b_row, c_row, .fetch = terms * k < SHORT, .c = c};
    const bool bounded = end->ceiling > 0;
    g.scale = end->scale;
    g.shift = end->shift;
    g.lowest = bounded ? 0 : -(real)INFINITY;
    g.highest = bounded ? (real)end->ceiling : (real)INFINITY;
    g.residual = end->residual;
    multiply(&g, m, n, a, b, b_panel, c);
}

/* One panel; columns below the panel's width are followed by zeros. */
static void pack_panel(size_t k, size_t columns, const real *b, size_t b_row, size_t b_col, real *packed)
{
    if (b_row == 1 && columns == 2 * V) { /* transposed in memory: turn blocks of it around */
        K(transpose)(columns, k, b, b_col, packed, 2 * V);
        return;
    }
    for (size_t p = 0; p < k; p++, packed += 2 * V) {
        const real *row = b + p * b_row;
        if (b_col == 1 && columns == 2 * V) {
            vec_store(packed, vec_load(row));
            vec_store(packed + V, vec_load(row + V));
            continue;
        }
        for (size_t j = 0; j < columns; j++) packed[j] = row[j * b_col];
        for (size_t j = columns; j < 2 * V; j++) packed[j] = 0;
    }
}

void K(gemm_pack)(size_t k, size_t n, const real *b, size_t b_row, size_t b_col, real *packed)
{
    for (size_t j = 0; j < n; j += 2 * V, packed += k * 2 * V)
        pack_panel(k, size_min(2 * V, n - j), b + j * b_col, b_row, b_col, packed);
}
