/* bench.c - centra bench heads: the time of one head on generated features.
 *
 * bench_episode.c makes the features. With --wait a script decides when runs start, so that
 * two programs can be timed in turns. */
#include "app/bench.h"
#include "app/library.h"
#include "app/terminal.h"
#include "base/clock.h"
#include "base/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static status time_once(centra_head *head, const struct bench_episode *e, double *ms)
{
    uint64_t start = clock_ns();
    status st = library(centra_head_score(head, &e->episode, &e->result));
    *ms = (double)(clock_ns() - start) / 1e6;
    return st;
}

enum { MOST_RUNS = 10000 };

/* How many runs the next line asks for: its number, or 1. 0 at the end of the input. */
static size_t read_runs(void)
{
    char line[32];
    int64_t runs;
    if (!fgets(line, sizeof line, stdin)) return 0;
    line[strcspn(line, "\n")] = '\0';
    return integer_parse(line, &runs) && runs >= 1 && runs <= MOST_RUNS ? (size_t)runs : 1;
}

static status answer_lines(centra_head *head, const struct bench_episode *e)
{
    double ms[MOST_RUNS];
    status st = OK;
    size_t runs;
    while (st == OK && (runs = read_runs())) {
        for (size_t i = 0; i < runs && st == OK; i++) st = time_once(head, e, ms + i);
        for (size_t i = 0; i < runs && st == OK; i++) printf("%s%.6f", i ? "," : "{\"ms\":[", ms[i]);
        if (st == OK) printf("]}\n");
        fflush(stdout);
    }
    return st;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The q-quantile of sorted numbers, between neighbours by their distance. */
static double quantile(const double *sorted, size_t n, double q)
{
    double place = q * (double)(n - 1);
    size_t i = (size_t)place;
    if (i + 1 >= n) return sorted[n - 1];
    return sorted[i] + (place - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* Of the similarities of all query with all support locations, without anything else; the backward pass has two such
 * products more. */
static double similarity_gflop(const struct bench *b, const struct bench_episode *e)
{
    double locations = (double)(e->height * e->width);
    double pairs = (double)e->episode.query_count * locations * (double)b->way * locations;
    return 2 * pairs * (double)b->channels * (b->gradients ? 3 : 1) / 1e9;
}

static void json_options(struct json_writer *w, const struct call *c)
{
    double number;
    json_key(w, "options");
    json_object(w);
    for (size_t i = 0; i < c->head_option_count; i++) {
        json_key(w, c->head_options[i].name);
        if (number_parse(c->head_options[i].value, &number)) json_real(w, number);
        else json_string(w, c->head_options[i].value);
    }
    json_object_end(w);
}

static void add_json(text *to, const struct call *c, const struct bench_episode *e, const centra_session *session,
                     const double *times)
{
    const struct bench *b = c->settings;
    size_t n = (size_t)b->repeats;
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {{"way", b->way},
                  {"shot", b->shot},
                  {"queries", b->queries},
                  {"channels", b->channels},
                  {"height", (int64_t)e->height},
                  {"width", (int64_t)e->width},
                  {"kinds", b->kinds},
                  {"repeats", b->repeats},
                  {"threads", (int64_t)centra_session_threads(session)}};
    const struct {
        const char *key;
        double value;
    } reals[] = {{"median_ms", quantile(times, n, 0.5)},
                 {"min_ms", times[0]},
                 {"p25_ms", quantile(times, n, 0.25)},
                 {"p75_ms", quantile(times, n, 0.75)},
                 {"gflop", similarity_gflop(b, e)}};
    struct json_writer w;
    json_begin(&w, to, false);
    json_object(&w);
    json_key(&w, "head");
    json_string(&w, b->head);
    json_options(&w, c);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        json_key(&w, counts[i].key);
        json_int(&w, counts[i].value);
    }
    json_key(&w, "precision");
    json_string(&w, b->precision == CENTRA_F64 ? "f64" : "f32");
    json_key(&w, "gradients");
    json_bool(&w, b->gradients);
    json_key(&w, "isa");
    json_string(&w, centra_session_isa(session));
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        json_key(&w, reals[i].key);
        json_real(&w, reals[i].value);
    }
    json_object_end(&w);
    text_add(to, "\n");
}

static void add_words(text *to, const struct call *c, const struct bench_episode *e, const centra_session *session,
                      const double *times)
{
    const struct bench *b = c->settings;
    size_t n = (size_t)b->repeats;
    double median = quantile(times, n, 0.5), gflop = similarity_gflop(b, e);
    text_addf(to, "%s, %lld-way %lld-shot, %zu queries, %lld channels, %zux%zu, %s%s, %zu threads, %s\n", b->head,
              (long long)b->way, (long long)b->shot, e->episode.query_count, (long long)b->channels, e->height,
              e->width, b->precision == CENTRA_F64 ? "f64" : "f32", b->gradients ? ", forward and backward" : "",
              centra_session_threads(session), centra_session_isa(session));
    text_addf(to, "median %.3f ms of %zu (min %.3f, quartiles %.3f and %.3f); ", median, n, times[0],
              quantile(times, n, 0.25), quantile(times, n, 0.75));
    text_addf(to, "similarities %.3f GFLOP, %.1f GFLOP/s\n", gflop, gflop / median * 1e3);
}

static status time_and_report(const struct call *c, centra_head *head, const struct bench_episode *e,
                              const centra_session *session)
{
    const struct bench *b = c->settings;
    text t = {0};
    double *times = calloc((size_t)b->repeats, sizeof *times);
    status st = times ? OK : fail(ST_MEMORY, "no memory for %lld times", (long long)b->repeats);
    for (int64_t i = 0; st == OK && i < b->repeats; i++) st = time_once(head, e, &times[i]);
    if (st == OK) {
        qsort(times, (size_t)b->repeats, sizeof *times, compare_times);
        (c->common.json ? add_json : add_words)(&t, c, e, session, times);
        st = put(&t);
    }
    free(times);
    return st;
}

static status bench_run(const struct call *c)
{
    const struct bench *b = c->settings;
    struct bench_episode e = {0};
    centra_session *session = NULL;
    centra_head *head = NULL;
    double ms;
    status st = OK;
    TRY(session_open(c, &session));
    TRY(head_open(c, session, b->head, &head));
    TRY(bench_episode_make(b, (uint64_t)c->common.seed, &e));
    for (int64_t i = 0; i < b->warmup; i++) TRY(time_once(head, &e, &ms));
    TRY(b->wait ? answer_lines(head, &e) : time_and_report(c, head, &e, session));
done:
    bench_episode_free(&e);
    centra_head_free(head);
    centra_session_close(session);
    return st;
}

static const struct option bench_options[] = {
    OPT_TEXT(struct bench, head, "head", "mcl-katz", "NAME", "the head; centra list heads shows them"),
    OPT_INT(struct bench, way, "way", 5, 1, 10000, "classes"),
    OPT_INT(struct bench, shot, "shot", 1, 1, 10000, "support pictures of each class"),
    OPT_INT(struct bench, queries, "queries", 15, 1, 100000, "query pictures of each class"),
    OPT_INT(struct bench, channels, "channels", 640, 1, 1000000, "channels of the features"),
    OPT_TEXT(struct bench, map, "map", "5", "SIDE|HxW", "size of the feature maps"),
    OPT_INT(struct bench, kinds, "kinds", 8, 0, 10000, "kinds of things that the locations show; 0: noise alone"),
    OPT_NAME(struct bench, precision, "precision", 0, precision_names, "precision to compute with"),
    OPT_INT(struct bench, repeats, "repeats", 20, 1, 1000000, "timed runs"),
    OPT_INT(struct bench, warmup, "warmup", 3, 0, 1000000, "runs before them that are not timed"),
    OPT_FLAG(struct bench, gradients, "gradients", "time loss and gradients too"),
    OPT_FLAG(struct bench, wait, "wait", "time runs as lines on standard input ask for them"),
    OPT_END};

static const char *const bench_details[] = {
    "Times one head on generated features and says the median, minimum and quartiles, and the rate at which the "
    "similarities alone would have been computed in that time.",
    "With --wait the program makes its features and its warm-up runs, then reads standard input: for each line it does "
    "as many timed runs as the line says, or one, and answers with the line {\"ms\":[1.234567,...]}. It ends with its "
    "input. A script can thus time two programs in turns, each in one process.",
    "With --json one object is written: head, options, way, shot, queries, channels, height, width, kinds, repeats, "
    "threads, "
    "precision, gradients, isa, median_ms, min_ms, p25_ms, p75_ms, gflop.",
    NULL};

static const char *const what[] = {"heads", NULL};

const struct command bench_command = {
    .name = "bench",
    .title = "times a head on given shapes",
    .arguments = "heads",
    .least = 1,
    .most = 1,
    .choices = what,
    .options = bench_options,
    .settings_bytes = sizeof(struct bench),
    .head_options = true,
    .details = bench_details,
    .run = bench_run,
    .examples = {{"centra bench heads --channels 64 --map 10", "inference on 10x10 maps of 64 channels"},
                 {"centra bench heads --head mcl --gradients --threads 2 --json", "a training step's part, as JSON"}},
};
