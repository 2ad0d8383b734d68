/* bench.c - centra bench: the shape of what it says, never a time. */
#include "base/arena.h"
#include "base/json.h"
#include "centra.h"
#include "tests/app/program.h"
#include "tests/test.h"

static double real(const struct json *object, const char *key)
{
    const struct json *member = json_member(object, key);
    return member ? member->real : NAN;
}

TEST(bench_json_has_every_field)
{
    static const char *const fields[] = {"head",    "options",   "way",       "shot",      "queries", "channels",
                                         "height",  "width",     "precision", "gradients", "threads", "isa",
                                         "repeats", "median_ms", "min_ms",    "p25_ms",    "p75_ms",  "gflop"};
    struct ran r = program_run("", WORDS("bench", "heads", "--channels", "8", "--map", "2x3", "--way", "3", "--queries",
                                         "2", "--repeats", "3", "--json", "--gradients", "--head.gamma", "40"));
    arena *memory = arena_new(4096);
    const struct json *object = NULL;
    REQUIRE(memory);
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    EXPECT_OK(json_parse("bench", r.out, strlen(r.out), memory, &object));
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!json_member(object, fields[i])) test_failed(__FILE__, __LINE__, "there is no \"%s\"", fields[i]);
    EXPECT_NEAR(real(object, "gflop"), 3 * 2.0 * (6 * 6) * (3 * 6) * 8 / 1e9, 1e-15);
    EXPECT_NEAR(real(json_member(object, "options"), "gamma"), 40, 0);
    EXPECT(real(object, "min_ms") <= real(object, "p25_ms") && real(object, "p25_ms") <= real(object, "median_ms"));
    EXPECT(real(object, "median_ms") <= real(object, "p75_ms"));
    arena_free(memory);
    ran_free(&r);
}

TEST(bench_heads_says_how_many_episodes_stay_on_the_device)
{
    struct ran r = program_run("", WORDS("bench", "heads", "--channels", "8", "--map", "2", "--way", "2", "--queries",
                                         "1", "--repeats", "2", "--passes", "3", "--gradients", "--json"));
    arena *memory = arena_new(4096);
    const struct json *object = NULL;
    REQUIRE(memory);
    EXPECT_INT(r.status, 0);
    EXPECT_OK(json_parse("bench", r.out, strlen(r.out), memory, &object));
    EXPECT_NEAR(real(object, "passes"), 3, 0);
    arena_free(memory);
    ran_free(&r);
}

TEST(bench_of_all_heads_has_a_row_for_each)
{
    size_t rows = 0, plain = 0;
    centra_head_info info;
    for (size_t i = 0; i < centra_head_count(); i++) plain += !centra_head_describe(i, &info) && !info.fitted;
    struct ran r = program_run("", WORDS("bench", "heads", "--head", "all", "--channels", "8", "--map", "2", "--way",
                                         "3", "--queries", "2", "--repeats", "1", "--warmup", "0", "--gradients"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    EXPECT(strstr(r.out, "\nproto+mcl ") && !strstr(r.out, "\nbaseline "));
    for (const char *at = r.out; (at = strchr(at, '\n')) != NULL; at++) rows++;
    EXPECT_INT(rows, plain + 1);
    ran_free(&r);
    EXPECT_REFUSED(2, "centra bench: --wait times one head; name it with --head", "bench", "heads", "--head", "all",
                   "--wait");
}

TEST(bench_backbones_json_has_every_field)
{
    static const char *const fields[] = {"backbone",  "options", "batch", "side",      "repeats", "threads", "mode",
                                         "precision", "maths",   "isa",   "median_ms", "min_ms",  "p25_ms",  "p75_ms"};
    struct ran r = program_run("", WORDS("bench", "backbones", "--batch", "2", "--side", "16", "--net.width", "3",
                                         "--repeats", "2", "--mode", "train", "--json"));
    arena *memory = arena_new(4096);
    const struct json *object = NULL;
    REQUIRE(memory);
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    EXPECT_OK(json_parse("bench", r.out, strlen(r.out), memory, &object));
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!json_member(object, fields[i])) test_failed(__FILE__, __LINE__, "there is no \"%s\"", fields[i]);
    EXPECT_NEAR(real(object, "pictures_per_second") * real(object, "median_ms"), 2000, 1e-6);
    EXPECT_NEAR(real(json_member(object, "options"), "width"), 3, 0);
    arena_free(memory);
    ran_free(&r);
}

TEST(bench_backbones_waits_too_and_refuses_unknown_networks)
{
    struct ran r = program_run("2\n", WORDS("bench", "backbones", "--batch", "1", "--side", "16", "--wait"));
    EXPECT_INT(r.status, 0);
    EXPECT(r.out[0] == '{' && strchr(r.out, ','));
    ran_free(&r);
    r = program_run("", WORDS("bench", "backbones", "--backbone", "conv5"));
    EXPECT_INT(r.status, 2);
    EXPECT(strstr(r.err, "did you mean 'conv4'?"));
    ran_free(&r);
}

static struct ran run_side(const char *net, const char *side)
{
    return program_run("", WORDS("bench", "backbones", "--backbone", net, "--side", side, "--batch", "1", "--repeats",
                                 "1", "--warmup", "0", "--threads", "1"));
}

/* A picture that nothing would be left of is refused by the network, not by some layer of it. */
TEST(bench_backbones_takes_the_smallest_pictures_and_refuses_smaller_ones)
{
    static const char *const nets[][4] = {
        {"conv4", "16", "15",
         "conv4 needs pictures [n, 3, height, width] of at least 16 x 16 pixels, not [1, 3, 15, 15]\n"},
        {"conv4-19", "12", "11",
         "conv4-19 needs pictures [n, 3, height, width] of at least 12 x 12 pixels, not [1, 3, 11"},
        {"resnet12", "16", "15",
         "resnet12 needs pictures [n, 3, height, width] of at least 16 x 16 pixels, not [1, 3, 15"},
        {"resnet18", "32", "31",
         "resnet18 needs pictures [n, 3, height, width] of at least 32 x 32 pixels, not [1, 3, 31"}};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        struct ran good = run_side(nets[i][0], nets[i][1]), small = run_side(nets[i][0], nets[i][2]);
        EXPECT_INT(good.status, 0);
        EXPECT_INT(small.status, 1);
        EXPECT(strstr(small.err, nets[i][3]));
        ran_free(&good);
        ran_free(&small);
    }
}

TEST(bench_wait_answers_each_line)
{
    struct ran r = program_run("go\n\n3", WORDS("bench", "heads", "--channels", "8", "--map", "2", "--wait"));
    size_t lines = 0;
    EXPECT_INT(r.status, 0);
    for (const char *p = r.out; (p = strstr(p, "{\"ms\":")); p++) lines++;
    EXPECT_INT(lines, 3);
    const char *last = strrchr(r.out, '[');
    REQUIRE(last);
    size_t commas = 0;
    for (const char *p = last; *p; p++) commas += *p == ',';
    EXPECT_INT(commas, 2); /* three runs */
    ran_free(&r);
}
