/* norm_act.c - batch norm, activation and pooling in one go: pixels outside, channels inside, so that memory is read in
 * its order and the vectors of the channels stay in the nearest cache.
 *
 * Which pixel of a square is the largest is found out from u again wherever it is needed; nothing is stored. Above and
 * below 0 the activation rises, so the largest u is the largest act(u). */
#include "base/size.h"
#include "cpu/simd/vec_wide.h"

void K(moments)(const real *x, size_t n, size_t c, const real *pivot, double *sum, double *square)
{
    for (size_t i = 0; i < n; i++, x += c)
        for (size_t j = 0; j < c; j += V) { /* missing lanes are 0 - 0 when the pivot ends in zeros */
            const vec e = vec_sub(vec_load_some(x + j, c - j), vec_load_some(pivot + j, c - j));
            wide_add(sum + j, e);
            wide_fma(square + j, e, e);
        }
}

/* One input at one pixel: x - mean and where it stands. */
static inline vec centred(const struct norm_pixels *p, int of, size_t at, size_t j)
{
    const real *x = p->x[of], *mean = p->mean[of];
    return vec_sub(vec_load_some(x + at, p->c - j), vec_load(mean + j));
}

static inline vec scaled(const struct norm_pixels *p, int of, vec e, size_t j)
{
    const real *scale = p->scale[of], *bias = p->bias[of];
    return vec_fma(e, vec_load(scale + j), vec_load(bias + j));
}

static inline vec unit(const struct norm_pixels *p, bool both, size_t at, size_t j)
{
    const vec u = scaled(p, 0, centred(p, 0, at, j), j);
    return both ? vec_add(u, scaled(p, 1, centred(p, 1, at, j), j)) : u;
}

static inline vec bend(vec u, vec v, vec slope) { return vec_if_le(u, vec_zero(), vec_mul(slope, v), v); }

static inline void act_pixels(const struct norm_pixels *p, bool both, bool pool, real *y)
{
    const vec slope = vec_set((real)p->slope);
    const size_t c = p->c;
    for (size_t i = 0; i < p->n; i++, y += c)
        for (size_t j = 0; j < c; j += V) {
            const size_t at = (pool ? 2 * i : i) * c + j;
            vec u = unit(p, both, at, j);
            if (pool) {
                u = vec_max_nan(u, unit(p, both, at + c, j));
                u = vec_max_nan(u, unit(p, both, at + p->below, j));
                u = vec_max_nan(u, unit(p, both, at + p->below + c, j));
            }
            vec_store_some(y + j, bend(u, u, slope), c - j);
        }
}

void K(norm_act)(const struct norm_pixels *p, real *y)
{
    if (p->below) {
        if (p->x[1]) act_pixels(p, true, true, y);
        else act_pixels(p, false, true, y);
    } else {
        if (p->x[1]) act_pixels(p, true, false, y);
        else act_pixels(p, false, false, y);
    }
}

/* The largest u of a square, with x - mean of both inputs there. */
struct top {
    vec u, e[2];
};

static inline struct top look(const struct norm_pixels *p, bool both, size_t at, size_t j)
{
    struct top t = {.e = {centred(p, 0, at, j), vec_zero()}};
    t.u = scaled(p, 0, t.e[0], j);
    if (both) {
        t.e[1] = centred(p, 1, at, j);
        t.u = vec_add(t.u, scaled(p, 1, t.e[1], j));
    }
    return t;
}

static inline struct top higher(struct top a, struct top b, bool both)
{
    a.e[0] = vec_if_le(b.u, a.u, a.e[0], b.e[0]);
    if (both) a.e[1] = vec_if_le(b.u, a.u, a.e[1], b.e[1]);
    a.u = vec_if_le(b.u, a.u, a.u, b.u);
    return a;
}

