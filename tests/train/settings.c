/* settings.c - every shipped recipe is read, fits together and names a head that takes its options; the paper's numbers. */
#include "train/settings.h"
#include "heads/head.h"
#include "tests/test.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static bool read_recipe(const char *file, struct run_settings *s, arena *memory)
{
    struct recipe_section sections[RUN_SECTIONS + 1];
    char path[512];
    run_settings_default(s);
    run_sections(s, sections);
    snprintf(path, sizeof path, "%s/recipes/%s", CENTRA_SOURCE_DIR, file);
    const status st = recipe_read(path, sections, memory);
    EXPECT_OK(st);
    return st == OK;
}

/* The head's own table takes the options; heads that are not there yet are passed over. */
static void check_head(const struct head_settings *h)
{
    for (const struct head *const *head = head_table; *head; head++) {
        if (strcmp((*head)->name, h->name)) continue;
        void *settings = calloc(1, (*head)->settings_bytes);
        REQUIRE(settings);
        EXPECT_OK(recipe_extras_set(&h->options, "head.", (*head)->options, settings));
        free(settings);
    }
}

/* Written out and read again, nothing changes. */
static void check_round_trip(struct run_settings *s, arena *memory)
{
    struct run_settings again;
    struct recipe_section sections[RUN_SECTIONS + 1];
    text first = {0}, second = {0};
    run_sections(s, sections);
    EXPECT_OK(recipe_write(sections, &first));
    run_settings_default(&again);
    run_sections(&again, sections);
    EXPECT_OK(recipe_parse("again", text_string(&first), first.length, sections, memory));
    EXPECT_OK(recipe_write(sections, &second));
    EXPECT_TEXT(text_string(&second), text_string(&first));
    text_free(&first);
    text_free(&second);
}

TEST(settings_every_shipped_recipe_is_good)
{
    size_t recipes = 0;
    DIR *folder = opendir(CENTRA_SOURCE_DIR "/recipes");
    REQUIRE(folder);
    for (struct dirent *e; (e = readdir(folder));) {
        struct run_settings s;
        if (!strstr(e->d_name, ".txt")) continue;
        arena *memory = arena_new(4096);
        REQUIRE(memory);
        if (read_recipe(e->d_name, &s, memory)) {
            const int64_t shot = strstr(e->d_name, "5shot") ? 5 : 1;
            EXPECT_OK(run_settings_check(&s));
            EXPECT_INT(s.train.shot, shot);
            EXPECT(s.validate.every == 0 || s.validate.shot == shot);
            EXPECT(s.data.set != NULL && s.train.seed == 1);
            EXPECT((s.train.stage == STAGE_PRETRAIN) == (strstr(e->d_name, "pretrain") != NULL));
            EXPECT_TEXT(s.net.extractor, strstr(e->d_name, "-pyramid") ? "pyramid-5,3"
                                         : strstr(e->d_name, "-grid")  ? "grid-3,2"
                                                                       : "map");
            check_head(&s.head);
            check_round_trip(&s, memory);
        }
        arena_free(memory);
        recipes++;
    }
    closedir(folder);
    EXPECT_INT(recipes, 42);
}

TEST(settings_of_the_paper_become_its_optimiser_and_schedule)
{
    struct run_settings s;
    struct schedule rates;
    arena *memory = arena_new(4096);
    REQUIRE(memory && read_recipe("cub-conv4-1shot.txt", &s, memory));
    const struct optimiser_settings o = train_optimiser(&s.train);
    EXPECT(o.kind == OPTIMISER_SGD && o.nesterov && o.momentum == 0.9 && o.decay == 5e-4 && o.dampening == 0);
    REQUIRE(train_schedule(&s.train, &rates) == OK);
    EXPECT(rates.kind == SCHEDULE_MILESTONES && rates.milestone_count == 2 && rates.milestones[1] == 800);
    EXPECT_NEAR(schedule_rate(&rates, 1199), 1e-3, 1e-17);
    EXPECT_INT(s.train.way, 30);
    EXPECT_INT(s.train.sampler, SAMPLER_UNREPEATED);
    REQUIRE(read_recipe("mini-conv4-5shot.txt", &s, memory));
    EXPECT_INT(train_optimiser(&s.train).kind, OPTIMISER_ADAM);
    EXPECT_NEAR(train_optimiser(&s.train).beta1, 0.5, 0);
    EXPECT_INT(s.head.options.count, 2);
    EXPECT_TEXT(s.head.options.item[0].value, "40");
    arena_free(memory);
}

static void expect_check(const char *recipe, const char *sentence)
{
    struct run_settings s;
    struct recipe_section sections[RUN_SECTIONS + 1];
    arena *memory = arena_new(4096);
    REQUIRE(memory);
    run_settings_default(&s);
    run_sections(&s, sections);
    EXPECT_OK(recipe_parse("a", recipe, strlen(recipe), sections, memory));
    EXPECT_STATUS(run_settings_check(&s), ST_USAGE);
    EXPECT_TEXT(error_text(), sentence);
    arena_free(memory);
}

TEST(settings_that_do_not_fit_are_refused)
{
    expect_check("[validate]\nevery = 0",
                 "validate.select is best, but validate.every is 0: nothing says which epoch is "
                 "the best; set validate.select to last");
    expect_check("[train]\nstage = pretrain\nsampler = unrepeated",
                 "train.sampler is unrepeated, but pre-training has no episodes");
    expect_check("[train]\nschedule = milestones", "train.schedule is milestones, but train.milestones is not set");
    expect_check("[train]\nmilestones = 5", "train.milestones is set, but train.schedule is constant");
    expect_check("[train]\nschedule = milestones\nmilestones = 5 x",
                 "train.milestones is '5 x', but must be epochs such as 400 800");
    expect_check("[train]\nschedule = milestones\nmilestones = 5 5",
                 "train.milestones is '5 5', but must rise from epoch to epoch");
    expect_check("[train]\nschedule = milestones\nmilestones = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
                 "train.milestones has more than 16 epochs");
}
