/* prims_axis.c - softmax, log_softmax, l2norm and top_k along an axis. */
#include "tests/cpu/prims_rig.h"

static const struct axis axes[] = {{1, 1, 1},   {1, 5, 1},   {75, 5, 1}, {40, 701, 1}, {3, 4, 2},
                                   {2, 9, 300}, {7, 25, 64}, {0, 3, 2},  {90, 64, 25}};
enum { AXES = sizeof axes / sizeof *axes };

static size_t element(struct axis a, size_t vector, size_t i)
{
    return (vector / a.inner * a.n + i) * a.inner + vector % a.inner;
}

/* Softmax of each vector in doubles; with `logs` its logarithm. */
static double *softmax_of(struct rig *r, const double *x, struct axis a, bool logs)
{
    double *y = rig_zeros(r, a.outer * a.n * a.inner);
    for (size_t v = 0; v < a.outer * a.inner; v++) {
        double top = -INFINITY, total = 0;
        for (size_t i = 0; i < a.n; i++) top = fmax(top, x[element(a, v, i)]);
        for (size_t i = 0; i < a.n; i++) total += exp(x[element(a, v, i)] - top);
        for (size_t i = 0; i < a.n; i++) {
            double log_p = x[element(a, v, i)] - top - log(total);
            y[element(a, v, i)] = logs ? log_p : exp(log_p);
        }
    }
    return y;
}

static void check_softmax(struct rig *r)
{
    for (size_t k = 0; k < AXES; k++) {
        struct axis a = axes[k];
        size_t dim[] = {a.outer, a.n, a.inner};
        tensor x = rig_random(r, -9, 9, 3, dim), y = rig_blank(r, 3, dim), logs = rig_blank(r, 3, dim);
        double *xn = rig_numbers(r, &x);
        EXPECT_OK(PRIM(r, softmax, &x, a, &y));
        EXPECT_TENSOR(r, y, softmax_of(r, xn, a, false), 16);
        EXPECT_OK(PRIM(r, log_softmax, &x, a, &logs));
        EXPECT_TENSOR(r, logs, softmax_of(r, xn, a, true), 16);
    }
}
TEST(softmax_and_its_logarithm) { rig_each(check_softmax); }

static void check_softmax_grad(struct rig *r)
{
    for (size_t k = 0; k < AXES; k++) {
        struct axis a = axes[k];
        size_t dim[] = {a.outer, a.n, a.inner};
        tensor x = rig_random(r, -2, 2, 3, dim), y = rig_blank(r, 3, dim), logs = rig_blank(r, 3, dim);
        tensor dy = rig_random(r, -1, 1, 3, dim), dx = rig_filled(r, 0.5, 3, dim), dx_log = rig_filled(r, 0.5, 3, dim);
        double *p = softmax_of(r, rig_numbers(r, &x), a, false), *g = rig_numbers(r, &dy);
        double *want = rig_zeros(r, tensor_count(&x)), *want_log = rig_zeros(r, tensor_count(&x));
        for (size_t v = 0; v < a.outer * a.inner; v++) {
            double dot = 0, sum = 0;
            for (size_t i = 0; i < a.n; i++)
                dot += p[element(a, v, i)] * g[element(a, v, i)], sum += g[element(a, v, i)];
            for (size_t i = 0; i < a.n; i++) {
                size_t e = element(a, v, i);
                want[e] = 0.5 + p[e] * (g[e] - dot);
                want_log[e] = 0.5 + g[e] - p[e] * sum;
            }
        }
        EXPECT_OK(PRIM(r, softmax, &x, a, &y));
        EXPECT_OK(PRIM(r, softmax_grad, &y, &dy, a, &dx));
        EXPECT_TENSOR(r, dx, want, 16);
        EXPECT_OK(PRIM(r, log_softmax, &x, a, &logs));
        EXPECT_OK(PRIM(r, log_softmax_grad, &logs, &dy, a, &dx_log));
        EXPECT_TENSOR(r, dx_log, want_log, 64);
    }
}
TEST(softmax_derivatives_add) { rig_each(check_softmax_grad); }

