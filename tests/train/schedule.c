/* schedule.c - learning rates against every schedule that was recorded from the reference implementation. */
#include "train/schedule.h"
#include "tests/heads/case.h"
#include "tests/test.h"
#include <stdio.h>

static double member(const struct json *o, const char *name)
{
    const struct json *v = json_member(o, name);
    return v ? v->real : 0;
}

static struct schedule schedule_from(const struct json *o)
{
    const struct json *kind = json_member(o, "scheduler"), *list = json_member(o, "milestones");
    struct schedule s = {.kind = SCHEDULE_MILESTONES, .rate = member(o, "lr"), .factor = member(o, "gamma")};
    if (!strcmp(kind->string, "StepLR")) s.kind = SCHEDULE_STEP;
    if (!strcmp(kind->string, "CosineAnnealingLR")) s.kind = SCHEDULE_COSINE;
    s.step = (size_t)member(o, "step_size");
    s.epochs = (size_t)member(o, "T_max");
    s.warmup = (size_t)member(o, "total_epoch");
    for (const struct json *m = list ? list->first : NULL; m; m = m->next)
        s.milestones[s.milestone_count++] = (size_t)m->integer;
    return s;
}

static void check_schedules(const struct golden *g)
{
    size_t seen = 0;
    if (g->type != DT_F64) return;
    for (const struct json *o = json_member(g->about, "options")->first; o; o = o->next, seen++) {
        const struct schedule s = schedule_from(o);
        struct npy want = {0};
        char file[256];
        snprintf(file, sizeof file, "lr_%s.npy", o->key);
        if (golden_read(g, file, &want))
            for (size_t e = 0; e < want.count; e++) EXPECT_NEAR(schedule_rate(&s, e), ((double *)want.data)[e], 1e-15);
        npy_free(&want);
    }
    EXPECT_INT(seen, 17);
}

TEST(schedule_rates_equal_the_recorded_ones) { for_golden("schedules", check_schedules); }

TEST(schedule_milestone_lowers_the_epoch_it_names)
{
    const struct schedule s = {
        .kind = SCHEDULE_MILESTONES, .rate = 0.1, .factor = 0.1, .milestones = {400, 800}, .milestone_count = 2};
    EXPECT_NEAR(schedule_rate(&s, 399), 0.1, 0);
    EXPECT_NEAR(schedule_rate(&s, 400), 0.01, 1e-17);
    EXPECT_NEAR(schedule_rate(&s, 1199), 0.001, 1e-17);
}

TEST(schedule_constant_stays_and_warms_up)
{
    struct schedule s = {.kind = SCHEDULE_CONSTANT, .rate = 0.5};
    EXPECT(schedule_rate(&s, 0) == 0.5 && schedule_rate(&s, 1000) == 0.5);
    s.warmup = 2;
    EXPECT(schedule_rate(&s, 0) == 0 && schedule_rate(&s, 1) == 0.25 && schedule_rate(&s, 2) == 0.5);
    EXPECT(schedule_rate(&s, 3) == 0.5);
}
