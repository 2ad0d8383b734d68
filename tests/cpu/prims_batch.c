/* prims_batch.c - batch normalisation, leaky relu and max pooling against plain loops. */
#include "tests/cpu/prims_rig.h"

static const size_t sizes[][2] = {{2, 1}, {3, 5}, {100, 17}, {5000, 64}, {70000, 3}}; /* rows, channels */
enum { SIZES = sizeof sizes / sizeof *sizes };

DEFINITION static void plain_stats(const double *x, size_t rows, size_t c, double *mean, double *variance)
{
    for (size_t j = 0; j < c; j++) {
        mean[j] = variance[j] = 0;
        for (size_t i = 0; i < rows; i++) mean[j] += x[i * c + j] / (double)rows;
        for (size_t i = 0; i < rows; i++) variance[j] += pow(x[i * c + j] - mean[j], 2) / (double)rows;
    }
}

static void check_stats(struct rig *r)
{
    for (size_t s = 0; s < SIZES; s++) {
        const size_t rows = sizes[s][0], c = sizes[s][1];
        tensor x = rig_random(r, 99, 101, DIMS(rows, 1, c)), mean = rig_blank(r, DIMS(c)), v = rig_blank(r, DIMS(c));
        tensor kept_mean = rig_filled(r, 2, DIMS(c)), kept_v = rig_filled(r, 3, DIMS(c));
        double *m = rig_zeros(r, c), *q = rig_zeros(r, c);
        plain_stats(rig_numbers(r, &x), rows, c, m, q);
        EXPECT_OK(PRIM(r, batch_stats, &x, &mean, &v));
        EXPECT_TENSOR(r, mean, m, r->type == DT_F32 ? 1 : 200);
        EXPECT_TENSOR(r, v, q, r->type == DT_F32 ? 1 : 2000); /* the loops above round too */
        EXPECT_OK(PRIM(r, batch_running, &mean, &v, 0.1, 1.5, &kept_mean, &kept_v));
        for (size_t j = 0; j < c; j++) {
            m[j] = 0.9 * 2 + 0.1 * rig_numbers(r, &mean)[j];
            q[j] = 0.9 * 3 + 0.1 * 1.5 * rig_numbers(r, &v)[j];
        }
        EXPECT_TENSOR(r, kept_mean, m, 2);
        EXPECT_TENSOR(r, kept_v, q, 2);
    }
}
TEST(batch_statistics_do_not_cancel) { rig_each(check_stats); }

struct norm {
    size_t rows, c;
    const double *x, *mean, *variance, *gain, *bias, *dy;
    double *y, *dx, *dgain, *dbias;
};

DEFINITION static void plain_norm(const struct norm *s, bool batch)
{
    for (size_t j = 0; j < s->c; j++) {
        const double inverse = 1 / sqrt(s->variance[j] + 1e-3);
        double sum = 0, product = 0;
        for (size_t i = j; i < s->rows * s->c; i += s->c) {
            const double z = (s->x[i] - s->mean[j]) * inverse;
            s->y[i] = s->gain[j] * z + s->bias[j];
            sum += s->dy[i];
            product += s->dy[i] * z;
        }
        s->dgain[j] += product;
        s->dbias[j] += sum;
        for (size_t i = j; i < s->rows * s->c; i += s->c) {
            const double z = (s->x[i] - s->mean[j]) * inverse, m = (double)s->rows;
            s->dx[i] += s->gain[j] * inverse * (s->dy[i] - (batch ? sum / m + z * product / m : 0));
        }
    }
}

static void check_norm_size(struct rig *r, size_t rows, size_t c, bool batch)
{
    tensor x = rig_random(r, -1, 2, DIMS(rows, c)), mean = rig_random(r, 0, 1, DIMS(c));
    tensor variance = rig_random(r, 0.5, 1, DIMS(c)), gain = rig_random(r, 0.5, 2, DIMS(c));
    tensor bias = rig_random(r, -1, 1, DIMS(c)), dy = rig_random(r, -1, 1, DIMS(rows, c));
    tensor y = rig_blank(r, DIMS(rows, c)), dx = rig_random(r, -1, 1, DIMS(rows, c));
    tensor dgain = rig_random(r, -1, 1, DIMS(c)), dbias = rig_random(r, -1, 1, DIMS(c));
    struct norm s = {rows,
                     c,
                     rig_numbers(r, &x),
                     rig_numbers(r, &mean),
                     rig_numbers(r, &variance),
                     rig_numbers(r, &gain),
                     rig_numbers(r, &bias),
                     rig_numbers(r, &dy),
                     rig_zeros(r, rows * c),
                     rig_numbers(r, &dx),
                     rig_numbers(r, &dgain),
                     rig_numbers(r, &dbias)};
    plain_norm(&s, batch);
    EXPECT_OK(PRIM(r, batch_norm, &x, &mean, &variance, &gain, &bias, 1e-3, &y));
    EXPECT_TENSOR(r, y, s.y, 8);
    EXPECT_OK(PRIM(r, batch_norm_grad, &x, &mean, &variance, &gain, &dy, 1e-3, batch, &dx, &dgain, &dbias));
    EXPECT_TENSOR(r, dx, s.dx, 32);
    EXPECT_TENSOR(r, dgain, s.dgain, r->type == DT_F32 ? 32 : 1000);
    EXPECT_TENSOR(r, dbias, s.dbias, r->type == DT_F32 ? 32 : 1000);
    EXPECT_OK(PRIM(r, batch_norm_grad, &x, &mean, &variance, &gain, &dy, 1e-3, batch, NULL, NULL, NULL));
}

