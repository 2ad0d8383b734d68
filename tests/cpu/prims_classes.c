/* prims_classes.c - adaptive_pool, class_mean, cross_entropy, nll and sqdist. */
#include "tests/cpu/prims_rig.h"

static void check_pool(struct rig *r)
{
    static const size_t shapes[][6] = {
        {2, 3, 5, 5, 1, 1}, {1, 1, 4, 6, 2, 3}, {3, 2, 7, 5, 3, 2}, {1, 2, 2, 3, 5, 4}, {40, 64, 5, 5, 2, 3}};
    for (size_t k = 0; k < 5; k++) {
        const size_t *q = shapes[k], h = q[2], w = q[3], s = q[4], t = q[5];
        tensor x = rig_random(r, -1, 1, 4, q), y = rig_blank(r, DIMS(q[0], q[1], s, t));
        tensor dy = rig_random(r, -1, 1, DIMS(q[0], q[1], s, t)), dx = rig_filled(r, 0.5, 4, q);
        double *xn = rig_numbers(r, &x), *g = rig_numbers(r, &dy), *want = rig_zeros(r, tensor_count(&y)),
               *grad = rig_numbers(r, &dx);
        for (size_t o = 0; o < tensor_count(&y); o++) {
            size_t i = o / t % s, j = o % t, plane = o / (s * t) * h * w, cells = 0;
            for (int pass = 0; pass < 2; pass++) {
                for (size_t u = 0; u < h; u++) {
                    for (size_t v = 0; v < w; v++) {
                        if ((u + 1) * s <= i * h || u * s >= (i + 1) * h || (v + 1) * t <= j * w ||
                            v * t >= (j + 1) * w)
                            continue;
                        if (pass == 0) cells++, want[o] += xn[plane + u * w + v];
                        else grad[plane + u * w + v] += g[o] / (double)cells;
                    }
                }
            }
            want[o] /= (double)cells;
        }
        EXPECT_OK(PRIM(r, adaptive_pool, &x, &y));
        EXPECT_TENSOR(r, y, want, 2);
        EXPECT_OK(PRIM(r, adaptive_pool_grad, &dy, &dx));
        EXPECT_TENSOR(r, dx, grad, 8);
    }
}
TEST(adaptive_pool_averages_the_cells_it_overlaps) { rig_each(check_pool); }

static tensor labels_of(struct rig *r, size_t n, size_t way)
{
    tensor labels = rig_ints(r, n);
    for (size_t i = 0; i < n; i++) ((int32_t *)labels.data)[i] = (int32_t)(i < way ? i : random_below(&r->random, way));
    return labels;
}

static void check_class_mean(struct rig *r)
{
    static const size_t shapes[][3] = {{1, 1, 1}, {5, 5, 7}, {6, 5, 3}, {25, 5, 1601}, {300, 20, 640}};
    for (size_t k = 0; k < 5; k++) {
        size_t n = shapes[k][0], way = shapes[k][1], m = shapes[k][2];
        tensor x = rig_random(r, -1, 1, DIMS(n, m)), labels = labels_of(r, n, way), y = rig_blank(r, DIMS(way, m));
        tensor dy = rig_random(r, -1, 1, DIMS(way, m)), dx = rig_filled(r, 0.5, DIMS(n, m));
        const int32_t *label = labels.data;
        double *xn = rig_numbers(r, &x), *g = rig_numbers(r, &dy), *want = rig_zeros(r, way * m),
               *grad = rig_numbers(r, &dx);
        double *count = rig_zeros(r, way);
        for (size_t i = 0; i < n; i++) count[label[i]]++;
        for (size_t i = 0; i < n * m; i++) {
            size_t class = (size_t)label[i / m], to = class * m + i % m;
            want[to] += xn[i] / count[class];
            grad[i] += g[to] / count[class];
        }
        EXPECT_OK(PRIM(r, class_mean, &x, &labels, &y));
        EXPECT_TENSOR(r, y, want, 8);
        EXPECT_OK(PRIM(r, class_mean_grad, &labels, &dy, &dx));
        EXPECT_TENSOR(r, dx, grad, 4);
    }
}
TEST(class_mean_and_derivative) { rig_each(check_class_mean); }

