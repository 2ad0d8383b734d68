/* rgb_stats.c - the statistics of a first layer's results, without the results.
 *
 * A result is z = w . p, with p the 27 numbers under the filter. So the mean of z over all pixels is w . sum p / m, and the
 * mean of its square w . (sum p p') w / m: 27 x 27 sums, whatever the number of filters, and nothing is written that is as
 * large as the results. Sums are in double; a row of the pictures meets itself and its two neighbours once, and the product
 * counts for all places of the filter that it fits. */
#include "cpu/prims/rgb_norm.h"
#include <math.h>
#include <string.h>

enum { BAND = 28, MOST_PIECES = 256, SLACK = GEMM_MAX_WIDTH };

struct stats {
    struct device *d;
    const struct kernels_f64 *k;
    struct R(frame) from;
    struct rgb_bands b;
    size_t ow;
    double *parts; /* [pieces][RGB_PATCH + 1, RGB_PATCH]: the products' sums, then the sums */
    double *total; /* [RGB_PATCH + 1, RGB_PATCH] */
};

enum { NUMBERS = (RGB_PATCH + 1) * RGB_PATCH };

static size_t frame_count(const struct stats *s) { return (s->b.band + 2) * s->from.width * 3; }
static size_t scratch_bytes(const struct stats *s)
{
    return (frame_count(s) + SLACK) * sizeof(double) + frame_count(s) * sizeof(real);
}

/* Adds [rows, RGB_ROW] to the sums of every place of the filter, `gap` rows above its partner, that row r of the band's frame
 * has; `rows` results are in the band. */
static void give(double *sums, const double *add, size_t r, size_t gap, size_t rows)
{
    for (size_t place = 0; place + gap < 3; place++) {
        if (r < place || r - place >= rows) continue;
        double *to = sums + place * RGB_ROW * RGB_PATCH + (place + gap) * RGB_ROW;
        for (size_t i = 0; i < RGB_ROW; i++)
            for (size_t j = 0; j < RGB_ROW; j++) to[i * RGB_PATCH + j] += add[i * RGB_ROW + j];
    }
}

static void give_sums(double *sums, const double *add, size_t r, size_t rows)
{
    for (size_t place = 0; place < 3; place++) {
        if (r < place || r - place >= rows) continue;
        for (size_t j = 0; j < RGB_ROW; j++) sums[place * RGB_ROW + j] += add[j];
    }
}

static void add_band(const struct stats *s, size_t unit, real *rows_of, double *frame, double *sums)
{
    static const double one = 1;
    const size_t line = s->from.width * 3, width = s->k->gemm_width;
    const struct range r = piece_range(s->b.rows, s->b.band, unit % s->b.bands);
    const size_t rows = r.to - r.from;
    double product[RGB_ROW * RGB_ROW], sum[RGB_ROW];
    R(frame_copy)(&s->from, unit / s->b.bands, r.from, rows + 2, rows_of);
    for (size_t i = 0; i < (rows + 2) * line; i++) frame[i] = (double)rows_of[i];
    memset(frame + (rows + 2) * line, 0, SLACK * sizeof *frame); /* products read a whole panel's width */
    for (size_t y = 0; y < rows + 2; y++) {
        const double *at = frame + y * line;
        for (size_t gap = 0; gap < 3 && y + gap < rows + 2; gap++) {
            s->k->gemm(RGB_ROW, RGB_ROW, s->ow, at, 1, 3, at + gap * line, 3, width, product, RGB_ROW, false);
            give(sums, product, y, gap, rows);
        }
        s->k->gemm(1, RGB_ROW, s->ow, &one, 0, 0, at, 3, width, sum, RGB_ROW, false);
        give_sums(sums + RGB_PATCH * RGB_PATCH, sum, y, rows);
    }
}

static status band_piece(void *context, size_t piece, size_t worker)
{
    const struct stats *s = context;
    const struct range r = piece_range(s->b.units, s->b.per, piece);
    double *sums = s->parts + piece * NUMBERS;
    void *scratch;
    const status st = cpu_scratch(cpu_of(s->d), worker, scratch_bytes(s), &scratch);
    if (st != OK) return st;
    double *frame = scratch;
    memset(sums, 0, NUMBERS * sizeof *sums);
    for (size_t unit = r.from; unit < r.to; unit++)
        add_band(s, unit, (real *)(frame + frame_count(s) + SLACK), frame, sums);
    return OK;
}

/* A row of the total, over all pieces in their order. */
static status join_piece(void *context, size_t row, size_t worker)
{
    const struct stats *s = context;
    double *to = s->total + row * RGB_PATCH;
    (void)worker;
    memcpy(to, s->parts + row * RGB_PATCH, RGB_PATCH * sizeof *to);
    for (size_t p = 1; p < s->b.pieces; p++)
        for (size_t j = 0; j < RGB_PATCH; j++) to[j] += s->parts[p * NUMBERS + row * RGB_PATCH + j];
    return OK;
}

/* Only places above their partners were added up. */
static void mirror(double *total)
{
    for (size_t i = 0; i < RGB_PATCH; i++)
        for (size_t j = 0; j < i; j++)
            if (i / RGB_ROW != j / RGB_ROW) total[i * RGB_PATCH + j] = total[j * RGB_PATCH + i];
}

static void channel(const double *total, double m, const real *w, real *mean, real *variance)
{
    const double *sums = total + RGB_PATCH * RGB_PATCH;
    double first = 0, second = 0;
    for (size_t i = 0; i < RGB_PATCH; i++) {
        double row = 0;
        for (size_t j = 0; j < RGB_PATCH; j++)
            row += (total[i * RGB_PATCH + j] - sums[i] * sums[j] / m) * (double)w[rgb_weight(j)];
        first += (double)w[rgb_weight(i)] * sums[i];
        second += (double)w[rgb_weight(i)] * row;
    }
    *mean = (real)(first / m);
    *variance = (real)fmax(0, second / m);
}

status R(prim_rgb_stats)(struct device *d, const tensor *x, const tensor *w, size_t pad, tensor *moments, tensor *mean,
                         tensor *variance)
{
    const size_t n = x->dim[0], oh = x->dim[1] + 2 * pad - 2, ow = x->dim[2] + 2 * pad - 2;
    struct stats s = {.d = d, .k = &cpu_of(d)->kernels->f64, .from = R(rgb_frame)(x, pad), .ow = ow};
    status st = OK;
    void *memory;
    s.b = rgb_bands_of(n, oh, BAND, MOST_PIECES);
    s.total = moments->data;
    TRY(cpu_shared(cpu_of(d), s.b.pieces * NUMBERS * sizeof(double), &memory));
    s.parts = memory;
    TRY(cpu_reserve(cpu_of(d), scratch_bytes(&s)));
    TRY(pool_run(cpu_of(d)->threads, s.b.pieces, band_piece, &s));
    TRY(pool_run(cpu_of(d)->threads, RGB_PATCH + 1, join_piece, &s));
    mirror(s.total);
    for (size_t j = 0; j < w->dim[0]; j++)
        channel(s.total, (double)(n * oh * ow), reals(w) + j * RGB_PATCH, reals(mean) + j, reals(variance) + j);
done:
    return st;
}
