/* optimiser.c - steps against the recorded ones of torch; state, threads, faults. */
#include "train/optimiser.h"
#include "tests/heads/case.h"
#include "tests/ops/world.h"
#include "tests/test.h"

static const struct optimiser_settings nesterov = {
    .kind = OPTIMISER_SGD, .momentum = 0.9, .decay = 5e-4, .nesterov = true};
static const struct optimiser_settings adam = {.kind = OPTIMISER_ADAM, .beta1 = 0.5, .beta2 = 0.9, .epsilon = 1e-8};

static void put(tensor *x, const double *numbers)
{
    for (size_t i = 0; i < tensor_count(x); i++) {
        if (x->type == DT_F32) ((float *)x->data)[i] = (float)numbers[i];
        else ((double *)x->data)[i] = numbers[i];
    }
}

static struct optimiser_settings settings_of(const struct golden *g)
{
    const struct json *o = json_member(g->about, "options"), *betas = json_member(o, "betas");
    const struct json *ahead = json_member(o, "nesterov");
    struct optimiser_settings s = {.kind = betas ? OPTIMISER_ADAM : OPTIMISER_SGD,
                                   .momentum = golden_number(g, "momentum", 0),
                                   .dampening = golden_number(g, "dampening", 0),
                                   .decay = golden_number(g, "weight_decay", 0),
                                   .nesterov = ahead && ahead->boolean,
                                   .epsilon = golden_number(g, "eps", 0)};
    if (betas) s.beta1 = betas->first->real, s.beta2 = betas->first->next->real;
    return s;
}

enum { STEPS = 5, N = 7, MOST_STATES = 2 };
static const char *const adam_files[] = {"exp_avg.npy", "exp_avg_sq.npy", "params_after.npy", NULL};
static const char *const sgd_files[] = {"momentum_buffer.npy", "params_after.npy", NULL};

/* In double, far nearer than the case asks for: the same operations in the same order. */
static void expect_digits(const struct golden *g, const char *file, const double *seen)
{
    struct npy want = {0};
    if (golden_read(g, file, &want))
        for (size_t i = 0; i < STEPS * N; i++) EXPECT_NEAR(seen[i], ((double *)want.data)[i], 1e-14);
    npy_free(&want);
}

/* Plays the recorded gradients and compares values and state after every step. */
static void play(const struct golden *g, struct world *w, const double *start, const double *gradients)
{
    const struct optimiser_settings s = settings_of(g);
    const struct json *rates = json_member(json_member(g->about, "options"), "lr_per_step");
    const struct json *rate = rates ? rates->first : NULL;
    const char *const *files = s.kind == OPTIMISER_ADAM ? adam_files : sgd_files;
    double seen[MOST_STATES + 1][STEPS][N];
    struct params *p = params_new(w->dev);
    struct param *x = NULL;
    struct optimiser *o = NULL;
    REQUIRE(p && params_add(p, "x", g->type, DIMS(N), &x) == OK && optimiser_new(p, &s, &o) == OK);
    const size_t states = params_count(optimiser_state(o));
    put(&x->value, start);
    for (size_t t = 0; t < STEPS; t++, rate = rate ? rate->next : NULL) {
        put(&x->grad, gradients + t * N);
        EXPECT_OK(optimiser_step(o, rate ? rate->real : golden_number(g, "lr", 0)));
        for (size_t k = 0; k < states; k++) world_read(w, &params_at(optimiser_state(o), k)->value, seen[k][t]);
        world_read(w, &x->value, seen[states][t]);
    }
    EXPECT_INT(optimiser_steps(o), STEPS);
    for (size_t k = 0; k <= states; k++) {
        golden_expect(g, files[k], &seen[k][0][0], STEPS * N);
        if (g->type == DT_F64) expect_digits(g, files[k], &seen[k][0][0]);
    }
    golden_expect_only(g, files);
    optimiser_free(o);
    params_free(p);
}

