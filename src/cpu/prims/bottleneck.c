/* bottleneck.c - an inverted residual block whose inner maps, six times as wide as its ends, are never stored.
 *
 * A piece makes some rows of one picture's result, a few at a time: it widens the rows of x under them into memory that stays
 * in the cache, with zeros above and below the picture's; then come the depthwise rows, and the product that narrows them.
 * Widened rows that the next few need as well are moved to the front. Long rows have zeros beside them, so that the depthwise
 * kernel meets no edge; short ones have none, so that many rows are one product. */
#include "cpu/prims/depthwise.h"
#include <string.h>

enum {
    WIDE_BYTES = 400 << 10, /* of widened rows, and of depthwise ones made straight from the map: parts of a cache */
    INNER_BYTES = 64 << 10,
    TOGETHER = 4,  /* rows that the depthwise kernel makes together */
    LONG_ROW = 14, /* pixels */
    PIECES = 4,    /* of a picture, where they are fewer than FEW_PICTURES; of no fewer rows than FEWEST_ROWS */
    FEW_PICTURES = 4,
    FEWEST_ROWS = 14
};

struct block {
    struct device *d;
    const kernel_table *k;
    const real *x, *expand, *taps, *project; /* expand: NULL, or as project panels; taps: [kh * kw][hidden] */
    const real *scale[3], *shift[3];
    size_t h, w, in, hidden, out, oh, ow, kh, kw;
    struct depthwise_shape s;
    real ceiling;
    bool residual, beside; /* beside: widened rows have zeros at their ends */
    size_t line;           /* numbers of a widened row with its zeros */
    size_t band, held;     /* rows of the result at a time; widened rows under them */
    size_t share, shares;  /* rows of a piece; pieces of a picture */
    real *to;
};

/* What a piece holds: widened rows [from, to), the first at the front; those of zeros above and below the picture count. */
struct rows {
    real *wide, *inner;
    size_t from, to;
};

/* `rows` rows of the picture, the first of which is number `from`. */
static void widen_rows(const struct block *b, const real *picture, size_t from, size_t rows, real *wide)
{
    const size_t width = b->k->gemm_width, line = b->w * b->in, together = b->beside ? 1 : rows;
    const struct gemm_end finish = {.scale = b->scale[0], .shift = b->shift[0], .ceiling = (double)b->ceiling};
    for (size_t i = 0; i < rows; i += together)
        b->k->gemm_affine(1, 0, 0, together * b->w, b->hidden, b->in, picture + (from + i) * line, b->in, 1, b->expand,
                          width, b->in * width, wide + i * b->line + (b->beside ? b->s.left * b->hidden : 0), b->hidden,
                          &finish);
}

static void widen(const struct block *b, const real *picture, struct range need, struct rows *r)
{
    if (r->to > need.from) { /* some are there */
        memmove(r->wide, r->wide + (need.from - r->from) * b->line, (r->to - need.from) * b->line * sizeof(real));
    } else {
        r->to = need.from;
    }
    r->from = need.from;
    const size_t first = size_min(need.to, size_max(r->to, b->s.top)),
                 end = size_max(first, size_min(need.to, b->s.top + b->h));
    real *at = r->wide + (r->to - r->from) * b->line;
    memset(at, 0, (first - r->to) * b->line * sizeof(real));
    widen_rows(b, picture, first - b->s.top, end - first, at + (first - r->to) * b->line);
    memset(at + (end - r->to) * b->line, 0, (need.to - end) * b->line * sizeof(real));
    r->to = need.to;
}

static struct depthwise_rows depthwise_form(const struct block *b)
{
    return (struct depthwise_rows){.columns = b->beside ? b->s.left + b->w + b->s.right : b->w,
                                   .line = b->line,
                                   .w = b->taps,
                                   .rows = b->kh,
                                   .taps = b->kw,
                                   .stride = b->s.stride,
                                   .left = b->beside ? 0 : b->s.left,
                                   .pixels = b->ow,
                                   .channels = b->hidden,
                                   .scale = b->scale[1],
                                   .shift = b->shift[1],
                                   .ceiling = (double)b->ceiling};
}

/* Rows [first, end) of the result's depthwise map, one behind the other: by one call from widened rows, which no row of the filter
 * leaves. */
static void meet(const struct block *b, const real *picture, size_t first, size_t end, struct rows *r)
{
    const size_t from = first * b->s.stride;
    struct depthwise_rows form = depthwise_form(b);
    if (b->expand) {
        widen(b, picture, (struct range){from, from + (end - first - 1) * b->s.stride + b->kh}, r);
        form.x = r->wide;
        form.height = end - first;
        b->k->depthwise(&form, r->inner);
    } else {
        const struct depthwise_over over = {.x = picture, .taps = b->taps, .h = b->h, .kh = b->kh, .top = b->s.top};
        R(depthwise_band)(b->k, &form, &over, first, end, r->inner);
    }
}

static void narrow(const struct block *b, const real *picture, size_t first, size_t end, const struct rows *r, real *to)
{
    const size_t width = b->k->gemm_width, pixels = (end - first) * b->ow;
    const struct gemm_end finish = {
        .scale = b->scale[2], .shift = b->shift[2], .residual = b->residual ? picture + first * b->w * b->in : NULL};
    b->k->gemm_affine(1, 0, 0, pixels, b->out, b->hidden, r->inner, b->hidden, 1, b->project, width, b->hidden * width,
                      to + first * b->ow * b->out, b->out, &finish);
}

