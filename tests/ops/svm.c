/* svm.c - every iterate of the machine's solver, its optimum and its derivative, beside a plain reading of the method: the predictor
 * and corrector of Mehrotra as qpth has them, each step one large system of all unknowns, by elimination. */
#include "tests/ops/world.h"
#include "tests/test.h"
#include <string.h>

enum { ROWS = 5, WAY = 3, N = ROWS * WAY, C = 4, X = 0, S = N, Z = 2 * N, Y = 3 * N, ALL = 3 * N + ROWS };
static const size_t first[WAY + 1] = {0, 2, 3, 5};

struct plain {
    double g[N][N], linear[N], bound[N]; /* class by class */
    double now[ALL], best[ALL], least;   /* x, s, z, y */
};

static void plain_new(struct plain *v, const double *x, double c, double ridge)
{
    *v = (struct plain){.least = INFINITY};
    for (int m = 0; m < WAY; m++)
        for (int i = 0; i < ROWS; i++) {
            const bool own = (size_t)i >= first[m] && (size_t)i < first[m + 1];
            v->linear[m * ROWS + i] = own ? -1 : 0;
            v->bound[m * ROWS + i] = own ? c : 0;
            for (int j = 0; j < ROWS; j++)
                for (int k = 0; k < C; k++) v->g[m * ROWS + i][m * ROWS + j] += x[i * C + k] * x[j * C + k];
            v->g[m * ROWS + i][m * ROWS + i] += ridge;
        }
}

/* a x = b by elimination with the largest pivot of a column; b becomes x */
static void eliminate(double a[ALL][ALL], double *b, int n)
{
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k; i < n; i++)
            if (fabs(a[i][k]) > fabs(a[pivot][k])) pivot = i;
        for (int j = 0; j <= n; j++) {
            double *one = j < n ? &a[k][j] : &b[k], *other = j < n ? &a[pivot][j] : &b[pivot], held = *one;
            *one = *other;
            *other = held;
        }
        for (int i = k + 1; i < n; i++) {
            const double f = a[i][k] / a[k][k];
            for (int j = k; j < n; j++) a[i][j] -= f * a[k][j];
            b[i] -= f * b[k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) b[i] -= a[i][j] * b[j];
        b[i] /= a[i][i];
    }
}

/* G dx + dz + A'dy = -rx; d ds + dz = -rs; dx + ds = -rz; A dx = -ry */
static void plain_step(const struct plain *v, const double *d, const double *r, double *out)
{
    static double a[ALL][ALL];
    memset(a, 0, sizeof a);
    for (int i = 0; i < N; i++) {
        memcpy(a[X + i], v->g[i], sizeof v->g[i]);
        a[X + i][Z + i] = a[X + i][Y + i % ROWS] = 1;
        a[S + i][S + i] = d[i];
        a[S + i][Z + i] = 1;
        a[Z + i][X + i] = a[Z + i][S + i] = 1;
        a[Y + i % ROWS][X + i] = 1;
    }
    for (int i = 0; i < ALL; i++) out[i] = -r[i];
    eliminate(a, out, ALL);
}

static void plain_lift(double *x)
{
    double low = INFINITY;
    for (int i = 0; i < N; i++) low = fmin(low, x[i]);
    for (int i = 0; i < N && low < 0; i++) x[i] += 1 - low;
}

static void plain_begin(struct plain *v)
{
    double r[ALL] = {0}, d[N];
    for (int i = 0; i < N; i++) {
        r[X + i] = v->linear[i];
        r[Z + i] = -v->bound[i];
        d[i] = 1;
    }
    plain_step(v, d, r, v->now);
    plain_lift(v->now + S);
    plain_lift(v->now + Z);
}

static double norm(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* r: the residuals of the present point, with rs = z. Keeps the best point. */
static double plain_judge(struct plain *v, double *r)
{
    double gap = 0;
    memset(r, 0, ALL * sizeof *r);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) r[X + i] += v->g[i][j] * v->now[X + j];
        r[X + i] += v->linear[i] + v->now[Z + i] + v->now[Y + i % ROWS];
        r[S + i] = v->now[Z + i];
        r[Z + i] = v->now[X + i] + v->now[S + i] - v->bound[i];
        r[Y + i % ROWS] += v->now[X + i];
        gap += v->now[S + i] * v->now[Z + i];
    }
    const double size = norm(r + X, N) + norm(r + Z, N) + norm(r + Y, ROWS) + fabs(gap);
    if (size < v->least) memcpy(v->best, v->now, sizeof v->now);
    v->least = fmin(v->least, size);
    return gap;
}

