/* fit_draw.c - where a fit starts: how its numbers are spread, what they depend on, and that orders are orders; and that a
 * batch of all shots is one step, whatever larger number it is given as. */
#include "heads/fit.h"
#include "tests/ops/world.h"
#include "tests/test.h"

enum { WAY = 3, SHOTS = 5, C = 400, EPOCHS = 600 };
static const int32_t labels[SHOTS] = {2, 0, 1, 0, 2};

static struct fit_weights drawn(struct world *w, const double *x, const int32_t *of, int64_t seed)
{
    struct fit_weights out = {0};
    const struct fit_settings s = {.seed = seed, .epochs = EPOCHS};
    const struct fit_task k = {.shots = SHOTS, .way = WAY, .channels = C, .x = x, .labels = of};
    EXPECT_OK(fit_draw(w->t, &s, &k, &out));
    return out;
}

/* A world, and features x [SHOTS, C]. */
static bool open_fit(struct world *w, double *x)
{
    struct random r = test_random();
    for (size_t i = 0; i < (size_t)SHOTS * C; i++) x[i] = random_normal(&r);
    return world_open(w, 1, DT_F64, TAPE_INFERENCE);
}

static struct fit_task task_of(enum fit_kind kind, const double *x)
{
    return (struct fit_task){.kind = kind, .shots = SHOTS, .way = WAY, .channels = C, .x = x, .labels = labels};
}

/* Uniform within 1 / sqrt(400) = 0.05, whose deviation is 0.05 / sqrt(3). */
TEST(start_weights_fill_their_range_evenly)
{
    static double x[SHOTS * C];
    struct world w;
    REQUIRE(open_fit(&w, x));
    double bias = 0;
    for (int64_t seed = 0; seed < 40; seed++) {
        const struct fit_weights f = drawn(&w, x, labels, seed);
        for (size_t c = 0; c < WAY; c++) {
            const double *row = f.weight + c * C;
            double mean = 0, square = 0, most = 0;
            for (size_t i = 0; i < C; i++) {
                EXPECT(row[i] != 0); /* each is drawn */
                mean += row[i] / C;
                square += row[i] * row[i];
                most = fmax(most, fabs(row[i]));
            }
            EXPECT_NEAR(f.gain[c], sqrt(square), 1e-15);
            EXPECT_NEAR(mean, 0, 5 * 0.0289 / 20);
            EXPECT_NEAR(sqrt(square / C), 0.05 / sqrt(3), 0.0289 / 5);
            EXPECT(most <= 0.05 && most > 0.048);
            EXPECT(fabs(f.bias[c]) <= 0.05 && f.bias[c] != row[0]);
            bias += f.bias[c] * f.bias[c] / (40 * WAY);
        }
        EXPECT(memcmp(f.weight, f.weight + C, C * sizeof(double)) != 0);
        tape_reset(w.t, TAPE_INFERENCE);
    }
    EXPECT_NEAR(sqrt(bias), 0.05 / sqrt(3), 0.006);
    world_close(&w);
}

/* Each epoch sees each shot once, and each shot as often in each place. */
TEST(orders_of_a_fit_are_shuffles)
{
    static double x[SHOTS * C];
    size_t seen[SHOTS][SHOTS] = {{0}};
    struct world w;
    REQUIRE(open_fit(&w, x));
    const struct fit_weights f = drawn(&w, x, labels, 3);
    for (size_t e = 0; e < EPOCHS; e++) {
        unsigned met = 0;
        for (size_t i = 0; i < SHOTS; i++) {
            const uint32_t shot = f.order[e * SHOTS + i];
            REQUIRE(shot < SHOTS);
            met |= 1u << shot;
            seen[i][shot]++;
        }
        EXPECT_INT(met, (1 << SHOTS) - 1);
    }
    for (size_t i = 0; i < SHOTS; i++)
        for (size_t k = 0; k < SHOTS; k++) EXPECT_NEAR(seen[i][k], EPOCHS / SHOTS, 50); /* 5 deviations */
    world_close(&w);
}

static bool alike(const struct fit_weights *a, const struct fit_weights *b)
{
    return !memcmp(a->weight, b->weight, WAY * C * sizeof(double)) && !memcmp(a->bias, b->bias, WAY * sizeof(double));
}

/* Shots that are alike keep the order in which they came, and so do the classes that they stand for. */
TEST(draws_keep_equal_shots_in_their_order)
{
    static double x[SHOTS * C];
    static const int32_t turned[SHOTS] = {1, 0, 1, 0, 1};
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    for (size_t i = 0; i < (size_t)SHOTS * C; i++) x[i] = (double)(i % C % 5);
    const struct fit_weights a = drawn(&w, x, turned, 3);
    for (size_t i = 0; i < C; i++) x[i] -= 1; /* shot 0 is the first now, as it was by its place */
    const struct fit_weights b = drawn(&w, x, turned, 3);
    EXPECT(alike(&a, &b) && !memcmp(a.order, b.order, EPOCHS * SHOTS * sizeof *a.order));
    for (size_t i = 0; i < C; i++) x[i] += 2; /* and the last: the classes change their ranks */
    const struct fit_weights c = drawn(&w, x, turned, 3);
    EXPECT(!memcmp(a.weight, c.weight + C, C * sizeof(double)) && !memcmp(a.weight + C, c.weight, C * sizeof(double)));
    world_close(&w);
}

