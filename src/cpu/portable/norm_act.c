/* norm_act.c - the specification of the kernels of batch norm, activation and pooling. */
#include "cpu/portable/portable.h"
#include "base/size.h"

void K(moments)(const real *x, size_t n, size_t c, const real *pivot, double *sum, double *square)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < c; j++) {
            const real e = x[i * c + j] - pivot[j];
            sum[j] += (double)e;
            square[j] += (double)e * (double)e;
        }
}

static real centred(const struct norm_pixels *p, int of, size_t at, size_t j)
{
    return ((const real *)p->x[of])[at] - ((const real *)p->mean[of])[j];
}

/* u at offset `at` of both inputs, channel j */
static real unit(const struct norm_pixels *p, size_t at, size_t j)
{
    real u = centred(p, 0, at, j) * ((const real *)p->scale[0])[j] + ((const real *)p->bias[0])[j];
    if (p->x[1]) u += centred(p, 1, at, j) * ((const real *)p->scale[1])[j] + ((const real *)p->bias[1])[j];
    return u;
}

/* Where the four pixels under result i begin, channel j; without pooling only the first counts. */
static size_t corner(const struct norm_pixels *p, size_t i, size_t j) { return (p->below ? 2 * i : i) * p->c + j; }

/* The offset of the pixel whose u the result takes: the first of the largest, a NaN before all. */
static size_t chosen(const struct norm_pixels *p, size_t i, size_t j)
{
    const size_t at = corner(p, i, j), four[4] = {at, at + p->c, at + p->below, at + p->below + p->c};
    size_t best = at;
    for (int k = 1; p->below && k < 4; k++) {
        const real u = unit(p, four[k], j), top = unit(p, best, j);
        if (u > top || (u != u && top == top)) best = four[k];
    }
    return best;
}

void K(norm_act)(const struct norm_pixels *p, real *y)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->c; j++) {
            const real u = unit(p, chosen(p, i, j), j);
            y[i * p->c + j] = u <= 0 ? (real)p->slope * u : u;
        }
}

static real bent(const struct norm_pixels *p, size_t at, size_t j, real dy)
{
    return unit(p, at, j) <= 0 ? (real)p->slope * dy : dy;
}

void K(norm_act_sums)(const struct norm_pixels *p, const real *dy, double *sums)
{
    const size_t step = size_round_up(p->c, NORM_LANES);
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->c; j++) {
            const size_t at = chosen(p, i, j);
            const double g = (double)bent(p, at, j, dy[i * p->c + j]);
            sums[j] += g;
            sums[step + j] += g * (double)centred(p, 0, at, j);
            if (p->x[1]) sums[2 * step + j] += g * (double)centred(p, 1, at, j);
        }
}

static void give(const struct norm_pixels *p, int of, size_t at, size_t j, real g, real *dx)
{
    const real *scale = p->scale[of], *tilt = p->tilt[of], *offset = p->offset[of];
    const real d = scale[j] * g + (tilt[j] * centred(p, of, at, j) + offset[j]);
    if (dx) dx[at] = p->add[of] ? dx[at] + d : d;
}

void K(norm_act_grad)(const struct norm_pixels *p, const real *dy, real *dx, real *dr)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->c; j++) {
            const size_t at = corner(p, i, j), best = chosen(p, i, j);
            const size_t four[4] = {at, at + p->c, at + p->below, at + p->below + p->c};
            const real g = dy ? bent(p, best, j, dy[i * p->c + j]) : 0;
            for (int k = 0; k < (p->below ? 4 : 1); k++) {
                give(p, 0, four[k], j, four[k] == best ? g : 0, dx);
                if (p->x[1]) give(p, 1, four[k], j, four[k] == best ? g : 0, dr);
            }
        }
}
