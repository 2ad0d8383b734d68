/* eval.c - transcripts of centra eval: its table, its JSON, and what it refuses. */
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "centra.h"
#include "tests/app/program.h"
#include "tests/eval/colours.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

#define SMALL "eval", "--backbone", "conv4", "--net.width", "4", "--data", "set", "--way", "3", "--query", "4"

TEST(eval_shows_accuracy_interval_difference_and_classes)
{
    colour_set();
    struct ran r = program_run("", WORDS(SMALL, "--episodes", "30", "--head", "mcl-katz,unidirectional:gamma=40",
                                         "--per-class", "--head.alpha", "0.3"));
    EXPECT_INT(r.status, 0);
    EXPECT(!strncmp(
        r.out,
        "conv4 on set (test): 4 classes, 26 pictures\n30 episodes, 3-way 1-shot, 4 queries of each class\n\nhead", 95));
    EXPECT(strstr(r.out, "\nmcl-katz ") && strstr(r.out, "\nunidirectional ") && strstr(r.out, " +- "));
    EXPECT(strstr(r.out, "\nc3 ") && !strstr(r.out, "\nc4 "));
    EXPECT_TEXT(r.err, "centra eval: warning: there are no weights: conv4 starts from random ones\n"
                       "centra eval: warning: 1 of 5 classes have fewer than 5 pictures and are left out: c4\n");
    ran_free(&r);
    r = program_run("", WORDS(SMALL, "--episodes", "1", "--head", "mcl-katz", "--quiet"));
    EXPECT_INT(r.status, 0);
    EXPECT(!strncmp(r.out, "head", 4) && !strstr(r.out, "+-"));
    EXPECT_TEXT(r.err, "");
    ran_free(&r);
}

TEST(eval_of_all_classes_plays_every_one_that_is_large_enough)
{
#define ALL_OF "eval", "--backbone", "conv4", "--net.width", "4", "--data", "set", "--head", "proto", "--episodes", "3"
    colour_set();
    struct ran r = program_run("", WORDS(ALL_OF, "--way", "all", "--query", "4"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, ": 4 classes, ") && strstr(r.out, "\n3 episodes, 4-way 1-shot, 4 queries of each class\n"));
    EXPECT(strstr(r.err, "1 of 5 classes have fewer than 5 pictures and are left out: c4\n"));
    ran_free(&r);
    r = program_run("", WORDS(ALL_OF, "--way", "all", "--query", "1"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, ", 5-way 1-shot, ") && !strstr(r.err, "left out"));
    ran_free(&r);
    r = program_run("", WORDS(ALL_OF, "--way", "all", "--query", "40"));
    EXPECT_INT(r.status, 1);
    EXPECT(strstr(r.err, "all classes with at least 1 support + 40 query pictures are 0 of 5; episodes need two"));
    ran_free(&r);
    const char *const refused[] = {"1", "10001", "3.5", "most"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        r = program_run("", WORDS(ALL_OF, "--way", refused[i]));
        EXPECT_INT(r.status, 2);
        EXPECT(strstr(r.err, "but must be all or a whole number between 2 and 10000"));
        ran_free(&r);
    }
}

TEST(eval_tells_heads_of_one_name_apart_by_what_differs)
{
    colour_set();
    struct ran r = program_run("", WORDS(SMALL, "--episodes", "3", "--quiet", "--head",
                                         "mcl-katz:alpha=0.3,proto,mcl-katz:alpha=0.7:gamma=30", "--per-class"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "\nmcl-katz:gamma=20:alpha=0.3 ") && strstr(r.out, "\nmcl-katz:gamma=30:alpha=0.7 "));
    EXPECT(strstr(r.out, "\nproto "));
    const char *classes = strstr(r.out, "\nclass ");
    EXPECT(classes && strstr(classes, " mcl-katz:gamma=30:alpha=0.7\n"));
    ran_free(&r);
}

static const char *const keys[] = {"head",           "options",
                                   "backbone",       "extractor",
                                   "weights",        "data",
                                   "split",          "way",
                                   "shot",           "query",
                                   "episodes",       "seed",
                                   "accuracy",       "ci95",
                                   "per_class",      "paired",
                                   "encode_seconds", "head_seconds",
                                   "device",         "maths",
                                   "threads",        "data_fingerprint",
                                   "version",        NULL};

/* Lines from `table` on that begin with a word. */
static size_t count_rows(const char *table)
{
    size_t n = 0;
    for (const char *at = table; at; at = strchr(at + 1, '\n')) n += at[0] == '\n' && at[1] >= 'a' && at[1] <= 'z';
    return n;
}

