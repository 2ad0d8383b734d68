/* recipe.c - recipes: what is read, what is refused and with which sentence, and that what is written reads back. */
#include "train/recipe.h"
#include "base/file.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

struct plan {
    bool fast;
    int64_t epochs;
    double rate;
    int kind;
    const char *title;
};
struct tool {
    const char *name;
    struct recipe_extras options;
};

static const char *const kinds[] = {"sgd", "adam", NULL};
static const struct option plan_options[] = {OPT_FLAG(struct plan, fast, "fast", "hurry"),
                                             OPT_INT(struct plan, epochs, "epochs", 30, 1, 1000, "epochs"),
                                             OPT_FLOAT(struct plan, rate, "rate", 0.1, 0, 10, "rate"),
                                             OPT_NAME(struct plan, kind, "optimiser", 0, kinds, "kind"),
                                             OPT_TEXT(struct plan, title, "title", NULL, "TEXT", "title"),
                                             OPT_END};
static const struct option tool_options[] = {OPT_TEXT(struct tool, name, "name", "mcl", "NAME", "head"), OPT_END};

struct rig {
    struct plan plan;
    struct tool tool;
    struct recipe_section sections[3];
    arena *memory;
};

static bool rig_open(struct rig *r)
{
    *r = (struct rig){0};
    r->sections[0] = (struct recipe_section){"train", plan_options, &r->plan, NULL};
    r->sections[1] = (struct recipe_section){"head", tool_options, &r->tool, &r->tool.options};
    options_default(plan_options, &r->plan);
    options_default(tool_options, &r->tool);
    r->memory = arena_new(1024);
    return r->memory != NULL;
}

static status read_text(struct rig *r, const char *s)
{
    return recipe_parse("a.txt", s, strlen(s), r->sections, r->memory);
}

static void expect_refused(const char *recipe, status st, const char *sentence)
{
    struct rig r;
    REQUIRE(rig_open(&r));
    EXPECT_STATUS(read_text(&r, recipe), st);
    EXPECT_TEXT(error_text(), sentence);
    arena_free(r.memory);
}

TEST(recipe_reads_sections_keys_and_comments)
{
    struct rig r;
    REQUIRE(rig_open(&r));
    EXPECT_OK(read_text(&r, "# a comment\r\n\n  [train]  # here\nepochs=12\n\tfast = yes\r\nrate = 1e-3 # slow\n"
                            "optimiser = adam\ntitle = two words, a#b = c\n[head]\ngamma = 40\nname = mcl-katz"));
    EXPECT_INT(r.plan.epochs, 12);
    EXPECT(r.plan.fast && r.plan.rate == 1e-3);
    EXPECT_INT(r.plan.kind, 1);
    EXPECT_TEXT(r.plan.title, "two words, a#b = c");
    EXPECT_TEXT(r.tool.name, "mcl-katz");
    EXPECT_INT(r.tool.options.count, 1);
    EXPECT_TEXT(r.tool.options.item[0].name, "gamma");
    EXPECT_TEXT(r.tool.options.item[0].value, "40");
    EXPECT_OK(read_text(&r, ""));
    EXPECT_INT(r.tool.options.count, 0);
    arena_free(r.memory);
}

TEST(recipe_refuses_with_the_line_and_what_was_meant)
{
    expect_refused("[train]\n\nepoch = 3\n", ST_USAGE,
                   "'a.txt', line 3: unknown option train.epoch, did you mean train.epochs?");
    expect_refused("[trian]\n", ST_USAGE, "'a.txt', line 1: unknown section [trian], did you mean [train]?");
    expect_refused("[zzzzzzzz]\n", ST_USAGE, "'a.txt', line 1: unknown section [zzzzzzzz]; there are [train], [head]");
    expect_refused("[train]\nepochs = 0\n", ST_USAGE,
                   "'a.txt', line 2: train.epochs is 0, but must lie between 1 and 1000 (default 30)");
    expect_refused("[train]\nepochs = 1\nepochs = 1\n", ST_FORMAT,
                   "'a.txt', line 3: train.epochs was already set in line 2");
    expect_refused("[head]\ngamma = 1\n[train]\n[head]\n", ST_FORMAT,
                   "'a.txt', line 4: section [head] was already in line 1");
    expect_refused("[head]\ngamma = 1\ngamma = 2\n", ST_FORMAT,
                   "'a.txt', line 3: head.gamma was already set in line 2");
    expect_refused("epochs = 1\n", ST_FORMAT, "'a.txt', line 1: 'epochs' stands before the first [section]");
    expect_refused("[train\n", ST_FORMAT, "'a.txt', line 1: a section begins with [ and ends with ]");
    expect_refused("[train]\nepochs\n", ST_FORMAT,
                   "'a.txt', line 2: 'epochs' is neither a [section] nor `key = value`");
    expect_refused("[train]\ntitle = # none\n", ST_USAGE, "'a.txt', line 2: train.title is empty");
    expect_refused("[head]\ngamma =\n", ST_USAGE, "'a.txt', line 2: head.gamma is empty");
    expect_refused("[head]\nga mma = 1\n", ST_USAGE,
                   "'a.txt', line 2: 'ga mma' is not a name; use letters, digits, '_', '-' and '.'");
    expect_refused("[train]\ntitle = a\x01\n", ST_FORMAT,
                   "'a.txt', line 2: byte 10 is the control character 1; a recipe is plain text");
}

