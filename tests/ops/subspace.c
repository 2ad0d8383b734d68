/* subspace.c - bases of classes whose directions are equally strong, and features of any size. */
#include "tests/ops/world.h"
#include "tests/test.h"
#include <stdio.h>

enum { ROWS = 3, C = 4 };
static const size_t first[] = {0, ROWS};

/* Orthogonal rows of equal length, turned so that nothing is exact. */
static void turned(double size, double *x)
{
    const double a = 0.3, b = 0.7;
    const double rows[ROWS][C] = {{cos(a), sin(a), 0, 0},
                                  {-sin(a) * cos(b), cos(a) * cos(b), sin(b), 0},
                                  {sin(a) * sin(b), -cos(a) * sin(b), cos(b), 0}};
    for (int i = 0; i < ROWS * C; i++) x[i] = size * rows[i / C][i % C];
}

static void gradient(struct world *w, const double *x, const double *dy, double *dx)
{
    tape_reset(w->t, TAPE_TRAINING);
    var *in = world_leaf(w, DIMS(ROWS, C), x), *basis = op_subspace(w->t, in, first, 1);
    REQUIRE(basis);
    EXPECT_DIMS(basis->value, 1, ROWS - 1, C);
    var *projector = op_matmul(w->t, basis, true, basis, false);
    EXPECT_OK(world_back(w, projector, dy));
    REQUIRE(world_read(w, &in->grad, dx));
}

/* Where the span jumps, what is kept has no derivative towards what is not; the rest is bounded, whatever the size of features. */
TEST(equally_strong_directions_have_a_bounded_gradient)
{
    struct world w;
    double dy[C * C];
    for (int i = 0; i < C * C; i++) dy[i] = (i * 5 % 7 - 3) / 2.0;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    for (int k = -6; k <= 6; k += 3) {
        double x[ROWS * C], dx[ROWS * C], most = 0;
        const double size = pow(10, k);
        turned(size, x);
        gradient(&w, x, dy, dx);
        for (int i = 0; i < ROWS * C; i++) most = fmax(most, fabs(dx[i]) * size);
        if (!(most > 0.01 && most < 100))
            test_failed(__FILE__, __LINE__, "size %g: a gradient of %g", size, most / size);
    }
    world_close(&w);
}

/* Directions that are not equally strong do have one, and it shrinks as the features grow. */
TEST(gradients_of_a_basis_scale_with_the_features)
{
    struct world w;
    double dy[C * C], x[ROWS * C], one[ROWS * C], other[ROWS * C];
    struct random r = test_random();
    for (int i = 0; i < C * C; i++) dy[i] = random_normal(&r);
    for (int i = 0; i < ROWS * C; i++) x[i] = random_normal(&r);
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    gradient(&w, x, dy, one);
    for (int k = -6; k <= 6; k += 3) {
        double grown[ROWS * C];
        for (int i = 0; i < ROWS * C; i++) grown[i] = x[i] * pow(10, k);
        gradient(&w, grown, dy, other);
        for (int i = 0; i < ROWS * C; i++) EXPECT_NEAR(other[i] * pow(10, k), one[i], 1e-8 * (1 + fabs(one[i])));
    }
    world_close(&w);
}

/* Rows along the axes: 3, 2 and 1 long, then 5 long and twice; a class of n rows keeps the strongest n - 1 directions, at least one. */
TEST(a_basis_has_the_strongest_directions_of_each_class)
{
    static const size_t classes[] = {0, 3, 5, 6};
    static const double x[6 * C] = {0, 2, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 5, 4, 0, 0, 0, 0, 0, -7, 0};
    static const double wanted[3][2][C] = {
        {{1, 0, 0, 0}, {0, 1, 0, 0}}, {{0, 0, 0, 1}, {0, 0, 0, 0}}, {{0, 0, 1, 0}, {0, 0, 0, 0}}};
    struct world w;
    double basis[3 * 2 * C];
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    const var *y = op_subspace(w.t, world_constant(&w, DIMS(6, C), x), classes, 3);
    REQUIRE(y && world_read(&w, &y->value, basis));
    EXPECT_DIMS(y->value, 3, 2, C);
    for (int i = 0; i < 3 * 2 * C; i++) EXPECT_NEAR(fabs(basis[i]), wanted[i / (2 * C)][i / C % 2][i % C], 1e-14);
    world_close(&w);
}

/* A direction is there when it is stronger than what rounding leaves: of double far more is left out than of single precision. */
VALUE_TEST(directions_that_are_rounding_are_left_out)
{
    const double faint = 1e-8;
    const double x[ROWS * C] = {1, 0, 0, 0, 0, faint, 0, 0};
    double basis[2 * C];
    const var *y = op_subspace(w->t, world_constant(w, DIMS(ROWS, C), x), first, 1);
    REQUIRE(y && world_read(w, &y->value, basis));
    EXPECT_NEAR(fabs(basis[0]), 1, 1e-6);
    EXPECT_NEAR(fabs(basis[C + 1]), w->type == DT_F64 ? 1 : 0, 1e-6);
}

TEST(rows_that_are_not_finite_are_named)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    for (size_t i = 0; i < ROWS * C; i++) {
        double x[ROWS * C] = {1, 2, 3, 4, 5};
        char sentence[64];
        x[i] = i % 2 ? (double)NAN : (double)INFINITY;
        snprintf(sentence, sizeof sentence, "op subspace: row %zu is not finite", i / C);
        tape_reset(w.t, TAPE_INFERENCE);
        EXPECT(!op_subspace(w.t, world_constant(&w, DIMS(ROWS, C), x), first, 1));
        EXPECT_STATUS(tape_status(w.t), ST_NUMERIC);
        EXPECT_TEXT(error_text(), sentence);
    }
    world_close(&w);
}
