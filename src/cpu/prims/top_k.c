/* top_k.c - the k largest elements along an axis, largest first, with their places; and the derivative.
 *
 * Equal elements stand in order of place. NaN counts as larger than every number, so that it is seen in the result
 * rather than lost. The list is kept by insertion into the output: k is small. */
#include "cpu/prims/prim.h"

struct top_k {
    struct axis a;
    size_t k;
    const real *x, *dy;
    int *index;
    real *out; /* y, or dx */
    size_t grain;
};

static bool larger(real a, real b) { return a > b || (a != a && b == b); }

/* One vector x[n] with step `step` into y[k], index[k] with the same step. */
static void vector_top_k(const struct top_k *w, const real *x, real *y, int *index)
{
    size_t step = w->a.inner, filled = 0;
    for (size_t i = 0; i < w->a.n; i++) {
        real value = x[i * step];
        if (filled == w->k && !larger(value, y[(filled - 1) * step])) continue;
        size_t place = filled < w->k ? filled++ : filled - 1;
        for (; place > 0 && larger(value, y[(place - 1) * step]); place--) {
            y[place * step] = y[(place - 1) * step];
            index[place * step] = index[(place - 1) * step];
        }
        y[place * step] = value;
        index[place * step] = (int)i;
    }
}

static status top_k_piece(void *context, size_t piece, size_t worker)
{
    const struct top_k *w = context;
    struct range r = piece_range(w->a.outer * w->a.inner, w->grain, piece);
    (void)worker;
    for (size_t v = r.from; v < r.to; v++) {
        size_t outer = v / w->a.inner, inner = v % w->a.inner, to = outer * w->k * w->a.inner + inner;
        vector_top_k(w, w->x + outer * w->a.n * w->a.inner + inner, w->out + to, w->index + to);
    }
    return OK;
}

static status top_k_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct top_k *w = context;
    struct range r = piece_range(w->a.outer, w->grain, piece);
    size_t inner = w->a.inner;
    (void)worker;
    for (size_t o = r.from; o < r.to; o++) {
        for (size_t i = 0; i < w->k * inner; i++) {
            size_t from = o * w->k * inner + i;
            w->out[(o * w->a.n + (size_t)w->index[from]) * inner + i % inner] += w->dy[from];
        }
    }
    return OK;
}

status R(prim_top_k)(struct device *d, const tensor *x, struct axis a, size_t k, tensor *y, tensor *index)
{
    struct top_k w = {a, k, reals(x), NULL, ints(index), reals(y), size_max(1, GRAIN / size_max(1, a.n))};
    if (k == 0) return OK;
    return pool_run(cpu_of(d)->threads, pieces_of(a.outer * a.inner, w.grain), top_k_piece, &w);
}

status R(prim_top_k_grad)(struct device *d, const tensor *index, const tensor *dy, struct axis a, size_t k, tensor *dx)
{
    struct top_k w = {a, k, NULL, reals(dy), ints(index), reals(dx), size_max(1, GRAIN / size_max(1, k * a.inner))};
    return pool_run(cpu_of(d)->threads, pieces_of(a.outer, w.grain), top_k_grad_piece, &w);
}
