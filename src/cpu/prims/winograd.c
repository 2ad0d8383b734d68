/* winograd.c - convolution by 3x3 weights with stride 1 by Winograd's method (cpu/winograd.h).
 *
 * Outputs are cut into tiles of 4x4. The patches under a block of tiles become 36 matrices [tiles, in], these are
 * multiplied by 36 matrices of weights [in, out], which are made once a call as panels [36][panel][in][width], and the
 * products become the tiles' pixels. Place comes before panel, so that a matrix of patches is read for all panels while
 * it is near, and everything else passes by once. With many tiles a piece does all of that for a block of them. With
 * few, their spectra are made first, and a piece multiplies a block of them by a few panels. Weights that are too large for
 * the cache go another way: cpu/prims/winograd_panels.c. */
#include "cpu/prims/winograd.h"

enum {
    BLOCK = 28,             /* tiles; with fewer, weights pass by faster than the cache gives them */
    FEW_BLOCKS = 64,        /* of which there are fewer than this for threads to share evenly: then they are halved */
    LEAST_PIECES = 8,       /* for threads to share evenly */
    GROUP_BYTES = 16 << 20, /* of the spectra that are made first, in the third-level cache */
    GROUP_PANELS = 4,       /* that a piece then multiplies */
    NEAR_BYTES = 16 << 20,  /* of the weights' spectra: all stay in the third-level cache while tiles pass by */
    PATCH = WINOGRAD_PATCH * WINOGRAD_PATCH,
    WEIGHT_ROWS = 16, /* input channels whose weights one piece transforms */
    APART = 16,       /* numbers between matrices, lest 36 of them fall into the same cache set */
};

struct plan {
    const struct R(winograd) *c;
    size_t width, panels;          /* panel's columns; panels of the weights */
    size_t u_step, v_step, m_step; /* of a place, in weights, patches and products */
    size_t range;                  /* panels that a piece multiplies */
    const real *u;
    real *v, *make;       /* make: weights' spectra that are to be made */
    size_t first, count;  /* the group's tiles, when spectra are shared */
    size_t block, blocks; /* tiles of a block, blocks of the group or of all tiles */
};

void R(winograd_tiles)(struct R(winograd) *c)
{
    c->down = size_div_up(c->oh, WINOGRAD_TILE);
    c->across = size_div_up(c->ow, WINOGRAD_TILE);
    c->tiles = c->n * c->down * c->across;
}

static size_t apart(size_t count) { return size_round_up(count, APART) + APART; }

void R(winograd_patches)(const struct R(winograd) *c, size_t first, size_t count, real *v, size_t step, real *patch)
{
    const size_t in = c->from.c, line = c->from.w * in;
    for (size_t t = 0; t < count; t++) {
        const size_t tile = first + t, picture = tile / (c->down * c->across);
        const size_t top = tile / c->across % c->down * WINOGRAD_TILE, left = tile % c->across * WINOGRAD_TILE;
        const ptrdiff_t y = (ptrdiff_t)top - c->from.top, x = (ptrdiff_t)left - c->from.left;
        if (!c->from.planes && y >= 0 && x >= 0 && (size_t)y + WINOGRAD_PATCH <= c->from.h &&
            (size_t)x + WINOGRAD_PATCH <= c->from.w) {
            const real *at = c->from.data + (picture * c->from.h + (size_t)y) * line + (size_t)x * in;
            c->k->winograd_input(in, at, line, in, v + t * in, step);
            continue;
        }
        struct R(frame) f = c->from;
        f.left = -x;
        f.width = WINOGRAD_PATCH;
        R(frame_copy)(&f, picture, top, WINOGRAD_PATCH, patch);
        c->k->winograd_input(in, patch, WINOGRAD_PATCH * in, in, v + t * in, step);
    }
}

/* Weights of one panel and a few input channels. */
static status weights_piece(void *context, size_t piece, size_t worker)
{
    const struct plan *p = context;
    const struct R(winograd) *c = p->c;
    const size_t width = p->width, parts = size_div_up(c->from.c, WEIGHT_ROWS), first = piece / parts * width;
    const struct range rows = piece_range(c->from.c, WEIGHT_ROWS, piece % parts);
    const size_t columns = size_min(width, c->out - first);
    real taps[9 * GEMM_MAX_WIDTH];
    (void)worker;
    for (size_t i = 0; i < 9 * width; i++) taps[i] = 0;
    for (size_t i = rows.from; i < rows.to; i++) {
        for (size_t j = 0; j < columns; j++) {
            const real *w = c->w + (first + j) * c->column + i * c->row;
            for (size_t tap = 0; tap < 9; tap++) taps[tap * width + j] = w[c->turned ? 8 - tap : tap];
        }
        c->k->winograd_weights(width, taps, 0, 6, p->make + (first * c->from.c + i * width), p->u_step);
    }
    return OK;
}

