/* sample.c - small data sets for the tests of src/data. */
#include "tests/data/sample.h"
#include "base/file.h"
#include "tests/test.h"
#include <stdlib.h>

const char *sample_path(const char *name)
{
    static _Thread_local char paths[8][4096]; /* ranks of a circle are threads, and each asks for its own */
    static _Thread_local size_t turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

void sample_file(const char *name, const void *bytes, size_t n)
{
    char path[4096];
    struct file_writer w;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    REQUIRE(folder_make(path) == OK);
    *slash = '/';
    REQUIRE(file_begin(path, &w) == OK);
    file_put(&w, bytes, n);
    EXPECT_OK(file_commit(&w));
}

void sample_ppm(int grey, char out[SAMPLE_PPM_BYTES])
{
    memcpy(out, "P6\n2 2\n255\n", 11);
    memset(out + 11, grey, 12);
}

void sample_grey(const char *name, int grey)
{
    char ppm[SAMPLE_PPM_BYTES];
    sample_ppm(grey, ppm);
    sample_file(name, ppm, sizeof ppm);
}

void sample_set(void)
{
    sample_grey("set/train/a/2.ppm", 2);
    sample_grey("set/train/a/1.ppm", 1);
    sample_grey("set/train/b/x.PPM", 3);
    sample_grey("set/test/c/10.ppm", 4);
    sample_grey("set/test/c/9.ppm", 5);
}

static void keep_line(void *context, enum log_level level, const char *line)
{
    struct sample_log *l = context;
    size_t n = strlen(l->lines);
    EXPECT_INT(level, LOG_WARN);
    snprintf(l->lines + n, sizeof l->lines - n, "%s\n", line);
}

void sample_log_begin(struct sample_log *l)
{
    l->lines[0] = 0;
    l->sink = (struct log_sink){keep_line, l, LOG_DEBUG};
}

const char *sample_real(void)
{
    const char *path = getenv("CENTRA_DATA");
    if (!path || !*path) path = CENTRA_SOURCE_DIR "/../shared/data";
    if (file_exists(path)) return path;
    test_skip("no real pictures: set CENTRA_DATA to the folder that has them");
    return NULL;
}
