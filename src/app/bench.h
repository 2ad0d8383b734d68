/* bench.h - what the files of centra bench share: its settings and the generated episode. */
#ifndef APP_BENCH_H
#define APP_BENCH_H
#include "app/command.h"

struct bench {
    const char *head, *map;
    int64_t way, shot, queries, channels, kinds, repeats, warmup;
    int precision; /* a centra_precision */
    bool gradients, wait;
};

/* A generated episode with room for its results. */
struct bench_episode {
    size_t height, width;
    centra_episode episode; /* arrays owned */
    centra_result result;   /* arrays owned, but for the loss */
    double loss;
};
/* `out` must stay where it is: the result points at its loss. Free with bench_episode_free, also after a failure. */
status bench_episode_make(const struct bench *b, uint64_t seed, struct bench_episode *out);
void bench_episode_free(struct bench_episode *e);
#endif