static void check_losses(struct rig *r)
{
    static const size_t shapes[][2] = {{1, 1}, {75, 5}, {33, 351}, {4000, 20}};
    for (size_t k = 0; k < 4; k++) {
        size_t n = shapes[k][0], way = shapes[k][1];
        tensor x = rig_random(r, -6, 6, DIMS(n, way)), p = rig_blank(r, DIMS(n, way)), labels = labels_of(r, n, way);
        tensor loss = rig_blank(r, DIMS(1)), dloss = rig_filled(r, 3, DIMS(1));
        tensor dx = rig_filled(r, 0.5, DIMS(n, way)), dl = rig_filled(r, 0.5, DIMS(n, way));
        const int32_t *label = labels.data;
        double *xn = rig_numbers(r, &x), *want_p = rig_zeros(r, n * way), *grad = rig_zeros(r, n * way),
               *grad_nll = rig_numbers(r, &dl);
        double want = 0, want_nll = 0, rows = (double)n;
        for (size_t i = 0; i < n; i++) {
            double total = 0;
            for (size_t j = 0; j < way; j++) total += exp(xn[i * way + j]);
            for (size_t j = 0; j < way; j++) {
                want_p[i * way + j] = exp(xn[i * way + j]) / total;
                grad[i * way + j] = 0.5 + 3 * (want_p[i * way + j] - ((size_t)label[i] == j)) / rows;
            }
            want += (log(total) - xn[i * way + (size_t)label[i]]) / rows;
            want_nll -= xn[i * way + (size_t)label[i]] / rows;
            grad_nll[i * way + (size_t)label[i]] -= 3 / rows;
        }
        EXPECT_OK(PRIM(r, cross_entropy, &x, &labels, &p, &loss));
        EXPECT_TENSOR(r, p, want_p, 16);
        EXPECT_TENSOR(r, loss, &want, 16);
        EXPECT_OK(PRIM(r, cross_entropy_grad, &p, &labels, &dloss, &dx));
        EXPECT_TENSOR(r, dx, grad, 16);
        EXPECT_OK(PRIM(r, nll, &x, &labels, &loss));
        EXPECT_TENSOR(r, loss, &want_nll, 2);
        EXPECT_OK(PRIM(r, nll_grad, &labels, &dloss, &dl));
        EXPECT_TENSOR(r, dl, grad_nll, 2);
    }
}
TEST(cross_entropy_nll_and_derivatives) { rig_each(check_losses); }

static void check_entropy_far(struct rig *r)
{
    tensor x = rig_given(r, NUMBERS(0, 2000), DIMS(1, 2)), p = rig_blank(r, DIMS(1, 2)), loss = rig_blank(r, DIMS(1)),
           labels = rig_ints(r, 1);
    *(int32_t *)labels.data = 0;
    EXPECT_OK(PRIM(r, cross_entropy, &x, &labels, &p, &loss));
    EXPECT_TENSOR(r, p, NUMBERS(0, 1), 0);
    EXPECT_TENSOR(r, loss, NUMBERS(2000), 0);
}
TEST(cross_entropy_is_finite_where_the_probability_underflows) { rig_each(check_entropy_far); }

