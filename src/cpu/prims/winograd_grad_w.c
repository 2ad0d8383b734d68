/* winograd_grad_w.c - the derivative of a 3x3 convolution of stride 1 with respect to its weights, by Winograd's method.
 *
 * The forward pass is y = O [(W w) * (I x)], so dw = W' [(O' dy) * (I x)], summed over tiles: 36 products [in, tiles] by
 * [tiles, out]. There are two ways. Where these sums fit into a core's own cache, a piece has all of them to itself: it makes
 * the spectra of a few of its tiles at a time and adds their products, and pieces are added up in their order at the end; no
 * thread waits for another and nothing leaves the cache. Where sums are larger, tiles are taken in groups whose spectra fit in
 * the third-level cache: first all spectra of a group are made, then pieces that each own a block of one product's sums add
 * the group to it. Either way none depends on the number of threads. */
#include "cpu/prims/winograd.h"

enum {
    GROUP_BYTES = 8 << 20,
    MOST_GROUP_BYTES = 32 << 20,
    TILES = 4,             /* whose spectra one piece makes */
    ROWS = 112,            /* of sums that a piece owns */
    APART = 16,            /* numbers between matrices, lest 36 of them fall into the same cache set */
    MOST_OUT = 64,         /* channels whose weights are turned at a time */
    OWN_BYTES = 640 << 10, /* sums that a piece may have to itself */
    OWN_TILES = 14,        /* whose spectra lie beside them */
    LEAST_TILES = 56,      /* of a piece, and from so many pieces on more, as each has its sums to be added up */
    EASY_PIECES = 16,      /* or a multiple of it, which most numbers of threads share evenly */
    MANY_TILES = 256,
    MOST_PIECES = 64
};

struct grad_w {
    const struct R(winograd) *c;
    const real *dy;
    real *dw;
    size_t in, out_step, panels; /* out_step: out, rounded up to whole panels */
    size_t v_step, m_step, sum_step;
    real *v, *m, *sums; /* [36] of [tiles, in], [tiles, out_step] and [in, out_step] */
    size_t first, count, blocks;
    size_t pieces; /* that have sums of their own, one behind the other */
};

static size_t apart(size_t count) { return size_round_up(count, APART) + APART; }

/* The spectrum of a tile of dy; what lies outside the picture is 0. */
static void spread(const struct grad_w *g, size_t tile, real *m, real *patch)
{
    const struct R(winograd) *c = g->c;
    const size_t picture = tile / (c->down * c->across), line = c->ow * c->out;
    const size_t y = tile / c->across % c->down * WINOGRAD_TILE, x = tile % c->across * WINOGRAD_TILE;
    if (y + WINOGRAD_TILE <= c->oh && x + WINOGRAD_TILE <= c->ow) {
        const real *at = g->dy + (picture * c->oh + y) * line + x * c->out;
        c->k->winograd_output_grad(c->out, at, line, c->out, m, g->m_step);
        return;
    }
    const struct R(frame) f = {g->dy, c->oh, c->ow, c->out, 1, 0, -(ptrdiff_t)x, WINOGRAD_TILE, NULL};
    R(frame_copy)(&f, picture, y, WINOGRAD_TILE, patch);
    c->k->winograd_output_grad(c->out, patch, WINOGRAD_TILE * c->out, c->out, m, g->m_step);
}

static size_t patch_bytes(const struct grad_w *g)
{
    return WINOGRAD_PATCH * WINOGRAD_PATCH * size_max(g->in, g->c->out) * sizeof(real);
}

static status spectra_piece(void *context, size_t piece, size_t worker)
{
    const struct grad_w *g = context;
    const struct range r = piece_range(g->count, TILES, piece);
    void *patch;
    const status st = cpu_scratch(cpu_of(g->c->d), worker, patch_bytes(g), &patch);
    if (st != OK) return st;
    R(winograd_patches)(g->c, g->first + r.from, r.to - r.from, g->v + r.from * g->in, g->v_step, patch);
    for (size_t t = r.from; t < r.to; t++) spread(g, g->first + t, g->m + t * g->out_step, patch);
    return OK;
}

static status sum_piece(void *context, size_t piece, size_t worker)
{
    const struct grad_w *g = context;
    const size_t place = piece / g->blocks;
    const struct range r = piece_range(g->in, ROWS, piece % g->blocks);
    (void)worker;
    g->c->k->gemm(r.to - r.from, g->c->out, g->count, g->v + place * g->v_step + r.from, 1, g->in,
                  g->m + place * g->m_step, g->out_step, g->c->k->gemm_width,
                  g->sums + place * g->sum_step + r.from * g->out_step, g->out_step, g->first > 0);
    return OK;
}

static size_t own_bytes(const struct grad_w *g)
{
    return WINOGRAD_PLACES * (g->v_step + g->m_step) * sizeof(real) + patch_bytes(g);
}

