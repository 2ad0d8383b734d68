/* subspace - an orthonormal basis of the directions in which the rows of each class lie furthest: x [rows, C], sorted by
 * class, to [way, d, C].
 *
 * A class of K rows has its first K - 1 left singular vectors (at least one), or as many as its rank is; the rows behind
 * them are zero. Computed on the host in double: span of the rows, then Jacobi on the small factor.
 *
 * A basis is not unique, its span is. So backward is right for functions of the spans alone. With x^T = sum s_i u_i v_i^T,
 * k vectors kept of r, and g_i the gradient of u_i:
 * dx^T = sum_{i<=k} [ (1 - sum_{j<=r} u_j u_j^T) g_i v_i^T / s_i
 *                     + sum_{k<j<=r} (u_j . g_i) / (s_i^2 - s_j^2) (s_i u_j v_i^T + s_j u_i v_j^T) ].
 * Where s_i = s_j the span jumps; such a pair gives nothing. */
#include "base/dense.h"
#include "base/size.h"
#include "ops/host.h"
#include "ops/op.h"
#include "ops/ops.h"
#include <math.h>

struct piece { /* one class; memory of the tape */
    size_t first, rows, rank, kept;
    double *u; /* [rank, C] */
    double *v; /* [rows, rank] */
    double *s; /* [rank] */
};

struct subspace {
    size_t way, channels;
    struct piece *piece; /* [way] */
};

/* What rounding leaves of a direction that is not there. */
static double tolerance(dtype type) { return type == DT_F64 ? 1e-12 : 1e-5; }

/* x [rows, C] = l q, l = (v s) w^T, hence u = w^T q. */
static status decompose(tape *t, dtype type, size_t channels, const double *x, struct piece *p)
{
    status st = OK;
    double *q, *l, *w;
    const size_t most = size_min(p->rows, channels);
    TRY(host_zeros(t, most * channels, &q));
    TRY(host_zeros(t, p->rows * most, &l));
    TRY(host_zeros(t, most * most, &w));
    TRY(host_zeros(t, most, &p->s));
    TRY(host_zeros(t, most * channels, &p->u));
    TRY(host_zeros(t, p->rows * most, &p->v));
    const size_t rank = dense_span(p->rows, channels, x, tolerance(type), q, l);
    for (size_t i = 0; i < p->rows; i++) /* [rows, most] to [rows, rank] */
        for (size_t k = 0; k < rank; k++) p->v[i * rank + k] = l[i * most + k];
    dense_svd(p->rows, rank, p->v, w, p->s);
    for (p->rank = 0; p->rank < rank && p->s[p->rank] > tolerance(type) * p->s[0];) p->rank++;
    for (size_t i = 0; i < p->rank; i++)
        for (size_t k = 0; k < rank; k++) dense_add(w[k * rank + i], q + k * channels, channels, p->u + i * channels);
    for (size_t i = 0; i < p->rows; i++)
        for (size_t k = 0; k < p->rank; k++) p->v[i * p->rank + k] = p->v[i * rank + k] / p->s[k];
    p->kept = size_min(p->rank, size_max(1, p->rows - 1));
done:
    return st;
}

static status all_finite(const double *x, size_t rows, size_t n)
{
    for (size_t i = 0; i < rows * n; i++)
        if (!isfinite(x[i])) return fail(ST_NUMERIC, "row %zu is not finite", i / n);
    return OK;
}

static status subspace_forward(struct node *n)
{
    status st = OK;
    struct subspace *a = n->attr;
    const tensor *x = &n->in[0]->value;
    const size_t d = n->out[0]->value.dim[1];
    double *rows, *basis;
    TRY(host_read(n->tape, x, &rows));
    TRY(all_finite(rows, x->dim[0], a->channels));
    TRY(host_zeros(n->tape, a->way * d * a->channels, &basis));
    for (size_t c = 0; c < a->way; c++) {
        struct piece *p = &a->piece[c];
        TRY(decompose(n->tape, n->type, a->channels, rows + p->first * a->channels, p));
        for (size_t i = 0; i < p->kept * a->channels; i++) basis[c * d * a->channels + i] = p->u[i];
    }
    TRY(host_put(n->tape, basis, &n->out[0]->value));
done:
    return st;
}

/* out += scale column row^T, for the column k of v */
static void add_outer(const struct piece *p, size_t k, double scale, const double *row, size_t channels, double *out)
{
    for (size_t a = 0; a < p->rows; a++) dense_add(scale * p->v[a * p->rank + k], row, channels, out + a * channels);
}

/* g [kept, C] is used up. */
static void piece_backward(const struct piece *p, size_t channels, double *g, double *dx)
{
    for (size_t i = 0; i < p->kept; i++) {
        double *gi = g + i * channels;
        const double *ui = p->u + i * channels, si = p->s[i];
        for (size_t j = 0; j < p->rank; j++) {
            const double *uj = p->u + j * channels, sj = p->s[j], along = dense_dot(uj, gi, channels);
            dense_add(-along, uj, channels, gi);
            const double gap = si * si - sj * sj;
            if (j < p->kept || gap < 1e-10 * p->s[0] * p->s[0]) continue;
            add_outer(p, i, along * si / gap, uj, channels, dx);
            add_outer(p, j, along * sj / gap, ui, channels, dx);
        }
        add_outer(p, i, 1 / si, gi, channels, dx);
    }
}

static status subspace_backward(struct node *n)
{
    status st = OK;
    const struct subspace *a = n->attr;
    const tensor *x = &n->in[0]->value;
    const size_t d = n->out[0]->value.dim[1];
    double *g, *dx;
    tensor given;
    TRY(host_read(n->tape, &n->out[0]->grad, &g));
    TRY(host_zeros(n->tape, tensor_count(x), &dx));
    for (size_t c = 0; c < a->way; c++)
        piece_backward(&a->piece[c], a->channels, g + c * d * a->channels, dx + a->piece[c].first * a->channels);
    TRY(host_write(n->tape, n->type, 2, x->dim, dx, &given));
    TRY(node_give(n, n->in[0], &given, 1));
done:
    return st;
}

const struct op subspace_op = {.name = "subspace", .forward = subspace_forward, .backward = subspace_backward};

var *op_subspace(tape *t, var *x, const size_t *first, size_t way)
{
    char shape[SHAPE_TEXT];
    struct subspace a = {.way = way};
    void *pieces;
    size_t d = 1;
    if (!x) return NULL;
    a.channels = x->value.dim[1];
    const status st = tape_host(t, size_max(1, way) * sizeof *a.piece, &pieces);
    if (st != OK) return tape_fail(t, st);
    a.piece = pieces;
    for (size_t c = 0; c < way; c++) {
        a.piece[c] = (struct piece){.first = first[c], .rows = first[c + 1] - first[c]};
        d = size_max(d, a.piece[c].rows - 1);
    }
    struct node *n = node_new(t, &subspace_op, 1, &x, &a, sizeof a);
    if (!n) return NULL;
    if (x->value.rank != 2 || x->value.dim[0] != first[way])
        return node_fail(n, ST_SHAPE, "the input has shape %s, but must be [%zu, C]",
                         tensor_shape_text(&x->value, shape), first[way]);
    NODE_TRY(n, node_out(n, 3, (size_t[]){way, size_min(d, a.channels), a.channels}));
    return node_run(n);
}
