/* sample.h - the nine arrays that every file of tests/weights/fixtures holds, and archives made by the tests. */
#ifndef TESTS_WEIGHTS_SAMPLE_H
#define TESTS_WEIGHTS_SAMPLE_H
#include "base/text.h"
#include "weights/weights.h"

enum { SAMPLE_COUNT = 9, SAMPLE_NUMBERS_MOST = 6 };

struct sample {
    struct named_array array[SAMPLE_COUNT];
    unsigned char data[SAMPLE_COUNT][48];
};
void sample_arrays(struct sample *s);
/* Element `i` of an array that begins with `start`, as in fixtures/make.py. */
double sample_number(const struct named_array *a, size_t i);
/* Their fingerprint, from a file of safetensors in the test's folder. */
void sample_fingerprint(char hex[65]);
/* "SOURCE/tests/weights/fixtures/NAME" */
const char *fixture(const char *name);

/* A zip archive of stored members, written piece by piece. */
struct archive {
    text bytes, directory;
    size_t count;
};
struct archive_lie { /* what an archive says that is not so; zeros: nothing */
    uint32_t crc, size, offset;
    int method, flags;
};
void archive_add(struct archive *z, const char *name, const void *data, size_t n, const struct archive_lie *lie);
void archive_end(struct archive *z);
void archive_free(struct archive *z);

/* weights_parse on a copy of exactly `n` bytes, so that a sanitizer sees a read beyond the end. */
status parse_exactly(const void *bytes, size_t n, struct weights **out);
#endif
