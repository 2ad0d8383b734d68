/* Tests of data/synth.h and data/draw.h. */
#include "data/synth.h"
#include "base/file.h"
#include "base/plain.h"
#include "data/dataset.h"
#include "data/draw.h"
#include "tests/test.h"
#include <dirent.h>
#include <stdlib.h>

static bool same(const struct picture *a, const struct picture *b)
{
    return a->width == b->width && a->height == b->height && !memcmp(a->rgb, b->rgb, a->width * a->height * 3);
}

TEST(synth_picture_is_a_function_of_seed_class_and_index)
{
    struct picture p[5] = {{0}};
    EXPECT_OK(synth_picture(1, 3, 7, 84, &p[0]));
    EXPECT_OK(synth_picture(1, 3, 7, 84, &p[1]));
    EXPECT_OK(synth_picture(2, 3, 7, 84, &p[2]));
    EXPECT_OK(synth_picture(1, 7, 3, 84, &p[3]));
    EXPECT_OK(synth_picture(1, 3, 8, 84, &p[4]));
    EXPECT(same(&p[0], &p[1]));
    for (size_t i = 2; i < 5; i++) EXPECT(!same(&p[0], &p[i]));
    for (size_t i = 0; i < 5; i++) picture_free(&p[i]);
}

TEST(synth_pictures_come_in_any_size)
{
    for (size_t side = 1; side <= 300; side = side * 2 + 5) {
        struct picture p = {0};
        EXPECT_OK(synth_picture(1, 0, 0, side, &p));
        EXPECT(p.width == side && p.height == side);
        picture_free(&p);
    }
    struct picture p = {0};
    EXPECT_STATUS(synth_picture(1, 0, 0, 0, &p), ST_VALUE);
    EXPECT_STATUS(synth_picture(1, 0, 0, SIZE_MAX / 2, &p), ST_VALUE);
}

TEST(synth_draws_shapes_with_the_area_they_have)
{
    static const struct {
        struct shape shape;
        double area;
    } known[] = {
        {{SHAPE_DISC, 0, 0, 1, 0, 0.5f, 0, {1, 1, 1}}, 3.14159265 * 15 * 15},
        {{SHAPE_RING, 0, 0, 1, 0, 0.5f, 0.1f, {1, 1, 1}}, 3.14159265 * (18 * 18 - 12 * 12)},
        {{SHAPE_STROKE, 0.1f, 0, 0.6f, 0.8f, 0.5f, 0.1f, {1, 1, 1}}, 30 * 6 + 3.14159265 * 9},
        {{SHAPE_BOX, 0, 0.2f, 0.6f, 0.8f, 0.5f, 0.2f, {1, 1, 1}}, 30 * 12},
    };
    const struct place middle = {.x = 40.3f, .y = 39.8f, .radius = 30, .c = 0.8f, .s = 0.6f};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        struct canvas c = {0};
        double area = 0;
        REQUIRE(canvas_new(80, &c) == OK);
        memset(c.rgb, 0, 80 * 80 * 3 * sizeof *c.rgb);
        canvas_draw(&c, &known[k].shape, &middle);
        for (size_t i = 0; i < 80 * 80; i++) area += (double)c.rgb[i * 3];
        EXPECT_NEAR(area, known[k].area, 0.02 * known[k].area);
        canvas_free(&c);
    }
}

TEST(synth_shapes_outside_the_picture_touch_nothing)
{
    const struct shape disc = {SHAPE_DISC, 0, 0, 1, 0, 1, 0, {1, 1, 1}};
    const float far[] = {-1e6f, -20, 60, 1e6f};
    struct canvas c = {0};
    REQUIRE(canvas_new(40, &c) == OK);
    memset(c.rgb, 0, 40 * 40 * 3 * sizeof *c.rgb);
    for (size_t i = 0; i < 16; i++) {
        const struct place at = {.x = far[i / 4], .y = far[i % 4], .radius = 10, .c = 1, .s = 0};
        canvas_draw(&c, &disc, &at);
    }
    for (size_t i = 0; i < 40 * 40 * 3; i++) EXPECT(c.rgb[i] == 0);
    canvas_free(&c);
}

TEST(synth_hues_are_the_wheel_s)
{
    const struct colour red = colour_from_hue(0, 1, 1), cyan = colour_from_hue(9, 1, 0.5f),
                        grey = colour_from_hue(-1, 0, 0.25f);
    EXPECT(red.r == 1 && red.g == 0 && red.b == 0);
    EXPECT(cyan.r == 0 && cyan.g == 0.5f && cyan.b == 0.5f);
    EXPECT(grey.r == 0.25f && grey.g == 0.25f && grey.b == 0.25f);
}