TEST(eval_of_all_heads_has_a_row_for_each_that_needs_no_training)
{
    size_t wanted = 0;
    centra_head_info info;
    for (size_t i = 0; i < centra_head_count(); i++)
        wanted += centra_head_describe(i, &info) == CENTRA_OK && !info.drawn && !info.base;
    colour_set();
    struct ran r = program_run("", WORDS(SMALL, "--episodes", "2", "--head", "all,relation", "--quiet"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    const char *table = strchr(r.out, '\n');
    REQUIRE(table && !strncmp(table, "\nmcl-katz ", 10));
    EXPECT_INT(count_rows(table), wanted + 1);
    EXPECT(strstr(table, "\nproto+mcl ") && strstr(table, "\ndeepemd ") && strstr(table, "\nrelation "));
    EXPECT(!strstr(table, "\nctx ") && !strstr(table, "\ngnn "));
    ran_free(&r);
}

TEST(eval_draws_its_heads_by_accuracy_with_differences_to_the_first)
{
    char page[1 << 15] = "", path[4096];
    const char *bars, *differences;
    colour_set();
    struct ran r = program_run(
        "", WORDS(SMALL, "--episodes", "6", "--head", "mcl-katz,proto,dn4:k=2", "--report", "r.html"));
    EXPECT_INT(r.status, 0);
    snprintf(path, sizeof path, "%s/r.html", test_folder());
    FILE *f = fopen(path, "r");
    REQUIRE(f);
    const size_t n = fread(page, 1, sizeof page - 1, f);
    fclose(f);
    EXPECT(n > 1000 && !strstr(page, "<script") && !strstr(page, "nan"));
    bars = strstr(page, "<svg");
    REQUIRE(bars);
    differences = strstr(bars + 1, "<svg");
    REQUIRE(differences && strstr(page, "Difference to mcl-katz on the same episodes"));
    double last = 101;
    size_t heads = 0, pairs = 0;
    for (const char *at = bars; (at = strstr(at, "class=\"value\">")) && at < differences; heads++) {
        const double accuracy = strtod(at += strlen("class=\"value\">"), NULL);
        EXPECT(accuracy <= last);
        last = accuracy;
    }
    for (const char *at = differences; (at = strstr(at + 1, "class=\"value\">")) != NULL;) pairs++;
    EXPECT_INT(heads, 3);
    EXPECT_INT(pairs, 2); /* the first of the list is not compared with itself */
    ran_free(&r);
    r = program_run("", WORDS(SMALL, "--episodes", "2", "--head", "proto", "--report", "no/such/r.html"));
    EXPECT_INT(r.status, 1);
    EXPECT(strstr(r.err, "no/such/r.html"));
    ran_free(&r);
}

TEST(eval_json_is_an_array_with_an_object_a_head)
{
    arena *memory = arena_new(1 << 14);
    const struct json *all = NULL;
    colour_set();
    struct ran r = program_run(
        "", WORDS(SMALL, "--episodes", "30", "--head", "mcl-katz,mcl:beta=7", "--seed", "3", "--json"));
    EXPECT_INT(r.status, 0);
    REQUIRE(memory && json_parse("eval", r.out, strlen(r.out), memory, &all) == OK);
    EXPECT_INT(all->count, 2);
    for (const struct json *row = all->first; row; row = row->next) {
        const struct json *member = row->first;
        for (size_t i = 0; keys[i]; i++, member = member ? member->next : NULL)
            EXPECT_TEXT(member ? member->key : NULL, keys[i]);
        EXPECT(!member);
        EXPECT(json_member(row, "accuracy")->real > 1);
        EXPECT_INT(json_member(row, "per_class")->count, COLOUR_CLASSES);
        EXPECT_INT(json_member(row, "seed")->integer, 3);
    }
    const struct json *first = all->first, *second = first->next;
    EXPECT_INT(json_member(first, "paired")->kind, JSON_NULL);
    EXPECT_TEXT(json_member(json_member(second, "paired"), "against")->string, "mcl-katz");
    EXPECT_NEAR(json_member(json_member(second, "paired"), "difference")->real,
                json_member(second, "accuracy")->real - json_member(first, "accuracy")->real, 1e-9);
    EXPECT_NEAR(json_member(json_member(second, "options"), "beta")->real, 7, 0);
    arena_free(memory);
    ran_free(&r);
}

TEST(eval_saves_episodes_and_plays_them_again)
{
    colour_set();
    struct ran a = program_run("",
                               WORDS(SMALL, "--episodes", "20", "--head", "mcl", "--quiet", "--save-episodes", "e"));
    struct ran b = program_run("", WORDS("eval", "--backbone", "conv4", "--net.width", "4", "--data", "set", "--head",
                                         "mcl", "--quiet", "--episodes-from", "e"));
    EXPECT_INT(a.status, 0);
    EXPECT_INT(b.status, 0);
    const char *x = strstr(a.out, "+-"), *y = strstr(b.out, "+-");
    REQUIRE(x && y);
    EXPECT(!strncmp(x - 6, y - 6, 14));
    ran_free(&a);
    ran_free(&b);
    EXPECT_REFUSED(2, "centra eval: episodes are played again from 'e'; saving them as well makes no sense", SMALL,
                   "--head", "mcl", "--episodes-from", "e", "--save-episodes", "f");
}

TEST(eval_refuses_in_one_line)
{
    colour_set();
    EXPECT_REFUSED(2, "centra eval: --data is missing: the data set: a folder, tar, pack or CSV list", "eval");
    EXPECT_REFUSED(2, "centra eval: neither weights nor a backbone are given; give weights to evaluate", "eval",
                   "--data", "set");
    EXPECT_REFUSED(2, "centra eval: there is no head 'mlc'; did you mean 'mcl'?", SMALL, "--head", "mcl,mlc");
    EXPECT_REFUSED(2, "centra eval: --head has an empty name in its list", SMALL, "--head", "mcl,");
    EXPECT_REFUSED(2, "centra eval: --head has an empty name in its list", SMALL, "--head", ",mcl");
    EXPECT_REFUSED(2, "centra eval: --head: 'gamma' behind mcl is not KEY=VALUE", SMALL, "--head", "mcl:gamma");
    EXPECT_REFUSED(1, "centra eval: cannot open 'none.safetensors': No such file or directory", "eval", "--weights",
                   "none.safetensors", "--data", "set");
    struct ran r = program_run("", WORDS("eval", "--backbone", "conv4", "--head", "mcl", "--data", "set", "--quiet"));
    EXPECT_INT(r.status, 1); /* no class has 16 pictures */
    EXPECT(strchr(r.err, '\n') == r.err + strlen(r.err) - 1);
    ran_free(&r);
    r = program_run("", WORDS(SMALL, "--head", "mcl", "--split", "val", "--quiet"));
    EXPECT_INT(r.status, 1);
    EXPECT(strstr(r.err, "val") && strstr(r.err, "test"));
    ran_free(&r);
}

TEST(eval_encodes_base_classes_for_heads_that_look_at_them)
{
    colour_set();
    EXPECT_REFUSED(2,
                   "centra eval: warning: there are no weights: conv4 starts from random ones\n"
                   "centra eval: the head centroid needs pictures of base classes, those that the network was trained "
                   "on; give them with --base",
                   SMALL, "--episodes", "2", "--head", "proto,centroid");
    struct ran r = program_run("", WORDS(SMALL, "--episodes", "2", "--head", "centroid:rounds=3,proto", "--base", "set",
                                         "--base-split", "test"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "\ncentroid ") && strstr(r.out, "\nproto "));
    EXPECT(strstr(r.err, "5 base classes have names of classes that are evaluated; they should be others"));
    ran_free(&r);
    r = program_run("", WORDS(SMALL, "--episodes", "2", "--head", "proto", "--base", "set"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.err, "no head looks at base classes; 'set' is not read"));
    ran_free(&r);
    EXPECT_REFUSED(1, "centra eval: 'set' has no pictures in split 'train'; it has the splits test", SMALL,
                   "--episodes", "2", "--head", "centroid", "--base", "set", "--quiet");
}

TEST(eval_of_all_heads_has_those_that_need_base_classes_when_there_are_some)
{
    colour_set();
    struct ran r = program_run("", WORDS(SMALL, "--episodes", "1", "--head", "all", "--quiet", "--base", "set",
                                         "--base-split", "test", "--head.rounds", "1"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "\ncentroid ") && strstr(r.out, "\nproto "));
    ran_free(&r);
}

/* A line a head, whose numbers have the mean that is shown. */
TEST(eval_saves_the_accuracy_of_every_episode)
{
    char path[600];
    char *text_of = NULL;
    size_t n = 0, lines = 0;
    colour_set();
    struct ran r = program_run("", WORDS(SMALL, "--episodes", "7", "--head", "mcl-katz,proto", "--quiet", "--json",
                                         "--save-accuracies", "each.jsonl"));
    EXPECT_INT(r.status, 0);
    snprintf(path, sizeof path, "%s/each.jsonl", test_folder());
    REQUIRE(file_read(path, 1 << 20, &text_of, &n) == OK);
    const char *shown = r.out;
    for (char *line = text_of; *line; lines++) {
        double sum = 0, one;
        int count = 0, used = 0;
        char *end = strchr(line, '\n'), *at = strstr(line, "\"accuracy\":[");
        REQUIRE(end && at && at < end && !strncmp(line, lines ? "{\"head\":\"proto\"" : "{\"head\":\"mcl-katz\"", 15));
        for (at += 12; sscanf(at, "%lf%n", &one, &used) == 1; at += used + (at[used] == ',')) {
            sum += one;
            count++;
        }
        EXPECT_INT(count, 7);
        shown = strstr(shown + 1, "\"accuracy\": ");
        REQUIRE(shown);
        EXPECT_NEAR(strtod(shown + 12, NULL), sum / 7, 1e-9);
        line = end + 1;
    }
    EXPECT_INT(lines, 2);
    free(text_of);
    ran_free(&r);
}
