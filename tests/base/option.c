/* option.c - option tables: defaults, reading, ranges, sentences; numbers in any locale; "did you mean". */
#include "base/option.h"
#include "tests/test.h"
#include <locale.h>
#include <stdlib.h>

struct settings {
    bool fast;
    int64_t steps, seed;
    double rate, alpha, scale;
    int solver, shell;
    const char *title, *path, *data;
};

static const char *const solvers[] = {"auto", "full", "block", NULL};

static const struct option table[] = {
    OPT_FLAG(struct settings, fast, "fast", "hurry"),
    OPT_INT(struct settings, steps, "steps", 40000, 1, 1 << 30, "optimiser steps"),
    OPT_INT(struct settings, seed, "seed", 1, 0, 9223372036854775807.0, "seed"),
    OPT_FLOAT(struct settings, rate, "lr", 0.05, 0.0, 10.0, "learning rate"),
    OPT_FLOAT_INSIDE(struct settings, alpha, "alpha", 0.5, 0, 1, "share of the walk that goes on"),
    OPT_FLOAT_INSIDE(struct settings, scale, "scale", 1, 0, INFINITY, "factor on the scores"),
    OPT_NAME(struct settings, solver, "solver", 2, solvers, "how it is solved"),
    OPT_NAME(struct settings, shell, "shell", -1, solvers, "a choice without default"),
    OPT_TEXT(struct settings, title, "title", "none", "WORDS", "what it is called"),
    OPT_FILE(struct settings, path, "path", NULL, "where it is"),
    OPT_FILE_REQUIRED(struct settings, data, "data", "what it works on"),
    OPT_END};

TEST(option_defaults_fill_every_field)
{
    struct settings s;
    memset(&s, 0xff, sizeof s);
    options_default(table, &s);
    EXPECT(!s.fast);
    EXPECT_INT(s.steps, 40000);
    EXPECT_INT(s.seed, 1);
    EXPECT(s.rate == 0.05 && s.alpha == 0.5 && s.scale == 1);
    EXPECT_INT(s.solver, 2);
    EXPECT_INT(s.shell, -1);
    EXPECT_TEXT(s.title, "none");
    EXPECT(s.path == NULL && s.data == NULL);
}

TEST(option_set_reads_each_type)
{
    static const char *const flags[] = {"1", "true", "yes"}, *const unset[] = {"0", "false", "no"};
    struct settings s;
    options_default(table, &s);
    for (size_t i = 0; i < 3; i++) {
        EXPECT_OK(option_set(table, "--", "fast", flags[i], &s));
        EXPECT(s.fast);
        EXPECT_OK(option_set(table, "--", "fast", unset[i], &s));
        EXPECT(!s.fast);
    }
    EXPECT_OK(option_set(table, "--", "steps", "12", &s));
    EXPECT_OK(option_set(table, "--", "seed", "9223372036854775807", &s));
    EXPECT_OK(option_set(table, "--", "lr", "1e-3", &s));
    EXPECT_OK(option_set(table, "--", "solver", "auto", &s));
    EXPECT_OK(option_set(table, "--", "title", "two words", &s));
    EXPECT_OK(option_set(table, "--", "path", "a/b", &s));
    EXPECT_INT(s.steps, 12);
    EXPECT(s.seed == INT64_MAX);
    EXPECT(s.rate == 1e-3);
    EXPECT_INT(s.solver, 0);
    EXPECT_TEXT(s.title, "two words");
    EXPECT_TEXT(s.path, "a/b");
}

TEST(option_range_ends_are_allowed_unless_open)
{
    struct settings s;
    options_default(table, &s);
    EXPECT_OK(option_set(table, "--", "lr", "0", &s));
    EXPECT_OK(option_set(table, "--", "lr", "10", &s));
    EXPECT_OK(option_set(table, "--", "steps", "1", &s));
    EXPECT_STATUS(option_set(table, "--", "alpha", "0", &s), ST_USAGE);
    EXPECT_STATUS(option_set(table, "--", "alpha", "1", &s), ST_USAGE);
    EXPECT_OK(option_set(table, "--", "alpha", "0.999999", &s));
    EXPECT_OK(option_set(table, "--", "scale", "1e300", &s));
}

