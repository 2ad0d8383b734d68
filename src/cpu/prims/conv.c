/* conv.c - convolution of channels-last maps, and its derivative with respect to the map, as matrix products.
 *
 * The numbers under one row of a filter are contiguous in a frame (cpu/prims/frame.h), so a row of outputs is a sum of kh
 * products, one for each row of the filter: [ow, kw * in] by [kw * in, out], with a read where it lies. The weights are
 * packed once a call, as panels [panel][kh][kw][in][width]. A piece is a band of rows of one picture; inside it panels
 * come first, so that a panel stays in the cache while all rows meet it. The derivative is a convolution of dy, with
 * zeros between its pixels when the stride is not 1, by the weights turned by half a turn. Most 3x3 convolutions of f32
 * are cheaper by another way: cpu/prims/winograd.c. */
#include "cpu/prims/conv_rgb.h"
#include "cpu/prims/winograd.h"

enum { BAND_BYTES = 256 << 10, PANEL_BYTES = 256 << 10, ROW_BYTES = 16 << 10 };

struct conv {
    struct device *d;
    const kernel_table *k;
    struct R(frame) from;
    size_t n, kh, kw, stride;
    size_t oh, ow, out; /* of the result, before pooling */
    const real *panels; /* the weights; NULL: they are packed */
    real *to;
    struct R(epilogue) end;
    size_t band, bands; /* rows of a band, an even number with pooling; bands of a picture */
    size_t filter_rows; /* that are multiplied at a time: as much of a panel as the cache likes */
};

struct packing {
    const real *w; /* element (tap, p, j) is w[j*column + p*row + tap], or taps - 1 - tap when turned */
    size_t taps, in, out, row, column, width;
    bool turned;
    real *panels;
};

static status pack_piece(void *context, size_t piece, size_t worker)
{
    const struct packing *p = context;
    const size_t first = piece * p->width, columns = size_min(p->width, p->out - first);
    real *panel = p->panels + piece * p->taps * p->in * p->width;
    (void)worker;
    for (size_t i = 0; columns < p->width && i < p->taps * p->in * p->width; i++) panel[i] = 0;
    for (size_t j = 0; j < columns; j++)
        for (size_t c = 0; c < p->in; c++) {
            const real *w = p->w + (first + j) * p->column + c * p->row;
            for (size_t tap = 0; tap < p->taps; tap++)
                panel[(tap * p->in + c) * p->width + j] = w[p->turned ? p->taps - 1 - tap : tap];
        }
    return OK;
}

static size_t taps_of(const struct conv *c) { return c->kh * c->kw * c->from.c; }

/* What follows the sums of `rows` pixels, of `columns` channels from the first on. */
static void finish(const struct conv *c, size_t rows, size_t first, size_t columns, real *y)
{
    const struct R(epilogue) *e = &c->end;
    if (!e->scale) return;
    if (e->ceiling > 0 && e->slope == 0)
        c->k->scale_shift_clip(rows, columns, e->scale + first, e->shift + first, e->ceiling, y);
    else c->k->scale_shift_leaky(rows, columns, e->scale + first, e->shift + first, e->slope, y);
}

/* Whether the product itself can do that, on sums that are complete. */
static bool finishes_itself(const struct conv *c)
{
    const struct R(epilogue) *e = &c->end;
    return e->scale && !e->add && c->filter_rows == c->kh && (e->ceiling > 0 ? e->slope == 0 : e->slope == 1);
}

static struct gemm_end end_from(const struct conv *c, size_t first)
{
    const struct R(epilogue) *e = &c->end;
    return (struct gemm_end){.scale = e->scale + first, .shift = e->shift + first, .ceiling = (double)e->ceiling};
}

static void finish_row(const struct conv *c, real *row)
{
    if (!finishes_itself(c)) finish(c, c->ow, 0, c->out, row);
}

