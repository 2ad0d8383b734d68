/* norm_act_pool.c - batch norm, a normalised residual added, activation and 2x2 pooling in one pass over the inputs. */
#include "cpu/prims/norm_act_pool.h"
#include <math.h>

static size_t channels_of(const struct norm_act_args *a) { return a->of[0].x->dim[a->of[0].x->rank - 1]; }

size_t R(norm_vector_bytes)(const struct norm_act_args *a)
{
    return 2 * NORM_VECTORS * size_round_up(channels_of(a), NORM_LANES) * sizeof(real);
}

/* Zeros behind the last channel: kernels compute there too. */
static void fill_vectors(const struct norm_input *in, size_t c, size_t lanes, real *mean, real *scale, real *bias)
{
    for (size_t j = 0; j < lanes; j++) {
        const bool real_channel = j < c;
        mean[j] = real_channel ? reals(in->mean)[j] : 0;
        scale[j] = real_channel
                       ? (real)((double)reals(in->gain)[j] / sqrt((double)reals(in->variance)[j] + in->epsilon))
                       : 0;
        bias[j] = real_channel ? reals(in->bias)[j] : 0;
    }
}

void R(norm_work_make)(struct device *d, const struct norm_act_args *a, real *memory, struct norm_work *out)
{
    const tensor *x = a->of[0].x;
    const size_t c = channels_of(a), lanes = size_round_up(c, NORM_LANES);
    struct norm_work w = {.k = KERNELS(d), .pool = a->pool, .lanes = lanes};
    w.all.c = c;
    w.all.slope = a->slope;
    for (int i = 0; i < 2 && a->of[i].x; i++) {
        real *v = memory + (size_t)i * NORM_VECTORS * lanes;
        fill_vectors(&a->of[i], c, lanes, v, v + lanes, v + 2 * lanes);
        w.all.x[i] = reals(a->of[i].x);
        w.all.mean[i] = v;
        w.all.scale[i] = v + lanes;
        w.all.bias[i] = v + 2 * lanes;
        w.all.tilt[i] = v + 3 * lanes;
        w.all.offset[i] = v + 4 * lanes;
    }
    w.units = tensor_span(x, 0, x->rank - 1);
    w.weight = c;
    if (a->pool) {
        w.h = x->dim[1];
        w.w = x->dim[2];
        w.units = x->dim[0] * (w.h / 2);
        w.weight = 2 * w.w * c;
    }
    w.grain = w.weight ? size_max(1, GRAIN / w.weight) : 1;
    *out = w;
}

bool R(norm_span_next)(const struct norm_work *w, struct range *r, struct norm_span *out)
{
    if (r->from >= r->to) return false;
    struct norm_span s = {.p = w->all, .unit = r->from};
    if (w->pool) {
        const size_t rows = w->h / 2, line = w->w * w->all.c;
        s.p.n = w->w / 2;
        s.p.below = line;
        s.x = (r->from / rows * w->h + 2 * (r->from % rows)) * line;
        s.y = r->from * s.p.n * w->all.c;
        r->from++;
    } else {
        s.p.n = r->to - r->from;
        s.x = s.y = r->from * w->all.c;
        r->from = r->to;
    }
    for (int i = 0; i < 2; i++) s.p.x[i] = w->all.x[i] ? (const real *)w->all.x[i] + s.x : NULL;
    *out = s;
    return true;
}

static status forward_piece(void *context, size_t piece, size_t worker)
{
    const struct norm_work *w = context;
    struct range r = piece_range(w->units, w->grain, piece);
    struct norm_span s;
    (void)worker;
    while (R(norm_span_next)(w, &r, &s)) w->k->norm_act(&s.p, w->y + s.y);
    return OK;
}

status R(prim_norm_act_pool)(struct device *d, const struct norm_act_args *a, tensor *y)
{
    struct norm_work w;
    void *memory;
    const status st = cpu_shared(cpu_of(d), R(norm_vector_bytes)(a), &memory);
    if (st != OK) return st;
    R(norm_work_make)(d, a, memory, &w);
    w.y = reals(y);
    return pool_run(cpu_of(d)->threads, pieces_of(w.units, w.grain), forward_piece, &w);
}
