/* prims_solve.c - lu, cholesky, triangular solves and qr: residuals within bounds, and matrices without an answer. */
#include "tests/cpu/prims_rig.h"

static const size_t sizes[] = {1, 2, 5, 17, 40, 125};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Largest element of op(a) x - b over a batch, relative to n eps |a| |x|: a small constant for a stable solve. */
static double residual(const struct rig *r, bool transposed, size_t batch, size_t n, size_t k, const double *a,
                       const double *x, const double *b)
{
    double worst = 0;
    for (size_t e = 0; e < batch * n * k; e++) {
        size_t t = e / (n * k), i = e / k % n, j = e % k;
        double sum = -b[e], size = fabs(b[e]), row = 0, column = 0;
        for (size_t p = 0; p < n; p++) {
            double factor = a[t * n * n + (transposed ? p * n + i : i * n + p)], y = x[t * n * k + p * k + j];
            sum += factor * y;
            size += fabs(factor * y);
            row += fabs(factor);
            column += fabs(y);
        }
        worst = fmax(worst, fabs(sum) / ((double)n * r->epsilon * (size + row * column / (double)n)));
    }
    return worst;
}

static void check_lu(struct rig *r)
{
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s], batch = n < 50 ? 40 : 3, k = s % 2 ? 1 : 150;
        tensor a = rig_random(r, -1, 1, DIMS(batch, n, n)), lu = rig_blank(r, DIMS(batch, n, n)),
               pivot = rig_ints(r, batch * n);
        tensor b = rig_random(r, -1, 1, DIMS(batch, n, k)), x = rig_blank(r, DIMS(batch, n, k));
        double *an = rig_numbers(r, &a), *bn = rig_numbers(r, &b);
        REQUIRE(PRIM(r, lu, &a, &lu, &pivot) == OK);
        EXPECT_TENSOR(r, lu, rig_numbers(r, &lu), 0);
        for (int transposed = 0; transposed < 2; transposed++) {
            EXPECT_OK(PRIM(r, lu_solve, &lu, &pivot, transposed, &b, &x));
            double *xn = rig_numbers(r, &x);
            EXPECT_TENSOR(r, x, xn, 0);
            EXPECT(residual(r, transposed, batch, n, k, an, xn, bn) < 8);
        }
        EXPECT_OK(PRIM(r, lu_solve, &lu, &pivot, true, &b, &b)); /* in place */
        EXPECT_TENSOR(r, b, rig_numbers(r, &x), 0);
    }
}
TEST(lu_solves_within_its_bound) { rig_each(check_lu); }

static void check_lu_factors(struct rig *r)
{
    enum { N = 33 };
    tensor a = rig_random(r, -1, 1, DIMS(N, N)), lu = rig_blank(r, DIMS(N, N)), pivot = rig_ints(r, N);
    double *an = rig_numbers(r, &a), worst = 0;
    REQUIRE(PRIM(r, lu, &a, &lu, &pivot) == OK);
    double *f = rig_numbers(r, &lu);
    for (size_t i = 0; i < N; i++) {
        size_t p = (size_t)((int32_t *)pivot.data)[i];
        for (size_t j = 0; j < N; j++) {
            double t = an[i * N + j];
            an[i * N + j] = an[p * N + j];
            an[p * N + j] = t;
        }
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            double sum = 0;
            for (size_t p = 0; p <= (i < j ? i : j); p++) sum += (p == i ? 1 : f[i * N + p]) * f[p * N + j];
            worst = fmax(worst, fabs(sum - an[i * N + j]));
            if (j < i) EXPECT(fabs(f[i * N + j]) <= 1); /* what pivoting is for */
        }
    }
    EXPECT(worst <= N * r->epsilon);
}
TEST(lu_factors_multiply_to_the_matrix_with_rows_exchanged) { rig_each(check_lu_factors); }

static void check_lu_singular(struct rig *r)
{
    tensor a = rig_given(r, NUMBERS(1, 0, 0, 1, 2, 4, 1, 2), DIMS(2, 2, 2)), lu = rig_blank(r, DIMS(2, 2, 2)),
           pivot = rig_ints(r, 4);
    EXPECT_STATUS(PRIM(r, lu, &a, &lu, &pivot), ST_NUMERIC);
    if (r->dev->on_host) EXPECT_TEXT(error_text(), "matrix 1 of the batch is singular (pivot 1 is 0)");
    else EXPECT_TEXT(error_text(), "matrix 1 of the batch is singular (pivot 1)");
    lu.dim[0] = 1;
    for (size_t i = 0; i < 4; i++) { /* a NaN is found wherever it stands */
        double numbers[] = {1, 3, 0, 1};
        numbers[i] = (double)NAN;
        a = rig_given(r, numbers, DIMS(1, 2, 2));
        EXPECT_STATUS(PRIM(r, lu, &a, &lu, &pivot), ST_NUMERIC);
    }
}
TEST(lu_of_a_singular_matrix_names_it) { rig_each(check_lu_singular); }