static void check_softmax_edges(struct rig *r)
{
    struct axis rows = {2, 3, 1}, columns = {1, 3, 2};
    tensor x = rig_given(r, NUMBERS(1000, 1001, -INFINITY, 1, (double)NAN, 2), DIMS(2, 3)),
           y = rig_blank(r, DIMS(2, 3));
    double e = exp(-1), n = (double)NAN;
    EXPECT_OK(PRIM(r, softmax, &x, rows, &y));
    EXPECT_TENSOR(r, y, NUMBERS(e / (1 + e), 1 / (1 + e), 0, n, n, n), 4);
    EXPECT_OK(PRIM(r, log_softmax, &x, rows, &y));
    EXPECT_TENSOR(r, y, NUMBERS(-1 - log(1 + e), -log(1 + e), -INFINITY, n, n, n), 4);
    x = rig_given(r, NUMBERS(1000, 1, 1001, n, -INFINITY, 2), DIMS(3, 2)); /* the same as columns */
    EXPECT_OK(PRIM(r, softmax, &x, columns, &y));
    EXPECT_TENSOR(r, y, NUMBERS(e / (1 + e), n, 1 / (1 + e), n, 0, n), 4);
    EXPECT_OK(PRIM(r, log_softmax, &x, columns, &y));
    EXPECT_TENSOR(r, y, NUMBERS(-1 - log(1 + e), n, -log(1 + e), n, -INFINITY, n), 4);
}
TEST(softmax_survives_large_numbers_and_shows_nan) { rig_each(check_softmax_edges); }

static void check_log_softmax_digits(struct rig *r)
{
    tensor x = rig_filled(r, 65536, DIMS(3)), y = rig_blank(r, DIMS(3));
    EXPECT_OK(PRIM(r, log_softmax, &x, ((struct axis){1, 3, 1}), &y));
    EXPECT_TENSOR(r, y, NUMBERS(-log(3), -log(3), -log(3)), 2);
}
TEST(log_softmax_keeps_its_digits_beside_a_large_maximum) { rig_each(check_log_softmax_digits); }

static void check_l2norm(struct rig *r)
{
    for (size_t k = 0; k < AXES; k++) {
        struct axis a = axes[k];
        size_t dim[] = {a.outer, a.n, a.inner}, vectors[] = {a.outer, a.inner};
        tensor x = rig_random(r, -1, 1, 3, dim), y = rig_blank(r, 3, dim), inverse = rig_blank(r, 2, vectors);
        tensor dy = rig_random(r, -1, 1, 3, dim), dx = rig_filled(r, 0.25, 3, dim);
        double *xn = rig_numbers(r, &x), *g = rig_numbers(r, &dy);
        double *want = rig_zeros(r, tensor_count(&x)), *grad = rig_zeros(r, tensor_count(&x));
        double *lengths = rig_zeros(r, tensor_count(&inverse));
        for (size_t v = 0; v < a.outer * a.inner; v++) {
            double square = 0, dot = 0;
            for (size_t i = 0; i < a.n; i++) square += xn[element(a, v, i)] * xn[element(a, v, i)];
            lengths[v] = 1 / sqrt(square);
            for (size_t i = 0; i < a.n; i++) {
                want[element(a, v, i)] = xn[element(a, v, i)] * lengths[v];
                dot += want[element(a, v, i)] * g[element(a, v, i)];
            }
            for (size_t i = 0; i < a.n; i++)
                grad[element(a, v, i)] = 0.25 + lengths[v] * (g[element(a, v, i)] - want[element(a, v, i)] * dot);
        }
        EXPECT_OK(PRIM(r, l2norm, &x, a, &y, &inverse));
        EXPECT_TENSOR(r, y, want, 16);
        EXPECT_TENSOR(r, inverse, lengths, 16);
        EXPECT_OK(PRIM(r, l2norm_grad, &y, &inverse, &dy, a, &dx));
        if (a.n > 1) EXPECT_TENSOR(r, dx, grad, 256); /* of a single number the gradient cancels whatever its length */
    }
}
TEST(l2norm_and_derivative) { rig_each(check_l2norm); }

