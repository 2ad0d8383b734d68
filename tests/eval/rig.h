/* rig.h - a set of classes with made-up features, and episodes on it. */
#ifndef TESTS_EVAL_RIG_H
#define TESTS_EVAL_RIG_H
#include "eval/evaluate.h"
#include "tests/ops/world.h"

enum { RIG_CLASSES = 8, RIG_EACH = 20, RIG_CHANNELS = 8, RIG_LOCATIONS = 4, RIG_PICTURES = RIG_CLASSES * RIG_EACH };

struct stand {
    struct world w;
    struct features f; /* owned */
    struct sampler *sampler;
    struct evaluate_options o; /* all threads */
};

/* Features of class c: `signal` in channel c, plus normal noise. 5-way 1-shot episodes with 6 queries a class. */
bool stand_open(struct stand *s, size_t threads, double signal, double noise);
void stand_close(struct stand *s);
/* A head of this name with its defaults; free its settings. */
struct contender stand_head(const char *name);
#endif