/* b b^T + n I for each matrix of a batch; the upper half is then spoilt, since only the lower may be read. */
static tensor definite(struct rig *r, size_t batch, size_t n)
{
    tensor b = rig_random(r, -1, 1, DIMS(batch, n, n));
    double *bn = rig_numbers(r, &b), *a = rig_zeros(r, batch * n * n);
    for (size_t e = 0; e < batch * n * n; e++) {
        size_t t = e / (n * n), i = e / n % n, j = e % n;
        for (size_t p = 0; p < n; p++) a[e] += bn[t * n * n + i * n + p] * bn[t * n * n + j * n + p];
        if (i == j) a[e] += (double)n;
        if (i < j) a[e] = (double)NAN;
    }
    return rig_given(r, a, DIMS(batch, n, n));
}

static void check_cholesky(struct rig *r)
{
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s], batch = n < 50 ? 30 : 2, k = s % 2 ? 1 : 140;
        tensor a = definite(r, batch, n), l = rig_blank(r, DIMS(batch, n, n));
        tensor b = rig_random(r, -1, 1, DIMS(batch, n, k)), x = rig_blank(r, DIMS(batch, n, k));
        double *an = rig_numbers(r, &a);
        for (size_t e = 0; e < batch * n * n; e++) {
            size_t i = e / n % n, j = e % n;
            if (i < j) an[e] = an[e - i * n - j + j * n + i];
        }
        REQUIRE(PRIM(r, cholesky, &a, &l) == OK);
        double *ln = rig_numbers(r, &l), worst = 0;
        EXPECT_TENSOR(r, l, ln, 0);
        for (size_t e = 0; e < batch * n * n; e++) {
            size_t i = e / n % n, j = e % n, at = e - i * n - j;
            double sum = 0;
            for (size_t p = 0; p < n; p++) sum += ln[at + i * n + p] * ln[at + j * n + p];
            worst = fmax(worst, fabs(sum - an[e]) / (2 * (double)n));
            if (i < j) EXPECT(ln[e] == 0);
        }
        EXPECT(worst <= (double)n * r->epsilon);
        EXPECT_OK(PRIM(r, cholesky_solve, &l, &b, &x));
        EXPECT_TENSOR(r, x, rig_numbers(r, &x), 0);
        EXPECT(residual(r, false, batch, n, k, an, rig_numbers(r, &x), rig_numbers(r, &b)) < 8);
    }
}
TEST(cholesky_factors_and_solves_within_its_bound) { rig_each(check_cholesky); }

static void check_not_definite(struct rig *r)
{
    tensor a = rig_given(r, NUMBERS(4, 0, 2, 0), DIMS(1, 2, 2)), l = rig_blank(r, DIMS(1, 2, 2));
    EXPECT_STATUS(PRIM(r, cholesky, &a, &l), ST_NUMERIC);
    if (r->dev->on_host) EXPECT_TEXT(error_text(), "matrix 0 of the batch is not positive definite (pivot 1 is -1)");
    else EXPECT_TEXT(error_text(), "matrix 0 of the batch is not positive definite (pivot 1)");
    a = rig_given(r, NUMBERS((double)NAN, 0, 2, 1), DIMS(1, 2, 2));
    EXPECT_STATUS(PRIM(r, cholesky, &a, &l), ST_NUMERIC);
}
TEST(cholesky_of_a_matrix_that_is_not_definite_names_it) { rig_each(check_not_definite); }

/* Larger ones are factored block by block. */
static void check_late_pivot(struct rig *r)
{
    enum { N = 70, BAD = 50 };
    tensor l = rig_blank(r, DIMS(2, N, N));
    for (int nan = 0; nan < 2; nan++) {
        double *an = rig_zeros(r, (size_t)2 * N * N);
        for (size_t i = 0; i < (size_t)2 * N; i++) an[i * N + i % N] = 1;
        an[N * N + BAD * N + (nan ? 3 : BAD)] = nan ? (double)NAN : -1;
        tensor a = rig_given(r, an, DIMS(2, N, N));
        EXPECT_STATUS(PRIM(r, cholesky, &a, &l), ST_NUMERIC);
        EXPECT(strstr(error_text(), "matrix 1 of the batch is not positive definite (pivot 50"));
    }
}
TEST(cholesky_names_a_pivot_of_a_later_block) { rig_each(check_late_pivot); }