/* Rows of the filter from ky, of a panel from column j, for row y of a band. */
static void multiply_row(const struct conv *c, const real *frame, real *to, size_t y, size_t j, size_t ky)
{
    const size_t width = c->k->gemm_width, line = c->from.width * c->from.c, depth = c->kw * c->from.c;
    const size_t filter_rows = size_min(c->filter_rows, c->kh - ky), columns = size_min(width, c->out - j);
    const real *a = frame + (y * c->stride + ky) * line, *b = c->panels + j * taps_of(c) + ky * depth * width;
    real *row = to + y * c->ow * c->out + j;
    if (finishes_itself(c)) {
        const struct gemm_end end = end_from(c, j);
        c->k->gemm_affine(filter_rows, line, depth * width, c->ow, columns, depth, a, c->stride * c->from.c, 1, b,
                          width, 0, row, c->out, &end);
    } else {
        c->k->gemm_sum(filter_rows, line, depth * width, c->ow, columns, depth, a, c->stride * c->from.c, 1, b, width,
                       0, row, c->out, c->end.add || ky > 0);
    }
}

static void multiply_band(const struct conv *c, const real *frame, real *to, size_t rows)
{
    const size_t width = c->k->gemm_width;
    if (taps_of(c) * size_round_up(c->out, width) * sizeof(real) <= ROW_BYTES) { /* all panels stay near anyway */
        for (size_t y = 0; y < rows; y++) {
            for (size_t j = 0; j < c->out; j += width) multiply_row(c, frame, to, y, j, 0);
            finish_row(c, to + y * c->ow * c->out);
        }
        return;
    }
    for (size_t j = 0; j < c->out; j += width)
        for (size_t ky = 0; ky < c->kh; ky += c->filter_rows)
            for (size_t y = 0; y < rows; y++) multiply_row(c, frame, to, y, j, ky);
    for (size_t y = 0; y < rows; y++) finish_row(c, to + y * c->ow * c->out);
}

/* Frame rows under a band of `rows` rows of outputs. */
static size_t rows_under(const struct conv *c, size_t rows) { return (rows - 1) * c->stride + c->kh; }

static size_t frame_bytes(const struct conv *c)
{
    return rows_under(c, c->band) * c->from.width * c->from.c * sizeof(real);
}

/* With pooling, the rows of a band wait in scratch memory until they are all there. */
static size_t band_bytes(const struct conv *c) { return c->end.pool ? c->band * c->ow * c->out * sizeof(real) : 0; }

static real larger(real a, real b) { return b > a || b != b ? b : a; } /* NaN before all */

static void pool_band(const struct conv *c, const real *from, size_t rows, real *to)
{
    const size_t line = c->ow * c->out;
    for (size_t y = 0; y + 2 <= rows; y += 2)
        for (size_t x = 0; x + 2 <= c->ow; x += 2, to += c->out) {
            const real *at = from + y * line + x * c->out, *below = at + line;
            for (size_t j = 0; j < c->out; j++)
                to[j] = larger(larger(at[j], at[c->out + j]), larger(below[j], below[c->out + j]));
        }
}

static status conv_piece(void *context, size_t piece, size_t worker)
{
    const struct conv *c = context;
    const size_t picture = piece / c->bands, line = c->from.w * c->from.c;
    const struct range r = piece_range(c->oh, c->band, piece % c->bands);
    const size_t rows = r.to - r.from;
    const real *frame = c->from.data + (picture * c->from.h + r.from * c->stride) * line;
    real *to = c->to + (picture * c->oh + r.from) * c->ow * c->out;
    void *scratch;
    const status st = cpu_scratch(cpu_of(c->d), worker, band_bytes(c) + frame_bytes(c), &scratch);
    if (st != OK) return st;
    if (!R(frame_is_picture)(&c->from)) {
        real *copy = (real *)scratch + band_bytes(c) / sizeof(real);
        R(frame_copy)(&c->from, picture, r.from * c->stride, rows_under(c, rows), copy);
        frame = copy;
    }
    multiply_band(c, frame, c->end.pool ? scratch : to, rows);
    if (c->end.pool) pool_band(c, scratch, rows, c->to + (picture * (c->oh / 2) + r.from / 2) * (c->ow / 2) * c->out);
    return OK;
}

