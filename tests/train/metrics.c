/* metrics.c - metrics.jsonl: what is added is read back; cut lines and lines after a checkpoint go. */
#include "train/metrics.h"
#include "base/file.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

static void append_bytes(const char *path, const char *bytes)
{
    FILE *f = fopen(path, "ab");
    REQUIRE(f);
    fputs(bytes, f);
    fclose(f);
}

static void expect_file(const char *path, const char *wanted)
{
    char *bytes = NULL;
    size_t n;
    REQUIRE(file_read(path, 1 << 20, &bytes, &n) == OK);
    EXPECT_TEXT(bytes, wanted);
    free(bytes);
}

static const struct metrics_line plain = {
    .epoch = 0, .step = 9, .loss = 1.5, .accuracy = 0.25, .rate = 0.1, .seconds = 2};
static const struct metrics_line validated = {.epoch = 1,
                                              .step = 18,
                                              .loss = (double)NAN,
                                              .accuracy = 0.5,
                                              .rate = 0.1,
                                              .seconds = 4,
                                              .validation = {0.625, 0.0625, 1000},
                                              .best = true};
#define PLAIN "{\"epoch\":0,\"step\":9,\"loss\":1.5,\"accuracy\":0.25,\"rate\":0.1,\"seconds\":2}\n"
#define VALIDATED \
    "{\"epoch\":1,\"step\":18,\"loss\":null,\"accuracy\":0.5,\"rate\":0.1,\"seconds\":4,\"validation\":{\"mean\":0." \
    "625," \
    "\"half\":0.0625,\"count\":1000},\"best\":true}\n"

TEST(metrics_are_one_line_an_epoch_and_read_back)
{
    struct metrics *m = NULL;
    struct metrics_line *lines = NULL;
    size_t count = 0;
    const char *path = path_of("metrics.jsonl");
    arena *memory = arena_new(1024);
    REQUIRE(memory && metrics_open(path, 0, &m) == OK);
    EXPECT_OK(metrics_add(m, &plain));
    expect_file(path, PLAIN); /* without waiting for the end */
    EXPECT_OK(metrics_add(m, &validated));
    metrics_close(m);
    expect_file(path, PLAIN VALIDATED);
    EXPECT_OK(metrics_read(path, memory, &lines, &count));
    REQUIRE(count == 2);
    EXPECT(lines[0].step == 9 && lines[0].loss == 1.5 && lines[0].validation.count == 0 && !lines[0].best);
    EXPECT(lines[1].epoch == 1 && isnan(lines[1].loss) && lines[1].seconds == 4 && lines[1].best);
    EXPECT(lines[1].validation.mean == 0.625 && lines[1].validation.half == 0.0625 &&
           lines[1].validation.count == 1000);
    arena_free(memory);
}

TEST(metrics_opened_again_lose_cut_and_later_lines)
{
    struct metrics *m = NULL;
    const char *path = path_of("metrics.jsonl");
    append_bytes(path, PLAIN VALIDATED "{\"epoch\":2,\"st");
    REQUIRE(metrics_open(path, SIZE_MAX, &m) == OK);
    metrics_close(m);
    expect_file(path, PLAIN VALIDATED);
    REQUIRE(metrics_open(path, 1, &m) == OK);
    EXPECT_OK(metrics_add(m, &validated));
    EXPECT_OK(metrics_add(m, &validated));
    metrics_close(m);
    expect_file(path, PLAIN VALIDATED VALIDATED);
}

TEST(metrics_say_what_is_broken)
{
    struct metrics *m = NULL;
    struct metrics_line *lines = NULL;
    size_t count = 7;
    const char *path = path_of("metrics.jsonl");
    arena *memory = arena_new(1024);
    append_bytes(path, PLAIN "[1]\n");
    EXPECT_STATUS(metrics_read(path, memory, &lines, &count), ST_FORMAT);
    EXPECT(strstr(error_text(), "measurement 2 is broken: it is no object") != NULL);
    EXPECT(count == 7 && lines == NULL);
    EXPECT_STATUS(metrics_open(path, SIZE_MAX, &m), ST_FORMAT);
    EXPECT_STATUS(metrics_open(path_of("no/such/folder"), 0, &m), ST_IO);
    EXPECT(m == NULL);
    arena_free(memory);
}

TEST(metrics_refuse_what_is_no_file)
{
    struct metrics *m = NULL;
    EXPECT_STATUS(metrics_open("/dev/null", 0, &m), ST_IO);
    EXPECT(m == NULL);
}

TEST(metrics_survive_every_failed_allocation)
{
    const char *path = path_of("metrics.jsonl");
    const size_t live = alloc_live();
    append_bytes(path, PLAIN);
    for (size_t n = 1;; n++) {
        struct metrics *m = NULL;
        alloc_fail_at(n);
        status st = metrics_open(path, SIZE_MAX, &m);
        if (st == OK) st = metrics_add(m, &validated);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        metrics_close(m);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
    }
    expect_file(path, PLAIN VALIDATED);
}
