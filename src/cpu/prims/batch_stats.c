/* batch_stats.c - mean and variance of each channel, and the running ones.
 *
 * Each block of rows is gone through once: sums of the distance from its first row, and of its square, in double. The
 * blocks are then joined in order (Chan, Golub and LeVeque 1979), so nothing cancels that a double does not hold, and
 * nothing depends on threads. */
#include "cpu/prims/batch.h"
#include <string.h>

struct stats {
    struct batch b;
    const kernel_table *k;
    const real *x;
    size_t lanes;  /* c rounded up */
    double *parts; /* [blocks, 2, lanes]: mean, and sum of squares around it */
    real *mean, *variance;
};

static status stats_piece(void *context, size_t piece, size_t worker)
{
    const struct stats *s = context;
    const struct range r = piece_range(s->b.rows, s->b.grain, piece);
    const size_t c = s->b.c;
    const real *x = s->x + r.from * c;
    const double n = (double)(r.to - r.from);
    double *mean = s->parts + 2 * piece * s->lanes, *square = mean + s->lanes;
    (void)worker;
    memset(mean, 0, 2 * s->lanes * sizeof *mean);
    s->k->moments(x, r.to - r.from, c, x, mean, square);
    for (size_t j = 0; j < c; j++) {
        const double sum = mean[j];
        square[j] -= sum * sum / n;
        if (square[j] < 0) square[j] = 0;
        mean[j] = (double)x[j] + sum / n;
    }
    return OK;
}

static void join(const struct stats *s, size_t channel)
{
    double mean = 0, square = 0, count = 0;
    for (size_t p = 0; p < s->b.blocks; p++) {
        const struct range r = piece_range(s->b.rows, s->b.grain, p);
        const double more = (double)(r.to - r.from), *part = s->parts + 2 * p * s->lanes + channel;
        const double apart = part[0] - mean, all = count + more;
        mean += apart * more / all;
        square += part[s->lanes] + apart * apart * count * more / all;
        count = all;
    }
    s->mean[channel] = (real)mean;
    s->variance[channel] = (real)(square / count);
}

static status join_piece(void *context, size_t piece, size_t worker)
{
    const struct stats *s = context;
    const struct range r = piece_range(s->b.c, NORM_LANES / 2, piece);
    (void)worker;
    for (size_t j = r.from; j < r.to; j++) join(s, j);
    return OK;
}

status R(prim_batch_stats)(struct device *d, const tensor *x, tensor *mean, tensor *variance)
{
    struct stats s = {
        .b = batch_of(x), .k = KERNELS(d), .x = reals(x), .mean = reals(mean), .variance = reals(variance)};
    void *memory;
    status st = OK;
    s.lanes = size_round_up(s.b.c, NORM_LANES);
    TRY(cpu_shared(cpu_of(d), 2 * s.b.blocks * s.lanes * sizeof(double), &memory));
    s.parts = memory;
    TRY(pool_run(cpu_of(d)->threads, s.b.blocks, stats_piece, &s));
    TRY(pool_run(cpu_of(d)->threads, pieces_of(s.b.c, NORM_LANES / 2), join_piece, &s));
done:
    return st;
}

status R(prim_batch_running)(struct device *d, const tensor *mean, const tensor *variance, double momentum,
                             double unbias, tensor *running_mean, tensor *running_variance)
{
    real *m = reals(running_mean), *v = reals(running_variance);
    (void)d;
    for (size_t j = 0; j < tensor_count(mean); j++) {
        m[j] = (real)((1 - momentum) * (double)m[j] + momentum * (double)reals(mean)[j]);
        v[j] = (real)((1 - momentum) * (double)v[j] + momentum * unbias * (double)reals(variance)[j]);
    }
    return OK;
}
