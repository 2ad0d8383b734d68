/* demo.c - centra demo on a handful of tiny pictures: all its parts, none of its claims. */
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "tests/app/program.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

#define TINY(...) \
    WORDS("demo", "--data", "synth:3?side=40&train=6&val=6&test=6&pictures=17", "--epochs", "1", "--episodes", "4", \
          "--set", "train.episodes=1", "--set", "train.way=5", "--set", "train.query=2", "--set", \
          "validate.episodes=2", "--set", "data.side=32", "--set", "data.pad=4", "--quiet", __VA_ARGS__)

TEST(demo_compares_four_heads_and_writes_a_page)
{
    char folder[512], page[600], *bytes = NULL;
    size_t n = 0;
    snprintf(folder, sizeof folder, "%s/demo", test_folder());
    snprintf(page, sizeof page, "%s/report.html", folder);
    struct ran r = program_run("", TINY("--out", folder, "--set", "net.width=8")); /* the pictures know it too */
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    EXPECT(strstr(r.out, "proto ") && strstr(r.out, "unidirectional ") && strstr(r.out, "mcl ") &&
           strstr(r.out, "mcl-katz "));
    EXPECT_OK(file_read(page, 1 << 24, &bytes, &n));
    EXPECT(bytes && strstr(bytes, "<svg") && strstr(bytes, "data:image/png;base64,") && strstr(bytes, "Episode 3"));
    free(bytes);
    ran_free(&r);
}

TEST(demo_json_is_an_array_of_rows_like_those_of_eval)
{
    static const char *const heads[] = {"proto", "unidirectional", "mcl", "mcl-katz"};
    char folder[512];
    arena *memory = arena_new(4096);
    const struct json *rows = NULL;
    REQUIRE(memory);
    snprintf(folder, sizeof folder, "%s/demo", test_folder());
    struct ran r = program_run("", TINY("--out", folder, "--json"));
    EXPECT_INT(r.status, 0);
    EXPECT_OK(json_parse("demo", r.out, strlen(r.out), memory, &rows));
    REQUIRE(rows && rows->kind == JSON_ARRAY && rows->count == 4);
    const struct json *row = rows->first;
    for (size_t i = 0; i < 4; i++, row = row->next) {
        EXPECT_TEXT(json_member(row, "head")->string, heads[i]);
        EXPECT_INT(json_member(row, "episodes")->integer, 4);
        EXPECT(json_member(row, "accuracy") && json_member(row, "ci95") && json_member(row, "data_fingerprint"));
        const struct json *paired = json_member(row, "paired");
        REQUIRE(paired);
        if (i) EXPECT_TEXT(json_member(paired, "against")->string, "proto");
        else EXPECT_INT(paired->kind, JSON_NULL);
    }
    arena_free(memory);
    ran_free(&r);
}

TEST(demo_refuses_in_one_line)
{
    EXPECT_REFUSED(1, "centra demo: cannot open 'none': No such file or directory", "demo", "--data", "none", "--out",
                   "demo-out", "--quiet");
    EXPECT_REFUSED(2, "centra demo: --epochs is 0, but must lie between 1 and 1000 (default 12)", "demo", "--epochs",
                   "0");
}
