/* prims_gemm.c - products over a table of shapes, transpositions and factors. */
#include "tests/cpu/prims_rig.h"

struct shape {
    size_t batch_a, batch_b, m, n, k;
};

static const struct shape shapes[] = {
    {1, 1, 0, 3, 4},    {1, 1, 3, 0, 4},     {1, 1, 3, 4, 0},       {0, 0, 3, 4, 5},      {1, 1, 1, 1, 1},
    {1, 1, 1, 9, 7},    {1, 1, 9, 1, 7},     {1, 1, 7, 9, 1},       {1, 1, 2, 3, 4},      {3, 3, 1, 40, 33},
    {1, 3, 40, 1, 33},  {1, 1, 1, 1100, 70}, {1, 1, 1100, 1, 70},   {1, 1, 75, 64, 65},   {1, 1, 84, 33, 17},
    {1, 1, 85, 33, 17}, {1, 1, 700, 70, 50}, {1, 1, 86, 100, 1100}, {1, 1, 20, 40, 1025}, {5, 5, 25, 26, 27},
    {7, 1, 13, 40, 30}, {1, 7, 13, 40, 30},  {20, 20, 25, 125, 64}, {9, 1, 30, 65, 20},
};

static size_t place(bool transposed, size_t rows, size_t columns, size_t i, size_t j)
{
    return transposed ? j * rows + i : i * columns + j;
}

static void multiply(const struct shape *s, bool ta, bool tb, const double *a, const double *b, double *c)
{
    size_t batch = s->batch_a > s->batch_b ? s->batch_a : s->batch_b;
    for (size_t e = 0; e < batch * s->m * s->n; e++) {
        size_t t = e / (s->m * s->n), i = e / s->n % s->m, j = e % s->n;
        const double *at = a + (s->batch_a == 1 ? 0 : t) * s->m * s->k,
                     *bt = b + (s->batch_b == 1 ? 0 : t) * s->k * s->n;
        c[e] = 0;
        for (size_t p = 0; p < s->k; p++) c[e] += at[place(ta, s->m, s->k, i, p)] * bt[place(tb, s->k, s->n, p, j)];
    }
}

static void check_shape(struct rig *r, const struct shape *s, bool ta, bool tb, double alpha, double beta)
{
    size_t batch = s->batch_a > s->batch_b ? s->batch_a : s->batch_b;
    tensor a = rig_random(r, -1, 1, DIMS(s->batch_a, ta ? s->k : s->m, ta ? s->m : s->k));
    tensor b = rig_random(r, -1, 1, DIMS(s->batch_b, tb ? s->n : s->k, tb ? s->k : s->n));
    size_t dim[] = {batch, s->m, s->n};
    tensor c = beta == 0 ? rig_blank(r, 3, dim) : rig_random(r, -1, 1, 3, dim); /* NaN must not be read */
    double *before = rig_numbers(r, &c), *want = rig_zeros(r, tensor_count(&c));
    multiply(s, ta, tb, rig_numbers(r, &a), rig_numbers(r, &b), want);
    for (size_t i = 0; i < tensor_count(&c); i++) want[i] = alpha * want[i] + (beta == 0 ? 0 : beta * before[i]);
    EXPECT_OK(PRIM(r, gemm, ta, tb, alpha, &a, &b, beta, &c));
    /* partial sums reach about sqrt(k)/3 and each of k additions rounds one: k/6 as a random walk, times 3 */
    EXPECT_TENSOR(r, c, want, 8 + (double)s->k / 2);
}

static void check_gemm(struct rig *r)
{
    static const double factors[][2] = {{1, 0}, {-0.5, 0}, {1, 1}, {2, -3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int t = 0; t < 4; t++)
            check_shape(r, &shapes[s], t & 1, t & 2, factors[(s + (size_t)t) % 4][0], factors[(s + (size_t)t) % 4][1]);
}
TEST(gemm_of_all_shapes_transpositions_and_factors) { rig_each(check_gemm); }

static void check_factors(struct rig *r)
{
    static const double factors[] = {0, 1, -0.5};
    static const struct shape small[] = {
        {1, 1, 2, 3, 4}, {1, 1, 100, 3, 4}, {1, 1, 1, 3, 4}, {2, 2, 3, 1, 4}, {1, 1, 3, 4, 0}};
    for (size_t s = 0; s < 5; s++)
        for (int i = 0; i < 9; i++) check_shape(r, &small[s], false, true, factors[i / 3], factors[i % 3]);
}
TEST(gemm_with_every_pair_of_factors_on_every_path) { rig_each(check_factors); }

static void check_by_hand(struct rig *r)
{
    tensor a = rig_given(r, NUMBERS(1, 2, 3, 4, 5, 6), DIMS(2, 3)),
           b = rig_given(r, NUMBERS(1, 0, 2, 1, 0, 3), DIMS(3, 2));
    tensor c = rig_blank(r, DIMS(2, 2));
    EXPECT_OK(PRIM(r, gemm, false, false, 1, &a, &b, 0, &c)); /* rank 2 is a batch of one */
    EXPECT_TENSOR(r, c, NUMBERS(5, 11, 14, 23), 0);
}
TEST(gemm_by_hand) { rig_each(check_by_hand); }