TEST(option_sentences)
{
    static const struct {
        const char *prefix, *name, *value, *sentence;
    } cases[] = {
        {"--head.", "alpha", "1.5", "--head.alpha is 1.5, but must lie between 0 and 1 (exclusive; default 0.5)"},
        {"--", "lr", "12", "--lr is 12, but must lie between 0 and 10 (default 0.05)"},
        {"--", "lr", "fast", "--lr is 'fast', but must be a number between 0 and 10 (default 0.05)"},
        {"--", "lr", "nan", "--lr is 'nan', but must be a number between 0 and 10 (default 0.05)"},
        {"--", "alpha", "", "--alpha is '', but must be a number between 0 and 1 (exclusive; default 0.5)"},
        {"--", "scale", "0", "--scale is 0, but must be above 0 (default 1)"},
        {"--", "steps", "2.5", "--steps is '2.5', but must be a whole number between 1 and 1073741824 (default 40000)"},
        {"--", "steps", "0", "--steps is 0, but must lie between 1 and 1073741824 (default 40000)"},
        {"--", "steps", "99999999999999999999",
         "--steps is 99999999999999999999, but must lie between 1 and 1073741824 (default 40000)"},
        {"--", "seed", "-1", "--seed is -1, but must be at least 0 (default 1)"},
        {"--", "fast", "maybe", "--fast is 'maybe', but must be yes or no (default no)"},
        {"--", "solver", "blok",
         "--solver is 'blok', but must be one of auto, full, block (default block); did you mean block?"},
        {"--", "solver", "xyz", "--solver is 'xyz', but must be one of auto, full, block (default block)"},
        {"--", "shell", "xyz", "--shell is 'xyz', but must be one of auto, full, block"},
        {"--", "title", "", "--title is empty"},
        {"--head.", "alhpa", "1", "unknown option --head.alhpa, did you mean --head.alpha?"},
        {"", "qqqqqq", "1",
         "unknown option qqqqqq; there are fast, steps, seed, lr, alpha, scale, solver, shell, title, path, data"},
    };
    struct settings s, before;
    memset(&s, 0, sizeof s);
    options_default(table, &s);
    before = s;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT_STATUS(option_set(table, cases[i].prefix, cases[i].name, cases[i].value, &s), ST_USAGE);
        EXPECT_TEXT(error_text(), cases[i].sentence);
    }
    EXPECT(s.rate == before.rate && s.steps == before.steps && s.solver == before.solver && s.title == before.title);
}

TEST(option_unknown_name_in_an_empty_table)
{
    static const struct option none[] = {OPT_END};
    char settings;
    EXPECT_STATUS(option_set(none, "--", "x", "1", &settings), ST_USAGE);
    EXPECT_TEXT(error_text(), "unknown option --x; there are none here");
}

TEST(option_find_knows_whole_names_only)
{
    EXPECT(option_find(table, "steps") == &table[1]);
    EXPECT(option_find(table, "step") == NULL);
    EXPECT(option_find(table, "") == NULL);
}

TEST(option_words_for_help)
{
    static const struct {
        const char *name, *standard, *range, *value;
    } cases[] = {
        {"fast", "no", "", ""},
        {"steps", "40000", "between 1 and 1073741824", "N"},
        {"seed", "1", "at least 0", "N"},
        {"lr", "0.05", "between 0 and 10", "X"},
        {"alpha", "0.5", "between 0 and 1, exclusive", "X"},
        {"scale", "1", "above 0", "X"},
        {"solver", "block", "one of auto, full, block", "auto|full|block"},
        {"shell", "", "one of auto, full, block", "auto|full|block"},
        {"title", "none", "", "WORDS"},
        {"path", "", "", "FILE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct option *o = option_find(table, cases[i].name);
        text standard = {0}, range = {0}, value = {0};
        REQUIRE(o);
        option_default_text(o, &standard);
        option_range_text(o, &range);
        option_value_text(o, &value);
        EXPECT_TEXT(text_string(&standard), cases[i].standard);
        EXPECT_TEXT(text_string(&range), cases[i].range);
        EXPECT_TEXT(text_string(&value), cases[i].value);
        text_free(&standard);
        text_free(&range);
        text_free(&value);
    }
}

/* Texts that are not set have no value, and nothing is cut where memory runs out in the middle. */
TEST(options_text_is_whole_or_says_so)
{
    struct settings s;
    options_default(table, &s);
    s.shell = 1;
    for (size_t n = 1;; n++) {
        text t = {0};
        const size_t live = alloc_live();
        alloc_fail_at(n);
        text_add(&t, "job");
        options_text(table, "x.", &s, &t);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_INT(text_status(&t), failed ? ST_MEMORY : OK);
        if (!failed)
            EXPECT_TEXT(text_string(&t),
                        "job x.fast=no x.steps=40000 x.seed=1 x.lr=0.05 x.alpha=0.5 x.scale=1 x.solver=block "
                        "x.shell=full x.title=none");
        text_free(&t);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
    }
}

TEST(option_set_survives_failing_allocations)
{
    static const char *const bad[][2] = {{"alpha", "7"}, {"steps", "x"}, {"solver", "blok"}, {"alhpa", "1"}};
    struct settings s;
    options_default(table, &s);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (size_t n = 1;; n++) {
            size_t live = alloc_live();
            alloc_fail_at(n);
            status st = option_set(table, "--", bad[i][0], bad[i][1], &s);
            bool failed = alloc_did_fail();
            alloc_fail_at(0);
            EXPECT_INT(alloc_live(), live);
            EXPECT_INT(st, failed ? ST_MEMORY : ST_USAGE);
            if (!failed) break;
        }
    }
}

