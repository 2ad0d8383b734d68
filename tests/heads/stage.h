/* stage.h - any head of the registry on a device, with episodes made of host numbers. Everything is double on this
 * side. */
#ifndef TESTS_HEADS_STAGE_H
#define TESTS_HEADS_STAGE_H
#include "heads/head.h"
#include "tests/ops/world.h"

enum { STAGE_MOST = 4096, STAGE_PARAMS = 8192 }; /* numbers of each array */
enum { STAGE_BASE_CLASSES = 5, STAGE_BASE_EACH = 4, STAGE_BASE_CHANNELS = 64 };

struct play { /* an episode */
    size_t ns, way, channels, rs, nq, rq;
    double support[STAGE_MOST], query[STAGE_MOST], params[STAGE_PARAMS]; /* of all parameters, one behind the other */
    double base[STAGE_BASE_CLASSES * STAGE_BASE_EACH * STAGE_BASE_CHANNELS]; /* for heads that need base pictures */
    int32_t support_labels[32], query_labels[32];
};

struct outcome {
    double scores[STAGE_MOST], loss;
    double d_support[STAGE_MOST], d_query[STAGE_MOST], d_params[STAGE_PARAMS];
};

struct stage {
    struct world w;
    const struct head *head;
    union {
        max_align_t align;
        unsigned char bytes[256];
    } settings;
    struct params *p; /* start values for the channels that were asked for */
};

/* False, with a failed expectation, when something could not be opened. */
bool stage_open(struct stage *s, const char *head, dtype type, size_t threads, size_t channels);
void stage_close(struct stage *s);
/* Sets an option, as --head.NAME VALUE does. */
void stage_set(struct stage *s, const char *name, const char *value);
/* The play's base pictures on the stage's tape, for an episode; NULL where the head needs none, or after a failure. */
const struct head_base *stage_base(struct stage *s, const struct play *p, struct head_base *memory);
/* Random features; class c has shots[c] pictures, in mixed order. The parameters are the stage's own, moved a little. */
void play_random(struct play *p, struct stage *s, struct random *r, size_t way, const size_t *shots, size_t channels,
                 size_t rs, size_t nq, size_t rq);
size_t play_support_count(const struct play *p);
size_t play_query_count(const struct play *p);
size_t stage_param_count(const struct stage *s); /* numbers of all parameters */
/* False, with a failed expectation, when the head fails. Gradients on a training tape only. */
bool stage_run(struct stage *s, const struct play *p, enum tape_mode mode, struct outcome *out);
#endif
