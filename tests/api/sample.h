/* sample.h - a random episode with everything that the public calls can give for it. */
#ifndef TESTS_API_SAMPLE_H
#define TESTS_API_SAMPLE_H
#include "centra.h"
#include <stdbool.h>

struct sample_shape {
    size_t way, shots, queries, channels, locations;
    centra_precision precision;
};

struct sample {
    centra_episode e;
    centra_result r; /* every array is there */
    size_t way;
    double loss;
    void *block[9]; /* owned: what e and r point at */
};

/* Labels are 7 + 10 c in mixed order. `stream` makes different episodes. False, with a failed expectation, when memory
 * is out. */
bool sample_make(const struct sample_shape *shape, uint64_t stream, struct sample *out);
void sample_free(struct sample *s);
/* Fills the result's arrays with a pattern, so that what a call leaves alone can be seen. */
void sample_wipe(struct sample *s);
/* Whether two samples of one shape have the same results, bit for bit. */
bool sample_same(const struct sample *a, const struct sample *b);
/* Number i of a feature or result array. */
double sample_at(const struct sample *s, const void *array, size_t i);
void sample_put(const struct sample *s, const void *array, size_t i, double value);

/* A session and a head for it, or a failed expectation and false. `isa` may be NULL. */
struct desk {
    centra_session *session;
    centra_head *head;
};
bool desk_open(struct desk *d, const char *head, const char *isa, size_t threads);
void desk_close(struct desk *d);
#endif