/* Rounding must not matter: only the ranks of the shots and the channel in which each is largest do. */
TEST(draws_depend_on_ranks_and_largest_channels)
{
    static double x[SHOTS * C], y[SHOTS * C];
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    for (size_t i = 0; i < (size_t)SHOTS * C; i++) x[i] = i % C ? 0.001 * (double)(i % 7) : (double)(i / C % 3) / 8;
    for (size_t i = 0; i < SHOTS; i++) x[i * C + 3 * i] = 1; /* shot 0: channel 0 */
    memcpy(y, x, sizeof x);
    const struct fit_weights one = drawn(&w, x, labels, 3);
    y[2 * C + 9] += 0.4;
    y[4 * C + C - 1] -= 0.2;
    const struct fit_weights same = drawn(&w, y, labels, 3);
    EXPECT(alike(&one, &same) && !memcmp(one.order, same.order, EPOCHS * SHOTS * sizeof *one.order));
    y[2 * C + 9] = 1.1; /* the largest, where channel 6 was */
    const struct fit_weights other = drawn(&w, y, labels, 3), seeded = drawn(&w, x, labels, 4);
    EXPECT(!alike(&one, &other) && !alike(&one, &seeded));
    EXPECT(memcmp(one.order, seeded.order, EPOCHS * SHOTS * sizeof *one.order) != 0);
    memcpy(y, x, sizeof x);
    for (size_t i = 1; i < SHOTS; i++) y[i * C + 3 * i] = 0; /* now the last channel decides for all but one */
    for (size_t i = 1; i < SHOTS; i++) y[i * C + C - 1] = 2;
    const struct fit_weights last = drawn(&w, y, labels, 3);
    EXPECT(!alike(&one, &last));
    world_close(&w);
}

/* Shots that came in another order, of classes with other names: each keeps what it had. */
TEST(draws_follow_the_shots_and_not_their_names)
{
    static const size_t place[SHOTS] = {3, 0, 4, 2, 1};
    static const int32_t named[WAY] = {1, 2, 0};
    static double x[SHOTS * C], y[SHOTS * C];
    int32_t moved[SHOTS];
    struct world w;
    REQUIRE(open_fit(&w, x));
    for (size_t i = 0; i < SHOTS; i++) x[i * C] = i < 3 ? 0.5 : 0.25; /* ranks are told by the second channel too */
    for (size_t i = 0; i < SHOTS; i++) {
        memcpy(y + place[i] * C, x + i * C, C * sizeof *x);
        moved[place[i]] = named[labels[i]];
    }
    const struct fit_weights a = drawn(&w, x, labels, 3), b = drawn(&w, y, moved, 3);
    for (int c = 0; c < WAY; c++) {
        EXPECT(!memcmp(a.weight + c * C, b.weight + named[c] * C, C * sizeof(double)));
        EXPECT(a.bias[c] == b.bias[named[c]] && a.gain[c] == b.gain[named[c]]);
    }
    for (size_t i = 0; i < EPOCHS * SHOTS; i++) EXPECT_INT(b.order[i], place[a.order[i]]);
    world_close(&w);
}

TEST(a_batch_of_all_shots_is_one_step_of_an_epoch)
{
    static double x[SHOTS * C], one[WAY * C];
    struct world w;
    REQUIRE(open_fit(&w, x));
    for (int64_t batch = SHOTS; batch < SHOTS + 3; batch++) {
        const struct fit_settings s = {
            .epochs = 4, .batch = batch, .rate = 0.1, .momentum = 0.9, .decay = 0.01, .scale = 2, .seed = 3};
        const struct fit_task k = task_of(FIT_COSINE, x);
        struct fit_weights f = {0};
        tape_reset(w.t, TAPE_INFERENCE);
        EXPECT_OK(fit_draw(w.t, &s, &k, &f));
        EXPECT_OK(fit_run(w.t, &s, &k, &f));
        if (batch == SHOTS) memcpy(one, f.weight, sizeof one);
        else EXPECT(!memcmp(one, f.weight, sizeof one));
    }
    world_close(&w);
}

/* A direction of length 0 has no gradient, and no score: it stays. */
TEST(a_direction_of_no_length_stays)
{
    static double x[SHOTS * C];
    struct world w;
    REQUIRE(open_fit(&w, x));
    const struct fit_settings s = {.epochs = 3, .batch = 2, .rate = 0.1, .scale = 2, .seed = 3};
    const struct fit_task k = task_of(FIT_COSINE, x);
    struct fit_weights f = {0};
    EXPECT_OK(fit_draw(w.t, &s, &k, &f));
    memset(f.weight + C, 0, C * sizeof *f.weight);
    const double before = f.weight[0];
    EXPECT_OK(fit_run(w.t, &s, &k, &f));
    for (size_t i = 0; i < C; i++) EXPECT_NEAR(f.weight[C + i], 0, 1e-15);
    EXPECT(f.weight[0] != before);
    world_close(&w);
}

TEST(a_fit_that_diverges_says_so)
{
    static double x[SHOTS * C];
    struct world w;
    REQUIRE(open_fit(&w, x));
    const struct fit_settings s = {.epochs = 30, .batch = 2, .rate = 1e200, .decay = 1e10, .seed = 3};
    const struct fit_task k = task_of(FIT_LINEAR, x);
    struct fit_weights f = {0};
    EXPECT_OK(fit_draw(w.t, &s, &k, &f));
    EXPECT_STATUS(fit_run(w.t, &s, &k, &f), ST_NUMERIC);
    EXPECT(strstr(error_text(), "the fit has diverged"));
    world_close(&w);
}