static void check_triangular(struct rig *r)
{
    for (size_t s = 0; s < SIZES; s++) {
        for (int kind = 0; kind < 4; kind++) {
            bool upper = kind & 1, transposed = kind & 2;
            size_t n = sizes[s], k = s % 2 ? 1 : 131, batch = s % 3 ? 4 : 1;
            tensor t = rig_random(r, -1, 1, DIMS(1, n, n)), b = rig_random(r, -1, 1, DIMS(batch, n, k)),
                   x = rig_blank(r, DIMS(batch, n, k));
            double *tn = rig_numbers(r, &t), *all = rig_zeros(r, batch * n * n);
            for (size_t i = 0; i < n; i++) tn[i * n + i] = 2 + tn[i * n + i];
            for (size_t e = 0; e < n * n; e++)
                if (e / n != e % n) tn[e] /= (double)n; /* well conditioned */
            t = rig_given(r, tn, DIMS(1, n, n));
            tn = rig_numbers(r, &t);
            for (size_t e = 0; e < batch * n * n; e++) { /* the other half is not read */
                size_t i = e / n % n, j = e % n;
                all[e] = i == j || (i < j) == upper ? tn[i * n + j] : 0;
            }
            EXPECT_OK(PRIM(r, triangular_solve, upper, transposed, &t, &b, &x)); /* one t serves all */
            EXPECT_TENSOR(r, x, rig_numbers(r, &x), 0);
            EXPECT(residual(r, transposed, batch, n, k, all, rig_numbers(r, &x), rig_numbers(r, &b)) < 4);
            EXPECT_OK(PRIM(r, triangular_solve, upper, transposed, &t, &b, &b));
            EXPECT_TENSOR(r, b, rig_numbers(r, &x), 0);
        }
    }
}
TEST(triangular_solve_all_four_ways) { rig_each(check_triangular); }

static void check_qr_of(struct rig *r, tensor a)
{
    size_t batch = a.dim[0], m = a.dim[1], n = a.dim[2];
    tensor q = rig_blank(r, 3, a.dim), s = rig_blank(r, DIMS(batch, n, n));
    EXPECT_OK(PRIM(r, qr, &a, &q, &s));
    double *an = rig_numbers(r, &a), *qn = rig_numbers(r, &q), *rn = rig_numbers(r, &s), worst = 0, skew = 0, size = 0;
    EXPECT_TENSOR(r, q, qn, 0);
    EXPECT_TENSOR(r, s, rn, 0);
    for (size_t e = 0; e < batch * m * n; e++) {
        double sum = 0;
        for (size_t p = 0; p < n; p++) sum += qn[e / n * n + p] * rn[e / (m * n) * n * n + p * n + e % n];
        worst = fmax(worst, fabs(sum - an[e]));
        size = fmax(size, fabs(an[e]));
    }
    for (size_t e = 0; e < batch * n * n; e++) {
        size_t t = e / (n * n), i = e / n % n, j = e % n;
        double dot = i == j ? -1 : 0;
        for (size_t p = 0; p < m; p++) dot += qn[(t * m + p) * n + i] * qn[(t * m + p) * n + j];
        skew = fmax(skew, fabs(dot));
        EXPECT(i < j || (i == j ? rn[e] >= 0 : rn[e] == 0));
    }
    EXPECT(worst <= 2 * (double)m * r->epsilon * size);
    EXPECT(skew <= (double)m * r->epsilon + 4 * r->epsilon);
}

static void check_qr(struct rig *r)
{
    static const size_t shapes[][3] = {{1, 1, 1}, {2, 7, 1}, {3, 5, 5}, {40, 25, 5}, {2, 130, 37}};
    for (size_t k = 0; k < 5; k++) check_qr_of(r, rig_random(r, -1, 1, 3, shapes[k]));
    check_qr_of(r, rig_given(r, NUMBERS(0, 1, 0, 0, 0, 2), DIMS(1, 3, 2))); /* a zero column */
    check_qr_of(r, rig_given(r, NUMBERS(1, 2, 2, 4, 3, 6), DIMS(1, 3, 2))); /* columns that depend on each other */
    check_qr_of(r, rig_random(r, -1e-30, 1e-30, DIMS(1, 6, 3)));            /* squares vanish in float */
    check_qr_of(r, rig_random(r, -1e30, 1e30, DIMS(1, 6, 3)));              /* squares overflow in float */
}
TEST(qr_is_orthonormal_times_triangular) { rig_each(check_qr); }