TEST(recipe_has_limits)
{
    struct rig r;
    const size_t n = RECIPE_MOST_BYTES + 1;
    char *long_text = malloc(n);
    REQUIRE(long_text && rig_open(&r));
    memset(long_text, '\n', n);
    EXPECT_STATUS(recipe_parse("a.txt", long_text, n, r.sections, r.memory), ST_FORMAT);
    EXPECT_TEXT(error_text(), "'a.txt' has 1048577 bytes; a recipe has at most 1048576");
    memset(long_text, '#', n);
    EXPECT_STATUS(recipe_parse("a.txt", long_text, RECIPE_MOST_LINE + 1, r.sections, r.memory), ST_FORMAT);
    EXPECT_TEXT(error_text(), "'a.txt', line 1: the line has 4097 bytes; at most 4096 are read");
    EXPECT_OK(recipe_parse("a.txt", long_text, RECIPE_MOST_LINE, r.sections, r.memory));
    size_t at = (size_t)snprintf(long_text, n, "[head]\n");
    for (int i = 0; i <= RECIPE_MOST_EXTRAS; i++) at += (size_t)snprintf(long_text + at, n - at, "x%d = 1\n", i);
    EXPECT_STATUS(recipe_parse("a.txt", long_text, at, r.sections, r.memory), ST_USAGE);
    EXPECT_TEXT(error_text(), "'a.txt', line 34: section [head] has more than 32 options");
    free(long_text);
    arena_free(r.memory);
}

TEST(recipe_overrides_win_over_the_file)
{
    struct rig r;
    REQUIRE(rig_open(&r));
    EXPECT_OK(read_text(&r, "[train]\nepochs = 2\n[head]\ngamma = 20\n"));
    EXPECT_OK(recipe_override("train.epochs=5", r.sections, r.memory));
    EXPECT_OK(recipe_override("head.gamma = 40", r.sections, r.memory));
    EXPECT_OK(recipe_override("train.title=a=b", r.sections, r.memory));
    EXPECT_INT(r.plan.epochs, 5);
    EXPECT_INT(r.tool.options.count, 1);
    EXPECT_TEXT(r.tool.options.item[0].value, "40");
    EXPECT_TEXT(r.plan.title, "a=b");
    EXPECT_STATUS(recipe_override("epochs=5", r.sections, r.memory), ST_USAGE);
    EXPECT_TEXT(error_text(), "'epochs=5' should read section.name=value, such as train.epochs=10");
    EXPECT_STATUS(recipe_override("train.epoks=5", r.sections, r.memory), ST_USAGE);
    EXPECT_TEXT(error_text(), "unknown option train.epoks, did you mean train.epochs?");
    EXPECT_STATUS(recipe_override("heat.gamma=5", r.sections, r.memory), ST_USAGE);
    EXPECT_TEXT(error_text(), "unknown section [heat], did you mean [head]?");
    EXPECT_STATUS(recipe_override("train.title=a # b", r.sections, r.memory), ST_USAGE);
    EXPECT_STATUS(recipe_override("train.title=a\nb", r.sections, r.memory), ST_USAGE);
    arena_free(r.memory);
}

TEST(recipe_written_reads_back_the_same)
{
    struct rig r, again;
    text first = {0}, second = {0};
    REQUIRE(rig_open(&r) && rig_open(&again));
    EXPECT_OK(read_text(&r, "[train]\nrate = 0.30000000000000004\nfast = 1\n[head]\nbeta = 10\nname = x"));
    EXPECT_OK(recipe_write(r.sections, &first));
    EXPECT_TEXT(text_string(&first), "[train]\nfast = yes\nepochs = 30\nrate = 0.30000000000000004\noptimiser = sgd\n\n"
                                     "[head]\nname = x\nbeta = 10\n");
    EXPECT_OK(read_text(&again, text_string(&first)));
    EXPECT_OK(recipe_write(again.sections, &second));
    EXPECT_TEXT(text_string(&second), text_string(&first));
    EXPECT(again.plan.rate == r.plan.rate);
    text_free(&first);
    text_free(&second);
    arena_free(r.memory);
    arena_free(again.memory);
}

TEST(recipe_extras_are_read_by_the_table_they_belong_to)
{
    struct rig r;
    struct plan plan;
    REQUIRE(rig_open(&r));
    options_default(plan_options, &plan);
    EXPECT_OK(read_text(&r, "[head]\nepochs = 7\n"));
    EXPECT_OK(recipe_extras_set(&r.tool.options, "head.", plan_options, &plan));
    EXPECT_INT(plan.epochs, 7);
    EXPECT_OK(read_text(&r, "[head]\nrats = 7\n"));
    EXPECT_STATUS(recipe_extras_set(&r.tool.options, "head.", plan_options, &plan), ST_USAGE);
    EXPECT_TEXT(error_text(), "unknown option head.rats, did you mean head.rate?");
    arena_free(r.memory);
}

TEST(recipe_survives_every_failed_allocation)
{
    const size_t live = alloc_live();
    for (size_t n = 1;; n++) {
        struct rig r;
        text out = {0};
        alloc_fail_at(n);
        status st = rig_open(&r) ? OK : ST_MEMORY;
        if (st == OK) st = read_text(&r, "[train]\ntitle = words\n[head]\ngamma = 40\n");
        if (st == OK) st = recipe_override("head.gamma=20", r.sections, r.memory);
        if (st == OK) st = recipe_write(r.sections, &out);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        text_free(&out);
        arena_free(r.memory);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
    }
}

TEST(recipe_read_names_the_file)
{
    struct rig r;
    REQUIRE(rig_open(&r));
    EXPECT_STATUS(recipe_read("nowhere.txt", r.sections, r.memory), ST_IO);
    EXPECT(strstr(error_text(), "'nowhere.txt'") != NULL);
    arena_free(r.memory);
}
