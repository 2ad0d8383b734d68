/* reduce.c - reduce_add and expand_add: sums over axes, and their opposite.
 *
 * Axes are merged first (broadcast.h). When the innermost one is summed, each output adds kernel sums of contiguous
 * runs in double, or many short runs that lie side by side are summed by one call; when it is kept, whole rows are added, 64 at a time into a block of their own, so that rounding
 * grows with the number of blocks and not of rows. A long sum is cut into parts of fixed length, whose results are
 * added in order: the result does not depend on who summed which part. */
#include "cpu/prims/broadcast.h"
#include "cpu/prims/prim.h"
#include <string.h>

enum {
    PART = 4 * GRAIN, /* elements of one part of a sum */
    WIDTH = 512,      /* columns that are added together */
    ROWS = 64         /* rows that are added before their sum joins the total */
};

struct axes { /* innermost first */
    int rank;
    size_t dim[MAX_RANK], step[MAX_RANK], count;
};

struct reduction {
    const kernel_table *k;
    const real *x;
    real *y, scale;
    struct axes kept, summed; /* without the innermost axis */
    bool rows;                /* the innermost axis is kept */
    size_t run;               /* length of the innermost axis */
    size_t columns;           /* blocks of WIDTH in a run that is kept; 1 when it is summed */
    size_t sums;              /* elements of y, or rows of y when the run is kept */
    size_t length, part;      /* terms of a sum (elements, or rows), and terms of a part of it */
    size_t parts;             /* of each sum */
    void *partial;            /* double [sums, parts] or real [sums, parts, run]; NULL when there is one part */
    size_t grain;             /* units of a piece; a unit is one part of one sum of one block of columns */
};

static void axes_push(struct axes *a, size_t dim, size_t step)
{
    a->dim[a->rank] = dim;
    a->step[a->rank++] = step;
    a->count *= dim;
}

static size_t axes_offset(const struct axes *a, size_t i)
{
    size_t offset = 0;
    for (int j = 0; j < a->rank; j++) {
        size_t index = j + 1 < a->rank ? i % a->dim[j] : i;
        offset += index * a->step[j];
        i /= a->dim[j];
    }
    return offset;
}

/* Terms [from, to) of one sum whose first element is x. */
static double run_sum(const struct reduction *w, const real *x, size_t from, size_t to)
{
    double total = 0;
    for (size_t i = from; i < to;) {
        size_t skip = i % w->run, length = size_min(w->run - skip, to - i);
        real sum;
        w->k->sum(x + axes_offset(&w->summed, i / w->run) + skip, length, &sum);
        total += (double)sum;
        i += length;
    }
    return total;
}

static status sum_piece(void *context, size_t piece, size_t worker)
{
    const struct reduction *w = context;
    struct range r = piece_range(w->sums * w->parts, w->grain, piece);
    double *partial = w->partial;
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        size_t sum = i / w->parts, from = i % w->parts * w->part;
        double total = run_sum(w, w->x + axes_offset(&w->kept, sum), from, size_min(w->length, from + w->part));
        if (partial) partial[i] = total;
        else w->y[sum] += (real)((double)w->scale * total);
    }
    return OK;
}

/* Sums of one short run each, WIDTH at most: all of them in one call of the kernel. */
static bool short_runs(const struct reduction *w)
{
    return !w->rows && w->parts == 1 && !w->summed.rank && w->kept.rank == 1 && w->run <= WIDTH &&
           w->kept.step[0] == w->run;
}

static status short_piece(void *context, size_t piece, size_t worker)
{
    const struct reduction *w = context;
    struct range r = piece_range(w->sums, w->grain, piece);
    real block[WIDTH];
    (void)worker;
    for (size_t i = r.from; i < r.to; i += WIDTH) {
        const size_t count = size_min(WIDTH, r.to - i);
        w->k->rows_sum(w->x + i * w->run, count, w->run, block);
        w->k->axpy(w->scale, block, w->y + i, count);
    }
    return OK;
}

/* y[width] += scale * (rows [from, to) of x) */
static void rows_sum(const struct reduction *w, const real *x, size_t from, size_t to, size_t width, real scale,
                     real *y)
{
    real block[WIDTH];
    for (size_t i = from; i < to; i += ROWS) {
        memcpy(block, x + axes_offset(&w->summed, i), width * sizeof *block);
        for (size_t j = i + 1; j < size_min(to, i + ROWS); j++)
            w->k->add(block, x + axes_offset(&w->summed, j), block, width);
        w->k->axpy(scale, block, y, width);
    }
}