/* Beside the rows that will be widened. */
static void put_zeros(const struct block *b, real *wide)
{
    const size_t left = b->s.left * b->hidden, right = b->s.right * b->hidden;
    for (size_t i = 0; b->beside && i < b->held; i++, wide += b->line) {
        memset(wide, 0, left * sizeof(real));
        memset(wide + b->line - right, 0, right * sizeof(real));
    }
}

static size_t wide_numbers(const struct block *b) { return b->expand ? b->held * b->line : 0; }
static size_t piece_bytes(const struct block *b)
{
    return (wide_numbers(b) + b->band * b->ow * b->hidden) * sizeof(real);
}

static status block_piece(void *context, size_t piece, size_t worker)
{
    const struct block *b = context;
    const struct range mine = piece_range(b->oh, b->share, piece % b->shares);
    const size_t picture = piece / b->shares;
    const real *x = b->x + picture * b->h * b->w * b->in;
    void *memory;
    const status st = cpu_scratch(cpu_of(b->d), worker, piece_bytes(b), &memory);
    if (st != OK) return st;
    struct rows r = {.wide = memory, .inner = (real *)memory + wide_numbers(b)};
    if (b->expand) put_zeros(b, r.wide);
    for (size_t first = mine.from; first < mine.to; first += b->band) {
        const size_t end = size_min(mine.to, first + b->band);
        meet(b, x, first, end, &r);
        narrow(b, x, first, end, &r, b->to + picture * b->oh * b->ow * b->out);
    }
    return OK;
}

/* Rows of the result at a time: so many that what is widened, or else met, under them stays in the cache, and a multiple of what the
 * depthwise kernel makes together. */
static size_t rows_at_a_time(const struct block *b)
{
    const size_t line = size_max(1, b->line * sizeof(real)), inner = size_max(1, b->ow * b->hidden * sizeof(real));
    const size_t wide = WIDE_BYTES / line, rows = wide > b->kh ? (wide - b->kh) / b->s.stride + 1 : 1;
    const size_t most = b->expand ? rows : size_max(1, INNER_BYTES / inner);
    return most > TOGETHER ? most / TOGETHER * TOGETHER : most;
}

/* How the work is cut: by the shape alone. */
static void cut(struct block *b, size_t pictures)
{
    b->beside = b->expand && b->w >= LONG_ROW;
    b->line = (b->beside ? b->s.left + b->w + b->s.right : b->w) * b->hidden;
    b->shares = pictures >= FEW_PICTURES ? 1 : PIECES;
    b->share = size_max(size_div_up(b->oh, b->shares), FEWEST_ROWS); /* rows at a piece's ends are widened twice */
    b->shares = size_div_up(b->oh, b->share);
    b->band = size_min(rows_at_a_time(b), size_min(b->share, b->oh));
    b->held = (b->band - 1) * b->s.stride + b->kh;
}

/* Panels and taps that are not there yet, one behind the other in shared memory. */
static status order(const struct bottleneck_args *a, struct block *b)
{
    const struct bottleneck_part *part[] = {&a->expand, &a->depthwise, &a->project};
    const size_t in[] = {b->in, 0, b->hidden}, out[] = {b->hidden, 0, b->out}, width = b->k->gemm_width;
    const real **where[] = {&b->expand, &b->taps, &b->project};
    size_t numbers[3] = {0}, all = 0;
    status st = OK;
    void *memory = NULL;
    for (int i = 0; i < 3; i++) {
        if (!part[i]->w) continue;
        *where[i] = part[i]->ready ? part[i]->ready->memory : NULL;
        b->scale[i] = reals(part[i]->scale);
        b->shift[i] = reals(part[i]->shift);
        if (*where[i]) continue;
        numbers[i] = i == 1 ? tensor_count(part[i]->w) : in[i] * size_round_up(out[i], width);
        all += numbers[i];
    }
    if (all) TRY(cpu_shared(cpu_of(b->d), all * sizeof(real), &memory));
    for (int i = 0; i < 3; i++) {
        if (!numbers[i]) continue;
        if (i == 1) R(depthwise_order)(part[i]->w, memory);
        else b->k->gemm_pack(in[i], out[i], reals(part[i]->w), 1, in[i], memory);
        *where[i] = memory;
        memory = (real *)memory + numbers[i];
    }
done:
    return st;
}

status R(prim_bottleneck)(struct device *d, const struct bottleneck_args *a, tensor *y)
{
    struct block b = {.d = d,
                      .k = KERNELS(d),
                      .x = reals(a->x),
                      .h = a->x->dim[1],
                      .w = a->x->dim[2],
                      .in = a->x->dim[3],
                      .hidden = a->depthwise.w->dim[0],
                      .out = y->dim[3],
                      .oh = y->dim[1],
                      .ow = y->dim[2],
                      .kh = a->depthwise.w->dim[2],
                      .kw = a->depthwise.w->dim[3],
                      .s = a->shape,
                      .ceiling = (real)a->ceiling,
                      .residual = a->residual,
                      .to = reals(y)};
    status st = OK;
    TRY(order(a, &b));
    cut(&b, y->dim[0]);
    TRY(cpu_reserve(cpu_of(d), piece_bytes(&b)));
    TRY(pool_run(cpu_of(d)->threads, y->dim[0] * b.shares, block_piece, &b));
done:
    return st;
}
