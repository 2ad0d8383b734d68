/* validate.c - which episodes a validation plays: the same every time, but others after each epoch of pre-training. */
#include "train/validate.h"
#include "tests/test.h"
#include "tests/train/rig.h"

/* The accuracy of the weights as they are, with the episodes of a validation after `epoch`. */
static struct interval measure(const struct lessons *l, const struct dataset *data, uint64_t epoch)
{
    struct interval seen = {-1, -1, 0};
    bool cut = true;
    const struct validation_options o = {
        .data = data, .settings = &l->settings, .epoch = epoch, .threads = l->w.threads};
    EXPECT_OK(validate(l->trainer, &o, &seen, &cut));
    EXPECT(!cut && seen.count == 60);
    return seen;
}

TEST(validation_redraws_its_episodes_in_pretraining_only)
{
    static const char *const recipes[] = {"validate.episodes=60",
                                          "validate.episodes=60 train.stage=pretrain head.name=linear train.batch=7"};
    for (int i = 0; i < 2; i++) {
        struct lessons l;
        struct dataset *hard = NULL; /* neither all nor none of the queries are told right */
        REQUIRE(lessons_open(&l, 2, recipes[i]));
        REQUIRE(dataset_open("synth:3?val=6&pictures=8&side=20", "val", NULL, &hard) == OK);
        const struct interval first = measure(&l, hard, 0), again = measure(&l, hard, 0), second = measure(&l, hard, 1);
        EXPECT(first.mean == again.mean && first.half == again.half); /* a function of seed and epoch */
        const bool same = first.mean == second.mean && first.half == second.half;
        EXPECT_INT(same, i == 0);
        dataset_close(hard);
        lessons_close(&l);
    }
}
