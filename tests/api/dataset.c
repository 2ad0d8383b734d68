/* dataset.c - data sets through the public calls. */
#include "base/file.h"
#include "centra.h"
#include "image/picture.h"
#include "tests/image/sample.h"
#include "tests/test.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The most threads that the process had when it was told of progress; -1 where the system does not say. */
struct seen_threads {
    int most;
    size_t told, all;
};

static int count_threads(void *context, size_t done, size_t all)
{
    struct seen_threads *s = context;
    DIR *d = opendir("/proc/self/task");
    int n = d ? -2 : -1; /* . and .. */
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    if (n > s->most) s->most = n;
    s->told = done;
    s->all = all;
    return 0;
}

static const char *below(const char *name)
{
    static char path[4][512];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", test_folder(), name);
    return path[turn];
}

static char *read_all(const char *path, size_t *n)
{
    char *bytes = NULL;
    EXPECT_OK(file_read(path, 1 << 24, &bytes, n));
    return bytes;
}

TEST(api_data_calls_have_the_threads_that_they_are_given_and_the_same_results)
{
    enum { CALLS = 3 };
    struct seen_threads seen[2][CALLS] = {{{0}}};
    char fingerprint[2][65] = {{0}}, *pack[2] = {NULL, NULL};
    size_t bytes[2] = {0, 1};
    for (int i = 0; i < 2; i++) {
        const char *folder = below(i ? "three" : "one"), *to = below(i ? "three.pack" : "one.pack");
        centra_data_watch watch = {.progress = count_threads, .context = &seen[i][0], .threads = i ? 3 : 1};
        centra_data_report *report = NULL;
        centra_split_info split;
        EXPECT_INT(centra_data_synth("synth:4?train=3&val=0&test=2&pictures=4&side=16", folder, &watch), CENTRA_OK);
        watch.context = &seen[i][1];
        EXPECT_INT(centra_data_check(folder, NULL, &watch, &report), CENTRA_OK);
        watch.context = &seen[i][2];
        EXPECT_INT(centra_data_pack(folder, to, NULL, &watch, NULL), CENTRA_OK);
        REQUIRE(report && centra_data_split_at(report, 1, &split) == CENTRA_OK);
        memcpy(fingerprint[i], split.fingerprint, sizeof fingerprint[i]);
        centra_data_report_free(report);
        pack[i] = read_all(to, &bytes[i]);
    }
    for (int k = 0; k < CALLS; k++) {
        if (seen[0][k].most > 0) EXPECT_INT(seen[1][k].most - seen[0][k].most, 2);
        EXPECT(seen[1][k].told == 20 && seen[1][k].all == 20);
    }
    EXPECT_TEXT(fingerprint[1], fingerprint[0]);
    EXPECT(bytes[0] == bytes[1] && pack[0] && pack[1] && !memcmp(pack[0], pack[1], bytes[0]));
    free(pack[0]);
    free(pack[1]);
}

static int stop_at_once(void *context, size_t done, size_t all)
{
    (void)context;
    (void)done;
    (void)all;
    return 1;
}

TEST(api_data_check_can_be_stopped)
{
    centra_data_report *report = NULL;
    const centra_data_watch watch = {.progress = stop_at_once};
    REQUIRE(write_set());
    EXPECT_INT(centra_data_check(test_folder(), NULL, &watch, &report), CENTRA_VALUE);
    EXPECT_TEXT(centra_message(), "checking was stopped after 24 of 24 pictures");
    EXPECT(!report);
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
