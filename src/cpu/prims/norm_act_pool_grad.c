/* norm_act_pool_grad.c - the derivative of batch norm with what follows it, in two passes over the inputs and dy.
 *
 * With g the gradient behind the norms (dy where the activation is 1 and the pixel was chosen), e = x - mean, i = 1 /
 * deviation and sums over the m pixels of a channel:
 *     dbias = sum g,  dgain = i sum g e,  dx = gain i (g - sum g / m - e i i sum g e / m),
 * where the last two terms are there only when mean and variance are x's own. The first pass makes the sums, the second
 * dx; both find out again which pixel was chosen, which is cheaper than to remember it. */
#include "cpu/prims/norm_act_pool.h"
#include <math.h>

enum { MOST_PARTS = 64 }; /* cut by the number of units alone */

static status sums_piece(void *context, size_t piece, size_t worker)
{
    const struct norm_work *w = context;
    struct range r = piece_range(w->units, w->grain, piece);
    double *sums = w->parts + 3 * piece * w->lanes;
    struct norm_span s;
    (void)worker;
    for (size_t j = 0; j < 3 * w->lanes; j++) sums[j] = 0;
    while (R(norm_span_next)(w, &r, &s)) w->k->norm_act_sums(&s.p, w->dy + s.y, sums);
    return OK;
}

/* Adds the pieces' sums in their order, into those of the first. */
static void join(const struct norm_work *w, size_t pieces)
{
    for (size_t i = 1; i < pieces; i++)
        for (size_t j = 0; j < 3 * w->lanes; j++) w->parts[j] += w->parts[3 * i * w->lanes + j];
}

/* dgain and dbias of one input, and what its dx is made of. */
static void finish(const struct norm_work *w, const struct norm_act_args *a, int of, bool batch,
                   const struct norm_act_grads *to)
{
    const struct norm_input *in = &a->of[of];
    const double m = (double)tensor_span(in->x, 0, in->x->rank - 1);
    const double *sum = w->parts, *product = w->parts + (size_t)(1 + of) * w->lanes;
    real *tilt = (real *)w->all.tilt[of], *offset = (real *)w->all.offset[of];
    for (size_t j = 0; j < w->lanes; j++) tilt[j] = offset[j] = 0;
    for (size_t j = 0; j < w->all.c; j++) {
        const double inverse = 1 / sqrt((double)reals(in->variance)[j] + in->epsilon);
        const double scale = (double)reals(in->gain)[j] * inverse;
        if (to->of[of].bias) reals(to->of[of].bias)[j] += (real)sum[j];
        if (to->of[of].gain) reals(to->of[of].gain)[j] += (real)(product[j] * inverse);
        if (!batch) continue;
        tilt[j] = (real)(-scale * inverse * inverse * product[j] / m);
        offset[j] = (real)(-scale * sum[j] / m);
    }
}

static real *shifted(real *x, size_t by) { return x ? x + by : NULL; }

/* n pixels that no square covers, `at` elements behind the beginning of a span: only the statistics reach them. */
static void grad_left_out(const struct norm_work *w, const struct norm_span *s, size_t at, size_t n)
{
    struct norm_pixels p = s->p;
    p.n = n;
    p.below = 0;
    for (int i = 0; i < 2; i++) p.x[i] = p.x[i] ? (const real *)p.x[i] + at : NULL;
    w->k->norm_act_grad(&p, NULL, shifted(w->to[0], s->x + at), shifted(w->to[1], s->x + at));
}

static status grad_piece(void *context, size_t piece, size_t worker)
{
    const struct norm_work *w = context;
    struct range r = piece_range(w->units, w->grain, piece);
    const size_t c = w->all.c, line = w->w * c;
    struct norm_span s;
    (void)worker;
    while (R(norm_span_next)(w, &r, &s)) {
        w->k->norm_act_grad(&s.p, w->dy + s.y, shifted(w->to[0], s.x), shifted(w->to[1], s.x));
        if (!w->pool) continue;
        if (w->w % 2) {
            grad_left_out(w, &s, line - c, 1);
            grad_left_out(w, &s, 2 * line - c, 1);
        }
        if (w->h % 2 && s.unit % (w->h / 2) == w->h / 2 - 1) grad_left_out(w, &s, 2 * line, w->w);
    }
    return OK;
}

status R(prim_norm_act_pool_grad)(struct device *d, const struct norm_act_args *a, bool batch, const tensor *dy,
                                  const struct norm_act_grads *to)
{
    struct norm_work w;
    void *memory;
    status st = OK;
    const size_t lanes = size_round_up(a->of[0].x->dim[a->of[0].x->rank - 1], NORM_LANES);
    const size_t sums_bytes = MOST_PARTS * 3 * lanes * sizeof(double);
    TRY(cpu_shared(cpu_of(d), sums_bytes + R(norm_vector_bytes)(a), &memory));
    R(norm_work_make)(d, a, (real *)((char *)memory + sums_bytes), &w);
    w.parts = memory;
    w.dy = reals(dy);
    const size_t grain = w.grain;
    w.grain = size_max(grain, size_div_up(w.units, MOST_PARTS));
    for (size_t j = 0; j < 3 * lanes; j++) w.parts[j] = 0; /* also where there are no pieces */
    TRY(pool_run(cpu_of(d)->threads, pieces_of(w.units, w.grain), sums_piece, &w));
    join(&w, pieces_of(w.units, w.grain));
    w.grain = grain;
    for (int i = 0; i < 2 && a->of[i].x; i++) {
        finish(&w, a, i, batch, to);
        w.to[i] = to->of[i].x ? reals(to->of[i].x) : NULL;
        w.all.add[i] = to->of[i].add;
    }
    if (w.to[0] || w.to[1]) TRY(pool_run(cpu_of(d)->threads, pieces_of(w.units, w.grain), grad_piece, &w));
done:
    return st;
}
