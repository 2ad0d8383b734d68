/* angular.c - the additive angular margin: values by hand, and its gradient. */
#include "heads/angular.h"
#include "tests/heads/rig.h"
#include "tests/test.h"

TEST(the_true_class_is_turned_away_by_the_margin)
{
    struct world w;
    double seen[8];
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    var *cosines = world_leaf(&w, DIMS(4, 2), NUMBERS(cos(0.5), 0.1, 0.2, cos(1.2), -0.3, 0.4, 1, 0));
    const tensor *labels = op_labels(w.t, (int32_t[]){0, 1, 0, 0}, 4, 2);
    const var *logits = angular_logits(w.t, cosines, labels, 10, 0.2);
    REQUIRE(logits && world_read(&w, &logits->value, seen));
    const double wanted[] = {10 * cos(0.7), 1, 2, 10 * cos(1.4), -3, 4, 10 * cos(0.2), 0}; /* at -0.3 as it is */
    EXPECT_ALL_NEAR(seen, wanted, 8, 1e-6); /* the sine of a cosine of 1 is 1e-6 */
    world_close(&w);
}

static double loss_at(struct world *w, const double *x, double *gradient)
{
    double loss = NAN;
    tape_reset(w->t, TAPE_TRAINING);
    var *cosines = world_leaf(w, DIMS(2, 3), x);
    const tensor *labels = op_labels(w->t, (int32_t[]){2, 0}, 2, 3);
    var *l = op_cross_entropy(w->t, angular_logits(w->t, cosines, labels, 7, 0.3), labels);
    EXPECT_OK(tape_backward(w->t, l));
    EXPECT(world_read(w, &l->value, &loss));
    if (gradient) EXPECT(world_read(w, &cosines->grad, gradient));
    return loss;
}

TEST(the_margin_has_its_gradient)
{
    struct world w;
    const double at[] = {0.1, -0.4, 0.6, -0.2, 0.5, 0.9};
    double gradient[6];
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    loss_at(&w, at, gradient);
    for (size_t i = 0; i < 6; i++) {
        double up[6], down[6];
        memcpy(up, at, sizeof at);
        memcpy(down, at, sizeof at);
        up[i] += 1e-6;
        down[i] -= 1e-6;
        EXPECT_NEAR(gradient[i], (loss_at(&w, up, NULL) - loss_at(&w, down, NULL)) / 2e-6, 1e-8);
    }
    world_close(&w);
}