static void check_steps(const struct golden *g)
{
    struct npy start = {0}, gradients = {0};
    struct world w;
    if (golden_read(g, "param.npy", &start) && golden_read(g, "gradients.npy", &gradients) &&
        world_open(&w, 1, g->type, TAPE_TRAINING)) {
        EXPECT_INT(gradients.count, STEPS * N);
        play(g, &w, start.data, gradients.data);
        world_close(&w);
    }
    npy_free(&start);
    npy_free(&gradients);
}

TEST(optimiser_sgd_takes_the_recorded_steps) { for_golden("sgd_", check_steps); }
TEST(optimiser_adam_takes_the_recorded_steps) { for_golden("adam", check_steps); }

TEST(optimiser_plain_sgd_goes_down_the_gradient_and_keeps_no_state)
{
    const struct optimiser_settings s = {.kind = OPTIMISER_SGD, .decay = 0.5};
    struct world w;
    struct param *x = NULL;
    struct optimiser *o = NULL;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    struct params *p = params_new(w.dev);
    REQUIRE(p && params_add(p, "x", DT_F64, DIMS(2), &x) == OK && optimiser_new(p, &s, &o) == OK);
    put(&x->value, NUMBERS(2, -4));
    put(&x->grad, NUMBERS(1, 1));
    EXPECT_OK(optimiser_step(o, 0.25));
    EXPECT_NUMBERS(&w, x->value, 1.5, -3.75);
    EXPECT_INT(params_count(optimiser_state(o)), 0);
    optimiser_free(o);
    params_free(p);
    world_close(&w);
}

TEST(optimiser_leaves_running_statistics_alone)
{
    struct world w;
    struct param *x = NULL, *mean = NULL;
    struct optimiser *o = NULL;
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_TRAINING));
    struct params *p = params_new(w.dev);
    REQUIRE(p && params_add(p, "mean", DT_F32, DIMS(1), &mean) == OK && params_add(p, "x", DT_F32, DIMS(1), &x) == OK);
    mean->trained = false;
    REQUIRE(optimiser_new(p, &adam, &o) == OK);
    put(&mean->value, NUMBERS(3));
    put(&mean->grad, NUMBERS(1));
    put(&x->grad, NUMBERS(1));
    EXPECT_OK(optimiser_step(o, 0.5));
    EXPECT_NUMBERS(&w, mean->value, 3);
    EXPECT_NUMBERS(&w, x->value, -0.5);
    EXPECT_INT(params_count(optimiser_state(o)), 2);
    EXPECT(params_find(optimiser_state(o), "m.x") && params_find(optimiser_state(o), "v.x"));
    EXPECT(!params_at(optimiser_state(o), 0)->trained);
    optimiser_free(o);
    params_free(p);
    world_close(&w);
}

enum { MANY = 70001 }; /* several pieces and a rest */

/* Three steps from the same numbers; the value's bytes go to `out`. With `resume`, the last two are taken by another
 * optimiser that was given the state and the number of steps of the first. */
static void three_steps(const struct optimiser_settings *s, size_t threads, bool resume, float *out)
{
    struct world w;
    struct param *x = NULL;
    struct optimiser *o = NULL, *again = NULL;
    struct random random = {.seed = 7};
    REQUIRE(world_open(&w, threads, DT_F32, TAPE_TRAINING));
    struct params *p = params_new(w.dev);
    REQUIRE(p && params_add(p, "x", DT_F32, DIMS(MANY), &x) == OK && optimiser_new(p, s, &o) == OK);
    for (size_t i = 0; i < MANY; i++) ((float *)x->value.data)[i] = (float)random_unit(&random);
    for (int t = 0; t < 3; t++) {
        for (size_t i = 0; i < MANY; i++) ((float *)x->grad.data)[i] = (float)random_unit(&random) - 0.5f;
        if (t == 1 && resume) {
            REQUIRE(optimiser_new(p, s, &again) == OK);
            for (size_t k = 0; k < params_count(optimiser_state(o)); k++) {
                struct param *from = params_at(optimiser_state(o), k);
                struct param *to = params_find(optimiser_state(again), from->name);
                REQUIRE(to);
                memcpy(to->value.data, from->value.data, tensor_bytes(&from->value));
            }
            optimiser_set_steps(again, optimiser_steps(o));
        }
        EXPECT_OK(optimiser_step(again ? again : o, 0.01));
    }
    memcpy(out, x->value.data, sizeof(float) * MANY);
    optimiser_free(again);
    optimiser_free(o);
    params_free(p);
    world_close(&w);
}

