/* results.c - centra reproduce --page: what it says of made-up records, and that docs/results.* are what the records give. */
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "tests/app/program.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

/* A record with that accuracy, of which everything else is filler. */
static void add_record(const char *row, int seed, const char *more, double accuracy, double ci95)
{
    char path[600];
    static int number;
    snprintf(path, sizeof path, "%s/kept", test_folder());
    REQUIRE(folder_make(path) == OK);
    snprintf(path, sizeof path, "%s/kept/%03d.json", test_folder(), number++);
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    fprintf(
        f,
        "{\"schema\": 1, \"row\": \"%s\", \"seed\": %d, \"accuracy\": %.2f, \"ci95\": %.2f, \"way\": 5, \"shot\": 1, "
        "\"query\": 15, \"episodes\": 10000, \"test_seed\": 1, \"settings\": \"\", \"more\": \"%s\", \"test_data\": "
        "\"d\", "
        "\"weights\": \"w\", \"epochs\": 3, \"steps\": 9, \"train_seconds\": 1234.5, \"pictures_per_second\": 20500.4, "
        "\"validation\": 77.5, \"validation_ci95\": 0.6, \"validation_epoch\": 2, \"commit\": "
        "\"0123456789abcdef+changes\", "
        "\"version\": \"0\", \"device\": \"cpu\", \"machine\": \"a box\", \"maths\": \"f32\", \"date\": "
        "\"2025-01-31\"}",
        row, seed, accuracy, ci95, more);
    fclose(f);
}