static void check_norm(struct rig *r)
{
    for (size_t s = 0; s < 4; s++)
        for (int batch = 0; batch < 2; batch++) check_norm_size(r, sizes[s][0], sizes[s][1], batch);
}
TEST(batch_norm_and_its_derivative) { rig_each(check_norm); }

static void check_leaky(struct rig *r)
{
    tensor x = rig_random(r, -1, 1, DIMS(3, 20001)), y = rig_blank(r, DIMS(3, 20001));
    tensor dy = rig_random(r, -1, 1, DIMS(3, 20001)), dx = rig_random(r, -1, 1, DIMS(3, 20001));
    if (r->type == DT_F32) ((float *)x.data)[7] = 0;
    else ((double *)x.data)[7] = 0;
    double *in = rig_numbers(r, &x), *g = rig_numbers(r, &dy), *want = rig_numbers(r, &x), *d = rig_numbers(r, &dx);
    for (size_t i = 0; i < tensor_count(&x); i++) {
        want[i] = in[i] > 0 ? in[i] : 0.25 * in[i];
        d[i] += in[i] > 0 ? g[i] : 0.25 * g[i];
    }
    EXPECT_OK(PRIM(r, leaky_relu, &x, 0.25, &y));
    EXPECT_TENSOR(r, y, want, 0);
    EXPECT_OK(PRIM(r, leaky_relu_grad, &x, &dy, 0.25, &dx));
    EXPECT_TENSOR(r, dx, d, 1);
}
TEST(leaky_relu_bends_at_zero_and_has_the_slope_there) { rig_each(check_leaky); }

static void check_pool_size(struct rig *r, size_t n, size_t h, size_t w, size_t c)
{
    const size_t oh = h / 2, ow = w / 2;
    tensor x = rig_random(r, -1, 1, DIMS(n, h, w, c)), y = rig_blank(r, DIMS(n, oh, ow, c));
    tensor dy = rig_random(r, -1, 1, DIMS(n, oh, ow, c)), dx = rig_random(r, -1, 1, DIMS(n, h, w, c));
    double *in = rig_numbers(r, &x), *g = rig_numbers(r, &dy), *want = rig_numbers(r, &dy), *d = rig_numbers(r, &dx);
    for (size_t i = 0; i < tensor_count(&y); i++) {
        const size_t o = i % c, ox = i / c % ow, oy = i / c / ow % oh, picture = i / c / ow / oh;
        size_t best = ((picture * h + 2 * oy) * w + 2 * ox) * c + o;
        for (size_t k = 1, first = best; k < 4; k++) {
            const size_t at = first + (k / 2 * w + k % 2) * c;
            if (in[at] > in[best]) best = at;
        }
        want[i] = in[best];
        d[best] += g[i];
    }
    EXPECT_OK(PRIM(r, max_pool2, &x, &y));
    EXPECT_TENSOR(r, y, want, 0);
    EXPECT_OK(PRIM(r, max_pool2_grad, &x, &dy, &dx));
    EXPECT_TENSOR(r, dx, d, 1);
}

static void check_pool(struct rig *r)
{
    check_pool_size(r, 2, 5, 4, 3);
    check_pool_size(r, 1, 2, 3, 1);
    check_pool_size(r, 3, 21, 42, 17);
    tensor x = rig_given(r, NUMBERS(1, 2, 2, (double)NAN), DIMS(1, 2, 2, 1)), y = rig_blank(r, DIMS(1, 1, 1, 1));
    EXPECT_OK(PRIM(r, max_pool2, &x, &y));
    EXPECT_TENSOR(r, y, NUMBERS((double)NAN), 0);
}
TEST(max_pool2_takes_the_largest_and_drops_odd_ends) { rig_each(check_pool); }
