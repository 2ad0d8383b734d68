/* Tests of data/split.h. */
#include "data/split.h"
#include "base/file.h"
#include "data/dataset.h"
#include "tests/data/sample.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Ten classes c0 .. c9 with two pictures each. */
static void ten_classes(void)
{
    for (int c = 0; c < 10; c++)
        for (int i = 0; i < 2; i++) {
            char name[40];
            snprintf(name, sizeof name, "ten/c%d/%d.ppm", c, i);
            sample_grey(name, 10 * c + i);
        }
}

static void remove_lists(void)
{
    static const char *const lists[] = {"ten/train.csv", "ten/val.csv", "ten/test.csv"};
    for (int i = 0; i < 3; i++) (void)unlink(sample_path(lists[i]));
}

/* The three lists behind one another; "" for those that are not there. */
static void read_lists(char out[2000])
{
    static const char *const lists[] = {"ten/train.csv", "ten/val.csv", "ten/test.csv"};
    out[0] = 0;
    for (int i = 0; i < 3; i++) {
        char *bytes = NULL;
        size_t n = 0;
        if (!file_exists(sample_path(lists[i]))) continue;
        REQUIRE(file_read(sample_path(lists[i]), 600, &bytes, &n) == OK);
        strcat(out, bytes);
        free(bytes);
    }
}

TEST(a_split_divides_the_classes_and_opens_with_its_splits)
{
    static const char *const names[] = {"train", "val", "test"};
    struct split_result r;
    ten_classes();
    const struct split_options o = {.part = {5, 2, 2}, .seed = 1};
    REQUIRE(data_split(sample_path("ten"), &o, &r) == OK);
    EXPECT_INT(r.left_over, 1);
    bool seen[10] = {0};
    for (int s = 0; s < 3; s++) {
        struct dataset *d = NULL;
        EXPECT_INT(r.classes[s], o.part[s]);
        EXPECT_INT(r.pictures[s], 2 * o.part[s]);
        REQUIRE(dataset_open(sample_path("ten"), names[s], NULL, &d) == OK);
        EXPECT_INT(dataset_class_count(d), o.part[s]);
        for (size_t c = 0; c < dataset_class_count(d); c++) {
            int k = dataset_class_name(d, c)[1] - '0';
            struct picture p = {0};
            EXPECT(!seen[k]);
            seen[k] = true;
            EXPECT_OK(dataset_picture(d, dataset_class_first(d, c) + 1, &p));
            EXPECT_INT(p.rgb[0], 10 * k + 1);
            picture_free(&p);
        }
        dataset_close(d);
    }
    EXPECT_STATUS(data_split(sample_path("ten"), &o, &r), ST_VALUE);
    EXPECT(strstr(error_text(), "is split already"));
}

TEST(a_split_is_a_function_of_its_seed)
{
    char lists[3][2000];
    ten_classes();
    for (int i = 0; i < 3; i++) {
        const struct split_options o = {.part = {0.6, 0.2, 0.2}, .seed = i < 2 ? 3 : 4};
        REQUIRE(data_split(sample_path("ten"), &o, NULL) == OK);
        read_lists(lists[i]);
        remove_lists();
    }
    EXPECT_TEXT(lists[1], lists[0]);
    EXPECT(strcmp(lists[2], lists[0]));
}

TEST(fractions_of_classes_add_up)
{
    struct split_result r;
    ten_classes();
    const struct split_options o = {.part = {0.64, 0.16, 0.2}};
    REQUIRE(data_split(sample_path("ten"), &o, &r) == OK);
    EXPECT_INT(r.classes[0], 6);
    EXPECT_INT(r.classes[1], 2);
    EXPECT_INT(r.classes[2], 2);
    EXPECT_INT(r.left_over, 0);
}

TEST(impossible_splits_are_refused_and_write_nothing)
{
    static const struct {
        double part[3];
        const char *says;
    } bad[] = {{{8, 2, 1}, "the parts need 11 classes, but there are 10"},
               {{0.8, 0.2, 0.2}, "the parts need 12 classes"},
               {{0, 0, 0}, "no part has any classes"},
               {{2.5, 1, 1}, "is neither a whole number"},
               {{5, 0.5, 1}, "is neither a whole number"},
               {{-1, 1, 1}, "is not possible"},
               {{0.9, 0.01, 0.05}, "is not even one"},
               {{NAN, 1, 1}, "is not possible"}};
    ten_classes();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct split_options o = {0};
        memcpy(o.part, bad[i].part, sizeof o.part);
        EXPECT_STATUS(data_split(sample_path("ten"), &o, NULL), ST_VALUE);
        if (!strstr(error_text(), bad[i].says))
            test_failed(__FILE__, __LINE__, "case %zu: \"%s\", wanted \"%s\"", i, error_text(), bad[i].says);
    }
    EXPECT(!file_exists(sample_path("ten/train.csv")));
    sample_set();
    EXPECT_STATUS(data_split(sample_path("set"), &(struct split_options){.part = {1, 1, 1}}, NULL), ST_VALUE);
    EXPECT(strstr(error_text(), "has splits"));
    sample_file("file", "x", 1);
    EXPECT_STATUS(data_split(sample_path("file"), &(struct split_options){.part = {1, 1, 1}}, NULL), ST_VALUE);
    EXPECT(strstr(error_text(), "is no folder"));
}

TEST(names_with_commas_and_quotes_survive_a_split)
{
    struct dataset *d = NULL;
    sample_grey("odd/a, \"b\"/x,y.ppm", 1);
    REQUIRE(data_split(sample_path("odd"), &(struct split_options){.part = {1, 0, 0}}, NULL) == OK);
    EXPECT(!file_exists(sample_path("odd/val.csv")));
    REQUIRE(dataset_open(sample_path("odd"), "train", NULL, &d) == OK);
    EXPECT_TEXT(dataset_class_name(d, 0), "a, \"b\"");
    struct picture p = {0};
    EXPECT_OK(dataset_picture(d, 0, &p));
    picture_free(&p);
    dataset_close(d);
    sample_grey("broken/a\nb/x.ppm", 1);
    EXPECT_STATUS(data_split(sample_path("broken"), &(struct split_options){.part = {1, 0, 0}}, NULL), ST_VALUE);
}
