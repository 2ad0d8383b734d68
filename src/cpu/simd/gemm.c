/* gemm.c - matrix products by outer products in registers.
 *
 * A tile of ROWS x 2 vectors of c stays in registers while k runs; b is read in panels two vectors wide and a by
 * broadcasting single numbers, so a may have any strides and needs no packing. Rows are shared out evenly: 25 rows are
 * 13 + 12, not 14 + 11. There is no blocking over k: with a panel of b and the rows of a in the second-level cache the
 * loads (about 7 bytes a cycle) are far below what that cache gives, and c is touched once. */
#include "cpu/simd/vec.h"
#include "base/size.h"
#include <math.h>
#include <stdint.h>

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
    bool fetch;
    const real *scale, *shift; /* of the panel's columns; NULL: sums are written as they are */
    real lowest, highest;
    const real *c, *plus; /* where the result begins; what is added to it, laid out alike, or NULL */
    uintptr_t soon;       /* address of what is read after the tile: it is brought near meanwhile */
};

/* Products so short that c, when it is not near, is what one waits for. */
enum { SHORT = 192 };
/* A line of memory; so many tiles bring the next panel near, each a line for every two terms. */
enum { LINE_BYTES = 64, PARTS = 4 };

/* Rows of a from three pointers: an address has room for 0, 1, 2 and 4 times a step, and 3 times it has a register. */
enum { REACH = 5, POINTERS = 3 };
struct left {
    uintptr_t from[POINTERS]; /* addresses, as those behind the last row are in no array */
    size_t step, step3;       /* bytes from a row to the next; thrice that */
};

/* The compiler forgets where p came from: it would keep an offset for each row, and has too few registers for them. */
#define FORGET(p) __asm__("" : "+r"(p))

static inline __attribute__((always_inline)) struct left left_of(const real *a, size_t a_row)
{
    struct left l = {{0}, a_row * sizeof(real), 3 * a_row * sizeof(real)};
    UNROLL for (size_t i = 0; i < POINTERS; i++)
    {
        l.from[i] = (uintptr_t)a + i * REACH * l.step;
        FORGET(l.from[i]);
    }
    FORGET(l.step);
    FORGET(l.step3);
    return l;
}

static inline __attribute__((always_inline)) void left_move(struct left *l, size_t numbers)
{
    UNROLL for (size_t i = 0; i < POINTERS; i++) l->from[i] += numbers * sizeof(real);
}

/* One term of the sums: column `at` of a's rows by a row of b's panel. rows, vecs and beside, that a's rows lie side by side, are
 * constants at every call, so that the loop vanishes. */
static inline __attribute__((always_inline)) void add_term(const size_t rows, const size_t vecs, const bool beside,
                                                           const struct left *l, size_t at, const real *b,
                                                           vec sum[ROWS][2])
{
    const vec b0 = vec_load(b), b1 = vecs > 1 ? vec_load(b + V) : b0;
    UNROLL for (size_t i = 0; i < rows; i++)
    {
        const size_t j = i % REACH;
        const uintptr_t row = beside ? l->from[0] + i * sizeof(real)
                                     : l->from[i / REACH] + (j == 3 ? l->step3 : j * l->step);
        const vec ai = vec_broadcast((const real *)row + at);
        sum[i][0] = vec_fma(ai, b0, sum[i][0]);
        if (vecs > 1) sum[i][1] = vec_fma(ai, b1, sum[i][1]);
    }
}

/* Rows of a, from `a` on, by a panel of b. */
static inline __attribute__((always_inline)) void sweep(const struct product *g, const size_t rows, const size_t vecs,
                                                        const bool beside, const real *a, const real *b,
                                                        vec sum[ROWS][2])
{
    struct left l = left_of(a, g->a_row);
    for (size_t p = 0; p < g->k; p++) {
        add_term(rows, vecs, beside, &l, 0, b, sum);
        left_move(&l, g->a_col);
        b += g->b_row;
    }
}

/* The same where terms follow each other in both: two at a time, and a line of what is needed next. */
static inline __attribute__((always_inline)) void sweep_dense(const struct product *g, const size_t rows,
                                                              const size_t vecs, const real *a, const real *b,
                                                              vec sum[ROWS][2])
{
    struct left l = left_of(a, g->a_row);
    uintptr_t soon = g->soon;
    for (size_t p = 0; p < g->k / 2; p++) {
        __builtin_prefetch((const void *)soon, 0, 2);
        soon += LINE_BYTES;
        add_term(rows, vecs, false, &l, 0, b, sum);
        add_term(rows, vecs, false, &l, 1, b + 2 * V, sum);
        left_move(&l, 2);
        b += 2 * 2 * V;
    }
    if (g->k % 2) add_term(rows, vecs, false, &l, 0, b, sum);
}

