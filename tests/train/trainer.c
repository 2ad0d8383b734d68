/* trainer.c - steps of training: they learn, do not depend on threads, allocate nothing, and say where they broke down. */
#include "train/trainer.h"
#include "tests/test.h"
#include "tests/train/rig.h"
#include <stdio.h>

TEST(training_makes_the_loss_fall)
{
    struct lessons l;
    struct taught now;
    double first = 0, last = 0;
    REQUIRE(lessons_open(&l, 2, "train.episodes=20 head.gamma=10"));
    for (int i = 0; i < 60; i++) {
        REQUIRE(lessons_step(&l, &now) == OK);
        EXPECT(now.asked == 12 && now.right <= 12);
        if (i < 10) first += now.loss;
        if (i >= 50) last += now.loss;
    }
    EXPECT(last < 0.8 * first);
    lessons_close(&l);
}

static void train_hash(size_t threads, const char *recipe, int steps, char hex[65])
{
    struct lessons l;
    struct taught now;
    REQUIRE(lessons_open(&l, threads, recipe));
    for (int i = 0; i < steps; i++) EXPECT_OK(lessons_step(&l, &now));
    params_hash(l.trainer->model.params, hex);
    lessons_close(&l);
}

TEST(training_does_not_depend_on_the_number_of_threads)
{
    char one[65] = "1", three[65] = "3", other[65] = "o";
    train_hash(1, "", 4, one);
    train_hash(3, "", 4, three);
    EXPECT_TEXT(three, one);
    train_hash(1, "train.seed=2", 4, other);
    EXPECT(strcmp(one, other) != 0);
}

/* The options change what is computed: both passes in one, statistics kept, another sampler. */
TEST(training_options_change_the_weights)
{
    static const char *const recipes[] = {"", "net.bn-joint=yes", "train.sampler=unrepeated", "train.optimiser=adam",
                                          "net.freeze-bn=yes"};
    enum { COUNT = sizeof recipes / sizeof *recipes };
    char hex[COUNT][65] = {{0}};
    for (int i = 0; i < COUNT; i++) train_hash(2, recipes[i], 4, hex[i]);
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < i; k++) EXPECT(strcmp(hex[i], hex[k]) != 0);
}

/* Support and query are normalised by their own statistics: after one step from 0 and 1, the running ones hold a share
 * of both passes (0.9 * 0.1 of the first), which one pass over all could not give. */
TEST(training_encodes_support_and_query_in_two_passes)
{
    struct lessons two, one;
    struct taught now;
    REQUIRE(lessons_open(&two, 1, ""));
    REQUIRE(lessons_open(&one, 1, "net.bn-joint=yes"));
    EXPECT_OK(lessons_step(&two, &now));
    EXPECT_OK(lessons_step(&one, &now));
    const struct param *a = params_find(two.trainer->model.params, "layer1.1.running_var");
    const struct param *b = params_find(one.trainer->model.params, "layer1.1.running_var");
    REQUIRE(a && b);
    const double x = (double)((float *)a->value.data)[0], y = (double)((float *)b->value.data)[0];
    /* with equal variances v: 0.81 + 0.19 v against 0.9 + 0.1 v */
    const double v = (y - 0.9) / 0.1;
    EXPECT_NEAR(x, 0.81 + 0.19 * v, 0.02 * (0.81 + 0.19 * v));
    lessons_close(&two);
    lessons_close(&one);
}

/* With one shot dsn would be proto with the temperature C. Its mirror images make it another loss. */
TEST(training_gives_dsn_the_mirror_images_as_second_shots)
{
    static const char *const recipes[] = {"head.name=dsn", "head.name=dsn net.bn-joint=yes",
                                          "head.name=proto head.temperature=8", "head.name=dsn train.shot=2"};
    struct taught now[4];
    for (int i = 0; i < 4; i++) {
        struct lessons l;
        REQUIRE(lessons_open(&l, 2, recipes[i]));
        EXPECT_OK(lessons_step(&l, &now[i]));
        EXPECT(isfinite(now[i].loss));
        lessons_close(&l);
    }
    EXPECT(fabs(now[0].loss - now[2].loss) > 1e-6 && fabs(now[0].loss - now[1].loss) > 1e-6);
}

TEST(training_refuses_heads_that_are_fitted)
{
    struct lessons l;
    struct trainer *none = NULL;
    REQUIRE(lessons_open(&l, 1, ""));
    l.settings.head.name = "baseline++";
    EXPECT_STATUS(trainer_new(l.w.dev, l.data, &l.settings, &none), ST_USAGE);
    EXPECT_TEXT(error_text(), "head.name is baseline++, which is fitted to each episode and has nothing to train");
    lessons_close(&l);
}

TEST(training_allocates_nothing_after_the_first_steps)
{
    struct lessons l;
    struct lesson lesson;
    struct taught now;
    REQUIRE(lessons_open(&l, 2, "train.episodes=40"));
    for (int i = 0; i < 3; i++) EXPECT_OK(lessons_step(&l, &now));
    const size_t before = alloc_count();
    for (int i = 0; i < 4; i++) { /* the pictures of the last step again: decoding them is the loader's matter */
        EXPECT_OK(course_next(l.trainer->course, &lesson));
        EXPECT_OK(trainer_step(l.trainer, &lesson, 3 + (uint64_t)i, l.pictures, &now));
    }
    EXPECT_INT(alloc_count() - before, 0);
    lessons_close(&l);
}

TEST(training_that_breaks_down_names_the_step_and_the_tensor)
{
    struct lessons l;
    struct taught now;
    status st = OK;
    int steps = 0;
    REQUIRE(lessons_open(&l, 1, "train.rate=1000 train.momentum=1000 train.epochs=100"));
    for (; steps < 60 && st == OK; steps++) st = lessons_step(&l, &now);
    EXPECT_STATUS(st, ST_NUMERIC);
    char begin[64];
    snprintf(begin, sizeof begin, "training broke down in step %d: the ", steps - 1);
    EXPECT(!strncmp(error_text(), begin, strlen(begin)) && strstr(error_text(), "'layer") != NULL);
    lessons_close(&l);
}

TEST(validation_comes_every_so_often_and_at_the_end)
{
    struct run_settings s;
    run_settings_default(&s);
    s.train.epochs = 11;
    s.validate.every = 4;
    s.validate.from = 5;
    for (uint64_t e = 0; e < 11; e++) EXPECT_INT(trainer_validates(&s, e), e == 7 || e == 10);
    s.validate.every = 0;
    EXPECT(!trainer_validates(&s, 10));
}