static void check_l2norm_zero(struct rig *r)
{
    tensor x = rig_given(r, NUMBERS(0, 3, 1e-13, 4), DIMS(2, 2)), y = rig_blank(r, DIMS(2, 2)),
           inverse = rig_blank(r, DIMS(2));
    tensor dy = rig_filled(r, 1, DIMS(2, 2)), dx = rig_filled(r, 0, DIMS(2, 2));
    EXPECT_OK(PRIM(r, l2norm, &x, ((struct axis){1, 2, 2}), &y, &inverse));
    EXPECT_TENSOR(r, y, NUMBERS(0, 0.6, 0, 0.8), 2);
    EXPECT_TENSOR(r, inverse, NUMBERS(0, 0.2), 2);
    EXPECT_OK(PRIM(r, l2norm_grad, &y, &inverse, &dy, ((struct axis){1, 2, 2}), &dx));
    EXPECT_TENSOR(r, dx, NUMBERS(0, 0.2 * (1 - 0.6 * 1.4), 0, 0.2 * (1 - 0.8 * 1.4)), 4);
    x = rig_given(r, NUMBERS(0, 1e-13, 3, 4), DIMS(2, 2));
    EXPECT_OK(PRIM(r, l2norm, &x, ((struct axis){2, 2, 1}), &y, &inverse));
    EXPECT_TENSOR(r, y, NUMBERS(0, 0, 0.6, 0.8), 2);
    EXPECT_TENSOR(r, inverse, NUMBERS(0, 0.2), 2);
}
TEST(l2norm_of_tiny_vectors_is_zero) { rig_each(check_l2norm_zero); }

static void check_top_k(struct rig *r)
{
    for (size_t s = 1; s < AXES; s++) {
        struct axis a = axes[s];
        size_t k = a.n < 3 ? a.n : 3, dim[] = {a.outer, a.n, a.inner}, top[] = {a.outer, k, a.inner};
        tensor x = rig_random(r, -1, 1, 3, dim), y = rig_blank(r, 3, top), index = rig_ints(r, a.outer * k * a.inner);
        tensor dy = rig_random(r, -1, 1, 3, top), dx = rig_filled(r, 0.5, 3, dim);
        double *xn = rig_numbers(r, &x), *g = rig_numbers(r, &dy), *grad = rig_numbers(r, &dx);
        double *want = rig_zeros(r, tensor_count(&y)), *places = rig_zeros(r, tensor_count(&y));
        struct axis b = {a.outer, k, a.inner};
        for (size_t v = 0; v < a.outer * a.inner; v++) {
            for (size_t j = 0; j < k; j++) {
                size_t best = 0;
                for (size_t i = 1; i < a.n; i++)
                    if (xn[element(a, v, i)] > xn[element(a, v, best)]) best = i;
                want[element(b, v, j)] = xn[element(a, v, best)];
                places[element(b, v, j)] = (double)best;
                grad[element(a, v, best)] += g[element(b, v, j)];
                xn[element(a, v, best)] = -INFINITY;
            }
        }
        EXPECT_OK(PRIM(r, top_k, &x, a, k, &y, &index));
        EXPECT_TENSOR(r, y, want, 0);
        EXPECT_TENSOR(r, index, places, 0);
        EXPECT_OK(PRIM(r, top_k_grad, &index, &dy, a, k, &dx));
        EXPECT_TENSOR(r, dx, grad, 1);
    }
}
TEST(top_k_and_derivative) { rig_each(check_top_k); }

static void check_top_k_ties(struct rig *r)
{
    double n = (double)NAN;
    tensor x = rig_given(r, NUMBERS(1, 2, 2, 1, n, 5, n, -INFINITY), DIMS(2, 4)), y = rig_blank(r, DIMS(2, 4)),
           index = rig_ints(r, 8);
    EXPECT_OK(PRIM(r, top_k, &x, ((struct axis){2, 4, 1}), 4, &y, &index));
    EXPECT_TENSOR(r, y, NUMBERS(2, 2, 1, 1, n, n, 5, -INFINITY), 0);
    EXPECT_TENSOR(r, index, NUMBERS(1, 2, 0, 3, 0, 2, 1, 3), 0);
}
TEST(top_k_ties_go_to_the_lowest_index_and_nan_comes_first) { rig_each(check_top_k_ties); }