/* A filter of one pixel over maps as they lie: all pixels of all pictures are the rows of one matrix. A piece multiplies
 * a block of them by a range of panels. Where rows are few, blocks and ranges are small, for threads to share evenly: a
 * map of 7x7 and 160 filters make 2 x 5 pieces. */
enum { POINT_ROWS = 84, FEW_POINT_ROWS = 28, POINT_PANELS = 4, POINT_PIECES = 16 };

struct points {
    const struct conv *c;
    size_t rows, block, blocks, range; /* rows of all, rows of a block, blocks, columns of a piece */
};

static status points_piece(void *context, size_t piece, size_t worker)
{
    const struct points *p = context;
    const struct conv *c = p->c;
    const size_t width = c->k->gemm_width, in = c->from.c, first = piece / p->blocks * p->range;
    const struct range r = piece_range(p->rows, p->block, piece % p->blocks);
    const size_t columns = size_min(p->range, c->out - first);
    real *to = c->to + r.from * c->out + first;
    const real *a = c->from.data + r.from * in, *b = c->panels + first * in;
    (void)worker;
    if (finishes_itself(c)) {
        const struct gemm_end end = end_from(c, first);
        c->k->gemm_affine(1, 0, 0, r.to - r.from, columns, in, a, in, 1, b, width, in * width, to, c->out, &end);
        return OK;
    }
    c->k->gemm(r.to - r.from, columns, in, a, in, 1, b, width, in * width, to, c->out, c->end.add);
    if (columns == c->out) finish(c, r.to - r.from, 0, columns, to);
    else
        for (size_t i = 0; i < r.to - r.from; i++) finish(c, 1, first, columns, to + i * c->out);
    return OK;
}

static bool points_fit(const struct conv *c)
{
    return c->kh == 1 && c->kw == 1 && c->stride == 1 && !c->end.pool && R(frame_is_picture)(&c->from);
}

static void cut_points(struct points *p, size_t most)
{
    p->block = size_div_up(p->rows, size_div_up(p->rows, most));
    p->blocks = size_div_up(p->rows, p->block);
}

static status points_run(const struct conv *c)
{
    const size_t width = c->k->gemm_width, panels = size_div_up(c->out, width);
    struct points p = {.c = c, .rows = c->n * c->oh * c->ow, .range = panels * width};
    if (p.rows == 0) return OK;
    cut_points(&p, POINT_ROWS);
    if (p.blocks < POINT_PIECES) {
        cut_points(&p, FEW_POINT_ROWS);
        p.range = size_min(POINT_PANELS, size_max(1, p.blocks * panels / POINT_PIECES)) * width;
    }
    return pool_run(cpu_of(c->d)->threads, p.blocks * size_div_up(c->out, p.range), points_piece, &p);
}

static size_t panels_of(const struct conv *c) { return size_div_up(c->out, c->k->gemm_width); }
static size_t panel_numbers(const struct conv *c) { return panels_of(c) * c->k->gemm_width * taps_of(c); }

static status pack(const struct conv *c, struct packing *p, real *panels)
{
    p->panels = panels;
    p->width = c->k->gemm_width;
    return pool_run(cpu_of(c->d)->threads, panels_of(c), pack_piece, p);
}

static status conv_run(struct conv *c, struct packing *p)
{
    status st = OK;
    void *memory;
    const size_t width = c->k->gemm_width;
    const size_t line_bytes = c->from.width * c->from.c * sizeof(real);
    c->band = size_max(1, size_min(c->oh, BAND_BYTES / size_max(1, c->stride * line_bytes)));
    if (c->end.pool) c->band = size_round_up(c->band, 2);
    c->bands = size_div_up(c->oh, c->band);
    c->filter_rows = taps_of(c) * width * sizeof(real) <= PANEL_BYTES ? c->kh : 1;
    if (!c->panels) {
        TRY(cpu_shared(cpu_of(c->d), panel_numbers(c) * sizeof(real), &memory));
        TRY(pack(c, p, memory));
        c->panels = memory;
    }
    if (points_fit(c)) return points_run(c);
    TRY(cpu_reserve(cpu_of(c->d), band_bytes(c) + frame_bytes(c)));
    TRY(pool_run(cpu_of(c->d)->threads, c->n * c->bands, conv_piece, c));
done:
    return st;
}