/* The file of the page that was made from the records; owned by the caller. */
static char *read_page(const char *name)
{
    char path[600], *bytes = NULL;
    size_t n = 0;
    struct ran r = program_run("", WORDS("reproduce", "--page", "page", "--records", "kept"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    ran_free(&r);
    snprintf(path, sizeof path, "%s/page/%s", test_folder(), name);
    EXPECT_OK(file_read(path, 1 << 24, &bytes, &n));
    return bytes;
}

static void expect_says(const char *page, const char *words)
{
    if (!page || !strstr(page, words)) test_failed(__FILE__, __LINE__, "the page does not say: %s", words);
}

/* In the paper: dsn 66.01, proto 71.64, frn 73.48, mcl 77.80, mcl-katz 79.61. */
TEST(results_say_the_order_of_methods_against_the_intervals)
{
    add_record("cub-conv4-1shot/dsn", 1, "", 66.5, 0.2);
    add_record("cub-conv4-1shot/proto", 1, "", 74.0, 0.3);
    add_record("cub-conv4-1shot/frn", 1, "", 73.0, 0.4);
    add_record("cub-conv4-1shot/mcl-katz", 1, "", 79.1, 0.2);
    add_record("cub-conv4-1shot/mcl", 1, "", 78.9, 0.2);
    char *page = read_page("results.md");
    expect_says(page, "\n5 of 193 rows are run. ");
    expect_says(page, "\n| `mcl-katz` | 79.61 | 79.00 | **79.10** +- 0.20 | -0.51 | +0.10 |\n");
    expect_says(page, "\n| `dn4` | 78.31 | - | not yet run | - | - |\n");
    expect_says(page,
                "\nOrder: not the paper's. Ours, best first: `mcl-katz`, `mcl`, `proto`, `frn`, `dsn`. Of 10 pairs, 8 "
                "stand as in the paper by more than the interval, 1 is within it, 1 the other way:\n\n"
                "- `frn` above `proto`: paper +1.84, ours -1.00 with an interval of 0.50 (the other way)\n"
                "- `mcl-katz` above `mcl`: paper +1.81, ours +0.20 with an interval of 0.28 (not decided)\n");
    expect_says(page, "| `cub-conv4-1shot/dsn` | 1 | 77.50 after 2 | 21 min | 20,500 | - | a box, cpu | `0123456789ab` "
                      "and changes |");
    free(page);
}

TEST(results_say_when_the_order_is_the_papers)
{
    add_record("mini-conv4-1shot-plugin/proto", 1, "", 50, 0.2);
    add_record("mini-conv4-1shot-plugin/proto-both", 1, "", 52, 0.2);
    char *page = read_page("results.md");
    expect_says(
        page,
        "\nOrder: the same as the paper's. Ours, best first: `proto-both`, `proto`. Of 1 pair, 1 stands as in the "
        "paper by more than the interval, 0 are within it, 0 the other way.\n");
    free(page);
}

TEST(results_join_seeds_and_keep_other_settings_apart)
{
    add_record("cub-conv4-1shot/mcl-katz", 3, "", 79.5, 0.2);
    add_record("cub-conv4-1shot/mcl-katz", 1, "", 79.0, 0.2);
    add_record("cub-conv4-1shot/mcl-katz", 2, "", 78.8, 0.2);
    add_record("cub-conv4-1shot/mcl-katz", 1, "train.epochs=5", 60, 0.2);
    char *page = read_page("results.md");
    expect_says(page, "\n1 of 193 rows are run. ");
    expect_says(page, "| **79.10** +- 0.20 (3 seeds, spread 0.36) | -0.51 | +0.10 |\n");
    expect_says(page,
                "| `cub-conv4-1shot/mcl-katz` | 79.00 (seed 1), 78.80 (seed 2), 79.50 (seed 3) | 79.10 | 0.36 |\n");
    expect_says(page, "| `cub-conv4-1shot/mcl-katz` | 1 | `train.epochs=5` | 77.50 +- 0.60 | **60.00** +- 0.20 |\n");
    free(page);
}

TEST(results_have_the_times_of_heads_that_were_measured)
{
    char path[600];
    add_record("cub-conv4-1shot/mcl", 1, "", 78, 0.2);
    snprintf(path, sizeof path, "%s/kept/speed", test_folder());
    EXPECT_OK(folder_make(path));
    snprintf(path, sizeof path, "%s/kept/speed/a box.jsonl", test_folder());
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    fputs("{\"head\":\"dn4\",\"way\":5,\"shot\":1,\"channels\":640,\"height\":8,\"width\":8,\"gradients\":false,"
          "\"median_ms\":1.5}\n"
          "{\"head\":\"dn4\",\"way\":5,\"shot\":5,\"channels\":640,\"height\":5,\"width\":5,\"gradients\":false,"
          "\"median_ms\":9}\n",
          f);
    fclose(f);
    char *page = read_page("results.md");
    expect_says(page, "| `dn4` | paper | 11.16 | 13.41 | 16.82 | 23.45 |\n| `dn4` | a box | - | 1.50 | - | - |\n");
    free(page);
}

TEST(results_json_has_the_rows_and_their_pairs)
{
    arena *memory = arena_new(1 << 16);
    const struct json *o = NULL, *rows = NULL, *order = NULL;
    REQUIRE(memory);
    add_record("cub-conv4-1shot/proto", 1, "", 74.0, 0.3);
    add_record("cub-conv4-1shot/proto+mcl", 1, "", 73.0, 0.4);
    char *bytes = read_page("results.json");
    if (bytes) EXPECT_OK(json_parse("results.json", bytes, strlen(bytes), memory, &o));
    if (o) {
        const struct json *block = json_member(o, "blocks")->first;
        rows = json_member(block, "rows");
        order = json_member(block, "order");
    }
    EXPECT(rows && rows->count == 9);
    EXPECT(order && order->count == 1);
    if (rows && order && order->first) {
        EXPECT_NEAR(json_member(rows->first, "accuracy")->real, 74, 0);
        EXPECT_NEAR(json_member(rows->first, "to_paper")->real, 74 - 71.64, 1e-9);
        EXPECT_NEAR(json_member(order->first, "ours")->real, -1, 1e-9);
        EXPECT_NEAR(json_member(order->first, "interval")->real, 0.5, 1e-9);
        EXPECT_TEXT(json_member(order->first, "verdict")->string, "other");
    }
    free(bytes);
    arena_free(memory);
}

TEST(results_refuse_a_record_of_no_row)
{
    add_record("cub-conv4-1shot/mclkatz", 1, "", 74.0, 0.3);
    struct ran r = program_run("", WORDS("reproduce", "--page", "page", "--records", "kept"));
    EXPECT_INT(r.status, 1);
    EXPECT(strstr(r.err,
                  "is damaged: there is no row 'cub-conv4-1shot/mclkatz', did you mean cub-conv4-1shot/mcl-katz?\n"));
    ran_free(&r);
}

TEST(results_in_docs_are_what_the_records_give)
{
    static const char *const names[] = {"results.md", "results.json"};
    struct ran r = program_run("",
                               WORDS("reproduce", "--page", "page", "--records", CENTRA_SOURCE_DIR "/docs/results"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    ran_free(&r);
    for (int i = 0; i < 2; i++) {
        char path[600], *made = NULL, *kept = NULL;
        size_t made_bytes = 0, kept_bytes = 0;
        snprintf(path, sizeof path, "%s/page/%s", test_folder(), names[i]);
        EXPECT_OK(file_read(path, 1 << 24, &made, &made_bytes));
        snprintf(path, sizeof path, "%s/docs/%s", CENTRA_SOURCE_DIR, names[i]);
        EXPECT_OK(file_read(path, 1 << 24, &kept, &kept_bytes));
        if (made && kept && strcmp(made, kept))
            test_failed(__FILE__, __LINE__, "docs/%s differs; centra reproduce --page docs --records docs/results",
                        names[i]);
        free(made);
        free(kept);
    }
}
