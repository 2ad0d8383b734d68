/* npy_folder.c - a folder of .npy files is a file of named arrays. */
#include "base/file.h"
#include "base/npy.h"
#include "tests/test.h"
#include "weights/weights.h"
#include <stdio.h>
#include <unistd.h>

static const char *below(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

TEST(a_folder_of_npy_is_read_with_its_folders)
{
    const float x[2] = {1.5f, -2};
    const double y[2] = {3, 4};
    const int64_t k = -5;
    struct weights *w = NULL;
    struct file_writer note;
    EXPECT_OK(folder_make(below("w/head/fc1")));
    EXPECT_OK(npy_write(below("w/layer1.0.weight.npy"), NPY_F32, 2, (size_t[]){1, 2}, x));
    EXPECT_OK(npy_write(below("w/head/fc1/bias.npy"), NPY_F64, 1, (size_t[]){2}, y));
    EXPECT_OK(npy_write(below("w/count.npy"), NPY_I64, 0, NULL, &k));
    EXPECT_OK(file_begin(below("w/README"), &note));
    EXPECT_OK(file_commit(&note));
    EXPECT_OK(weights_open(below("w"), &w));
    REQUIRE(w);
    EXPECT_TEXT(weights_kind(w), "npy folder");
    EXPECT_INT(weights_count(w), 3);
    EXPECT_TEXT(weights_at(w, 0)->name, "count");
    EXPECT_INT(weights_at(w, 0)->type, ARRAY_I64);
    EXPECT_INT(*(const int64_t *)weights_at(w, 0)->data, -5);
    const struct named_array *a = weights_find(w, "layer1.0.weight"), *b = weights_find(w, "head.fc1.bias");
    REQUIRE(a && b);
    EXPECT(a->type == ARRAY_F32 && a->rank == 2 && a->dim[1] == 2 && !memcmp(a->data, x, sizeof x));
    EXPECT(b->type == ARRAY_F64 && b->rank == 1 && !memcmp(b->data, y, sizeof y));
    weights_close(w);
}

TEST(folders_that_are_no_weights_are_refused)
{
    const float x = 1;
    struct weights *w = NULL;
    EXPECT_OK(folder_make(below("empty")));
    EXPECT_STATUS(weights_open(below("empty"), &w), ST_FORMAT);
    EXPECT(strstr(error_text(), "/empty' holds no .npy files"));
    EXPECT_OK(folder_make(below("twice/a")));
    EXPECT_OK(npy_write(below("twice/a.b.npy"), NPY_F32, 0, NULL, &x));
    EXPECT_OK(npy_write(below("twice/a/b.npy"), NPY_F32, 0, NULL, &x));
    EXPECT_STATUS(weights_open(below("twice"), &w), ST_FORMAT);
    EXPECT(strstr(error_text(), "has two arrays called 'a.b'"));
    EXPECT_OK(folder_make(below("ring")));
    EXPECT_INT(symlink(".", below("ring/again")), 0);
    EXPECT_STATUS(weights_open(below("ring"), &w), ST_FORMAT);
    EXPECT(strstr(error_text(), "has folders more than 8 deep"));
    EXPECT_OK(folder_make(below("deep")));
    EXPECT_OK(npy_write(below("deep/x.npy"), NPY_F32, 7, (size_t[]){1, 1, 1, 1, 1, 1, 1}, &x));
    EXPECT_STATUS(weights_open(below("deep"), &w), ST_FORMAT);
    EXPECT(strstr(error_text(), "array 'x' has 7 axes; at most 6 are read"));
    EXPECT(!w);
}