TEST(optimiser_steps_have_the_same_bits_with_any_number_of_threads_and_after_a_pause)
{
    static float one[MANY], other[MANY];
    const struct optimiser_settings *const kinds[] = {&nesterov, &adam};
    for (size_t k = 0; k < 2; k++) {
        three_steps(kinds[k], 1, false, one);
        for (size_t threads = 1; threads <= 3; threads++) {
            memset(other, 0, sizeof other);
            three_steps(kinds[k], threads, threads == 1, other);
            EXPECT(!memcmp(one, other, sizeof one));
        }
    }
}

TEST(optimiser_refuses_settings_that_make_no_sense)
{
    static const struct {
        struct optimiser_settings s;
        const char *sentence;
    } wrong[] = {{{.kind = OPTIMISER_SGD, .momentum = -1}, "momentum is -1, but must be 0 or more"},
                 {{.kind = OPTIMISER_SGD, .dampening = 2}, "dampening is 2, but must lie between 0 and 1"},
                 {{.kind = OPTIMISER_SGD, .nesterov = true},
                  "Nesterov's momentum needs a momentum above 0 and dampening 0, not 0 and 0"},
                 {{.kind = OPTIMISER_SGD, .decay = -0.5}, "decay is -0.5, but must be 0 or more"},
                 {{.kind = OPTIMISER_ADAM, .beta1 = 1}, "Adam's betas are 1 and 0, but must be at least 0 and below 1"},
                 {{.kind = OPTIMISER_ADAM, .epsilon = -1}, "Adam's epsilon is -1, but must be 0 or more"}};
    struct world w;
    struct optimiser *o = NULL;
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_TRAINING));
    struct params *p = params_new(w.dev);
    REQUIRE(p);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        EXPECT_STATUS(optimiser_new(p, &wrong[i].s, &o), ST_VALUE);
        EXPECT_TEXT(error_text(), wrong[i].sentence);
        EXPECT(o == NULL);
    }
    REQUIRE(optimiser_new(p, &adam, &o) == OK);
    EXPECT_STATUS(optimiser_step(o, (double)NAN), ST_VALUE);
    EXPECT_STATUS(optimiser_step(o, -1), ST_VALUE);
    EXPECT_TEXT(error_text(), "the learning rate is -1, but must be 0 or more");
    EXPECT_INT(optimiser_steps(o), 0);
    optimiser_free(o);
    params_free(p);
    world_close(&w);
}

TEST(optimiser_survives_every_failed_allocation_and_a_step_makes_none)
{
    struct world w;
    struct param *x;
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_TRAINING));
    struct params *p = params_new(w.dev);
    REQUIRE(p && params_add(p, "x", DT_F32, DIMS(3), &x) == OK && params_add(p, "y", DT_F32, DIMS(3), &x) == OK);
    const size_t live = alloc_live();
    for (size_t n = 1;; n++) {
        struct optimiser *o = NULL;
        alloc_fail_at(n);
        const status st = optimiser_new(p, &adam, &o);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        const size_t before = alloc_count();
        if (o) EXPECT_OK(optimiser_step(o, 0.1));
        EXPECT_INT(alloc_count(), before);
        optimiser_free(o);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
    }
    params_free(p);
    world_close(&w);
}
