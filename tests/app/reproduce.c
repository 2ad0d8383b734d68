/* reproduce.c - centra reproduce on rows of built-in pictures: to a record, through kills, beside each other; its table. */
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "heads/head.h"
#include "tests/app/program.h"
#include "tests/data/tar_write.h"
#include "tests/test.h"
#include "train/settings.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* What of a record does not depend on when and how fast it was made. */
struct kept {
    char row[100], weights[65], recipe[65], train_data[65], test_data[65];
    double accuracy, ci95, validation, steps;
};

static void copy(const struct json *object, const char *key, char *to, size_t room)
{
    const struct json *v = json_member(object, key);
    snprintf(to, room, "%s", v && v->kind == JSON_STRING ? v->string : "");
}

static double number(const struct json *object, const char *key)
{
    const struct json *v = json_member(object, key);
    return v && (v->kind == JSON_INT || v->kind == JSON_REAL) ? v->real : -1;
}

static struct kept read_record(const char *folder, const char *file)
{
    struct kept k = {0};
    char path[600], *bytes = NULL;
    size_t n = 0;
    const struct json *o = NULL;
    arena *memory = arena_new(4096);
    snprintf(path, sizeof path, "%s/%s/%s", test_folder(), folder, file);
    EXPECT_OK(file_read(path, 1 << 20, &bytes, &n));
    if (bytes && memory) EXPECT_OK(json_parse(path, bytes, n, memory, &o));
    if (o) {
        copy(o, "row", k.row, sizeof k.row);
        copy(o, "weights", k.weights, sizeof k.weights);
        copy(o, "recipe_sha256", k.recipe, sizeof k.recipe);
        copy(o, "train_data", k.train_data, sizeof k.train_data);
        copy(o, "test_data", k.test_data, sizeof k.test_data);
        k.accuracy = number(o, "accuracy");
        k.ci95 = number(o, "ci95");
        k.validation = number(o, "validation");
        k.steps = number(o, "steps");
    }
    arena_free(memory);
    free(bytes);
    return k;
}

static void expect_same(const struct kept *a, const struct kept *b)
{
    EXPECT(strlen(a->weights) == 64 && strlen(a->test_data) == 64 && a->accuracy > 0);
    EXPECT_TEXT(a->row, b->row);
    EXPECT_TEXT(a->weights, b->weights);
    EXPECT_TEXT(a->recipe, b->recipe);
    EXPECT_TEXT(a->train_data, b->train_data);
    EXPECT_TEXT(a->test_data, b->test_data);
    EXPECT_NEAR(a->accuracy, b->accuracy, 0);
    EXPECT_NEAR(a->ci95, b->ci95, 0);
    EXPECT_NEAR(a->validation, b->validation, 0);
    EXPECT_NEAR(a->steps, b->steps, 0);
}

TEST(reproduce_runs_a_row_to_its_record_and_says_when_it_is_finished)
{
    struct ran r = program_run("", WORDS("reproduce", "demo/mcl-katz", "--out", "runs", "--machine", "a box"));
    EXPECT_INT(r.status, 0);
    EXPECT(!strncmp(
        r.out, "row            paper  reference           ours  difference\ndemo/mcl-katz      -          -  ", 90));
    EXPECT(strstr(r.err, "training begins in runs/demo/mcl-katz-s1\n") != NULL);
    ran_free(&r);
    const struct kept first = read_record("runs/records", "demo--mcl-katz-s1.json");
    EXPECT_TEXT(first.row, "demo/mcl-katz");
    EXPECT_NEAR(first.steps, 12, 0);
    EXPECT_RUN(0, NULL, "demo/mcl-katz is finished; --again makes it anew\n", "reproduce", "demo/mcl-katz");
    r = program_run("", WORDS("reproduce", "demo/mcl-katz", "--again"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.err, "training begins in runs/demo/mcl-katz-s1\n") != NULL);
    ran_free(&r);
    const struct kept again = read_record("runs/records", "demo--mcl-katz-s1.json");
    expect_same(&first, &again);
}

