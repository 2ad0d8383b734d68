/* bench.h - what the files of centra bench share: its settings, timed runs and the generated episode. */
#ifndef APP_BENCH_H
#define APP_BENCH_H
#include "app/command.h"
#include "base/json.h"

enum bench_mode { BENCH_INFER, BENCH_TRAIN };

struct bench {
    const char *head, *map, *backbone;
    int64_t way, shot, queries, channels, kinds, repeats, warmup, batch, side, passes;
    int precision; /* a centra_precision */
    int mode;      /* an enum bench_mode */
    bool gradients, wait;
};

/* What is timed. */
struct bench_job {
    status (*once)(void *of);
    void *of;
    size_t parts; /* equal ones that a run has and its time is divided by; 0 is 1 */
};

struct bench_times {
    double *ms; /* owned, sorted */
    size_t count;
};

/* Runs that are not timed; runs as lines of standard input ask for; runs whose times are kept. */
status bench_warm(const struct bench_job *j, int64_t runs);
status bench_answer_lines(const struct bench_job *j);
status bench_measure(const struct bench_job *j, size_t runs, struct bench_times *out);
void bench_times_free(struct bench_times *t);
/* The q-quantile, between neighbours by their distance. */
double bench_quantile(const struct bench_times *t, double q);
/* Members "options" and "median_ms", ...; and the same in words, up to a "; ". */
void bench_json_options(struct json_writer *w, const centra_option *options, size_t count);
void bench_json_times(struct json_writer *w, const struct bench_times *t);
void bench_say_times(text *to, const struct bench_times *t);

/* centra bench backbones */
status bench_backbones(const struct call *c);

/* A generated episode with room for its results. */
struct bench_episode {
    size_t height, width;
    centra_episode episode; /* arrays owned */
    centra_result result;   /* arrays owned, but for the loss */
    double loss;
};
/* `out` must stay where it is: the result points at its loss. Free with bench_episode_free, also after a failure. */
status bench_episode_make(const struct bench *b, uint64_t seed, struct bench_episode *out);
/* Pictures of 64 base classes, 20 of each, for a head that needs some. */
status bench_give_base(const struct bench *b, uint64_t seed, centra_head *head);
void bench_episode_free(struct bench_episode *e);
#endif