TEST(synth_opens_as_a_data_set_with_splits_of_different_classes)
{
    const size_t classes[] = {4, 2, 3};
    const char **splits = NULL, *const first[] = {"pattern-00000", "pattern-00004", "pattern-00006"};
    EXPECT_OK(dataset_splits("synth:5", &splits));
    REQUIRE(splits && splits[0] && splits[1] && splits[2] && !splits[3]);
    for (size_t i = 0; i < 3; i++) {
        struct dataset *d = NULL;
        struct picture p = {0}, direct = {0};
        EXPECT_OK(dataset_open("synth:5?train=4&val=2&test=3&pictures=2&side=32", splits[i], NULL, &d));
        REQUIRE(d);
        EXPECT_INT(dataset_class_count(d), classes[i]);
        EXPECT_INT(dataset_count(d), 2 * classes[i]);
        EXPECT_TEXT(dataset_class_name(d, 0), first[i]);
        EXPECT_OK(dataset_picture(d, 1, &p));
        EXPECT_OK(synth_picture(5, (size_t[]){0, 4, 6}[i], 1, 32, &direct));
        EXPECT(same(&p, &direct));
        picture_free(&p);
        picture_free(&direct);
        dataset_close(d);
    }
    free(splits);
}

TEST(synth_a_wrong_name_is_refused_with_what_is_wrong)
{
    static const struct {
        const char *spec, *says;
    } broken[] = {{"synth:", "seed"},           {"synth:x", "seed"},          {"synth:1?", "key=value"},
                  {"synth:1?side=4", "16"},     {"synth:1?sides=84", "side"}, {"synth:1?side=84&", "key=value"},
                  {"synth:1?val", "key=value"}, {"synth:-1", "seed"}};
    struct synth s;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        EXPECT(synth_parse(broken[i].spec, &s) != OK);
        if (!strstr(error_text(), broken[i].spec) || !strstr(error_text(), broken[i].says))
            test_failed(__FILE__, __LINE__, "'%s' gives \"%s\", which lacks \"%s\"", broken[i].spec, error_text(),
                        broken[i].says);
    }
    struct dataset *d = NULL;
    EXPECT(dataset_open("synth:1?train=0", "train", NULL, &d) != OK);
    EXPECT(strstr(error_text(), "val, test"));
}

static int count_up(void *context, size_t done, size_t all)
{
    size_t *seen = context;
    if (done == *seen + 1 && all == 6) *seen = done;
    return 0;
}

static int stop_at_three(void *context, size_t done, size_t all)
{
    (void)context;
    return done == 3 && all == 6;
}

TEST(synth_written_pictures_are_those_of_the_data_set)
{
    struct synth s;
    size_t told = 0;
    const struct synth_progress progress = {.made = count_up, .context = &told};
    char folder[4096], a[65], b[65];
    struct dataset *made = NULL, *written = NULL;
    const char *spec = "synth:5?train=1&val=1&test=1&pictures=2&side=32";
    plain_snprintf(folder, sizeof folder, "%s/set/", test_folder());
    EXPECT_OK(synth_parse(spec, &s));
    EXPECT_OK(synth_write(&s, folder, &progress));
    EXPECT_INT(told, 6);
    EXPECT_OK(dataset_open(spec, "test", NULL, &made));
    EXPECT_OK(dataset_open(folder, "test", NULL, &written));
    REQUIRE(made && written);
    EXPECT_OK(dataset_fingerprint(made, a));
    EXPECT_OK(dataset_fingerprint(written, b));
    EXPECT_TEXT(a, b);
    dataset_close(made);
    dataset_close(written);
    EXPECT_STATUS(synth_write(&s, folder, NULL), ST_IO); /* it is there now */
    EXPECT(strstr(error_text(), "exists"));
}

static size_t entries(const char *folder)
{
    DIR *d = opendir(folder);
    size_t n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n - 2; /* . and .. */
}

TEST(synth_writing_can_be_stopped_and_leaves_nothing_behind)
{
    struct synth s;
    const struct synth_progress progress = {.made = stop_at_three};
    char folder[4096];
    plain_snprintf(folder, sizeof folder, "%s/set", test_folder());
    EXPECT_OK(synth_parse("synth:5?train=1&val=1&test=1&pictures=2&side=16", &s));
    EXPECT_STATUS(synth_write(&s, folder, &progress), ST_IO);
    EXPECT_TEXT(error_text(), "stopped after 3 of 6 pictures; nothing was kept");
    EXPECT_INT(entries(test_folder()), 0);
}

TEST(synth_writing_leaves_nothing_behind_when_memory_is_out)
{
    struct synth s;
    char folder[4096];
    EXPECT_OK(synth_parse("synth:5?train=1&val=1&test=0&pictures=2&side=16", &s));
    plain_snprintf(folder, sizeof folder, "%s/set", test_folder());
    const size_t live = alloc_live();
    for (size_t n = 1; n < 10000; n++) {
        alloc_fail_at(n);
        const status st = synth_write(&s, folder, NULL);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_INT(alloc_live(), live);
        if (!failed) {
            EXPECT_OK(st);
            break;
        }
        if (st == OK) { /* what failed was not needed */
            char command[4200];
            plain_snprintf(command, sizeof command, "rm -r '%s'", folder);
            EXPECT(system(command) == 0);
            continue;
        }
        EXPECT_INT(entries(test_folder()), 0);
    }
    EXPECT_INT(entries(test_folder()), 1);
}