TEST(reproduce_tests_another_rows_model_and_begins_with_one)
{
    struct ran r = program_run(
        "", WORDS("reproduce", "demo/unidirectional", "demo-start/mcl", "--records", "kept", "--json", "--quiet"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    EXPECT(strstr(r.out, "\"row\": \"demo/unidirectional\"") && strstr(r.out, "\"row\": \"demo-start/mcl\""));
    ran_free(&r);
    const struct kept tested = read_record("kept", "demo--unidirectional-s1.json");
    const struct kept begun = read_record("kept", "demo-start--mcl-s1.json");
    r = program_run("", WORDS("reproduce", "demo/mcl-katz", "--records", "kept", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    const struct kept trained = read_record("kept", "demo--mcl-katz-s1.json");
    EXPECT_TEXT(tested.weights, trained.weights);
    EXPECT(tested.accuracy != trained.accuracy); /* another head */
    EXPECT_NEAR(tested.steps, 0, 0);
    EXPECT(strcmp(begun.weights, trained.weights) != 0);
}

TEST(reproduce_tests_given_weights_without_training)
{
    struct ran r = program_run("", WORDS("reproduce", "demo/mcl-katz", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    r = program_run("", WORDS("reproduce", "demo/mcl-katz", "--records", "kept", "--out", "other", "--weights",
                              "runs/demo/mcl-katz-s1", "--quiet"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    ran_free(&r);
    const struct kept a = read_record("runs/records", "demo--mcl-katz-s1.json");
    const struct kept b = read_record("kept", "demo--mcl-katz-s1.json");
    expect_same(&a, &b);
    EXPECT_REFUSED(2, "centra reproduce: --weights is the model of one row, not of 3", "reproduce", "--all-of", "demo",
                   "--weights", "runs/demo/mcl-katz-s1");
}

/* 100 validations become 25: every other one goes each time that 40 are there. */
TEST(reproduce_keeps_a_short_curve_of_a_long_log)
{
    char path[600], *bytes = NULL;
    size_t n = 0;
    struct ran r = program_run("", WORDS("reproduce", "demo/proto", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    snprintf(path, sizeof path, "%s/runs/demo/proto-s1/metrics.jsonl", test_folder());
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    for (int i = 0; i < 100; i++)
        fprintf(f,
                "{\"epoch\":%d,\"step\":%d,\"seconds\":%d,\"validation\":{\"mean\":0.%d,\"half\":0.1,\"count\":9}}\n",
                i, 6 * (i + 1), 2 * (i + 1), 100 + i);
    fputs("{\"epoch\":100,\"st", f); /* cut, as a full disk leaves it */
    EXPECT(fclose(f) == 0);
    r = program_run(
        "", WORDS("reproduce", "demo/proto", "--records", "kept", "--weights", "runs/demo/proto-s1", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    snprintf(path, sizeof path, "%s/kept/demo--proto-s1.json", test_folder());
    EXPECT_OK(file_read(path, 1 << 20, &bytes, &n));
    REQUIRE(bytes);
    EXPECT(strstr(bytes, "\"curve\": \"1 10.00, 5 10.40, 9 10.80, 13 11.20, ") && strstr(bytes, ", 97 19.60\"\n"));
    EXPECT(strstr(bytes, "\"epochs\": 100,") && strstr(bytes, "\"steps\": 600,") &&
           strstr(bytes, "\"train_seconds\": 200,"));
    EXPECT(strstr(bytes, "\"pictures_per_second\": 60,")); /* 5 classes of 1 + 3 pictures a step */
    free(bytes);
}

TEST(reproduce_keeps_other_settings_apart)
{
    struct ran r = program_run("", WORDS("reproduce", "demo/mcl-katz", "--set", "train.epochs=1", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    r = program_run("", WORDS("reproduce", "demo/mcl-katz", "--seed", "2", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    const struct kept seed = read_record("runs/records", "demo--mcl-katz-s2.json");
    EXPECT_NEAR(seed.steps, 12, 0);
    const struct kept other = read_record("runs/records", "demo--mcl-katz-s1-a689d206.json");
    EXPECT_NEAR(other.steps, 6, 0);
    EXPECT_REFUSED(2,
                   "centra reproduce: --set train.epochs=1: nothing is trained in demo/unidirectional, so that only "
                   "head.* can be set",
                   "reproduce", "demo/unidirectional", "--set", "train.epochs=1");
}

/* Killed and stopped */

#define LONG "--set", "train.epochs=10"

TEST(reproduce_killed_in_training_goes_on_to_the_same_record)
{
    char out[600], log[700], lines[64];
    int to = -1, from = -1, how = 0;
    struct ran r = program_run(
        "", WORDS("reproduce", "demo/mcl-katz", LONG, "--out", "whole", "--records", "kept", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    snprintf(out, sizeof out, "%s/cut", test_folder());
    snprintf(log, sizeof log, "%s/demo/mcl-katz-s1-8b05bb0a/metrics.jsonl", out);
    const int child = program_start(&to, &from, WORDS("reproduce", "demo/mcl-katz", LONG, "--out", out, "--quiet"));
    REQUIRE(child > 0);
    for (int i = 0; i < 3000; i++) {
        FILE *f = fopen(log, "r");
        const bool some = f && fgets(lines, sizeof lines, f);
        if (f) fclose(f);
        if (some) break;
        usleep(10000);
    }
    EXPECT(kill(child, SIGKILL) == 0);
    EXPECT(waitpid(child, &how, 0) == child);
    close(to), close(from);
    r = program_run("", WORDS("reproduce", "demo/mcl-katz", LONG, "--out", "cut"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.err, "training goes on in cut/demo/mcl-katz-s1-8b05bb0a\n") != NULL);
    ran_free(&r);
    const struct kept whole = read_record("kept", "demo--mcl-katz-s1-8b05bb0a.json");
    const struct kept cut = read_record("cut/records", "demo--mcl-katz-s1-8b05bb0a.json");
    EXPECT_NEAR(whole.steps, 60, 0);
    expect_same(&whole, &cut);
}

/* Whoever is killed in the test has a trained run and no record. */
TEST(reproduce_killed_in_the_test_goes_on_to_the_same_record)
{
    char path[600];
    struct ran r = program_run("", WORDS("reproduce", "demo/proto", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    const struct kept before = read_record("runs/records", "demo--proto-s1.json");
    snprintf(path, sizeof path, "%s/runs/records/demo--proto-s1.json", test_folder());
    EXPECT(unlink(path) == 0);
    r = program_run("", WORDS("reproduce", "demo/proto"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "training goes on in runs/demo/proto-s1\n"); /* and has nothing left to do */
    ran_free(&r);
    const struct kept after = read_record("runs/records", "demo--proto-s1.json");
    expect_same(&before, &after);
}

TEST(reproduce_runs_rows_beside_each_other)
{
    enum { MOST = 4 };
    static const char *const rows[MOST] = {"demo/unidirectional", "demo/mcl-katz", "demo-start/mcl", "demo/mcl-katz"};
    int to[MOST], from[MOST], child[MOST], how;
    char out[600];
    snprintf(out, sizeof out, "%s/runs", test_folder());
    for (int i = 0; i < MOST; i++)
        child[i] = program_start(&to[i], &from[i], WORDS("reproduce", rows[i], "--out", out, "--quiet"));
    for (int i = 0; i < MOST; i++) {
        REQUIRE(child[i] > 0);
        EXPECT(waitpid(child[i], &how, 0) == child[i]);
        EXPECT(WIFEXITED(how) && WEXITSTATUS(how) == 0);
        close(to[i]), close(from[i]);
    }
    const struct kept tested = read_record("runs/records", "demo--unidirectional-s1.json");
    const struct kept trained = read_record("runs/records", "demo--mcl-katz-s1.json");
    EXPECT_TEXT(tested.weights, trained.weights);
    EXPECT_TEXT(read_record("runs/records", "demo-start--mcl-s1.json").row, "demo-start/mcl");
}

/* The pictures */

static bool rename_in_folder(const char *from, const char *to)
{
    char a[600], b[600];
    snprintf(a, sizeof a, "%s/%s", test_folder(), from);
    snprintf(b, sizeof b, "%s/%s", test_folder(), to);
    return rename(a, b) == 0;
}

static void write_archive(const char *name, const char *const *pictures)
{
    text t = {0};
    char path[600];
    for (int i = 0; pictures[i]; i++) tar_grey(&t, pictures[i], 10 * i);
    tar_end(&t);
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *f = fopen(path, "w");
    REQUIRE(f && text_status(&t) == OK);
    EXPECT(fwrite(t.data, 1, t.length, f) == t.length && fclose(f) == 0);
    text_free(&t);
}

/* Nobody trains here: the run is refused once it has its pictures. */
TEST(reproduce_decodes_archives_once_and_takes_a_pack_that_is_there)
{
#define REFUSED(method) \
    "training begins in runs/cub-conv4-1shot/" method "-s1-dd2b42c8\n" \
    "centra reproduce: train.epochs is 0, but must lie between 1 and 1000000 (default 30)"
    write_archive("cub-train.tar", WORDS("train/a/1.ppm", "train/a/2.ppm", "train/b/1.ppm"));
    write_archive("cub-valtest.tar", WORDS("val/c/1.ppm", "test/d/1.ppm"));
    write_archive("cub-photos.tar", WORDS("e/1.ppm"));
    EXPECT_REFUSED(
        1,
        "centra reproduce: there are no pictures of miniImageNet in '.': neither mini.pack, mini or mini.tar nor "
        "mini84ravi-train-1.tar, mini84ravi-train-2.tar, mini84ravi-val.tar, mini84ravi-test.tar",
        "reproduce", "mini-conv4-1shot/mcl", "--data", ".");
    EXPECT_REFUSED(2, "decoding CUB-200-2011 once for all rows\n" REFUSED("mcl"), "reproduce", "cub-conv4-1shot/mcl",
                   "--data", ".", "--set", "train.epochs=0");
    EXPECT_REFUSED(2, REFUSED("proto"), "reproduce", "cub-conv4-1shot/proto", "--data", ".", "--set", "train.epochs=0");
    struct ran r = program_run("", WORDS("data", "check", "runs/data/cub.pack", "--json"));
    EXPECT(strstr(r.out, "\"train\"") && strstr(r.out, "\"val\"") && strstr(r.out, "\"test\"") &&
           !strstr(r.out, "\"e\""));
    ran_free(&r);
    EXPECT(rename_in_folder("runs/data/cub.pack", "cub.pack"));
    EXPECT_REFUSED(2, REFUSED("mcl"), "reproduce", "cub-conv4-1shot/mcl", "--data", ".", "--set", "train.epochs=0");
    EXPECT_REFUSED(2, REFUSED("mcl"), "reproduce", "cub-conv4-1shot/mcl", "--data", "cub.pack", "--set",
                   "train.epochs=0");
}

/* What is refused */

TEST(reproduce_refuses_in_one_line)
{
    EXPECT_REFUSED(2, "centra reproduce: a row is missing: centra reproduce ROW; centra reproduce --list shows them",
                   "reproduce");
    EXPECT_REFUSED(
        2, "centra reproduce: there is no row 'cub-conv4-1shot/mclkatz', did you mean cub-conv4-1shot/mcl-katz?",
        "reproduce", "cub-conv4-1shot/mclkatz");
    EXPECT_REFUSED(2, "centra reproduce: there is no row 'nothing'; centra reproduce --list shows them", "reproduce",
                   "nothing");
    EXPECT_REFUSED(2, "centra reproduce: there is no block 'cub-conv4-1shots', did you mean cub-conv4-1shot?",
                   "reproduce", "--all-of", "cub-conv4-1shots");
    EXPECT_REFUSED(
        1,
        "centra reproduce: there are no pictures of CUB-200-2011 in '.': neither cub.pack, cub or cub.tar nor "
        "cub-train.tar, cub-valtest.tar",
        "reproduce", "cub-conv4-1shot/mcl", "--data", ".");
}

static void write_file(const char *name, const char *words)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    fputs(words, f);
    fclose(f);
}

TEST(reproduce_names_a_damaged_record)
{
    struct ran r = program_run("", WORDS("reproduce", "demo/proto", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    const struct kept before = read_record("runs/records", "demo--proto-s1.json");
    write_file("runs/records/demo--proto-s1.json", "{\"schema\": 1, \"row\": \"demo/proto\"}");
#define DAMAGED "centra reproduce: the record 'runs/records/demo--proto-s1.json' is damaged: "
    EXPECT_REFUSED(1, DAMAGED "its seed is missing or of another kind", "reproduce", "demo/proto");
    EXPECT_REFUSED(1, DAMAGED "its seed is missing or of another kind", "reproduce", "--list");
    write_file("runs/records/demo--proto-s1.json", "{\"schema\": 1, \"row\": ");
    r = program_run("", WORDS("reproduce", "demo/proto"));
    EXPECT_INT(r.status, 1);
    EXPECT(!strncmp(r.err, DAMAGED, strlen(DAMAGED)) && strchr(r.err, '\n') == r.err + strlen(r.err) - 1);
    ran_free(&r);
    r = program_run("", WORDS("reproduce", "demo/proto", "--again", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    const struct kept after = read_record("runs/records", "demo--proto-s1.json");
    expect_same(&before, &after);
}

/* The table */

struct line {
    const char *block, *recipe, *start, *method, *head, *settings, *from;
};

#define NONE 0
#define ROW(method, head, settings, from, paper, reference) {NULL, NULL, NULL, method, head, settings, from},
#define BLOCK(name, title, table, recipe, start, train, test, shot, episodes, note, rows) \
    {name, recipe, start, NULL, NULL, NULL, NULL}, rows
static const struct line lines[] = {
#include "app/rows.def"
};
enum { LINES = sizeof lines / sizeof *lines };

/* How many rows have that name, "block/method". */
static int count_rows(const char *name)
{
    int n = 0;
    char full[200];
    const char *block = "";
    for (int i = 0; i < LINES; i++) {
        if (lines[i].block) block = lines[i].block;
        snprintf(full, sizeof full, "%s/%s", block, lines[i].method ? lines[i].method : "");
        n += !strcmp(full, name);
    }
    return n;
}

/* A setting is taken by the recipe, or by the head of the row. */
static void expect_setting(const char *word, const char *head, struct recipe_section *sections, arena *memory)
{
    const struct head *h = NULL;
    char name[100], settings[4096] = {0};
    const char *equals = strchr(word, '=');
    REQUIRE(equals);
    if (strncmp(word, "head.", 5)) {
        EXPECT_OK(recipe_override(word, sections, memory));
        return;
    }
    EXPECT_OK(head_find(head, &h));
    if (!h) return;
    REQUIRE(h->settings_bytes <= sizeof settings);
    snprintf(name, sizeof name, "%.*s", (int)(equals - word) - 5, word + 5);
    EXPECT_OK(option_set(h->options, "head.", name, equals + 1, settings));
}

static void expect_row(const struct line *block, const struct line *row)
{
    char path[600], words[1000], *rest = NULL;
    struct run_settings s;
    struct recipe_section sections[RUN_SECTIONS + 1];
    arena *memory = arena_new(4096);
    REQUIRE(memory);
    run_settings_default(&s);
    run_sections(&s, sections);
    if (block->recipe) {
        snprintf(path, sizeof path, "%s/recipes/%s.txt", CENTRA_SOURCE_DIR, block->recipe);
        EXPECT_OK(recipe_read(path, sections, memory));
    }
    EXPECT(row->head || row->from);
    EXPECT(block->recipe || block->start || row->from);
    if (row->from) EXPECT_INT(count_rows(row->from), 1);
    if (block->start) EXPECT_INT(count_rows(block->start), 1);
    snprintf(words, sizeof words, "%s", row->settings);
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        expect_setting(w, row->head, sections, memory);
    arena_free(memory);
}

TEST(reproduce_has_a_recipe_a_head_and_good_settings_for_every_row)
{
    const struct line *block = NULL;
    char name[200];
    size_t rows = 0;
    for (int i = 0; i < LINES; i++) {
        if (lines[i].block) block = &lines[i];
        if (!lines[i].method) continue;
        REQUIRE(block);
        snprintf(name, sizeof name, "%s/%s", block->block, lines[i].method);
        EXPECT_INT(count_rows(name), 1);
        expect_row(block, &lines[i]);
        rows++;
    }
    EXPECT(rows > 150);
}
