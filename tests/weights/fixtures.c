/* fixtures.c - files that PyTorch wrote give the numbers that were put in. */
#include "base/file.h"
#include "tests/test.h"
#include "tests/weights/sample.h"
#include <stdlib.h>

static const char *const good[] = {
    "plain.pth",        "nested.pth",        "turned.pth",        "parameters.pth",
    "plain-legacy.pth", "nested-legacy.pth", "turned-legacy.pth", "parameters-legacy.pth",
    "protocol4.pth"};
enum { GOOD = sizeof good / sizeof good[0] };

static void expect_sample(const struct weights *w, const char *file)
{
    for (size_t i = 0; i < weights_count(w); i++) {
        const struct named_array *a = weights_at(w, i);
        double x[SAMPLE_NUMBERS_MOST];
        float f[SAMPLE_NUMBERS_MOST];
        EXPECT_OK(named_array_get(a, file, DT_F64, a->rank, a->dim, x));
        EXPECT_OK(named_array_get(a, file, DT_F32, a->rank, a->dim, f));
        for (size_t k = 0; k < a->bytes / array_type_bytes(a->type); k++) {
            EXPECT_NEAR(x[k], sample_number(a, k), 0);
            EXPECT_NEAR((double)f[k], x[k], 0);
        }
    }
}

TEST(files_of_pytorch_hold_the_numbers_that_were_saved)
{
    char wanted[65], hex[65];
    sample_fingerprint(wanted);
    for (size_t i = 0; i < GOOD; i++) {
        struct weights *w = NULL;
        EXPECT_OK(weights_open(fixture(good[i]), &w));
        if (!w) continue;
        EXPECT_TEXT(weights_kind(w), strstr(good[i], "legacy") ? "pth (legacy)" : "pth");
        EXPECT_INT(weights_count(w), SAMPLE_COUNT);
        EXPECT_INT(weights_meta_count(w), 0);
        expect_sample(w, good[i]);
        EXPECT_OK(weights_fingerprint(w, hex));
        EXPECT_TEXT(hex, wanted);
        weights_close(w);
    }
}

TEST(what_pytorch_can_save_but_is_no_dict_of_numbers_is_refused_by_name)
{
    static const struct {
        const char *file, *says;
    } cases[] = {
        {"evil.pth", "its pickle uses posix.system, which is refused; save only model.state_dict()"},
        {"evil-legacy.pth", "its pickle uses posix.system, which is refused; save only model.state_dict()"},
        {"short.pth", "its pickle uses torch.ShortStorage, which is refused"},
        {"deflated.pth", "is compressed; save it again with torch.save"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weights *w = NULL;
        EXPECT_STATUS(weights_open(fixture(cases[i].file), &w), ST_FORMAT);
        EXPECT(!w);
        if (!strstr(error_text(), cases[i].says))
            test_failed(__FILE__, __LINE__, "%s says \"%s\", wanted \"%s\"", cases[i].file, error_text(),
                        cases[i].says);
    }
    EXPECT(!file_exists("centra-was-here"));
}

TEST(files_cut_anywhere_are_refused)
{
    for (size_t i = 0; i < GOOD; i++) {
        char *data = NULL;
        size_t n = 0;
        EXPECT_OK(file_read(fixture(good[i]), 1 << 20, &data, &n));
        REQUIRE(data);
        for (size_t cut = 0; cut < n; cut++) {
            struct weights *w = NULL;
            EXPECT_STATUS(parse_exactly(data, cut, &w), ST_FORMAT);
            EXPECT(!w && strlen(error_text()) > 10);
        }
        free(data);
    }
}

/* Any change of one byte is refused or gives a file that can be read through. */
TEST(files_with_a_changed_byte_are_safe_to_read)
{
    struct random r = test_random();
    for (size_t i = 0; i < GOOD; i++) {
        char *data = NULL;
        size_t n = 0;
        EXPECT_OK(file_read(fixture(good[i]), 1 << 20, &data, &n));
        REQUIRE(data);
        for (size_t at = 0; at < n; at++) {
            char hex[65], was = data[at];
            struct weights *w = NULL;
            data[at] = (char)random_below(&r, 256);
            if (parse_exactly(data, n, &w) == OK) EXPECT_OK(weights_fingerprint(w, hex));
            weights_close(w);
            data[at] = was;
        }
        free(data);
    }
}

TEST(opening_survives_failing_allocations)
{
    static const char *const files[] = {"nested.pth", "turned-legacy.pth"};
    for (size_t i = 0; i < 2; i++) {
        const size_t live = alloc_live();
        bool done = false;
        size_t n = 1;
        for (; n < 1000 && !done; n++) {
            struct weights *w = NULL;
            alloc_fail_at(n);
            status st = weights_open(fixture(files[i]), &w);
            done = !alloc_did_fail();
            alloc_fail_at(0);
            EXPECT_STATUS(st, done ? OK : ST_MEMORY);
            EXPECT(done == (w != NULL));
            weights_close(w);
            EXPECT_INT(alloc_live(), live);
        }
        EXPECT(done && n > 5);
    }
}