real *R(winograd_pixels)(const struct R(winograd) *c, size_t tile, struct winograd_end *end)
{
    const size_t picture = tile / (c->down * c->across);
    const size_t y = tile / c->across % c->down * WINOGRAD_TILE, x = tile % c->across * WINOGRAD_TILE;
    const size_t unit = c->end.pool ? 2 : 1; /* tiles begin at even pixels: a square never lies in two */
    end->rows = size_min(WINOGRAD_TILE, c->oh - y);
    end->columns = size_min(WINOGRAD_TILE, c->ow - x);
    return c->to + ((picture * (c->oh / unit) + y / unit) * (c->ow / unit) + x / unit) * c->out;
}

size_t R(winograd_line)(const struct R(winograd) *c) { return (c->end.pool ? c->ow / 2 : c->ow) * c->out; }

struct winograd_end R(winograd_end)(const struct R(winograd) *c, size_t channel)
{
    return (struct winograd_end){.scale = c->end.scale ? c->end.scale + channel : NULL,
                                 .shift = c->end.shift ? c->end.shift + channel : NULL,
                                 .slope = (double)c->end.slope,
                                 .add = c->end.add,
                                 .pool = c->end.pool};
}

/* Multiplies `count` tiles from `first`, whose patches are at v, by panels from `panel` and writes their pixels. */
static void multiply_tiles(const struct plan *p, size_t panel, size_t first, size_t count, const real *v, real *m)
{
    const struct R(winograd) *c = p->c;
    const size_t in = c->from.c, j = panel * p->width, row = p->range * p->width, columns = size_min(row, c->out - j);
    struct winograd_end end = R(winograd_end)(c, j);
    for (size_t place = 0; place < WINOGRAD_PLACES; place++)
        c->k->gemm(count, columns, in, v + place * p->v_step, in, 1, p->u + place * p->u_step + j * in, p->width,
                   in * p->width, m + place * p->m_step, row, false);
    for (size_t t = 0; t < count; t++) {
        real *to = R(winograd_pixels)(c, first + t, &end) + j;
        c->k->winograd_output(columns, m + t * row, p->m_step, &end, to, R(winograd_line)(c), c->out);
    }
}

static size_t product_count(const struct plan *p) { return WINOGRAD_PLACES * p->m_step; }
static size_t patches_count(const struct plan *p) { return WINOGRAD_PLACES * p->v_step; }

/* Many tiles: a block of them from patches to pixels. */
static status block_piece(void *context, size_t piece, size_t worker)
{
    const struct plan *p = context;
    const struct range r = piece_range(p->c->tiles, p->block, piece);
    void *scratch;
    const size_t count = product_count(p) + patches_count(p) + PATCH * p->c->from.c;
    const status st = cpu_scratch(cpu_of(p->c->d), worker, count * sizeof(real), &scratch);
    if (st != OK) return st;
    real *m = scratch, *v = m + product_count(p);
    R(winograd_patches)(p->c, r.from, r.to - r.from, v, p->v_step, v + patches_count(p));
    multiply_tiles(p, 0, r.from, r.to - r.from, v, m);
    return OK;
}

/* Few tiles: the patches of a few of them. */
enum { PATCHES = 4 };

struct spectra {
    const struct R(winograd) *c;
    size_t first, count, step;
    real *v;
};

static status patches_piece(void *context, size_t piece, size_t worker)
{
    const struct spectra *s = context;
    const struct range r = piece_range(s->count, PATCHES, piece);
    void *patch;
    const status st = cpu_scratch(cpu_of(s->c->d), worker, PATCH * s->c->from.c * sizeof(real), &patch);
    if (st != OK) return st;
    R(winograd_patches)(s->c, s->first + r.from, r.to - r.from, s->v + r.from * s->c->from.c, s->step, patch);
    return OK;
}

status R(winograd_spectra)(const struct R(winograd) *c, size_t first, size_t count, real *v, size_t step)
{
    struct spectra s = {c, first, count, step, v};
    const status st = cpu_reserve(cpu_of(c->d), PATCH * c->from.c * sizeof(real));
    return st == OK ? pool_run(cpu_of(c->d)->threads, size_div_up(count, PATCHES), patches_piece, &s) : st;
}

/* A block of the group's tiles by a range of panels; blocks of a range follow each other, as they share its weights. */
static status panel_piece(void *context, size_t piece, size_t worker)
{
    const struct plan *p = context;
    const struct range r = piece_range(p->count, p->block, piece % p->blocks);
    void *m;
    const status st = cpu_scratch(cpu_of(p->c->d), worker, product_count(p) * sizeof(real), &m);
    if (st != OK) return st;
    multiply_tiles(p, piece / p->blocks * p->range, p->first + r.from, r.to - r.from, p->v + r.from * p->c->from.c, m);
    return OK;
}

