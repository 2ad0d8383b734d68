/* support.c - known pictures: what is added, taken away and renamed, and packs that bring all of it back. */
#include "tests/api/own.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

static const char *name_of(const centra_support *s, size_t class_index, size_t picture)
{
    const char *name = "";
    centra_support_picture(s, class_index, picture, &name, NULL);
    return name;
}

static const char *class_of(const centra_support *s, size_t index, size_t *pictures)
{
    const char *name = "";
    centra_support_class(s, index, &name, pictures);
    return name;
}

static centra_status add(struct own *o, const char *class_name, const char *name, size_t kind)
{
    centra_picture p = own_picture(kind, 1, 60, 60);
    const centra_known known = {class_name, name, &p};
    const centra_status st = centra_support_add(o->support, o->classifier, &known, 1);
    centra_picture_free(&p);
    return st;
}

TEST(classes_are_sorted_and_keep_the_order_of_their_pictures)
{
    struct own o;
    size_t n = 0;
    REQUIRE(own_open(&o, NULL, 1));
    EXPECT_OK((status)add(&o, "m", "m/1", 0));
    EXPECT_OK((status)add(&o, "z", "z/1", 1));
    EXPECT_OK((status)add(&o, "a", "a/1", 2));
    EXPECT_OK((status)add(&o, "m", "m/0", 3));
    EXPECT_INT(centra_support_class_count(o.support), 3);
    EXPECT_TEXT(class_of(o.support, 0, &n), "a");
    EXPECT_TEXT(class_of(o.support, 1, &n), "m");
    EXPECT_INT(n, 2);
    EXPECT_TEXT(name_of(o.support, 1, 0), "m/1");
    EXPECT_TEXT(name_of(o.support, 1, 1), "m/0");
    EXPECT_TEXT(name_of(o.support, 2, 0), "z/1");
    own_close(&o);
}

TEST(what_is_taken_away_leaves_the_rest_as_it_was)
{
    struct own o;
    size_t n = 0;
    centra_picture before = {0}, after = {0};
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, 3, 2, 1));
    EXPECT_OK((status)centra_support_picture(o.support, 2, 1, NULL, &before));
    centra_picture copy = {before.width, before.height, malloc(84 * 84 * 3)};
    memcpy(copy.rgb, before.rgb, 84 * 84 * 3);
    EXPECT_OK((status)centra_support_remove(o.support, "kind 1", 0));
    EXPECT_TEXT(class_of(o.support, 1, &n), "kind 1");
    EXPECT_INT(n, 1);
    EXPECT_TEXT(name_of(o.support, 1, 0), "kind 1/1.png");
    EXPECT_OK((status)centra_support_remove(o.support, "kind 0", SIZE_MAX));
    EXPECT_INT(centra_support_class_count(o.support), 2);
    EXPECT_TEXT(name_of(o.support, 1, 1), "kind 2/1.png");
    EXPECT_OK((status)centra_support_picture(o.support, 1, 1, NULL, &after));
    EXPECT(!memcmp(after.rgb, copy.rgb, 84 * 84 * 3));
    EXPECT_STATUS((status)centra_support_remove(o.support, "kind 0", 0), ST_USAGE);
    EXPECT_TEXT(centra_message(), "there is no class 'kind 0' among the 2 of the support");
    EXPECT_STATUS((status)centra_support_remove(o.support, "kind 1", 1), ST_USAGE);
    EXPECT_OK((status)centra_support_remove(o.support, "kind 1", 0)); /* its last: the class is gone */
    EXPECT_INT(centra_support_class_count(o.support), 1);
    centra_picture_free(&copy);
    own_close(&o);
}

/* Probabilities of three queries, to see whether two supports mean the same. */
static void ask(struct own *o, const centra_support *s, size_t classes, double *p, centra_guess *g)
{
    for (size_t i = 0; i < 3; i++) {
        centra_picture q = own_picture(i, 77, 100, 130);
        EXPECT_OK((status)centra_classify(o->classifier, s, &q, 1, p + i * classes, g + i));
        centra_picture_free(&q);
    }
}

TEST(a_renamed_class_moves_to_its_place_with_its_pictures)
{
    struct own o;
    size_t n = 0;
    double before[9], after[9];
    centra_guess g[3];
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, 3, 2, 1));
    ask(&o, o.support, 3, before, g);
    EXPECT_STATUS((status)centra_support_rename(o.support, "kind 0", "kind 2"), ST_USAGE);
    EXPECT_TEXT(centra_message(), "there is a class 'kind 2' already");
    EXPECT_OK((status)centra_support_rename(o.support, "kind 0", "zebra"));
    EXPECT_TEXT(class_of(o.support, 2, &n), "zebra");
    EXPECT_TEXT(name_of(o.support, 2, 1), "kind 0/1.png");
    ask(&o, o.support, 3, after, g);
    for (size_t i = 0; i < 3; i++) {
        EXPECT_NEAR(after[3 * i + 2], before[3 * i], 1e-5);
        EXPECT_NEAR(after[3 * i], before[3 * i + 1], 1e-5);
    }
    own_close(&o);
}

