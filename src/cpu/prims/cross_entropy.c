/* cross_entropy.c - the mean over rows of -log softmax(logits)[label], and its derivative.
 *
 * A row's loss is log(sum exp(x - max)) - (x[label] - max), right also where the probability underflows. Where the label is
 * nearly certain, 1 is never written down: the loss is log(1 + the others), and the derivative at the label is minus the sum
 * of the others. Row losses are added in order, in double. */
#include "cpu/prims/prim.h"
#include <math.h>

struct entropy {
    const kernel_table *k;
    const real *from; /* logits, or probabilities; [n, way] */
    const int *labels;
    real *to;       /* probabilities, or dlogits */
    double *losses; /* [n] */
    real scale;     /* dloss / n */
    size_t n, way, grain;
};

/* Everything but the label's. */
static double others(const real *x, size_t label, size_t way)
{
    double sum = 0;
    for (size_t j = 0; j < way; j++)
        if (j != label) sum += (double)x[j];
    return sum;
}

static status entropy_piece(void *context, size_t piece, size_t worker)
{
    const struct entropy *w = context;
    struct range r = piece_range(w->n, w->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        const real *x = w->from + i * w->way;
        real *p = w->to + i * w->way, top, total;
        w->k->max(x, w->way, &top);
        w->k->exp_sum(x, top, p, w->way, &total);
        const size_t label = (size_t)w->labels[i];
        w->losses[i] = x[label] == top ? log1p(others(p, label, w->way))
                                       : log((double)total) - ((double)x[label] - (double)top);
        w->k->affine(p, 1 / total, (real)-0.0, p, w->way);
    }
    return OK;
}

static status entropy_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct entropy *w = context;
    struct range r = piece_range(w->n, w->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        const size_t label = (size_t)w->labels[i];
        const real *p = w->from + i * w->way;
        real *to = w->to + i * w->way, own = to[label];
        w->k->axpy(w->scale, p, to, w->way);
        to[label] = own - w->scale * (real)others(p, label, w->way);
    }
    return OK;
}

status R(prim_cross_entropy)(struct device *d, const tensor *logits, const tensor *labels, tensor *probabilities,
                             tensor *loss)
{
    status st = OK;
    void *losses;
    size_t n = tensor_count(labels), way = logits->dim[logits->rank - 1];
    TRY(cpu_shared(cpu_of(d), n * sizeof(double), &losses));
    struct entropy w = {KERNELS(d), reals(logits), ints(labels), reals(probabilities), losses, 0, n, way, 0};
    w.grain = size_max(1, GRAIN / size_max(1, way));
    TRY(pool_run(cpu_of(d)->threads, pieces_of(n, w.grain), entropy_piece, &w));
    double total = 0;
    for (size_t i = 0; i < n; i++) total += w.losses[i];
    *reals(loss) = (real)(total / (double)n);
done:
    return st;
}

status R(prim_cross_entropy_grad)(struct device *d, const tensor *probabilities, const tensor *labels,
                                  const tensor *dloss, tensor *dlogits)
{
    size_t n = tensor_count(labels), way = dlogits->dim[dlogits->rank - 1];
    struct entropy w = {.k = KERNELS(d), .from = reals(probabilities), .labels = ints(labels), .to = reals(dlogits)};
    w.scale = *reals(dloss) / (real)n;
    w.n = n;
    w.way = way;
    w.grain = size_max(1, 4 * GRAIN / size_max(1, way));
    return pool_run(cpu_of(d)->threads, pieces_of(n, w.grain), entropy_grad_piece, &w);
}
