/* sample.h - small data sets for the tests of src/data. */
#ifndef TESTS_DATA_SAMPLE_H
#define TESTS_DATA_SAMPLE_H
#include "base/log.h"
#include "image/picture.h"

/* A path below the test's folder; valid until eight more were asked for. */
const char *sample_path(const char *name);
/* Writes a file below the test's folder, with the folders above it. */
void sample_file(const char *name, const void *bytes, size_t n);
/* A PPM of 2 x 2 pixels of one grey; gives its length. */
enum { SAMPLE_PPM_BYTES = 11 + 12 };
void sample_ppm(int grey, char out[SAMPLE_PPM_BYTES]);
/* The same as a file below the test's folder. */
void sample_grey(const char *name, int grey);
/* The set "set" below the test's folder: train has a (two pictures), b (one); test has c (two). */
void sample_set(void);

/* A sink that keeps all warnings in one text. */
struct sample_log {
    char lines[2000];
    struct log_sink sink;
};
void sample_log_begin(struct sample_log *l);
/* The folder of real picture sets (CENTRA_DATA, else ../shared/data), or NULL after skipping the test. */
const char *sample_real(void);
#endif