/* Tiles of its own, added to sums of its own. */
static status own_piece(void *context, size_t piece, size_t worker)
{
    const struct grad_w *g = context;
    const struct R(winograd) *c = g->c;
    const size_t begin = c->tiles * piece / g->pieces, end = c->tiles * (piece + 1) / g->pieces;
    real *sums = g->sums + piece * WINOGRAD_PLACES * g->sum_step;
    void *scratch;
    const status st = cpu_scratch(cpu_of(c->d), worker, own_bytes(g), &scratch);
    if (st != OK) return st;
    real *v = scratch, *m = v + WINOGRAD_PLACES * g->v_step, *patch = m + WINOGRAD_PLACES * g->m_step;
    for (size_t first = begin; first < end; first += OWN_TILES) {
        const size_t count = size_min(OWN_TILES, end - first);
        R(winograd_patches)(c, first, count, v, g->v_step, patch);
        for (size_t t = 0; t < count; t++) spread(g, first + t, m + t * g->out_step, patch);
        for (size_t place = 0; place < WINOGRAD_PLACES; place++)
            c->k->gemm(g->in, c->out, count, v + place * g->v_step, 1, g->in, m + place * g->m_step, g->out_step,
                       c->k->gemm_width, sums + place * g->sum_step, g->out_step, first > begin);
    }
    return OK;
}

/* The other pieces' sums of one input channel, added to the first's. */
static void join(const struct grad_w *g, size_t channel)
{
    for (size_t place = 0; place < WINOGRAD_PLACES; place++) {
        real *to = g->sums + place * g->sum_step + channel * g->out_step;
        for (size_t p = 1; p < g->pieces; p++) g->c->k->add(to, to + p * WINOGRAD_PLACES * g->sum_step, to, g->c->out);
    }
}

/* The weights of one input channel, from sums to taps. */
static status turn_piece(void *context, size_t piece, size_t worker)
{
    const struct grad_w *g = context;
    const size_t out = g->c->out;
    real taps[9 * MOST_OUT];
    (void)worker;
    join(g, piece);
    for (size_t first = 0; first < out; first += MOST_OUT) {
        const size_t count = size_min(MOST_OUT, out - first);
        g->c->k->winograd_weights_grad(count, g->sums + piece * g->out_step + first, g->sum_step, taps);
        for (size_t j = 0; j < count; j++)
            for (size_t tap = 0; tap < 9; tap++)
                g->dw[((first + j) * g->in + piece) * 9 + tap] += taps[tap * count + j];
    }
    return OK;
}

static status sum_groups(struct grad_w *g, size_t group)
{
    status st = OK;
    pool *threads = cpu_of(g->c->d)->threads;
    TRY(cpu_reserve(cpu_of(g->c->d), patch_bytes(g)));
    for (g->first = 0; g->first < g->c->tiles; g->first += group) {
        g->count = size_min(group, g->c->tiles - g->first);
        TRY(pool_run(threads, size_div_up(g->count, TILES), spectra_piece, g));
        TRY(pool_run(threads, WINOGRAD_PLACES * g->blocks, sum_piece, g));
    }
    TRY(pool_run(threads, g->in, turn_piece, g));
done:
    return st;
}

static status sum_apart(struct grad_w *g)
{
    status st = OK;
    struct cpu *c = cpu_of(g->c->d);
    const size_t tiles = g->c->tiles;
    void *memory;
    g->v_step = apart(OWN_TILES * g->in);
    g->m_step = apart(OWN_TILES * g->out_step);
    g->pieces = size_min(EASY_PIECES, size_div_up(tiles, LEAST_TILES));
    g->pieces = size_max(g->pieces, size_min(MOST_PIECES, tiles / MANY_TILES / EASY_PIECES * EASY_PIECES));
    TRY(cpu_shared(c, g->pieces * WINOGRAD_PLACES * g->sum_step * sizeof(real), &memory));
    g->sums = memory;
    TRY(cpu_reserve(c, own_bytes(g)));
    TRY(pool_run(c->threads, g->pieces, own_piece, g));
    TRY(pool_run(c->threads, g->in, turn_piece, g));
done:
    return st;
}

status R(winograd_grad_w)(struct R(winograd) *c, const real *dy, real *dw)
{
    const size_t width = c->k->gemm_width, panels = size_div_up(c->out, width);
    struct grad_w g = {.c = c, .dy = dy, .dw = dw, .in = c->from.c, .out_step = panels * width, .panels = panels};
    void *memory;
    R(winograd_tiles)(c);
    if (c->tiles == 0) return OK;
    const size_t tile_bytes = WINOGRAD_PLACES * (g.in + g.out_step) * sizeof(real);
    const size_t sum_bytes = WINOGRAD_PLACES * g.in * g.out_step * sizeof(real);
    const size_t group_bytes = size_min(MOST_GROUP_BYTES,
                                        size_max(GROUP_BYTES, sum_bytes)); /* sums are read each time */
    const size_t groups = size_div_up(c->tiles, size_max(WINOGRAD_TILE, group_bytes / tile_bytes));
    const size_t group = size_div_up(c->tiles, groups);
    g.sum_step = apart(g.in * g.out_step);
    g.pieces = 1;
    if (sum_bytes <= OWN_BYTES) return sum_apart(&g);
    g.v_step = apart(group * g.in);
    g.m_step = apart(group * g.out_step);
    g.blocks = size_div_up(g.in, ROWS);
    const status st = cpu_shared(cpu_of(c->d), WINOGRAD_PLACES * (g.v_step + g.m_step + g.sum_step) * sizeof(real),
                                 &memory);
    if (st != OK) return st;
    g.sums = memory;
    g.v = g.sums + WINOGRAD_PLACES * g.sum_step;
    g.m = g.v + WINOGRAD_PLACES * g.v_step;
    return sum_groups(&g, group);
}