static status rows_piece(void *context, size_t piece, size_t worker)
{
    const struct reduction *w = context;
    struct range r = piece_range(w->sums * w->parts * w->columns, w->grain, piece);
    real *partial = w->partial;
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        size_t column = i % w->columns * WIDTH, width = size_min(WIDTH, w->run - column);
        size_t part = i / w->columns, sum = part / w->parts, from = part % w->parts * w->part;
        size_t to = size_min(w->length, from + w->part);
        const real *x = w->x + axes_offset(&w->kept, sum) + column;
        real *y = partial ? partial + part * w->run + column : w->y + sum * w->run + column;
        if (partial) memset(y, 0, width * sizeof *y);
        rows_sum(w, x, from, to, width, partial ? 1 : w->scale, y);
    }
    return OK;
}

static void join_parts(const struct reduction *w)
{
    const real *rows_of = w->partial;
    const double *numbers = w->partial;
    for (size_t i = 0; i < w->sums; i++) {
        double total = 0;
        for (size_t p = i * w->parts; p < (i + 1) * w->parts; p++) {
            if (w->rows) w->k->axpy(w->scale, rows_of + p * w->run, w->y + i * w->run, w->run);
            else total += numbers[p];
        }
        if (!w->rows) w->y[i] += (real)((double)w->scale * total);
    }
}

/* Everything but the memory of the parts. */
static struct reduction reduction_plan(struct device *d, const tensor *x, double scale, const tensor *y)
{
    struct broadcast c = broadcast_make(y, x, x);
    bool rows = c.a[0] != 0;
    struct reduction w = {KERNELS(d),   reals(x),     reals(y), (real)scale,
                          {.count = 1}, {.count = 1}, rows,     .run = c.dim[0]};
    for (int i = 1; i < c.rank; i++) axes_push(c.a[i] ? &w.kept : &w.summed, c.dim[i], c.b[i]);
    w.columns = rows ? size_div_up(w.run, WIDTH) : 1;
    w.sums = w.kept.count;
    w.length = rows ? w.summed.count : w.summed.count * w.run;
    w.part = rows ? size_max(ROWS, PART / size_min(w.run, WIDTH)) : PART;
    w.parts = size_div_up(w.length, w.part);
    size_t unit = size_min(w.length, w.part) * (rows ? size_min(w.run, WIDTH) : 1);
    w.grain = size_max(1, PART / unit);
    return w;
}

status R(prim_reduce_add)(struct device *d, const tensor *x, double scale, tensor *y)
{
    status st = OK;
    if (tensor_count(x) == 0) return OK;
    struct reduction w = reduction_plan(d, x, scale, y);
    size_t units = w.sums * w.parts * w.columns;
    if (w.parts > 1) {
        TRY(cpu_shared(cpu_of(d), w.rows ? w.sums * w.parts * w.run * sizeof(real) : units * sizeof(double),
                       &w.partial));
    }
    TRY(pool_run(cpu_of(d)->threads, pieces_of(units, w.grain),
                 short_runs(&w) ? short_piece
                 : w.rows       ? rows_piece
                                : sum_piece,
                 &w));
    if (w.parts > 1) join_parts(&w);
done:
    return st;
}

struct expansion {
    const kernel_table *k;
    struct broadcast shape; /* a: x, b: y */
    const real *x;
    real scale, *y;
    size_t count;
};

static status expand_piece(void *context, size_t piece, size_t worker)
{
    const struct expansion *w = context;
    struct range r = piece_range(w->count, 4 * GRAIN, piece);
    size_t n = w->shape.dim[0], skip = r.from % n;
    struct broadcast_at at = broadcast_seek(&w->shape, r.from / n);
    (void)worker;
    for (size_t i = r.from; i < r.to;) {
        size_t length = size_min(n - skip, r.to - i);
        if (w->shape.a[0]) w->k->axpy(w->scale, w->x + at.a + skip, w->y + i, length);
        else w->k->affine(w->y + i, 1, w->scale * w->x[at.a], w->y + i, length);
        i += length;
        skip = 0;
        broadcast_next(&w->shape, &at);
    }
    return OK;
}

status R(prim_expand_add)(struct device *d, const tensor *x, double scale, tensor *y)
{
    struct expansion w = {KERNELS(d), broadcast_make(x, y, y), reals(x), (real)scale, reals(y), tensor_count(y)};
    return pool_run(cpu_of(d)->threads, pieces_of(w.count, 4 * GRAIN), expand_piece, &w);
}