static inline void sum_pixels(const struct norm_pixels *p, bool both, bool pool, const real *dy, double *sums)
{
    const vec slope = vec_set((real)p->slope);
    const size_t c = p->c, step = size_round_up(c, NORM_LANES);
    for (size_t i = 0; i < p->n; i++, dy += c)
        for (size_t j = 0; j < c; j += V) {
            const size_t at = (pool ? 2 * i : i) * c + j;
            struct top t = look(p, both, at, j);
            if (pool) {
                t = higher(t, look(p, both, at + c, j), both);
                t = higher(t, look(p, both, at + p->below, j), both);
                t = higher(t, look(p, both, at + p->below + c, j), both);
            }
            const vec g = bend(t.u, vec_load_some(dy + j, c - j), slope);
            wide_add(sums + j, g);
            wide_fma(sums + step + j, g, t.e[0]);
            if (both) wide_fma(sums + 2 * step + j, g, t.e[1]);
        }
}

void K(norm_act_sums)(const struct norm_pixels *p, const real *dy, double *sums)
{
    if (p->below) {
        if (p->x[1]) sum_pixels(p, true, true, dy, sums);
        else sum_pixels(p, false, true, dy, sums);
    } else {
        if (p->x[1]) sum_pixels(p, true, false, dy, sums);
        else sum_pixels(p, false, false, dy, sums);
    }
}

static inline void give(const struct norm_pixels *p, int of, vec e, size_t at, size_t j, vec g, real *dx)
{
    const real *scale = p->scale[of], *tilt = p->tilt[of], *offset = p->offset[of];
    if (!dx) return;
    vec d = vec_fma(vec_load(scale + j), g, vec_fma(vec_load(tilt + j), e, vec_load(offset + j)));
    if (p->add[of]) d = vec_add(vec_load_some(dx + at, p->c - j), d);
    vec_store_some(dx + at, d, p->c - j);
}

static inline void grad_pixels(const struct norm_pixels *p, bool both, const real *dy, real *dx, real *dr)
{
    const vec slope = vec_set((real)p->slope);
    const size_t c = p->c;
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < c; j += V) {
            const size_t at = i * c + j;
            const struct top t = look(p, both, at, j);
            const vec g = dy ? bend(t.u, vec_load_some(dy + at, c - j), slope) : vec_zero();
            give(p, 0, t.e[0], at, j, g, dx);
            if (both) give(p, 1, t.e[1], at, j, g, dr);
        }
}

/* The four pixels of a square; the gradient moves on whenever a later one is larger. */
static inline void grad_squares(const struct norm_pixels *p, bool both, const real *dy, real *dx, real *dr)
{
    const vec slope = vec_set((real)p->slope), zero = vec_zero();
    const size_t c = p->c, from[4] = {0, c, p->below, p->below + c};
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < c; j += V) {
            const size_t at = 2 * i * c + j;
            struct top t[4] = {look(p, both, at, j), look(p, both, at + from[1], j), look(p, both, at + from[2], j),
                               look(p, both, at + from[3], j)};
            const vec u01 = vec_if_le(t[1].u, t[0].u, t[0].u, t[1].u), u23 = vec_if_le(t[3].u, t[2].u, t[2].u, t[3].u);
            const vec top = vec_if_le(u23, u01, u01, u23);
            const vec g = dy ? bend(top, vec_load_some(dy + i * c + j, c - j), slope) : zero;
            const vec g01 = vec_if_le(u23, u01, g, zero), g23 = vec_if_le(u23, u01, zero, g);
            const vec each[4] = {vec_if_le(t[1].u, t[0].u, g01, zero), vec_if_le(t[1].u, t[0].u, zero, g01),
                                 vec_if_le(t[3].u, t[2].u, g23, zero), vec_if_le(t[3].u, t[2].u, zero, g23)};
            for (int k = 0; k < 4; k++) {
                give(p, 0, t[k].e[0], at + from[k], j, each[k], dx);
                if (both) give(p, 1, t[k].e[1], at + from[k], j, each[k], dr);
            }
        }
}

void K(norm_act_grad)(const struct norm_pixels *p, const real *dy, real *dx, real *dr)
{
    if (p->below) {
        if (p->x[1]) grad_squares(p, true, dy, dx, dr);
        else grad_squares(p, false, dy, dx, dr);
    } else {
        if (p->x[1]) grad_pixels(p, true, dy, dx, dr);
        else grad_pixels(p, false, dy, dx, dr);
    }
}
