/* at_once.c - a head gives the same scores with and without gradients: a device may compute the one in one call, and the other
 * by a chain of ops. */
#include "tests/heads/rig.h"
#include "tests/heads/stage.h"
#include "tests/test.h"

struct setting {
    const char *head, *name, *value;
};
static const struct setting settings[] = {
    {"proto", NULL, NULL},       {"dn4", NULL, NULL},          {"dn4", "k", "3"},
    {"dn4", "shots", "average"}, {"dn4", "shots", "per-shot"}, {"frn", NULL, NULL}};

static void compare(const struct setting *how, dtype type, struct random *r, const size_t *shots)
{
    static struct play p;
    static struct outcome with, without;
    struct stage s;
    REQUIRE(stage_open(&s, how->head, type, 2, 24));
    if (how->name) stage_set(&s, how->name, how->value);
    play_random(&p, &s, r, 3, shots, 24, 9, 6, 11);
    if (stage_run(&s, &p, TAPE_TRAINING, &with) && stage_run(&s, &p, TAPE_INFERENCE, &without))
        EXPECT_ALL_NEAR(without.scores, with.scores, p.nq * p.way, type == DT_F32 ? 2e-6 : 1e-13);
    stage_close(&s);
}

TEST(heads_score_the_same_with_and_without_gradients)
{
    static const size_t shots[][3] = {{1, 1, 1}, {2, 2, 2}, {1, 3, 2}};
    struct random r = test_random();
    for (size_t h = 0; h < sizeof settings / sizeof *settings; h++)
        for (size_t i = 0; i < 3; i++)
            for (int type = 0; type < DT_REALS; type++) compare(&settings[h], (dtype)type, &r, shots[i]);
}