static double plain_reach(const struct plain *v, const double *by, double share)
{
    double most = INFINITY;
    for (int i = S; i < Y; i++)
        if (by[i] < 0) most = fmin(most, -v->now[i] / by[i]);
    return fmin(1, share * most);
}

static void plain_advance(struct plain *v, const double *r, double gap)
{
    double d[N], affine[ALL], corrector[ALL], rest[ALL] = {0}, left = 0;
    for (int i = 0; i < N; i++) d[i] = v->now[Z + i] / v->now[S + i];
    plain_step(v, d, r, affine);
    const double reach = plain_reach(v, affine, 1);
    for (int i = 0; i < N; i++)
        left += (v->now[S + i] + reach * affine[S + i]) * (v->now[Z + i] + reach * affine[Z + i]);
    for (int i = 0; i < N; i++)
        rest[S + i] = (affine[S + i] * affine[Z + i] - gap / N * pow(left / gap, 3)) / v->now[S + i];
    plain_step(v, d, rest, corrector);
    for (int i = 0; i < ALL; i++) affine[i] += corrector[i];
    const double step = plain_reach(v, affine, 0.999);
    for (int i = 0; i < ALL; i++) v->now[i] += step * affine[i];
}

/* The best of the start and of the points behind it, `count` in all. */
static void plain_solve(struct plain *v, int count)
{
    double r[ALL];
    plain_begin(v);
    for (int i = 0; i < count; i++) {
        const double gap = plain_judge(v, r);
        if (v->least < 1e-11) return;
        if (i + 1 < count) plain_advance(v, r, gap);
    }
}

static void features(struct random *r, double size, double *x)
{
    for (int i = 0; i < ROWS * C; i++) x[i] = size * random_normal(r);
}

/* Numbers [rows, way] of the op beside those of the plain one. */
static void expect_point(const double *seen, const struct plain *v, double tolerance, const char *what, int number)
{
    for (int m = 0; m < WAY; m++)
        for (int i = 0; i < ROWS; i++) {
            const double wanted = v->best[m * ROWS + i];
            if (!(fabs(seen[i * WAY + m] - wanted) <= tolerance))
                test_failed(__FILE__, __LINE__, "%s %d: shot %d, class %d has %.15g, wanted %.15g", what, number, i, m,
                            seen[i * WAY + m], wanted);
        }
}

TEST(each_iterate_of_the_machine_is_that_of_the_method)
{
    static struct plain v;
    struct random r = test_random();
    struct world w;
    double x[ROWS * C], seen[N], before[N] = {0};
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    for (int trial = 0; trial < 3; trial++) {
        const double c = trial == 1 ? 2 : 0.1, ridge = trial == 2 ? 0.25 : 1;
        features(&r, 0.3 + trial, x);
        for (int count = 1; count <= 7; count++) {
            tape_reset(w.t, TAPE_INFERENCE);
            const var *y = op_svm(w.t, world_constant(&w, DIMS(ROWS, C), x), first, WAY,
                                  &(struct svm){.c = c, .ridge = ridge, .iterations = count});
            REQUIRE(y && world_read(&w, &y->value, seen));
            EXPECT_DIMS(y->value, ROWS, WAY);
            plain_new(&v, x, c, ridge);
            plain_solve(&v, count);
            expect_point(seen, &v, 1e-9, "iterations", count);
            EXPECT(memcmp(seen, before, sizeof seen) != 0); /* each gets further */
            memcpy(before, seen, sizeof seen);
        }
    }
    world_close(&w);
}

/* At the bound or not, for small and large c. */
TEST(the_machine_ends_at_the_optimum)
{
    static struct plain v;
    struct random r = test_random();
    struct world w;
    double x[ROWS * C], seen[N];
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    for (int trial = 0; trial < 12; trial++) {
        const double c = pow(10, trial % 4 - 2), ridge = trial % 2 ? 1 : 0.1;
        features(&r, 0.1 + 0.4 * trial, x);
        tape_reset(w.t, TAPE_INFERENCE);
        const var *y = op_svm(w.t, world_constant(&w, DIMS(ROWS, C), x), first, WAY,
                              &(struct svm){.c = c, .ridge = ridge});
        REQUIRE(y && world_read(&w, &y->value, seen));
        plain_new(&v, x, c, ridge);
        plain_solve(&v, 40);
        expect_point(seen, &v, 2e-9, "trial", trial);
    }
    world_close(&w);
}