static struct R(frame) frame_of(const tensor *x, size_t step, ptrdiff_t top, ptrdiff_t left, size_t width)
{
    return (struct R(frame)){reals(x), x->dim[1], x->dim[2], x->dim[3], step, top, left, width, NULL};
}

/* A convolution forward, each way: by products, and by Winograd's method where that fits. */
struct ways {
    struct conv products;
    struct packing packing;
    struct R(winograd) winograd;
    bool rgb, fits; /* a first layer's kernel, or Winograd's method, is the one to take */
};

static struct ways ways_of(struct device *d, const tensor *x, const tensor *w, struct conv_shape s)
{
    const size_t in = w->dim[1], kh = w->dim[2], kw = w->dim[3], out = w->dim[0], n = x->dim[0];
    const size_t oh = (x->dim[1] + 2 * s.pad - kh) / s.stride + 1, ow = (x->dim[2] + 2 * s.pad - kw) / s.stride + 1;
    const ptrdiff_t pad = (ptrdiff_t)s.pad;
    const struct R(frame) from = frame_of(x, 1, pad, pad, x->dim[2] + 2 * s.pad);
    return (struct ways){
        .products = {.d = d,
                     .k = KERNELS(d),
                     .from = from,
                     .n = n,
                     .kh = kh,
                     .kw = kw,
                     .stride = s.stride,
                     .oh = oh,
                     .ow = ow,
                     .out = out},
        .packing = {.w = reals(w), .taps = kh * kw, .in = in, .out = out, .row = kh * kw, .column = in * kh * kw},
        .winograd = {.d = d,
                     .k = KERNELS(d),
                     .from = from,
                     .n = n,
                     .oh = oh,
                     .ow = ow,
                     .out = out,
                     .w = reals(w),
                     .row = 9,
                     .column = 9 * in},
        .rgb = R(rgb_fits)(d, w, s),
        .fits = R(winograd_fits)(d, w, s, oh, ow)};
}

enum ready_form { READY_PANELS, READY_SPECTRA };

static const real *ready_as(const struct conv_ready *ready, enum ready_form form)
{
    return ready && ready->form == (int)form ? ready->memory : NULL;
}

/* y = the convolution of x, which is read through `from` if that is not NULL, and what `end` says. */
static status forward(struct device *d, const struct conv_affine_args *a, const struct R(frame) *from,
                      struct R(epilogue) end, const tensor *y)
{
    struct ways c = ways_of(d, a->x, a->w, a->shape);
    if (from) c.products.from = c.winograd.from = *from;
    if (c.rgb)
        return R(rgb_conv)(d, &c.products.from, c.products.n, c.products.oh, c.products.ow, a->w, &end, reals(y));
    c.winograd.to = c.products.to = reals(y);
    c.winograd.end = c.products.end = end;
    c.winograd.ready = ready_as(a->ready, READY_SPECTRA);
    c.products.panels = ready_as(a->ready, READY_PANELS);
    return c.fits ? R(winograd_conv)(&c.winograd) : conv_run(&c.products, &c.packing);
}

status R(prim_conv2d)(struct device *d, const tensor *x, const tensor *w, struct conv_shape s, tensor *y)
{
    const struct conv_affine_args a = {.x = x, .w = w, .shape = s};
    return forward(d, &a, NULL, (struct R(epilogue)){.add = false}, y);
}

/* Whether a ceiling has been met when forward is done: not where another way than products was taken. */
static bool cut_on_the_way(struct device *d, const struct conv_affine_args *a)
{
    const struct ways c = ways_of(d, a->x, a->w, a->shape);
    return a->scale && a->slope == 0 && !c.rgb && !c.fits;
}

