/* repeated.c - shots that are there more than once: heads that average or search the shots of a class score as with one of each, however
 * often each class repeats its own. */
#include "tests/heads/rig.h"
#include "tests/heads/stage.h"
#include "tests/test.h"

enum { WAY = 3, C = 4, RS = 3, NQ = 4, RQ = 2 };

struct setting {
    const char *head, *name, *value;
    double tolerance;
};
static const struct setting settings[] = {
    {"proto", NULL, NULL, 1e-12},          {"meta-baseline", NULL, NULL, 1e-12},
    {"matching", NULL, NULL, 1e-12},       {"matching", "variant", "proto", 1e-12},
    {"relation", NULL, NULL, 1e-12},       {"dn4", NULL, NULL, 1e-12},
    {"dn4", "shots", "average", 1e-12},    {"mn4", NULL, NULL, 1e-12},
    {"mn4", "variant", "released", 1e-12}, {"mn4", "shots", "average", 1e-12},
    {"mn4", "norm", "1", 1e-12},           {"dmn4", NULL, NULL, 1e-12},
    {"dmn4", "norm", "1", 1e-12},          {"ctx", NULL, NULL, 1e-11},
    {"label-prop", NULL, NULL, 1e-11},     {"mcl", NULL, NULL, 1e-11},
    {"feat", "balance", "0", 1e-11},       {"frn", "epsilon", "0", 1e-10}};

/* The shots of `one`, a picture each class, as often as `times` says, the classes in turns. */
static void repeat(const struct play *one, const size_t *times, struct play *many, size_t *source)
{
    const size_t each = (size_t)C * RS;
    *many = *one;
    many->ns = 0;
    for (size_t round = 0; round < 3; round++)
        for (size_t i = 0; i < one->ns; i++) {
            if (times[one->support_labels[i]] <= round) continue;
            memcpy(many->support + many->ns * each, one->support + i * each, each * sizeof(double));
            many->support_labels[many->ns] = one->support_labels[i];
            source[many->ns++] = i;
        }
}

/* The gradients of copies add up to that of the picture. */
static void expect_gradients(const struct setting *how, const struct play *many, const size_t *source,
                             const struct outcome *seen, const struct outcome *wanted)
{
    const size_t each = (size_t)C * RS;
    double sum[WAY * C * RS] = {0};
    for (size_t i = 0; i < many->ns; i++)
        for (size_t k = 0; k < each; k++) sum[source[i] * each + k] += seen->d_support[i * each + k];
    EXPECT_ALL_NEAR(seen->d_query, wanted->d_query, (size_t)NQ * C * RQ, how->tolerance);
    if (strcmp(how->head, "dn4") && strcmp(how->head, "mn4") &&
        strcmp(how->head, "dmn4")) /* where the first takes all */
        EXPECT_ALL_NEAR(sum, wanted->d_support, WAY * each, how->tolerance);
}

static void compare(const struct setting *how, const size_t *times, struct random *r)
{
    static const size_t once[WAY] = {1, 1, 1};
    static struct play one, many;
    static struct outcome wanted, seen;
    size_t source[16];
    struct stage s;
    REQUIRE(stage_open(&s, how->head, DT_F64, 1, C));
    if (how->name) stage_set(&s, how->name, how->value);
    play_random(&one, &s, r, WAY, once, C, RS, NQ, RQ);
    repeat(&one, times, &many, source);
    if (stage_run(&s, &one, TAPE_TRAINING, &wanted) && stage_run(&s, &many, TAPE_TRAINING, &seen)) {
        EXPECT_ALL_NEAR(seen.scores, wanted.scores, (size_t)NQ * WAY, how->tolerance);
        EXPECT_NEAR(seen.loss, wanted.loss, how->tolerance * (1 + fabs(wanted.loss)));
        expect_gradients(how, &many, source, &seen, &wanted);
    } else {
        test_failed(__FILE__, __LINE__, "%s %s", how->head, how->name ? how->name : "");
    }
    stage_close(&s);
}

TEST(repeated_shots_change_no_score)
{
    static const size_t times[][WAY] = {{2, 2, 2}, {1, 3, 2}, {3, 1, 1}};
    struct random r = test_random();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        for (size_t k = 0; k < 3; k++) compare(&settings[i], times[k], &r);
}
