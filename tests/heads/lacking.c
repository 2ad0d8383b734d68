/* lacking.c - heads on a device that lacks one primitive after the other, and with inputs that ops before them failed to make:
 * whoever cannot go on says so, and what a device may leave out changes no score. */
#include "tests/heads/rig.h"
#include "tests/heads/stage.h"
#include "tests/test.h"

enum { WAY = 2, C = 4, RS = 3, NQ = 3, RQ = 2 };
static const size_t equal[WAY] = {2, 2}, unequal[WAY] = {1, 2};

static const char *const names[] = {
#define PRIM(name, params) #name,
#define PRIM_MAY PRIM
#include "tensor/prims.def"
#undef PRIM_MAY
#undef PRIM
};
static const bool may_lack[] = {
#define PRIM(name, params) false,
#define PRIM_MAY(name, params) true,
#include "tensor/prims.def"
#undef PRIM_MAY
#undef PRIM
};
enum { PRIMS = sizeof names / sizeof *names };
typedef void (*entry)(void);
_Static_assert(sizeof(struct prims) == PRIMS * sizeof(entry), "a table of pointers and nothing else");

/* Fits of few steps: how often a primitive is called does not matter here. */
static void shorten(struct stage *s)
{
    static const char *const counts[] = {"epochs", "steps", "rounds"};
    for (const struct option *o = s->head->options; o && o->type != OPTION_END; o++)
        for (size_t i = 0; i < 3; i++)
            if (!strcmp(o->name, counts[i]) && o->type == OPTION_INT) stage_set(s, o->name, "2");
}

static struct episode episode_of(struct stage *s, const struct play *p, struct head_base *base)
{
    struct world *w = &s->w;
    return (struct episode){.support = world_leaf(w, DIMS(p->ns, C, RS), p->support),
                            .support_labels = op_labels(w->t, p->support_labels, p->ns, WAY),
                            .query = world_leaf(w, DIMS(NQ, C, RQ), p->query),
                            .query_labels = op_labels(w->t, p->query_labels, NQ, WAY),
                            .way = WAY,
                            .base = stage_base(s, p, base)};
}

/* Without primitive k: either the same scores, or a failure that names it. */
static void check_without(struct stage *s, const struct play *p, size_t k, enum tape_mode mode, const double *wanted)
{
    struct head_result out = {0};
    struct head_base base;
    double scores[NQ * WAY];
    tape_reset(s->w.t, mode);
    const struct episode e = episode_of(s, p, &base);
    const struct prims whole = s->w.dev->prim[DT_F64];
    memset((char *)&s->w.dev->prim[DT_F64] + k * sizeof(entry), 0, sizeof(entry));
    const bool made = s->head->forward(s->w.t, s->settings.bytes, s->p, &e, 0, &out);
    const bool fine = tape_status(s->w.t) == OK;
    if (made != fine)
        test_failed(__FILE__, __LINE__, "%s without %s returns %d, but the tape says %d", s->head->name, names[k], made,
                    fine);
    if (may_lack[k] && !fine) test_failed(__FILE__, __LINE__, "%s needs %s: %s", s->head->name, names[k], error_text());
    if (!fine && !strstr(error_text(), names[k]))
        test_failed(__FILE__, __LINE__, "%s without %s says \"%s\"", s->head->name, names[k], error_text());
    if (made && fine && mode == TAPE_TRAINING) {
        const status st = tape_backward(s->w.t, out.loss);
        if (st != OK && !strstr(error_text(), names[k]))
            test_failed(__FILE__, __LINE__, "%s going back without %s says \"%s\"", s->head->name, names[k],
                        error_text());
    }
    s->w.dev->prim[DT_F64] = whole;
    if (!made || !fine) return;
    EXPECT(world_read(&s->w, &out.scores->value, scores));
    EXPECT_ALL_NEAR(scores, wanted, NQ * WAY, 1e-12);
}

static void check_head(const char *name, const size_t *shots, struct random *r)
{
    static struct play p;
    static struct outcome whole;
    struct stage s;
    REQUIRE(stage_open(&s, name, DT_F64, 1, C));
    play_random(&p, &s, r, WAY, shots, C, RS, NQ, RQ);
    shorten(&s);
    for (int k = 0; k < (s.head->fitted ? 1 : 2); k++) {
        const enum tape_mode mode = k ? TAPE_TRAINING : TAPE_INFERENCE;
        if (!stage_run(&s, &p, mode, &whole)) continue;
        for (size_t lacking = 0; lacking < PRIMS; lacking++) check_without(&s, &p, lacking, mode, whole.scores);
    }
    stage_close(&s);
}

TEST(heads_on_a_device_without_a_primitive_name_it_or_do_without)
{
    struct random r = test_random();
    for (size_t i = 0; head_table[i]; i++) {
        check_head(head_table[i]->name, equal, &r);
        check_head(head_table[i]->name, unequal, &r);
    }
}

/* An input that is NULL comes from an op that has failed, and the tape knows. */
TEST(heads_hand_on_a_failure_before_them)
{
    static struct play p;
    struct random r = test_random();
    for (size_t i = 0; head_table[i]; i++)
        for (int missing = 0; missing < 3; missing++) {
            struct stage s;
            struct head_result out = {0};
            struct head_base base;
            REQUIRE(stage_open(&s, head_table[i]->name, DT_F64, 1, C));
            play_random(&p, &s, &r, WAY, equal, C, RS, NQ, RQ);
            tape_reset(s.w.t, TAPE_INFERENCE);
            struct episode e = episode_of(&s, &p, &base);
            if (missing != 1) e.support = NULL;
            if (missing != 0) e.query = NULL;
            tape_fail(s.w.t, fail(ST_FORMAT, "before the head"));
            if (s.head->forward(s.w.t, s.settings.bytes, s.p, &e, 0, &out))
                test_failed(__FILE__, __LINE__, "%s says that it succeeded without input %d", s.head->name, missing);
            EXPECT_STATUS(tape_status(s.w.t), ST_FORMAT);
            EXPECT_TEXT(error_text(), "before the head");
            stage_close(&s);
        }
}

/* Labels of queries are for the loss alone. */
TEST(heads_score_the_same_without_labels_of_the_queries)
{
    static struct play p;
    static struct outcome with;
    struct random r = test_random();
    for (size_t i = 0; head_table[i]; i++) {
        struct stage s;
        struct head_result out = {0};
        struct head_base base;
        double scores[NQ * WAY];
        REQUIRE(stage_open(&s, head_table[i]->name, DT_F64, 1, C));
        play_random(&p, &s, &r, WAY, equal, C, RS, NQ, RQ);
        shorten(&s);
        EXPECT(stage_run(&s, &p, TAPE_INFERENCE, &with));
        tape_reset(s.w.t, TAPE_INFERENCE);
        struct episode e = episode_of(&s, &p, &base);
        e.query_labels = NULL;
        if (!s.head->forward(s.w.t, s.settings.bytes, s.p, &e, 0, &out))
            test_failed(__FILE__, __LINE__, "%s without labels: %s", s.head->name, error_text());
        else if (out.loss) test_failed(__FILE__, __LINE__, "%s has a loss without labels", s.head->name);
        else if (world_read(&s.w, &out.scores->value, scores)) EXPECT_ALL_NEAR(scores, with.scores, NQ * WAY, 1e-13);
        stage_close(&s);
    }
}
