/* strict.c - the checks, one for each primitive that takes shapes from its op. */
#include "tests/strict.h"
#include "cpu/cpu.h"
#include "tests/device.h"
#include "tests/test.h"
#include <pthread.h>

static struct prims real[DT_REALS]; /* those of the CPU; the same for all its devices */

typedef const tensor *in;

static bool fine(const char *prim, bool holds, const char *what)
{
    if (!holds) test_failed(__FILE__, __LINE__, "primitive %s is called with %s", prim, what);
    return holds;
}

static size_t count(in x) { return tensor_count(x); }
static bool alike(in a, in b) { return a->type == b->type && count(a) == count(b); }
static size_t all(struct axis a) { return a.outer * a.n * a.inner; }
static bool is(in x, int rank, size_t a, size_t b, size_t c)
{
    return x->rank == rank && x->dim[0] == a && (rank < 2 || x->dim[1] == b) && (rank < 3 || x->dim[2] == c);
}
static bool in_range(in index, size_t below)
{
    if (index->type != DT_I32) return false;
    for (size_t i = 0; i < count(index); i++)
        if (((const int32_t *)index->data)[i] < 0 || (size_t)((const int32_t *)index->data)[i] >= below) return false;
    return true;
}

/* Calls the CPU when `holds`. */
#define CHECKED(name, type_, holds, ...) \
    return fine(#name, holds, "shapes that do not agree: " #holds) ? real[type_].name(__VA_ARGS__) : ST_SHAPE

static size_t from_last(in x, int i) { return i < x->rank ? x->dim[x->rank - 1 - i] : 1; }
static bool broadcasts(in a, in b, in y)
{
    if (y->rank < a->rank || y->rank < b->rank) return false;
    for (int i = 0; i < y->rank; i++) {
        const size_t p = from_last(a, i), q = from_last(b, i), r = from_last(y, i);
        if ((p != r && p != 1) || (q != r && q != 1) || (p == 1 && q == 1 && r != 1)) return false;
    }
    return a->type == y->type && b->type == y->type;
}
static bool folds(in large, in small) /* small has size 1 where it is not large's */
{
    for (int i = 0; i < large->rank; i++)
        if (small->dim[i] != large->dim[i] && small->dim[i] != 1) return false;
    return small->rank == large->rank && small->type == large->type;
}
static bool permutes(in x, const int *order, in y)
{
    for (int i = 0; i < x->rank; i++)
        if (order[i] < 0 || order[i] >= x->rank || y->dim[i] != x->dim[order[i]]) return false;
    return x->rank == y->rank && x->type == y->type;
}
static bool batch(in x, size_t n) { return x->rank == 3 && (x->dim[0] == 1 || x->dim[0] == n); }

static status s_binary(struct device *d, enum binary_kind kind, in a, in b, tensor *y)
{
    CHECKED(binary, y->type, broadcasts(a, b, y), d, kind, a, b, y);
}
static status s_unary(struct device *d, enum unary_kind kind, in x, tensor *y)
{
    CHECKED(unary, y->type, alike(x, y), d, kind, x, y);
}
static status s_unary_grad(struct device *d, enum unary_kind kind, in x, in y, in dy, tensor *dx)
{
    CHECKED(unary_grad, y->type, alike(x, y) && alike(dy, y) && alike(dx, x), d, kind, x, y, dy, dx);
}
static status s_affine(struct device *d, in x, double mul, double add, tensor *y)
{
    CHECKED(affine, y->type, alike(x, y), d, x, mul, add, y);
}
static status s_axpy(struct device *d, double alpha, in x, tensor *y)
{
    CHECKED(axpy, y->type, alike(x, y), d, alpha, x, y);
}
static status s_scale_by(struct device *d, in scalar, tensor *x)
{
    CHECKED(scale_by, x->type, count(scalar) == 1 && scalar->type == x->type, d, scalar, x);
}
static status s_axpy_by(struct device *d, in scalar, in x, tensor *y)
{
    CHECKED(axpy_by, y->type, count(scalar) == 1 && alike(x, y), d, scalar, x, y);
}
static status s_reduce_add(struct device *d, in x, double scale, tensor *y)
{
    CHECKED(reduce_add, y->type, folds(x, y), d, x, scale, y);
}
static status s_expand_add(struct device *d, in x, double scale, tensor *y)
{
    CHECKED(expand_add, y->type, folds(y, x), d, x, scale, y);
}
static status s_softmax(struct device *d, in x, struct axis a, tensor *y)
{
    CHECKED(softmax, y->type, alike(x, y) && all(a) == count(x), d, x, a, y);
}
static status s_softmax_grad(struct device *d, in y, in dy, struct axis a, tensor *dx)
{
    CHECKED(softmax_grad, y->type, alike(dy, y) && alike(dx, y) && all(a) == count(y), d, y, dy, a, dx);
}
static status s_log_softmax(struct device *d, in x, struct axis a, tensor *y)
{
    CHECKED(log_softmax, y->type, alike(x, y) && all(a) == count(x), d, x, a, y);
}
static status s_log_softmax_grad(struct device *d, in y, in dy, struct axis a, tensor *dx)
{
    CHECKED(log_softmax_grad, y->type, alike(dy, y) && alike(dx, y) && all(a) == count(y), d, y, dy, a, dx);
}
static status s_l2norm(struct device *d, in x, struct axis a, tensor *y, tensor *inverse)
{
    CHECKED(l2norm, y->type, alike(x, y) && all(a) == count(x) && count(inverse) == a.outer * a.inner, d, x, a, y,
            inverse);
}
static status s_l2norm_grad(struct device *d, in y, in inverse, in dy, struct axis a, tensor *dx)
{
    CHECKED(l2norm_grad, y->type,
            alike(dy, y) && alike(dx, y) && all(a) == count(y) && count(inverse) == a.outer * a.inner, d, y, inverse,
            dy, a, dx);
}
static status s_top_k(struct device *d, in x, struct axis a, size_t k, tensor *y, tensor *index)
{
    CHECKED(top_k, y->type,
            all(a) == count(x) && k <= a.n && count(y) == a.outer * k * a.inner && count(index) == count(y) &&
                index->type == DT_I32,
            d, x, a, k, y, index);
}
static status s_top_k_grad(struct device *d, in index, in dy, struct axis a, size_t k, tensor *dx)
{
    CHECKED(top_k_grad, dx->type,
            all(a) == count(dx) && count(dy) == a.outer * k * a.inner && count(index) == count(dy) &&
                in_range(index, a.n),
            d, index, dy, a, k, dx);
}
static status s_permute(struct device *d, in x, const int *order, tensor *y)
{
    CHECKED(permute, y->type, permutes(x, order, y), d, x, order, y);
}
static status s_copy_slices(struct device *d, in x, size_t x_offset, size_t x_step, size_t slices, size_t length,
                            size_t y_step, size_t y_offset, bool add, tensor *y)
{
    const bool none = !slices || !length;
    CHECKED(copy_slices, y->type,
            none || (x_offset + (slices - 1) * x_step + length <= count(x) &&
                     y_offset + (slices - 1) * y_step + length <= count(y)),
            d, x, x_offset, x_step, slices, length, y_step, y_offset, add, y);
}
static status s_gather(struct device *d, in x, in index, struct axis a, tensor *y)
{
    CHECKED(gather, y->type, all(a) == count(x) && count(y) == a.outer * count(index) * a.inner && in_range(index, a.n),
            d, x, index, a, y);
}
static status s_gather_grad(struct device *d, in index, in dy, struct axis a, tensor *dx)
{
    CHECKED(gather_grad, dx->type,
            all(a) == count(dx) && count(dy) == a.outer * count(index) * a.inner && in_range(index, a.n), d, index, dy,
            a, dx);
}
static status s_adaptive_pool(struct device *d, in x, tensor *y)
{
    CHECKED(adaptive_pool, y->type, x->rank == 4 && y->rank == 4 && x->dim[0] == y->dim[0] && x->dim[1] == y->dim[1], d,
            x, y);
}
static status s_adaptive_pool_grad(struct device *d, in dy, tensor *dx)
{
    CHECKED(adaptive_pool_grad, dx->type,
            dx->rank == 4 && dy->rank == 4 && dx->dim[0] == dy->dim[0] && dx->dim[1] == dy->dim[1], d, dy, dx);
}
static bool by_class(in x, in labels, in y)
{
    return x->rank && y->rank && x->dim[0] == count(labels) &&
           tensor_span(x, 1, x->rank) == tensor_span(y, 1, y->rank) && in_range(labels, y->dim[0]);
}
static status s_class_mean(struct device *d, in x, in labels, tensor *y)
{
    CHECKED(class_mean, y->type, by_class(x, labels, y), d, x, labels, y);
}
static status s_class_mean_grad(struct device *d, in labels, in dy, tensor *dx)
{
    CHECKED(class_mean_grad, dx->type, by_class(dx, labels, dy), d, labels, dy, dx);
}
static bool scored(in x, in labels)
{
    return x->rank == 2 && x->dim[0] == count(labels) && in_range(labels, x->dim[1]);
}
static status s_cross_entropy(struct device *d, in logits, in labels, tensor *probabilities, tensor *loss)
{
    CHECKED(cross_entropy, logits->type, scored(logits, labels) && alike(logits, probabilities) && count(loss) == 1, d,
            logits, labels, probabilities, loss);
}
static status s_cross_entropy_grad(struct device *d, in probabilities, in labels, in dloss, tensor *dlogits)
{
    CHECKED(cross_entropy_grad, dlogits->type,
            scored(probabilities, labels) && alike(probabilities, dlogits) && count(dloss) == 1, d, probabilities,
            labels, dloss, dlogits);
}
static status s_nll(struct device *d, in x, in labels, tensor *loss)
{
    CHECKED(nll, x->type, scored(x, labels) && count(loss) == 1, d, x, labels, loss);
}
static status s_nll_grad(struct device *d, in labels, in dloss, tensor *dx)
{
    CHECKED(nll_grad, dx->type, scored(dx, labels) && count(dloss) == 1, d, labels, dloss, dx);
}
static status s_sqdist(struct device *d, in a, in b, tensor *y)
{
    CHECKED(sqdist, y->type,
            is(a, 3, y->dim[0], a->dim[1], b->dim[2]) && is(b, 3, y->dim[0], b->dim[1], a->dim[2]) &&
                is(y, 3, y->dim[0], a->dim[1], b->dim[1]),
            d, a, b, y);
}
static status s_sqdist_grad(struct device *d, in a, in b, in dy, bool to_b, tensor *dx)
{
    CHECKED(sqdist_grad, dx->type,
            is(a, 3, dy->dim[0], a->dim[1], b->dim[2]) && is(b, 3, dy->dim[0], b->dim[1], a->dim[2]) &&
                is(dy, 3, dy->dim[0], a->dim[1], b->dim[1]) && alike(dx, to_b ? b : a),
            d, a, b, dy, to_b, dx);
}
static status s_gemm(struct device *d, bool ta, bool tb, double alpha, in a, in b, double beta, tensor *c)
{
    CHECKED(gemm, c->type,
            batch(a, c->dim[0]) && batch(b, c->dim[0]) && c->dim[1] == a->dim[ta ? 2 : 1] &&
                c->dim[2] == b->dim[tb ? 1 : 2] && a->dim[ta ? 1 : 2] == b->dim[tb ? 2 : 1],
            d, ta, tb, alpha, a, b, beta, c);
}
static bool square(in a) { return a->rank == 3 && a->dim[1] == a->dim[2]; }
static bool solves(in a, in b, in x)
{
    return square(a) && batch(a, x->dim[0]) && batch(b, x->dim[0]) && is(x, 3, x->dim[0], a->dim[1], b->dim[2]) &&
           b->dim[1] == a->dim[1];
}
static status s_lu(struct device *d, in a, tensor *lu, tensor *pivot)
{
    CHECKED(lu, a->type, square(a) && alike(a, lu) && count(pivot) == a->dim[0] * a->dim[1], d, a, lu, pivot);
}
static status s_lu_solve(struct device *d, in lu, in pivot, bool transposed, in b, tensor *x)
{
    CHECKED(lu_solve, x->type, solves(lu, b, x) && count(pivot) == lu->dim[0] * lu->dim[1], d, lu, pivot, transposed, b,
            x);
}
static status s_cholesky(struct device *d, in a, tensor *l)
{
    CHECKED(cholesky, a->type, square(a) && alike(a, l), d, a, l);
}
static status s_cholesky_solve(struct device *d, in l, in b, tensor *x)
{
    CHECKED(cholesky_solve, x->type, solves(l, b, x), d, l, b, x);
}
static status s_triangular_solve(struct device *d, bool upper, bool transposed, in t, in b, tensor *x)
{
    CHECKED(triangular_solve, x->type, solves(t, b, x), d, upper, transposed, t, b, x);
}
static status s_qr(struct device *d, in a, tensor *q, tensor *r)
{
    CHECKED(qr, a->type,
            a->rank == 3 && is(q, 3, a->dim[0], a->dim[1], a->dim[2]) && is(r, 3, a->dim[0], a->dim[2], a->dim[2]) &&
                a->dim[1] >= a->dim[2],
            d, a, q, r);
}
static bool convolves(in x, in w, struct conv_shape s, in y)
{
    if (x->rank != 4 || w->rank != 4 || y->rank != 4 || !s.stride) return false;
    for (int i = 1; i < 3; i++)
        if (y->dim[i] != (x->dim[i] + 2 * s.pad - w->dim[i + 1]) / s.stride + 1) return false;
    return x->dim[0] == y->dim[0] && x->dim[3] == w->dim[1] && y->dim[3] == w->dim[0];
}
static status s_conv2d(struct device *d, in x, in w, struct conv_shape s, tensor *y)
{
    CHECKED(conv2d, y->type, convolves(x, w, s, y), d, x, w, s, y);
}
static status s_conv2d_grad_x(struct device *d, in w, const struct conv_ready *ready, in dy, struct conv_shape s,
                              bool add, tensor *dx)
{
    CHECKED(conv2d_grad_x, dx->type, convolves(dx, w, s, dy), d, w, ready, dy, s, add, dx);
}
static status s_conv2d_grad_w(struct device *d, in x, in dy, struct conv_shape s, tensor *dw)
{
    CHECKED(conv2d_grad_w, dw->type, convolves(x, dw, s, dy), d, x, dy, s, dw);
}
static bool vector(in x, in of) { return count(x) == of->dim[of->rank - 1] && x->type == of->type; }
static status s_batch_stats(struct device *d, in x, tensor *mean, tensor *variance)
{
    CHECKED(batch_stats, x->type, vector(mean, x) && vector(variance, x), d, x, mean, variance);
}
static status s_batch_norm(struct device *d, in x, in mean, in variance, in gain, in bias, double epsilon, tensor *y)
{
    CHECKED(batch_norm, x->type,
            alike(x, y) && vector(mean, x) && vector(variance, x) && vector(gain, x) && vector(bias, x), d, x, mean,
            variance, gain, bias, epsilon, y);
}
static status s_batch_fold(struct device *d, in mean, in variance, in gain, in bias, double epsilon, tensor *scale,
                           tensor *shift)
{
    CHECKED(batch_fold, mean->type,
            alike(mean, variance) && alike(mean, gain) && alike(mean, bias) && alike(mean, scale) && alike(mean, shift),
            d, mean, variance, gain, bias, epsilon, scale, shift);
}
static status s_leaky_relu(struct device *d, in x, double slope, tensor *y)
{
    CHECKED(leaky_relu, x->type, alike(x, y), d, x, slope, y);
}
static status s_leaky_relu_grad(struct device *d, in x, in dy, double slope, tensor *dx)
{
    CHECKED(leaky_relu_grad, x->type, alike(x, dy) && alike(x, dx), d, x, dy, slope, dx);
}

#define WATCHED(each) \
    each(binary) each(unary) each(unary_grad) each(affine) each(axpy) each(scale_by) each(axpy_by) each(reduce_add) \
        each(expand_add) each(softmax) each(softmax_grad) each(log_softmax) each(log_softmax_grad) each(l2norm) \
            each(l2norm_grad) each(top_k) each(top_k_grad) each(permute) each(copy_slices) each(gather) \
                each(gather_grad) each(adaptive_pool) each(adaptive_pool_grad) each(class_mean) each(class_mean_grad) \
                    each(cross_entropy) each(cross_entropy_grad) each(nll) each(nll_grad) each(sqdist) \
                        each(sqdist_grad) each(gemm) each(lu) each(lu_solve) each(cholesky) each(cholesky_solve) \
                            each(triangular_solve) each(qr) each(conv2d) each(conv2d_grad_x) each(conv2d_grad_w) \
                                each(batch_stats) each(batch_norm) each(batch_fold) each(leaky_relu) \
                                    each(leaky_relu_grad)

static void find_real(void)
{
    cpu_prims_f32(&real[DT_F32]);
    cpu_prims_f64(&real[DT_F64]);
}

void strict_watch(struct device *d)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (test_device() || strcmp(d->name, "cpu")) return;
    pthread_once(&once, find_real);
    for (int type = 0; type < DT_REALS; type++) {
        struct prims *p = &d->prim[type];
#define WATCH(name) p->name = s_##name;
        WATCHED(WATCH)
#undef WATCH
    }
}
