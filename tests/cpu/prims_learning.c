/* prims_learning.c - tally, and steps on several parameters at once. */
#include "tests/cpu/prims_rig.h"
#include <math.h>

enum { ROWS = 700, WAY = 5 };

static struct tallied *blank_tally(struct rig *r)
{
    void *memory = NULL;
    EXPECT_OK(arena_take(r->memory, 1, sizeof(struct tallied), &memory));
    if (memory) *(struct tallied *)memory = (struct tallied){0};
    return memory;
}

static void check_tally(struct rig *r)
{
    tensor scores = rig_random(r, -1, 1, DIMS(ROWS, WAY)), labels = rig_ints(r, ROWS);
    tensor loss = rig_filled(r, 1.5, DIMS(1)), broken = rig_filled(r, (double)NAN, DIMS(1));
    struct tallied *t = blank_tally(r);
    double *x = rig_numbers(r, &scores);
    size_t right = 0;
    REQUIRE(t && x);
    for (int i = 0; i < ROWS; i++) {
        int best = 0;
        ((int32_t *)labels.data)[i] = i % WAY;
        for (int c = 1; c < WAY; c++)
            if (x[i * WAY + c] > x[i * WAY + best]) best = c;
        right += best == i % WAY;
    }
    EXPECT_OK(PRIM(r, tally, &scores, &labels, &loss, ROWS, 6, t));
    EXPECT_INT(t->right, right);
    EXPECT(t->loss == 1.5 * ROWS && t->broke == 0);
    EXPECT_OK(PRIM(r, tally, &scores, &labels, NULL, ROWS, 7, t));
    EXPECT_INT(t->right, 2 * right);
    EXPECT(t->loss == 1.5 * ROWS && t->broke == 0);
    EXPECT_OK(PRIM(r, tally, &scores, &labels, &broken, ROWS, 8, t));
    EXPECT_OK(PRIM(r, tally, &scores, &labels, &broken, ROWS, 9, t));
    EXPECT_INT(t->broke, 1 + 8);
}

TEST(prim_tally_counts_the_right_and_remembers_the_first_broken_step) { rig_each(check_tally); }

TEST(prim_tally_takes_the_first_of_equal_scores)
{
    struct tallied t = {0};
    float scores[] = {2, 2, 1, 1, 3, 3};
    int32_t label[] = {0, 1};
    tensor x, labels;
    pool *threads = NULL;
    struct device *dev = NULL;
    if (test_is_for_cpu()) return;
    EXPECT_OK(pool_new(1, &threads));
    EXPECT_OK(test_device_open(threads, NULL, &dev));
    EXPECT_OK(tensor_make(&x, DT_F32, DIMS(2, 3), scores));
    EXPECT_OK(tensor_make(&labels, DT_I32, DIMS(2), label));
    if (dev) EXPECT_OK(dev->prim[DT_F32].tally(dev, &x, &labels, NULL, 1, 0, &t));
    EXPECT_INT(t.right, 2);
    if (dev) dev->close(dev);
    pool_free(threads);
}

/* More parameters than a device takes at once, of different sizes: each as if it were alone. */
enum { MANY = 80 };

static void check_many(struct rig *r)
{
    const struct sgd_args a = {.rate = 0.1, .momentum = 0.9, .decay = 0.01, .nesterov = true};
    tensor grad[MANY], momentum[MANY], value[MANY];
    double *want[MANY];
    struct learned of[MANY];
    for (size_t i = 0; i < MANY; i++) {
        const size_t n = 1 + i * i * 7;
        grad[i] = rig_random(r, -1, 1, DIMS(n));
        momentum[i] = rig_random(r, -1, 1, DIMS(n));
        value[i] = rig_random(r, -1, 1, DIMS(n));
        const double *g = rig_numbers(r, &grad[i]), *m = rig_numbers(r, &momentum[i]), *v = rig_numbers(r, &value[i]);
        want[i] = rig_zeros(r, n);
        for (size_t k = 0; k < n; k++) {
            const double slope = g[k] + 0.01 * v[k], speed = 0.9 * m[k] + slope;
            want[i][k] = v[k] - 0.1 * (slope + 0.9 * speed);
        }
        of[i] = (struct learned){&grad[i], {&momentum[i], NULL}, &value[i]};
    }
    EXPECT_OK(PRIM(r, sgd_step, &a, MANY, of));
    for (size_t i = 0; i < MANY; i++) EXPECT_TENSOR(r, value[i], want[i], 8);
}

TEST(prim_sgd_step_changes_each_of_many_parameters) { rig_each(check_many); }