static status affine(struct device *d, const struct conv_affine_args *a, const struct R(frame) *from, tensor *y)
{
    struct R(epilogue) end = {.slope = (real)a->slope, .pool = a->pool, .ceiling = (real)a->ceiling};
    if (a->scale) {
        end.scale = reals(a->scale);
        end.shift = reals(a->shift);
    }
    const status st = forward(d, a, from, end, y);
    if (st != OK || !(a->ceiling > 0) || cut_on_the_way(d, a)) return st;
    return R(prim_clip)(d, y, -REAL_MAX, a->ceiling, y);
}

status R(prim_conv2d_affine)(struct device *d, const struct conv_affine_args *a, tensor *y)
{
    return affine(d, a, NULL, y);
}

status R(prim_conv2d_enter)(struct device *d, const struct conv_enter_args *a, tensor *y)
{
    const tensor *x = a->conv.x;
    const size_t h = x->dim[2], w = x->dim[3], width = a->left + w + a->right;
    const struct R(frame) from = {reals(x),           h,     w,         x->dim[1], 1, (ptrdiff_t)a->top,
                                  (ptrdiff_t)a->left, width, KERNELS(d)};
    const tensor framed = {x->type, 4, {x->dim[0], a->top + h + a->bottom, width, x->dim[1]}, x->data};
    struct conv_affine_args conv = a->conv;
    conv.x = &framed; /* for its shape: the border belongs to it */
    return affine(d, &conv, &from, y);
}

status R(prim_conv2d_prepare)(struct device *d, const tensor *x, const tensor *w, struct conv_shape s,
                              struct conv_ready *out)
{
    struct ways c = ways_of(d, x, w, s);
    struct conv_ready ready = {.made = true, .form = c.fits ? READY_SPECTRA : READY_PANELS};
    status st = OK;
    if (!c.rgb) { /* whose few weights are brought into order in no time */
        const size_t numbers = c.fits ? R(winograd_weights)(&c.winograd) : panel_numbers(&c.products);
        TRY(d->alloc(d, numbers * sizeof(real), &ready.memory));
        TRY(c.fits ? R(winograd_prepare)(&c.winograd, ready.memory) : pack(&c.products, &c.packing, ready.memory));
    }
    *out = ready;
    ready.memory = NULL;
done:
    if (ready.memory) d->release(d, ready.memory);
    return st;
}

status R(prim_conv2d_grad_x)(struct device *d, const tensor *w, const struct conv_ready *ready, const tensor *dy,
                             struct conv_shape s, bool add, tensor *dx)
{
    const size_t out = w->dim[0], in = w->dim[1], kh = w->dim[2], kw = w->dim[3];
    (void)ready; /* forms are for the way forward */
    const ptrdiff_t top = (ptrdiff_t)kh - 1 - (ptrdiff_t)s.pad, left = (ptrdiff_t)kw - 1 - (ptrdiff_t)s.pad;
    const struct R(frame) from = frame_of(dy, s.stride, top, left, dx->dim[2] + kw - 1);
    const struct R(epilogue) end = {.add = add};
    if (R(winograd_fits)(d, w, s, dx->dim[1], dx->dim[2]))
        return R(winograd_conv)(&(struct R(winograd)){.d = d,
                                                      .k = KERNELS(d),
                                                      .from = from,
                                                      .n = dx->dim[0],
                                                      .oh = dx->dim[1],
                                                      .ow = dx->dim[2],
                                                      .out = in,
                                                      .w = reals(w),
                                                      .row = 9 * in,
                                                      .column = 9,
                                                      .turned = true,
                                                      .to = reals(dx),
                                                      .end = end});
    struct conv c = {.d = d,
                     .k = KERNELS(d),
                     .from = from,
                     .n = dx->dim[0],
                     .kh = kh,
                     .kw = kw,
                     .stride = 1,
                     .oh = dx->dim[1],
                     .ow = dx->dim[2],
                     .out = in,
                     .to = reals(dx),
                     .end = end};
    struct packing p = {
        .w = reals(w), .taps = kh * kw, .in = out, .out = in, .row = in * kh * kw, .column = kh * kw, .turned = true};
    return conv_run(&c, &p);
}
