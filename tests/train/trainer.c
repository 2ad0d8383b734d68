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

/* The options change what is computed: both passes in one, statistics kept, another sampler, cells. */
TEST(training_options_change_the_weights)
{
    static const char *const recipes[] = {"",
                                          "net.bn-joint=yes",
                                          "train.sampler=unrepeated",
                                          "train.optimiser=adam",
                                          "net.freeze-bn=yes",
                                          "net.extractor=grid-2",
                                          "net.extractor=grid-2,1"};
    enum { COUNT = sizeof recipes / sizeof *recipes };
    char hex[COUNT][65] = {{0}};
    for (int i = 0; i < COUNT; i++) train_hash(2, recipes[i], 4, hex[i]);
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < i; k++) EXPECT(strcmp(hex[i], hex[k]) != 0);
}

/* At 32 pixels the map is 2 x 2; the trainer and the classes of pre-training are made for what the extractor takes. */
TEST(training_takes_the_vectors_of_its_extractor)
{
    static const char *const recipes[] = {"", " net.extractor=pyramid-2", " net.extractor=pyramid-2,1",
                                          " net.extractor=grid-2,1"};
    static const size_t locations[] = {4, 4, 5, 5};
    char hex[4][65] = {{0}};
    for (int i = 0; i < 4; i++) {
        char recipe[200];
        struct lessons l;
        snprintf(recipe, sizeof recipe, "data.side=32%s", recipes[i]);
        train_hash(2, recipe, 2, hex[i]);
        snprintf(recipe, sizeof recipe, "data.side=32 train.stage=pretrain head.name=frn%s", recipes[i]);
        REQUIRE(lessons_open(&l, 1, recipe));
        EXPECT_INT(params_find(l.trainer->model.params, "pre.cat")->value.dim[1], locations[i]);
        lessons_close(&l);
    }
    EXPECT_TEXT(hex[1], hex[0]); /* averages over single locations are the map */
    EXPECT(strcmp(hex[2], hex[0]) && strcmp(hex[3], hex[0]) && strcmp(hex[3], hex[2]));
}

/* Support and query are normalised by their own statistics: after one step from 0 and 1, the running ones hold a share
 * of both passes (0.9 * 0.1 of the first), which one pass over all could not give. */
TEST(training_normalises_support_and_query_each_by_their_own_statistics)
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

/* The steps after it have been written down already; still the first is named, and read back only when asked. */
TEST(training_with_a_tally_names_the_first_step_that_broke_down)
{
    struct lessons l, told;
    struct taught now;
    struct tallied sum = {0};
    status st = OK;
    int steps = 0;
    const char *recipe = "train.rate=1000 train.momentum=1000 train.epochs=100";
    REQUIRE(lessons_open(&told, 1, recipe));
    for (; steps < 60 && st == OK; steps++) st = lessons_step(&told, &now);
    lessons_close(&told);
    REQUIRE(lessons_open(&l, 1, recipe));
    EXPECT_OK(trainer_tally_begin(l.trainer, &sum));
    for (int i = 0; i < steps - 1; i++) EXPECT_OK(lessons_step(&l, &now));
    EXPECT_OK(trainer_tally_read(l.trainer, &sum));
    EXPECT(sum.loss > 0 && sum.broke == 0);
    for (int i = 0; i < 3; i++) EXPECT_OK(lessons_step(&l, &now));
    EXPECT_STATUS(trainer_tally_read(l.trainer, &sum), ST_NUMERIC);
    EXPECT_INT(sum.broke, (uint64_t)steps);
    EXPECT(strstr(error_text(), "'layer") != NULL);
    lessons_close(&l);
}

static size_t waits;
static status (*real_download)(struct device *d, void *to_host, const void *from, size_t bytes);
static status (*real_sync)(struct device *d);

static status counted_download(struct device *d, void *to_host, const void *from, size_t bytes)
{
    waits++;
    return real_download(d, to_host, from, bytes);
}

static status counted_sync(struct device *d)
{
    waits++;
    return real_sync(d);
}

static void count_waits(const char *recipe)
{
    struct lessons l;
    struct taught now;
    const struct tallied zero = {0};
    REQUIRE(lessons_open(&l, 1, recipe));
    struct device *d = l.w.dev;
    real_download = d->download;
    real_sync = d->sync;
    d->download = counted_download;
    d->sync = counted_sync;
    d->on_host = false;
    EXPECT_OK(trainer_tally_begin(l.trainer, &zero));
    waits = 0;
    for (int i = 0; i < 4; i++) EXPECT_OK(lessons_step(&l, &now));
    if (waits) test_failed(__FILE__, __LINE__, "%s: %zu waits in 4 steps", recipe, waits);
    lessons_close(&l);
}

TEST(training_with_a_tally_waits_for_nothing_inside_a_step)
{
    static const char *const recipes[] = {"head.name=mcl",
                                          "head.name=dn4",
                                          "head.name=frn",
                                          "head.name=proto",
                                          "head.name=r2d2",
                                          "train.optimiser=adam train.rate=0.001",
                                          "train.stage=pretrain head.name=frn train.batch=7"};
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) count_waits(recipes[i]);
}

TEST(training_from_a_stock_allocates_nothing_after_the_first_steps)
{
    struct lessons l;
    struct lesson lesson;
    struct taught now;
    struct stock *stock = NULL;
    const struct tallied zero = {0};
    struct tallied sum;
    size_t before = 0;
    REQUIRE(lessons_open(&l, 2, "train.episodes=20 data.transform=jitter"));
    const struct stock_options o = {.transform = &l.trainer->transform, .random = true, .threads = l.w.threads};
    EXPECT_OK(stock_new(l.data, l.w.dev, &o, &stock));
    REQUIRE(stock && trainer_take_stock(l.trainer, stock) == OK && trainer_tally_begin(l.trainer, &zero) == OK);
    for (uint64_t i = 0; i < 10; i++) {
        if (i == 3) before = alloc_count();
        EXPECT_OK(course_next(l.trainer->course, &lesson));
        EXPECT_OK(trainer_step(l.trainer, &lesson, i, NULL, &now));
    }
    EXPECT_OK(trainer_tally_read(l.trainer, &sum));
    EXPECT_INT(alloc_count(), before);
    EXPECT(sum.loss > 0 && now.asked > 0 && now.loss == 0);
    stock_free(stock);
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
