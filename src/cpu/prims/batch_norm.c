/* batch_norm.c - y = gain (x - mean) / sqrt(variance + epsilon) + bias for each channel, and its derivative.
 *
 * With z = (x - mean) / sqrt(variance + epsilon), a = gain / sqrt(variance + epsilon) and sums over the m rows:
 *     dbias = sum dy,  dgain = sum dy z,  dx = a (dy - sum dy / m - z sum dy z / m),
 * where the last two terms are there only when mean and variance are x's own. */
#include "cpu/prims/batch.h"
#include <math.h>

struct norm {
    struct batch b;
    const real *x, *dy, *mean, *scale, *bias; /* scale: gain / deviation */
    const real *slope;                        /* dx = scale dy + slope (x - mean) + bias */
    real *out;
    const double *inverse; /* [c] 1 / deviation */
    double *parts;         /* [blocks, 2, c]: sums of dy and of dy z */
};

static status norm_piece(void *context, size_t piece, size_t worker)
{
    const struct norm *s = context;
    const struct range r = piece_range(s->b.rows, s->b.grain, piece);
    const size_t c = s->b.c;
    const real *mean = s->mean, *scale = s->scale, *bias = s->bias;
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        const real *x = s->x + i * c;
        real *restrict y = s->out + i * c;
        for (size_t j = 0; j < c; j++) y[j] = (x[j] - mean[j]) * scale[j] + bias[j];
    }
    return OK;
}

static status sums_piece(void *context, size_t piece, size_t worker)
{
    const struct norm *s = context;
    const struct range r = piece_range(s->b.rows, s->b.grain, piece);
    const size_t c = s->b.c;
    double *restrict sum = s->parts + 2 * piece * c, *restrict product = sum + c;
    (void)worker;
    for (size_t j = 0; j < c; j++) sum[j] = product[j] = 0;
    for (size_t i = r.from; i < r.to; i++) {
        const real *x = s->x + i * c, *dy = s->dy + i * c;
        for (size_t j = 0; j < c; j++) {
            sum[j] += (double)dy[j];
            product[j] += (double)dy[j] * (double)(x[j] - s->mean[j]);
        }
    }
    for (size_t j = 0; j < c; j++) product[j] *= s->inverse[j];
    return OK;
}

static status grad_piece(void *context, size_t piece, size_t worker)
{
    const struct norm *s = context;
    const struct range r = piece_range(s->b.rows, s->b.grain, piece);
    const size_t c = s->b.c;
    const real *mean = s->mean, *scale = s->scale, *slope = s->slope, *bias = s->bias;
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        const real *x = s->x + i * c, *dy = s->dy + i * c;
        real *restrict dx = s->out + i * c;
        for (size_t j = 0; j < c; j++) dx[j] += scale[j] * dy[j] + (slope[j] * (x[j] - mean[j]) + bias[j]);
    }
    return OK;
}

/* Adds the blocks' sums in order, into those of the first. */
static void add_parts(const struct norm *s)
{
    for (size_t p = 1; p < s->b.blocks; p++)
        for (size_t j = 0; j < 2 * s->b.c; j++) s->parts[j] += s->parts[2 * p * s->b.c + j];
}

status R(prim_batch_norm)(struct device *d, const tensor *x, const tensor *mean, const tensor *variance,
                          const tensor *gain, const tensor *bias, double epsilon, tensor *y)
{
    struct norm s = {.b = batch_of(x), .x = reals(x), .mean = reals(mean), .bias = reals(bias), .out = reals(y)};
    void *memory;
    const status st = cpu_shared(cpu_of(d), s.b.c * sizeof(real), &memory);
    if (st != OK) return st;
    real *scale = memory;
    for (size_t j = 0; j < s.b.c; j++)
        scale[j] = (real)((double)reals(gain)[j] / sqrt((double)reals(variance)[j] + epsilon));
    s.scale = scale;
    return pool_run(cpu_of(d)->threads, s.b.blocks, norm_piece, &s);
}

/* What each channel of dx is made of, in [3, c]: scale, slope and bias. */
static void coefficients(struct norm *s, const real *gain, bool batch, real *out)
{
    const size_t c = s->b.c;
    const double m = (double)s->b.rows;
    for (size_t j = 0; j < c; j++) {
        const double a = (double)gain[j] * s->inverse[j];
        out[j] = (real)a;
        out[c + j] = batch ? (real)(-a * s->inverse[j] * s->parts[c + j] / m) : 0;
        out[2 * c + j] = batch ? (real)(-a * s->parts[j] / m) : 0;
    }
    s->scale = out;
    s->slope = out + c;
    s->bias = out + 2 * c;
}

status R(prim_batch_norm_grad)(struct device *d, const tensor *x, const tensor *mean, const tensor *variance,
                               const tensor *gain, const tensor *dy, double epsilon, bool batch, tensor *dx,
                               tensor *dgain, tensor *dbias)
{
    struct norm s = {.b = batch_of(x), .x = reals(x), .dy = reals(dy), .mean = reals(mean)};
    const size_t c = s.b.c, doubles = (2 * size_max(1, s.b.blocks) + 1) * c;
    void *memory;
    status st = OK;
    TRY(cpu_shared(cpu_of(d), doubles * sizeof(double) + 3 * c * sizeof(real), &memory));
    double *inverse = memory;
    for (size_t j = 0; j < c; j++) inverse[j] = 1 / sqrt((double)reals(variance)[j] + epsilon);
    s.inverse = inverse;
    s.parts = inverse + c;
    for (size_t j = 0; j < 2 * c; j++) s.parts[j] = 0;
    TRY(pool_run(cpu_of(d)->threads, s.b.blocks, sums_piece, &s));
    add_parts(&s);
    for (size_t j = 0; j < c; j++) {
        if (dbias) reals(dbias)[j] += (real)s.parts[j];
        if (dgain) reals(dgain)[j] += (real)s.parts[c + j];
    }
    if (!dx) goto done;
    s.out = reals(dx);
    coefficients(&s, reals(gain), batch, (real *)(inverse + doubles));
    TRY(pool_run(cpu_of(d)->threads, s.b.blocks, grad_piece, &s));
done:
    return st;
}

status R(prim_batch_fold)(struct device *d, const tensor *mean, const tensor *variance, const tensor *gain,
                          const tensor *bias, double epsilon, tensor *scale, tensor *shift)
{
    (void)d;
    for (size_t j = 0; j < tensor_count(mean); j++) {
        const double a = (double)reals(gain)[j] / sqrt((double)reals(variance)[j] + epsilon);
        reals(scale)[j] = (real)a;
        reals(shift)[j] = (real)((double)reals(bias)[j] - a * (double)reals(mean)[j]);
    }
    return OK;
}