/* Column v of a tile's vectors, on its way from the registers to c: an affine map, cut at both ends, and what is added. */
static inline __attribute__((always_inline)) void finish(const struct product *g, const size_t rows, const size_t v,
                                                         const bool whole, vec sum[ROWS][2], real *c, size_t lanes)
{
    if (g->scale) {
        const real *scales = g->scale + v * V, *shifts = g->shift + v * V;
        const vec scale = whole ? vec_load(scales) : vec_load_part(scales, lanes);
        const vec shift = whole ? vec_load(shifts) : vec_load_part(shifts, lanes);
        const vec lowest = vec_set(g->lowest), highest = vec_set(g->highest);
        UNROLL for (size_t i = 0; i < rows; i++)
        { /* a NaN stays */
            sum[i][v] = vec_min(highest, vec_max(lowest, vec_fma(sum[i][v], scale, shift)));
        }
    }
    if (g->plus) {
        const real *plus = g->plus + (c - g->c);
        UNROLL for (size_t i = 0; i < rows; i++)
        {
            const real *from = plus + i * g->c_row;
            sum[i][v] = vec_add(whole ? vec_load(from) : vec_load_part(from, lanes), sum[i][v]);
        }
    }
    UNROLL for (size_t i = 0; i < rows; i++)
    {
        if (whole) vec_store(c + i * g->c_row, sum[i][v]);
        else vec_store_part(c + i * g->c_row, sum[i][v], lanes);
    }
}

static inline __attribute__((always_inline)) void tile(const struct product *g, const size_t rows, const size_t vecs,
                                                       const real *a, const real *b, real *c, size_t columns)
{
    const size_t last = (vecs - 1) * V;
    vec sum[ROWS][2];
    UNROLL for (size_t i = 0; i < rows; i++)
    {
        sum[i][0] = sum[i][1] = vec_zero();
        if (g->fetch) { /* c is needed at the end only: time enough to bring it near */
            __builtin_prefetch(c + i * g->c_row, 1);
            if (vecs > 1) __builtin_prefetch(c + i * g->c_row + V, 1);
        }
    }
    for (size_t t = 0; t < g->terms; t++, a += g->a_term, b += g->b_term) {
        if (g->a_row == 1) sweep(g, rows, vecs, true, a, b, sum);
        else if (g->a_col == 1 && g->b_row == 2 * V) sweep_dense(g, rows, vecs, a, b, sum);
        else sweep(g, rows, vecs, false, a, b, sum);
    }
    if (vecs > 1) finish(g, rows, 0, true, sum, c, V);
    if (columns - last >= V) finish(g, rows, vecs - 1, true, sum, c + last, V);
    else finish(g, rows, vecs - 1, false, sum, c + last, columns - last);
}

typedef void (*tile_function)(const struct product *g, const real *a, const real *b, real *c, size_t columns);

#define TILE(n) \
    static void tile_##n##_1(const struct product *g, const real *a, const real *b, real *c, size_t columns) \
    { \
        tile(g, n, 1, a, b, c, columns); \
    } \
    static void tile_##n##_2(const struct product *g, const real *a, const real *b, real *c, size_t columns) \
    { \
        tile(g, n, 2, a, b, c, columns); \
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
    if (m == 0) return;
    const real *scale = g->scale, *shift = g->shift;
    const size_t groups = size_div_up(m, ROWS), fewest = m / groups, longer = m % groups;
    for (size_t j = 0; j < n; j += 2 * V) {
        const real *panel = b + j / (2 * V) * b_panel;
        const size_t columns = size_min(2 * V, n - j);
        size_t row = 0;
        if (scale) {
            g->scale = scale + j;
            g->shift = shift + j;
        }
        for (size_t group = 0; group < groups; group++) {
            const size_t rows = fewest + (group < longer);
            g->soon = (uintptr_t)(group < PARTS ? panel + b_panel : panel) + group % PARTS * (g->k / 2) * LINE_BYTES;
            tiles[rows - 1][columns > V](g, a + row * g->a_row, panel, c + row * g->c_row + j, columns);
            row += rows;
        }
    }
}

void K(gemm_sum)(size_t terms, size_t a_term, size_t b_term, size_t m, size_t n, size_t k, const real *a, size_t a_row,
                 size_t a_col, const real *b, size_t b_row, size_t b_panel, real *c, size_t c_row, bool add)
{
    struct product g = {terms, a_term, b_term, k, a_row, a_col, b_row, c_row, .c = c, .plus = add ? c : NULL};
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
    g.plus = end->residual;
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