/* Cuts `total` tiles into even blocks of at most `most`. */
static void cut_blocks(struct plan *p, size_t total, size_t most)
{
    p->block = size_div_up(total, size_div_up(total, most));
    p->blocks = size_div_up(total, p->block);
    p->m_step = apart(p->block * p->range * p->width);
}

static status run_blocks(struct plan *p)
{
    status st = OK;
    const struct R(winograd) *c = p->c;
    const size_t count = product_count(p) + patches_count(p) + PATCH * c->from.c;
    TRY(cpu_reserve(cpu_of(c->d), count * sizeof(real)));
    TRY(pool_run(cpu_of(c->d)->threads, p->blocks, block_piece, p));
done:
    return st;
}

static status run_groups(struct plan *p, size_t group)
{
    status st = OK;
    const struct R(winograd) *c = p->c;
    pool *threads = cpu_of(c->d)->threads;
    TRY(cpu_reserve(cpu_of(c->d), product_count(p) * sizeof(real)));
    for (p->first = 0; p->first < c->tiles; p->first += group) {
        p->count = size_min(group, c->tiles - p->first);
        p->blocks = size_div_up(p->count, p->block);
        TRY(R(winograd_spectra)(c, p->first, p->count, p->v, p->v_step));
        TRY(pool_run(threads, size_div_up(p->panels, p->range) * p->blocks, panel_piece, p));
    }
done:
    return st;
}

/* What depends on the weights alone. */
static struct plan plan_of(const struct R(winograd) *c)
{
    struct plan p = {.c = c, .width = c->k->gemm_width};
    p.panels = size_div_up(c->out, p.width);
    p.u_step = apart(c->from.c * p.panels * p.width);
    return p;
}

size_t R(winograd_weights)(const struct R(winograd) *c) { return WINOGRAD_PLACES * plan_of(c).u_step; }

status R(winograd_prepare)(const struct R(winograd) *c, real *spectra)
{
    struct plan p = plan_of(c);
    p.make = spectra;
    return pool_run(cpu_of(c->d)->threads, p.panels * size_div_up(c->from.c, WEIGHT_ROWS), weights_piece, &p);
}

static bool weights_are_large(const struct R(winograd) *c)
{
    const enum cpu_conv asked = cpu_of(c->d)->conv;
    if (asked != CPU_CONV_AUTO) return asked == CPU_CONV_PANELS;
    return R(winograd_weights)(c) * sizeof(real) > NEAR_BYTES;
}

status R(winograd_conv)(struct R(winograd) *c)
{
    status st = OK;
    struct plan p = plan_of(c);
    void *memory;
    R(winograd_tiles)(c);
    if (c->tiles == 0) return OK;
    if (weights_are_large(c)) return R(winograd_by_panels)(c, p.u_step);
    const size_t patch_bytes = WINOGRAD_PLACES * c->from.c * sizeof(real);
    const bool shared = size_div_up(c->tiles, BLOCK) < LEAST_PIECES;
    const size_t most = shared || c->tiles >= FEW_BLOCKS * BLOCK ? BLOCK : BLOCK / 2;
    const size_t groups = size_div_up(c->tiles, size_max(BLOCK, GROUP_BYTES / patch_bytes));
    const size_t group = shared ? size_div_up(c->tiles, groups) : c->tiles;
    p.range = shared ? size_min(p.panels, GROUP_PANELS) : p.panels;
    cut_blocks(&p, group, most);
    p.v_step = apart((shared ? group : p.block) * c->from.c);
    const size_t weights = c->ready ? 0 : R(winograd_weights)(c);
    TRY(cpu_shared(cpu_of(c->d), (weights + (shared ? patches_count(&p) : 0)) * sizeof(real), &memory));
    p.u = c->ready ? c->ready : memory;
    p.v = (real *)memory + weights;
    if (!c->ready) TRY(R(winograd_prepare)(c, memory));
    TRY(shared ? run_groups(&p, group) : run_blocks(&p));
done:
    return st;
}

/* Tiles must be many enough to pay for the weights' transformation, and outputs must fill them; channels must fill the
 * vectors. The number of pictures does not count: a picture's features must not depend on its neighbours, to the last
 * bit. Doubles stay with sums in plain order: they are what the others are held against. */
bool R(winograd_fits)(struct device *d, const tensor *w, struct conv_shape s, size_t height, size_t width)
{
    const enum cpu_conv asked = cpu_of(d)->conv;
    if (w->dim[2] != 3 || w->dim[3] != 3 || s.stride != 1 || s.pad > 2 || asked == CPU_CONV_DIRECT) return false;
    if (asked != CPU_CONV_AUTO) return true;
    if (REAL_DTYPE != DT_F32 || w->dim[0] < 16 || w->dim[1] < 16) return false;
    const size_t tiles = size_div_up(height, WINOGRAD_TILE) * size_div_up(width, WINOGRAD_TILE);
    return tiles >= 4 && 2 * height * width >= WINOGRAD_TILE * WINOGRAD_TILE * tiles;
}