/* e^-30 is far below what a type resolves beside 1, and stays. */
static void check_entropy_sure(struct rig *r)
{
    const double rest = log1p(exp(-30.0)), other = exp(-30.0) / (1 + exp(-30.0));
    tensor x = rig_given(r, NUMBERS(30, 0), DIMS(1, 2)), p = rig_blank(r, DIMS(1, 2)), loss = rig_blank(r, DIMS(1)),
           dloss = rig_given(r, NUMBERS(1e13), DIMS(1)), dx = rig_given(r, NUMBERS(0, 0), DIMS(1, 2)),
           labels = rig_ints(r, 1);
    *(int32_t *)labels.data = 0;
    EXPECT_OK(PRIM(r, cross_entropy, &x, &labels, &p, &loss));
    EXPECT(fabs(*rig_numbers(r, &loss) / rest - 1) < 1e-5);
    EXPECT_OK(PRIM(r, cross_entropy_grad, &p, &labels, &dloss, &dx));
    EXPECT_TENSOR(r, dx, NUMBERS(-1e13 * other, 1e13 * other), 64);
}
TEST(cross_entropy_keeps_what_is_left_where_the_label_is_nearly_certain) { rig_each(check_entropy_sure); }

static void check_sqdist(struct rig *r)
{
    static const size_t shapes[][5] = {
        {1, 1, 1, 1, 1}, {1, 1, 75, 5, 1601}, {3, 3, 4, 7, 13}, {6, 1, 40, 5, 64}, {1, 4, 3, 2, 0}};
    for (size_t k = 0; k < 5; k++) { /* batch of a and of b, m, n, depth */
        const size_t *q = shapes[k], m = q[2], n = q[3], depth = q[4], batch = q[0] > q[1] ? q[0] : q[1];
        tensor a = rig_random(r, -1, 1, DIMS(q[0], m, depth)), b = rig_random(r, -1, 1, DIMS(q[1], n, depth));
        tensor y = rig_blank(r, DIMS(batch, m, n)), dy = rig_random(r, -1, 1, DIMS(batch, m, n));
        tensor da = rig_filled(r, 0.5, 3, a.dim), db = rig_filled(r, 0.5, 3, b.dim);
        double *an = rig_numbers(r, &a), *bn = rig_numbers(r, &b), *g = rig_numbers(r, &dy),
               *want = rig_zeros(r, tensor_count(&y));
        double *grad_a = rig_numbers(r, &da), *grad_b = rig_numbers(r, &db);
        for (size_t e = 0; e < tensor_count(&y); e++) {
            size_t t = e / (m * n), ia = ((q[0] == 1 ? 0 : t) * m + e / n % m) * depth,
                   ib = ((q[1] == 1 ? 0 : t) * n + e % n) * depth;
            for (size_t p = 0; p < depth; p++) {
                double diff = an[ia + p] - bn[ib + p];
                want[e] += diff * diff;
                grad_a[ia + p] += 2 * g[e] * diff;
                grad_b[ib + p] -= 2 * g[e] * diff;
            }
        }
        EXPECT_OK(PRIM(r, sqdist, &a, &b, &y));
        EXPECT_TENSOR(r, y, want, 32);
        EXPECT_OK(PRIM(r, sqdist_grad, &a, &b, &dy, false, &da));
        EXPECT_TENSOR(r, da, grad_a, 64);
        EXPECT_OK(PRIM(r, sqdist_grad, &a, &b, &dy, true, &db));
        EXPECT_TENSOR(r, db, grad_b, 512);
    }
}
TEST(sqdist_and_derivatives_of_both_sides) { rig_each(check_sqdist); }

static void check_sqdist_near(struct rig *r)
{
    double step = r->type == DT_F32 ? 0x1p-20 : 0x1p-49; /* exact at 8 and near the last digit */
    tensor a = rig_filled(r, 8, DIMS(1, 1, 4)), b = rig_filled(r, 8 + step, DIMS(1, 1, 4)),
           y = rig_blank(r, DIMS(1, 1, 1));
    EXPECT_OK(PRIM(r, sqdist, &a, &b, &y));
    EXPECT_NEAR(rig_numbers(r, &y)[0] / (4 * step * step), 1, 1e-6);
}
TEST(sqdist_of_near_points_keeps_its_digits) { rig_each(check_sqdist_near); }
