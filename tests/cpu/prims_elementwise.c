/* prims_elementwise.c - binary, unary, affine and its relatives, reduce_add, expand_add. */
#include "tests/cpu/prims_rig.h"

/* Index into x of the element that meets element i of y under numpy's rules. */
static size_t stretched(const tensor *x, const tensor *y, size_t i)
{
    size_t index = 0, step = 1;
    for (int k = 1; k <= y->rank; k++) {
        size_t at = i % y->dim[y->rank - k];
        i /= y->dim[y->rank - k];
        if (k > x->rank) continue;
        size_t n = x->dim[x->rank - k];
        index += (n == 1 ? 0 : at) * step;
        step *= n;
    }
    return index;
}

static double apply(enum binary_kind kind, double a, double b)
{
    switch (kind) {
    case BINARY_ADD: return a + b;
    case BINARY_SUB: return a - b;
    case BINARY_MUL: return a * b;
    case BINARY_DIV: break;
    }
    return a / b;
}

struct pair {
    int a_rank, b_rank, y_rank;
    size_t a[MAX_RANK], b[MAX_RANK], y[MAX_RANK];
};

static const struct pair pairs[] = {
    {0, 0, 0, {0}, {0}, {0}},
    {1, 1, 1, {7}, {7}, {7}},
    {2, 0, 2, {3, 1001}, {0}, {3, 1001}},
    {0, 2, 2, {0}, {130, 700}, {130, 700}},
    {2, 1, 2, {75, 1031}, {1031}, {75, 1031}},
    {2, 2, 2, {5, 1}, {1, 9}, {5, 9}},
    {2, 2, 2, {1, 700}, {200, 1}, {200, 700}},
    {3, 3, 3, {4, 1, 6}, {1, 5, 6}, {4, 5, 6}},
    {4, 3, 4, {8, 1, 3, 1}, {7, 1, 5}, {8, 7, 3, 5}},
    {6, 6, 6, {2, 1, 3, 1, 2, 1}, {1, 4, 1, 5, 1, 3}, {2, 4, 3, 5, 2, 3}},
    {2, 2, 2, {0, 5}, {1, 5}, {0, 5}},
    {2, 1, 2, {70000, 2}, {2}, {70000, 2}},
};

static void check_binary(struct rig *r)
{
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        tensor a = rig_random(r, 0.5, 4, pairs[p].a_rank, pairs[p].a),
               b = rig_random(r, 0.5, 4, pairs[p].b_rank, pairs[p].b);
        double *an = rig_numbers(r, &a), *bn = rig_numbers(r, &b);
        for (int kind = BINARY_ADD; kind <= BINARY_DIV; kind++) {
            tensor y = rig_blank(r, pairs[p].y_rank, pairs[p].y);
            double *want = rig_zeros(r, tensor_count(&y));
            for (size_t i = 0; i < tensor_count(&y); i++)
                want[i] = apply((enum binary_kind)kind, an[stretched(&a, &y, i)], bn[stretched(&b, &y, i)]);
            EXPECT_OK(PRIM(r, binary, (enum binary_kind)kind, &a, &b, &y));
            EXPECT_TENSOR(r, y, want, 1);
        }
    }
}
TEST(binary_follows_numpy_broadcasting) { rig_each(check_binary); }

static void check_signed_zero(struct rig *r)
{
    tensor a = rig_given(r, NUMBERS(-0.0, 0.0), DIMS(2)), two = rig_filled(r, 2, DIMS(1)), y = rig_blank(r, DIMS(2));
    EXPECT_OK(PRIM(r, binary, BINARY_MUL, &a, &two, &y));
    EXPECT(signbit(rig_numbers(r, &y)[0]) && !signbit(rig_numbers(r, &y)[1]));
    EXPECT_OK(PRIM(r, scale_by, &two, &a));
    EXPECT(signbit(rig_numbers(r, &a)[0]) && !signbit(rig_numbers(r, &a)[1]));
}
TEST(products_keep_the_sign_of_zero) { rig_each(check_signed_zero); }

static double function(enum unary_kind kind, double x)
{
    switch (kind) {
    case UNARY_EXP: return exp(x);
    case UNARY_LOG: return log(x);
    case UNARY_SQRT: return sqrt(x);
    case UNARY_RELU: break;
    }
    return x > 0 ? x : 0;
}

static double derivative(enum unary_kind kind, double x)
{
    switch (kind) {
    case UNARY_EXP: return exp(x);
    case UNARY_LOG: return 1 / x;
    case UNARY_SQRT: return 0.5 / sqrt(x);
    case UNARY_RELU: break;
    }
    return x > 0;
}

