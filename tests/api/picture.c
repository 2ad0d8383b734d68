/* picture.c - pictures through the public calls. */
#include "centra.h"
#include "image/transform.h"
#include "tests/image/sample.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

static centra_picture public_of(const struct picture *p) { return (centra_picture){p->width, p->height, p->rgb}; }

TEST(api_pictures_go_through_png_and_back)
{
    struct picture p = sample_counting(13, 7), q = {0};
    const centra_picture in = public_of(&p);
    unsigned char *bytes = NULL;
    size_t count = 0;
    EXPECT_INT(centra_picture_png(&in, &bytes, &count), CENTRA_OK);
    EXPECT_OK(picture_decode("memory", bytes, count, true, &q));
    EXPECT_INT(sample_difference(&p, &q), 0);
    centra_free(bytes);
    picture_free(&p);
    picture_free(&q);
}

/* 92 pixels for 84, as in every experiment of the paper. */
TEST(api_input_is_the_test_form_of_the_transform)
{
    enum { SIDE = 84, COUNT = 3 * SIDE * SIDE };
    struct picture p = sample_counting(120, 97);
    const centra_picture in = public_of(&p);
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, 8);
    float *seen = calloc(COUNT, sizeof *seen), *wanted = calloc(COUNT, sizeof *wanted);
    REQUIRE(seen && wanted);
    EXPECT_INT(centra_picture_input(&in, SIDE, seen), CENTRA_OK);
    EXPECT_OK(transform_apply(&t, &p, NULL, wanted));
    EXPECT(!memcmp(seen, wanted, COUNT * sizeof *seen));
    picture_free(&p);
    free(seen);
    free(wanted);
}

TEST(api_a_network_is_shown_the_middle)
{
    struct picture p = sample_counting(46, 46);
    const centra_picture in = public_of(&p);
    centra_picture seen = {0};
    EXPECT_INT(centra_picture_seen(&in, 42, &seen), CENTRA_OK);
    EXPECT(seen.width == 42 && seen.height == 42);
    EXPECT(seen.rgb && !memcmp(seen.rgb, p.rgb + 3 * (2 * 46 + 2), 3 * 42)); /* 46 pixels stay 46, 2 are cut off */
    centra_picture_free(&seen);
    EXPECT_INT(centra_picture_seen(&in, 0, &seen), CENTRA_USAGE);
    picture_free(&p);
}

TEST(api_pictures_are_read_and_resized)
{
    struct picture p = sample_counting(20, 10);
    centra_picture read = {0}, small = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/a.png", test_folder());
    EXPECT_OK(picture_write_png(path, &p));
    EXPECT_INT(centra_picture_read(path, &read), CENTRA_OK);
    EXPECT_INT(read.width, 20);
    EXPECT_INT(centra_picture_resize(&read, 5, 4, &small), CENTRA_OK);
    EXPECT_INT(small.width, 5);
    EXPECT_INT(small.height, 4);
    centra_picture_free(&read);
    centra_picture_free(&small);
    EXPECT(!small.rgb);
    picture_free(&p);
}

TEST(api_pictures_refuse_what_is_missing)
{
    centra_picture none = {0}, out = {0};
    unsigned char *bytes;
    size_t count;
    float x[3];
    EXPECT_INT(centra_picture_read(NULL, &out), CENTRA_USAGE);
    EXPECT_INT(centra_picture_read("no such file", &out), CENTRA_IO);
    EXPECT(strstr(centra_message(), "no such file"));
    EXPECT_INT(centra_picture_png(&none, &bytes, &count), CENTRA_USAGE);
    EXPECT_INT(centra_picture_resize(&none, 1, 1, &out), CENTRA_USAGE);
    EXPECT_INT(centra_picture_input(&none, 1, x), CENTRA_USAGE);
}