/* Behind few iterations: weights z / s, at least 1e-8 each, instead of bounds that hold or do not. */
static void plain_gradient(const struct plain *v, const double *x, const double *given, double *dx)
{
    static double a[ALL][ALL];
    double d[N + ROWS] = {0};
    memset(a, 0, sizeof a);
    for (int i = 0; i < N; i++) {
        memcpy(a[i], v->g[i], sizeof v->g[i]);
        a[i][i] += fmax(v->best[Z + i], 1e-8) / fmax(v->best[S + i], 1e-8);
        a[i][N + i % ROWS] = a[N + i % ROWS][i] = 1;
        d[i] = -given[i % ROWS * WAY + i / ROWS];
    }
    eliminate(a, d, N + ROWS);
    memset(dx, 0, ROWS * C * sizeof *dx);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < ROWS; j++) {
            const int k = i / ROWS * ROWS + j; /* of the same class */
            for (int l = 0; l < C; l++) dx[i % ROWS * C + l] += (d[i] * v->best[k] + v->best[i] * d[k]) * x[j * C + l];
        }
}

TEST(the_derivative_of_an_unfinished_machine_is_the_smooth_one)
{
    static struct plain v;
    struct random r = test_random();
    struct world w;
    double x[ROWS * C], given[N], seen[ROWS * C], wanted[ROWS * C];
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    for (int count = 1; count < 5; count++) {
        features(&r, 0.7, x);
        for (int i = 0; i < N; i++) given[i] = random_normal(&r);
        tape_reset(w.t, TAPE_TRAINING);
        var *in = world_leaf(&w, DIMS(ROWS, C), x);
        var *y = op_svm(w.t, in, first, WAY, &(struct svm){.c = 0.2, .ridge = 1, .iterations = count});
        REQUIRE(y);
        EXPECT_OK(world_back(&w, y, given));
        REQUIRE(world_read(&w, &in->grad, seen));
        plain_new(&v, x, 0.2, 1);
        plain_solve(&v, count);
        plain_gradient(&v, x, given, wanted);
        for (int i = 0; i < ROWS * C; i++) EXPECT_NEAR(seen[i], wanted[i], 1e-8);
    }
    world_close(&w);
}

/* What holds at the optimum, to the last digits: numbers are at their bounds exactly or free, those of a shot sum to 0, and along
 * the free ones of a shot nothing is to be won. */
TEST(the_optimum_of_the_machine_is_exact)
{
    static struct plain v;
    struct random r = test_random();
    struct world w;
    double x[ROWS * C], seen[N];
    size_t held = 0;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    for (int trial = 0; trial < 12; trial++) {
        const double c = pow(10, trial % 4 - 2), ridge = trial % 2 ? 1 : 0.1;
        features(&r, 0.1 + 0.4 * trial, x);
        tape_reset(w.t, TAPE_INFERENCE);
        const var *y = op_svm(w.t, world_constant(&w, DIMS(ROWS, C), x), first, WAY,
                              &(struct svm){.c = c, .ridge = ridge});
        REQUIRE(y && world_read(&w, &y->value, seen));
        plain_new(&v, x, c, ridge);
        for (int i = 0; i < ROWS; i++) {
            double sum = 0, slope = NAN, size = 1;
            for (int m = 0; m < WAY; m++) {
                const int k = m * ROWS + i;
                double g = v.linear[k];
                for (int j = 0; j < N; j++) g += v.g[k][j] * seen[j % ROWS * WAY + j / ROWS];
                for (int j = 0; j < N; j++) size = fmax(size, fabs(v.g[k][j]) * c);
                sum += seen[i * WAY + m];
                held += seen[i * WAY + m] == v.bound[k];
                EXPECT(seen[i * WAY + m] <= v.bound[k]);
                if (seen[i * WAY + m] == v.bound[k]) continue;
                if (!isnan(slope)) EXPECT_NEAR(g, slope, 1e-13 * size);
                slope = g;
            }
            EXPECT_NEAR(sum, 0, 1e-14 * (1 + c));
        }
    }
    EXPECT(held > 20 && held < 12 * N - 20);
    world_close(&w);
}
