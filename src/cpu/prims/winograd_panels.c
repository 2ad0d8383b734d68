/* winograd_panels.c - Winograd's convolution with weights whose spectra do not fit the cache.
 *
 * The tiles of a group have their spectra made first. Then a piece owns a panel of the weights and leads all of them past
 * it. It makes the panel's spectra a row of six places at a time, in memory that stays in the second-level cache, so that
 * those of all weights never lie in memory; those that are ready are read once for all tiles. Sums run as in
 * cpu/prims/winograd.c, to the last bit. */
#include "cpu/prims/winograd.h"

enum { GROUP_BYTES = 32 << 20, ROW = WINOGRAD_PATCH, TAPS = 9, SPARE = 16 };

struct panels {
    const struct R(winograd) *c;
    size_t width, in;
    size_t u_step, v_step, m_step; /* of a place, in the weights of a row, patches and products */
    size_t ready_step;             /* in weights that are ready */
    size_t first, count;           /* the group's tiles */
    real *v;
};

/* Weights of the panel as [in][9][width], zeros behind the last output. */
static void order_taps(const struct panels *p, size_t panel, real *taps)
{
    const struct R(winograd) *c = p->c;
    const size_t first = panel * p->width, columns = size_min(p->width, c->out - first);
    const real *w = c->w + first * c->column;
    if (!c->turned && c->row == TAPS && columns == p->width) {
        c->k->transpose(columns, p->in * TAPS, w, c->column, taps, p->width);
        return;
    }
    for (size_t i = 0; i < p->in; i++)
        for (size_t tap = 0; tap < TAPS; tap++, taps += p->width)
            for (size_t j = 0; j < p->width; j++)
                taps[j] = j < columns ? w[j * c->column + i * c->row + (c->turned ? TAPS - 1 - tap : tap)] : 0;
}

static void write_pixels(const struct panels *p, size_t panel, const real *m)
{
    const struct R(winograd) *c = p->c;
    const size_t j = panel * p->width, columns = size_min(p->width, c->out - j);
    struct winograd_end end = R(winograd_end)(c, j);
    for (size_t t = 0; t < p->count; t++) {
        real *to = R(winograd_pixels)(c, p->first + t, &end) + j;
        c->k->winograd_output(columns, m + t * p->width, p->m_step, &end, to, R(winograd_line)(c), c->out);
    }
}

static size_t taps_count(const struct panels *p) { return p->c->ready ? 0 : p->in * TAPS * p->width; }
static size_t row_count(const struct panels *p) { return p->c->ready ? 0 : ROW * p->u_step; }
static size_t piece_bytes(const struct panels *p)
{
    return (taps_count(p) + row_count(p) + WINOGRAD_PLACES * p->m_step) * sizeof(real);
}

static status panel_piece(void *context, size_t panel, size_t worker)
{
    const struct panels *p = context;
    const struct R(winograd) *c = p->c;
    const size_t columns = size_min(p->width, c->out - panel * p->width);
    void *memory;
    const status st = cpu_scratch(cpu_of(c->d), worker, piece_bytes(p), &memory);
    if (st != OK) return st;
    real *taps = memory, *made = taps + taps_count(p), *m = made + row_count(p);
    if (!c->ready) order_taps(p, panel, taps);
    for (size_t row = 0; row < ROW; row++) {
        for (size_t i = 0; !c->ready && i < p->in; i++)
            c->k->winograd_weights(p->width, taps + i * TAPS * p->width, row, 1, made + i * p->width, p->u_step);
        for (size_t place = row * ROW; place < (row + 1) * ROW; place++) {
            const real *u = c->ready ? c->ready + place * p->ready_step + panel * p->in * p->width
                                     : made + place % ROW * p->u_step;
            c->k->gemm(p->count, columns, p->in, p->v + place * p->v_step, p->in, 1, u, p->width, 0,
                       m + place * p->m_step, p->width, false);
        }
    }
    write_pixels(p, panel, m);
    return OK;
}

status R(winograd_by_panels)(const struct R(winograd) *c, size_t ready_step)
{
    struct panels p = {.c = c, .width = c->k->gemm_width, .in = c->from.c, .ready_step = ready_step};
    const size_t tile_bytes = WINOGRAD_PLACES * p.in * sizeof(real), most = size_max(1, GROUP_BYTES / tile_bytes);
    const size_t group = size_div_up(c->tiles, size_div_up(c->tiles, most)), panels = size_div_up(c->out, p.width);
    status st = OK;
    void *memory;
    p.u_step = p.in * p.width + SPARE; /* lest places fall into the same cache set */
    p.v_step = group * p.in + SPARE;
    p.m_step = group * p.width + SPARE;
    TRY(cpu_shared(cpu_of(c->d), WINOGRAD_PLACES * p.v_step * sizeof(real), &memory));
    p.v = memory;
    TRY(cpu_reserve(cpu_of(c->d), piece_bytes(&p)));
    for (p.first = 0; p.first < c->tiles; p.first += group) {
        p.count = size_min(group, c->tiles - p.first);
        TRY(R(winograd_spectra)(c, p.first, p.count, p.v, p.v_step));
        TRY(pool_run(cpu_of(c->d)->threads, panels, panel_piece, &p));
    }
done:
    return st;
}
