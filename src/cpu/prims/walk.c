/* walk.c - the mutual walk for an episode: the support is normalised and packed once, then queries run side by side.
 *
 * With a derivative, a piece is a range of queries with a support gradient of its own, to which a query's d phi is
 * added while it lies in the cache; the pieces' gradients are summed in order at the end. Pieces depend on shapes only. */
#include "cpu/prims/walk.h"

enum {
    GROUP_ROWS = 160,          /* rows of d phi that are worth a pass over the support's gradient */
    MOST_SUM_BYTES = 16 << 20, /* of the pieces' support gradients together */
    LEAST_PIECES = 8,
    MOST_PIECES = 32
};

static size_t odd_lines(size_t n) /* whole cache lines, an odd number of them: rows do not fall on the same sets */
{
    const size_t line = 64 / sizeof(real);
    const size_t lines = size_div_up(n, line);
    return (lines | 1) * line;
}

static void describe(struct R(walk) *w, struct device *d, const struct walk_args *a)
{
    const size_t width = KERNELS(d)->gemm_width;
    *w = (struct R(walk)){.dev = d, .k = KERNELS(d), .args = a};
    w->way = a->proto->dim[0];
    w->channels = a->proto->dim[1];
    w->rs = a->proto->dim[2];
    w->nq = a->query->dim[0];
    w->rq = a->query->dim[2];
    w->m = w->way * w->rs;
    w->step = odd_lines(size_div_up(w->m, width) * width);
    w->channel_step = odd_lines(size_div_up(w->channels, width) * width);
    w->alpha = (real)a->alpha;
    w->a2 = (real)(a->alpha * a->alpha);
    w->walks_back = a->alpha > 0 || a->pi_query || a->d_pi_query;
    w->differentiates = a->d_query || a->d_proto;
    w->group = w->differentiates ? size_max(1, GROUP_ROWS / w->rq) : 1;
    w->pieces = w->nq;
    if (w->differentiates) {
        const size_t afford = MOST_SUM_BYTES / (w->channels * w->step * sizeof(real));
        w->pieces = size_min(size_div_up(w->nq, w->group), size_min(size_max(afford, LEAST_PIECES), MOST_PIECES));
    }
}

static void layout(struct R(walk) *w, struct cursor *c)
{
    const size_t width = w->k->gemm_width;
    w->support = cursor_reals(c, w->channels * w->step);
    w->support_inverse = cursor_reals(c, w->m);
    w->forward_panels = cursor_reals(c, size_max(w->channels * size_div_up(w->m, width) * width, w->m));
    w->losses = w->args->labels ? cursor_take(c, w->nq, sizeof(double)) : NULL;
    if (!w->differentiates) return;
    w->backward_panels = cursor_reals(c, w->m * size_div_up(w->channels, width) * width);
    w->d_support = cursor_reals(c, w->pieces * w->channels * w->step);
}

static status normalise_class(void *context, size_t piece, size_t worker)
{
    const struct R(walk) *w = context;
    const real *proto = reals(w->args->proto) + piece * w->channels * w->rs;
    real *inverse = w->support_inverse + piece * w->rs;
    (void)worker;
    w->k->inverse_norms(proto, w->rs, w->channels, w->rs, inverse);
    for (size_t c = 0; c < w->channels; c++)
        w->k->mul(proto + c * w->rs, inverse, w->support + c * w->step + piece * w->rs, w->rs);
    return OK;
}

/* Forward panels first, then backward ones, one a piece. */
static status pack_piece(void *context, size_t piece, size_t worker)
{
    const struct R(walk) *w = context;
    const size_t width = w->k->gemm_width, forward = size_div_up(w->m, width);
    (void)worker;
    if (piece < forward) {
        const size_t column = piece * width;
        w->k->gemm_pack(w->channels, size_min(width, w->m - column), w->support + column, w->step, 1,
                        w->forward_panels + piece * w->channels * width);
    } else {
        const size_t column = (piece - forward) * width;
        w->k->gemm_pack(w->m, size_min(width, w->channels - column), w->support + column * w->step, 1, w->step,
                        w->backward_panels + (piece - forward) * w->m * width);
    }
    return OK;
}

static status prepare_support(struct R(walk) *w)
{
    status st = OK;
    pool *threads = cpu_of(w->dev)->threads;
    const size_t width = w->k->gemm_width;
    const size_t panels = size_div_up(w->m, width) + (w->differentiates ? size_div_up(w->channels, width) : 0);
    TRY(pool_run(threads, w->way, normalise_class, w));
    TRY(pool_run(threads, panels, pack_piece, w));
done:
    return st;
}

struct query_work {
    const struct R(walk) *w;
    size_t bytes; /* of scratch */
};

/* Queries [first, first + count), count at most w->group: each with its phi behind the one before. */
static status query_group(const struct R(walk) *w, struct R(walk_query) *q, size_t piece, size_t first, size_t count,
                          bool add)
{
    status st = OK;
    real *phi = q->phi;
    for (size_t i = 0; i < count; i++) {
        q->n = first + i;
        q->phi = phi + i * w->rq * w->step;
        TRY(R(walk_query_forward)(w, q));
        if (w->differentiates) TRY(R(walk_query_backward)(w, q));
    }
    if (w->args->d_proto) R(walk_support_backward)(w, piece, first, count, phi, add);
done:
    q->phi = phi;
    return st;
}

static status query_piece(void *context, size_t piece, size_t worker)
{
    const struct query_work *work = context;
    const struct R(walk) *w = work->w;
    const size_t first = w->nq * piece / w->pieces, end = w->nq * (piece + 1) / w->pieces;
    struct R(walk_query) q = {0};
    struct cursor c = {0};
    void *memory;
    status st = OK;
    TRY(cpu_scratch(cpu_of(w->dev), worker, work->bytes, &memory));
    c.at = memory;
    R(walk_query_layout)(w, &c, &q);
    for (size_t n = first; n < end; n += w->group)
        TRY(query_group(w, &q, piece, n, size_min(w->group, end - n), n > first));
done:
    return st;
}

static status run_queries(struct R(walk) *w)
{
    status st = OK;
    struct R(walk_query) q;
    struct cursor c = {0};
    R(walk_query_layout)(w, &c, &q);
    struct query_work work = {w, c.bytes};
    TRY(cpu_reserve(cpu_of(w->dev), c.bytes));
    TRY(pool_run(cpu_of(w->dev)->threads, w->pieces, query_piece, &work));
    if (w->args->d_proto) TRY(R(walk_support_finish)(w));
done:
    return st;
}

status R(prim_walk)(struct device *d, const struct walk_args *a)
{
    status st = OK;
    struct R(walk) w;
    struct cursor c = {0};
    void *memory;
    describe(&w, d, a);
    layout(&w, &c);
    TRY(cpu_shared(cpu_of(d), c.bytes, &memory));
    c = (struct cursor){.at = memory};
    layout(&w, &c);
    TRY(prepare_support(&w));
    TRY(run_queries(&w));
    if (a->loss) {
        double sum = 0;
        for (size_t n = 0; n < w.nq; n++) sum += w.losses[n];
        reals(a->loss)[0] = (real)(sum / (double)w.nq);
    }
done:
    return st;
}