TEST(number_parse_takes_decimals_only)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},  {"-0.5", -0.5}, {"+3", 3},      {".25", 0.25},
                {"5.", 5}, {"1e3", 1000},  {"1E-2", 0.01}, {"1e-400", 0}};
    static const char *const bad[] = {"",    "-",  ".",  "e5",  "1e",    "1e+", "0x10", "inf",
                                      "nan", " 1", "1 ", "1,5", "1e400", "--1", "1.2.3"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double v = 77;
        EXPECT(number_parse(good[i].text, &v));
        EXPECT(v == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double v = 77;
        if (number_parse(bad[i], &v)) test_failed(__FILE__, __LINE__, "'%s' was taken as %g", bad[i], v);
        EXPECT(v == 77);
    }
}

TEST(integer_parse_is_exact_to_64_bits)
{
    static const char *const bad[] = {
        "",   "-", "+", "1.0", "1e3", " 1", "1 ", "9223372036854775808", "-9223372036854775809", "99999999999999999999",
        "0x1"};
    int64_t v = 0;
    EXPECT(integer_parse("9223372036854775807", &v) && v == INT64_MAX);
    EXPECT(integer_parse("-9223372036854775808", &v) && v == INT64_MIN);
    EXPECT(integer_parse("+007", &v) && v == 7);
    EXPECT(integer_parse("-0", &v) && v == 0);
    v = 77;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (integer_parse(bad[i], &v)) test_failed(__FILE__, __LINE__, "'%s' was taken as %lld", bad[i], (long long)v);
        EXPECT_INT(v, 77);
    }
}

TEST(number_text_reads_back_the_same)
{
    static const double values[] = {0, 0.1, 0.05, 1.0 / 3, 1e-300, 123456789.123, 5e-324, 1.7976931348623157e308, -2.5};
    char s[NUMBER_BYTES];
    struct random r = test_random();
    for (size_t i = 0; i < sizeof values / sizeof *values + 1000; i++) {
        double v = i < sizeof values / sizeof *values ? values[i] : random_normal(&r), back = 0;
        number_text(v, s);
        EXPECT(number_parse(s, &back) && back == v);
    }
    number_text(0.1, s);
    EXPECT_TEXT(s, "0.1");
    number_text(1 << 30, s);
    EXPECT_TEXT(s, "1073741824");
}

TEST(numbers_do_not_depend_on_the_locale)
{
    static const char *const with_comma[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"};
    const char *set = NULL;
    char s[NUMBER_BYTES];
    double v = 0;
    for (size_t i = 0; i < 3 && !set; i++) set = setlocale(LC_NUMERIC, with_comma[i]);
    if (!set) {
        test_skip("no locale with a decimal comma is installed");
        return;
    }
    EXPECT(number_parse("1.5", &v) && v == 1.5);
    EXPECT(!number_parse("1,5", &v));
    number_text(1.5, s);
    EXPECT_TEXT(s, "1.5");
    setlocale(LC_NUMERIC, "C");
}

TEST(nearest_name_forgives_usual_slips)
{
    static const char *const names[] = {"head", "support", "support-labels", "query", "gamma", "mcl-katz", "lr",
                                        "x",    NULL};
    static const char *const cases[][2] = {
        {"haed", "head"},      {"rl", "lr"},
        {"hea", "head"},       {"heead", "head"},
        {"HEAD", "head"},      {"gama", "gamma"},
        {"suport", "support"}, {"supportlabels", "support-labels"},
        {"supp", "support"},   {"mclkatz", "mcl-katz"},
        {"quary", "query"},    {"head", "head"},
    };
    static const char *const strangers[] = {
        "",
        "y",
        "zz",
        "weights",
        "solver",
        "abc",
        "a-word-much-longer-than-any-name-that-anybody-would-give-an-option-of-a-program"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_TEXT(nearest_name(cases[i][0], names), cases[i][1]);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        const char *found = nearest_name(strangers[i], names);
        if (found) test_failed(__FILE__, __LINE__, "'%s' was taken for '%s'", strangers[i], found);
    }
    EXPECT(nearest_name("head", (const char *const[]){NULL}) == NULL);
}
