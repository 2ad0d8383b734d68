/* dense.c - small matrices against their definitions. */
#include "base/dense.h"
#include "base/random.h"
#include "tests/test.h"

enum { ROWS = 5, N = 7 };

static void draw(struct random *r, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) x[i] = random_normal(r);
}

static void expect_orthonormal(size_t rows, size_t n, const double *q)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < rows; j++) EXPECT_NEAR(dense_dot(q + i * n, q + j * n, n), i == j, 1e-14);
}

TEST(span_gives_an_orthonormal_basis_and_coordinates)
{
    struct random r = test_random();
    double x[ROWS * N], q[ROWS * N], l[ROWS * ROWS];
    draw(&r, ROWS * N, x);
    EXPECT_INT(dense_span(ROWS, N, x, 1e-12, q, l), ROWS);
    expect_orthonormal(ROWS, N, q);
    for (size_t i = 0; i < ROWS * N; i++) {
        double sum = 0;
        for (size_t k = 0; k < ROWS; k++) sum += l[i / N * ROWS + k] * q[k * N + i % N];
        EXPECT_NEAR(sum, x[i], 1e-13);
    }
}

TEST(span_leaves_out_rows_that_depend_on_others)
{
    const double x[] = {0, 0, 3, 4, 6, 8, 0, 5, 1, 1};
    double q[10], l[10];
    EXPECT_INT(dense_span(5, 2, x, 1e-12, q, l), 2);
    expect_orthonormal(2, 2, q);
    for (size_t i = 0; i < 10; i++) EXPECT_NEAR(l[i / 2 * 2] * q[i % 2] + l[i / 2 * 2 + 1] * q[2 + i % 2], x[i], 1e-14);
    EXPECT_NEAR(l[5], 0, 1e-14); /* the third row is twice the second */
}

TEST(cholesky_solves_and_refuses)
{
    double a[] = {4, 9, 2, 5}, b[] = {8, 9}; /* the upper half is not read */
    REQUIRE(dense_cholesky(2, a));
    dense_cholesky_solve(2, a, b); /* 4 x + 2 y = 8, 2 x + 5 y = 9 */
    EXPECT_NEAR(b[0], 22.0 / 16, 1e-15);
    EXPECT_NEAR(b[1], 20.0 / 16, 1e-15);
    double indefinite[] = {1, 0, 2, 1}, broken[] = {NAN};
    EXPECT(!dense_cholesky(2, indefinite));
    EXPECT(!dense_cholesky(1, broken));
}

TEST(svd_gives_back_its_matrix_in_falling_order)
{
    struct random r = test_random();
    double a[N * ROWS], before[N * ROWS], w[ROWS * ROWS], s[ROWS];
    draw(&r, N * ROWS, before);
    memcpy(a, before, sizeof a);
    dense_svd(N, ROWS, a, w, s);
    expect_orthonormal(ROWS, ROWS, w);
    for (size_t i = 0; i < N * ROWS; i++) {
        double sum = 0; /* a w^T */
        for (size_t k = 0; k < ROWS; k++) sum += a[i / ROWS * ROWS + k] * w[i % ROWS * ROWS + k];
        EXPECT_NEAR(sum, before[i], 1e-13);
    }
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < ROWS; j++) {
            double dot = 0;
            for (size_t k = 0; k < N; k++) dot += a[k * ROWS + i] * a[k * ROWS + j];
            EXPECT_NEAR(dot, i == j ? s[i] * s[i] : 0, 1e-13);
        }
    for (size_t i = 1; i < ROWS; i++) EXPECT(s[i] <= s[i - 1]);
}