TEST(a_pack_brings_everything_back)
{
    struct own o;
    centra_support *again = NULL, *parsed = NULL;
    unsigned char *bytes = NULL;
    size_t count = 0;
    double p[2][9];
    centra_guess g[2][3];
    char path[512];
    snprintf(path, sizeof path, "%s/x.pack", test_folder());
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, 3, 4, 1));
    EXPECT_OK((status)centra_support_calibrate(o.support, o.classifier));
    EXPECT_OK((status)centra_support_save(o.support, path));
    EXPECT_OK((status)centra_support_open(o.model, path, &again));
    REQUIRE(again);
    EXPECT(centra_support_calibrated(again, o.classifier));
    EXPECT_TEXT(name_of(again, 1, 3), "kind 1/3.png");
    ask(&o, o.support, 3, p[0], g[0]);
    ask(&o, again, 3, p[1], g[1]);
    EXPECT(!memcmp(p[0], p[1], sizeof p[0]));
    EXPECT(!memcmp(g[0], g[1], sizeof g[0]));
    EXPECT(!isnan(g[0][0].familiarity));
    EXPECT_OK((status)centra_support_write(again, &bytes, &count));
    EXPECT_OK((status)centra_support_parse(o.model, "memory", bytes, count, &parsed));
    REQUIRE(parsed);
    ask(&o, parsed, 3, p[1], g[1]);
    EXPECT(!memcmp(p[0], p[1], sizeof p[0]));
    centra_free(bytes);
    centra_support_free(again);
    centra_support_free(parsed);
    own_close(&o);
}

TEST(a_pack_cut_anywhere_is_refused)
{
    struct own o;
    unsigned char *bytes = NULL;
    size_t count = 0;
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, 2, 2, 1));
    EXPECT_OK((status)centra_support_calibrate(o.support, o.classifier));
    EXPECT_OK((status)centra_support_write(o.support, &bytes, &count));
    REQUIRE(bytes);
    for (size_t n = 0; n < count; n += n < 4096 ? 7 : 997) {
        centra_support *s = NULL;
        EXPECT((status)centra_support_parse(o.model, "cut", bytes, n, &s) != OK);
        EXPECT(!s);
        centra_support_free(s);
    }
    centra_support *s = NULL;
    EXPECT_STATUS((status)centra_support_parse(o.model, "half.pack", bytes, count / 2, &s), ST_FORMAT);
    EXPECT(strstr(centra_message(), "half.pack"));
    centra_free(bytes);
    own_close(&o);
}

/* Changes of single bytes may be harmless (a pixel), but never do harm. */
TEST(a_pack_with_changed_bytes_is_read_or_refused)
{
    struct own o;
    unsigned char *bytes = NULL;
    size_t count = 0;
    struct random r = test_random();
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, 2, 2, 1));
    EXPECT_OK((status)centra_support_write(o.support, &bytes, &count));
    REQUIRE(bytes);
    for (int i = 0; i < 400; i++) {
        centra_support *s = NULL;
        const size_t at = random_below(&r, i % 2 ? count : 1200);
        const unsigned char kept = bytes[at];
        bytes[at] = (unsigned char)random_below(&r, 256);
        if (centra_support_parse(o.model, "changed", bytes, count, &s) == CENTRA_OK) {
            size_t n = 0, sum = 0;
            for (size_t c = 0; centra_support_class(s, c, NULL, &n) == CENTRA_OK; c++) sum += n;
            EXPECT_INT(sum, 4);
        }
        centra_support_free(s);
        bytes[at] = kept;
    }
    centra_free(bytes);
    own_close(&o);
}

TEST(the_pack_of_another_model_is_refused_by_name)
{
    struct own o;
    unsigned char *bytes = NULL;
    size_t count = 0;
    centra_support *s = NULL;
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, 2, 1, 1));
    EXPECT_OK((status)centra_support_write(o.support, &bytes, &count));
    REQUIRE(bytes);
    static const char key[] = "model_fingerprint\":\"";
    unsigned char *at = bytes + 8; /* in the header */
    while (at < bytes + 4096 && memcmp(at, key, sizeof key - 1)) at++;
    REQUIRE(at < bytes + 4096);
    memcpy(at + sizeof key - 1, "0123456789ab", 12);
    EXPECT_STATUS((status)centra_support_parse(o.model, "cats.pack", bytes, count, &s), ST_USAGE);
    EXPECT(strstr(centra_message(),
                  "'cats.pack' was made with the model conv4-synth (0123456789ab...), not with conv4-synth"));
    centra_free(bytes);
    own_close(&o);
}

TEST(a_failed_addition_adds_nothing)
{
    struct own o;
    centra_picture p[3];
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, 2, 1, 1));
    for (size_t i = 0; i < 3; i++) p[i] = own_picture(i, 5, 40, 40);
    const centra_known known[] = {{"new", "1", &p[0]}, {"kind 0", "2", &p[1]}, {"newer", "3", &p[2]}};
    for (size_t n = 1; n < 200; n++) {
        alloc_fail_at(n);
        const centra_status st = centra_support_add(o.support, o.classifier, known, 3);
        alloc_fail_at(0);
        if (st == CENTRA_OK) break;
        EXPECT_STATUS((status)st, ST_MEMORY);
        size_t pictures = 0;
        EXPECT_INT(centra_support_class_count(o.support), 2);
        EXPECT_TEXT(class_of(o.support, 0, &pictures), "kind 0");
        EXPECT_INT(pictures, 1);
        EXPECT_TEXT(name_of(o.support, 1, 0), "kind 1/0.png");
    }
    EXPECT_INT(centra_support_class_count(o.support), 4);
    for (size_t i = 0; i < 3; i++) centra_picture_free(&p[i]);
    own_close(&o);
}
