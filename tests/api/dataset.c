/* dataset.c - data sets through the public calls. */
#include "base/file.h"
#include "centra.h"
#include "image/picture.h"
#include "tests/image/sample.h"
#include "tests/test.h"
#include <stdio.h>

/* test/<class>/<n>.png, eight pictures in each of three classes, all different. */
static bool write_set(void)
{
    char path[512];
    bool good = true;
    for (size_t i = 0; i < 24; i++) {
        struct picture p = sample_counting(4 + i, 3);
        snprintf(path, sizeof path, "%s/test/class %c", test_folder(), (char)('a' + i / 8));
        good = good && folder_make(path) == OK;
        snprintf(path, sizeof path, "%s/test/class %c/%zu.png", test_folder(), (char)('a' + i / 8), i % 8);
        good = good && picture_write_png(path, &p) == OK;
        picture_free(&p);
    }
    return good;
}

TEST(api_data_sets_show_classes_and_pictures_in_order)
{
    centra_data *d = NULL;
    const char *name = NULL;
    size_t first = 99, size = 99, of_class = 99;
    centra_picture p = {0};
    REQUIRE(write_set());
    REQUIRE(centra_data_open(test_folder(), "test", &d) == CENTRA_OK);
    EXPECT_INT(centra_data_count(d), 24);
    EXPECT_INT(centra_data_class_count(d), 3);
    EXPECT_INT(centra_data_class(d, 1, &name, &first, &size), CENTRA_OK);
    EXPECT_TEXT(name, "class b");
    EXPECT_INT(first, 8);
    EXPECT_INT(size, 8);
    EXPECT_INT(centra_data_item(d, 17, &name, &of_class), CENTRA_OK);
    EXPECT_TEXT(name, "class c/1.png");
    EXPECT_INT(of_class, 2);
    EXPECT_INT(centra_data_picture(d, 17, &p), CENTRA_OK);
    EXPECT_INT(p.width, 4 + 17);
    centra_picture_free(&p);
    EXPECT_INT(centra_data_class(d, 3, NULL, NULL, NULL), CENTRA_USAGE);
    EXPECT_INT(centra_data_item(d, 24, NULL, NULL), CENTRA_USAGE);
    EXPECT_INT(centra_data_picture(d, 24, &p), CENTRA_USAGE);
    centra_data_close(d);
    EXPECT_INT(centra_data_open(test_folder(), "val", &d), CENTRA_VALUE);
}

TEST(api_episodes_keep_support_and_query_apart)
{
    centra_data *d = NULL;
    size_t support[4], queries[8], again[4], queries_again[8];
    int64_t labels[8], labels_again[8];
    REQUIRE(write_set());
    REQUIRE(centra_data_open(test_folder(), "test", &d) == CENTRA_OK);
    for (uint64_t e = 0; e < 50; e++) {
        EXPECT_INT(centra_data_episode(d, 2, 2, 4, 5, e, support, queries, labels), CENTRA_OK);
        EXPECT_INT(centra_data_episode(d, 2, 2, 4, 5, e, again, queries_again, labels_again), CENTRA_OK);
        EXPECT(!memcmp(support, again, sizeof support) && !memcmp(queries, queries_again, sizeof queries));
        for (size_t i = 0; i < 8; i++) {
            EXPECT(labels[i] == 0 || labels[i] == 1);
            EXPECT_INT(queries[i] / 8, support[2 * labels[i]] / 8); /* of the class that the label says */
            for (size_t k = 0; k < 4; k++) EXPECT(queries[i] != support[k]);
        }
    }
    EXPECT_INT(centra_data_episode(d, 4, 1, 1, 5, 0, support, queries, labels), CENTRA_VALUE);
    centra_data_close(d);
}