static void check_unary(struct rig *r)
{
    static const size_t sizes[] = {0, 1, 17, 40001};
    for (size_t s = 0; s < 4; s++) {
        for (int kind = UNARY_EXP; kind <= UNARY_RELU; kind++) {
            bool positive = kind == UNARY_LOG || kind == UNARY_SQRT;
            tensor x = rig_random(r, positive ? 0.2 : -3, 3, 1, &sizes[s]), dy = rig_random(r, -1, 1, 1, &sizes[s]);
            tensor y = rig_blank(r, 1, &sizes[s]), dx = rig_random(r, -1, 1, 1, &sizes[s]);
            double *xn = rig_numbers(r, &x), *dyn = rig_numbers(r, &dy), *before = rig_numbers(r, &dx);
            double *want = rig_zeros(r, sizes[s]), *grad = rig_zeros(r, sizes[s]);
            for (size_t i = 0; i < sizes[s]; i++) {
                want[i] = function((enum unary_kind)kind, xn[i]);
                grad[i] = before[i] + dyn[i] * derivative((enum unary_kind)kind, xn[i]);
            }
            EXPECT_OK(PRIM(r, unary, (enum unary_kind)kind, &x, &y));
            EXPECT_TENSOR(r, y, want, 4);
            EXPECT_OK(PRIM(r, unary_grad, (enum unary_kind)kind, &x, &y, &dy, &dx));
            EXPECT_TENSOR(r, dx, grad, 64);
        }
    }
}
TEST(unary_functions_and_derivatives) { rig_each(check_unary); }

static void check_affine(struct rig *r)
{
    enum { N = 70001 };
    tensor x = rig_random(r, -2, 2, DIMS(N)), y = rig_random(r, -2, 2, DIMS(N)), two = rig_filled(r, 2, DIMS(1));
    double *xn = rig_numbers(r, &x), *yn = rig_numbers(r, &y), *want = rig_zeros(r, N);
    EXPECT_OK(PRIM(r, axpy, -3, &x, &y));
    for (size_t i = 0; i < N; i++) want[i] = yn[i] - 3 * xn[i];
    EXPECT_TENSOR(r, y, want, 8);
    EXPECT_OK(PRIM(r, axpy_by, &two, &x, &y));
    for (size_t i = 0; i < N; i++) want[i] += 2 * xn[i];
    EXPECT_TENSOR(r, y, want, 16);
    EXPECT_OK(PRIM(r, affine, &x, 0.5, -1, &y));
    for (size_t i = 0; i < N; i++) want[i] = 0.5 * xn[i] - 1;
    EXPECT_TENSOR(r, y, want, 2);
    EXPECT_OK(PRIM(r, affine, &x, 0.5, -1, &x)); /* in place */
    EXPECT_TENSOR(r, x, want, 2);
    EXPECT_OK(PRIM(r, scale_by, &two, &x));
    for (size_t i = 0; i < N; i++) want[i] *= 2;
    EXPECT_TENSOR(r, x, want, 2);
    EXPECT_OK(PRIM(r, fill, 0.25, &x));
    for (size_t i = 0; i < N; i++) want[i] = 0.25;
    EXPECT_TENSOR(r, x, want, 0);
}
TEST(affine_axpy_scale_and_fill) { rig_each(check_affine); }

struct sum {
    int rank;
    size_t x[MAX_RANK], y[MAX_RANK];
};

static const struct sum sums[] = {
    {0, {0}, {0}},
    {1, {200003}, {1}},          /* one long run, several parts */
    {2, {37, 53}, {37, 1}},      /* short runs */
    {2, {3, 70001}, {3, 1}},     /* long runs */
    {2, {53, 37}, {1, 37}},      /* rows */
    {2, {30011, 5}, {1, 5}},     /* many short rows, several parts */
    {2, {100, 1601}, {1, 1601}}, /* several blocks of columns */
    {3, {6, 301, 7}, {6, 1, 7}},
    {4, {9, 8, 15, 15}, {1, 8, 1, 1}},
    {4, {5, 6, 7, 8}, {5, 1, 7, 1}},
    {4, {5, 6, 7, 8}, {1, 6, 1, 8}},
    {3, {4, 5, 6}, {4, 5, 6}},
    {2, {0, 4}, {1, 4}},
};

static void check_sums(struct rig *r)
{
    for (size_t s = 0; s < sizeof sums / sizeof *sums; s++) {
        tensor x = rig_random(r, -1, 1, sums[s].rank, sums[s].x), y = rig_random(r, -1, 1, sums[s].rank, sums[s].y);
        double *xn = rig_numbers(r, &x), *want = rig_numbers(r, &y), *yn = rig_numbers(r, &y),
               *back = rig_numbers(r, &x);
        for (size_t i = 0; i < tensor_count(&x); i++) {
            want[stretched(&y, &x, i)] += 0.5 * xn[i];
            back[i] += -2 * yn[stretched(&y, &x, i)];
        }
        EXPECT_OK(PRIM(r, expand_add, &y, -2, &x));
        EXPECT_TENSOR(r, x, back, 4);
        x = rig_given(r, xn, sums[s].rank, sums[s].x);
        EXPECT_OK(PRIM(r, reduce_add, &x, 0.5, &y));
        /* partial sums of n numbers in (-1, 1) stay below about 3 sqrt(n), and so do their roundings */
        EXPECT_TENSOR(r, y, want, 16 + 2 * sqrt((double)tensor_count(&x)));
    }
}
TEST(reduce_and_expand_over_any_axes) { rig_each(check_sums); }
