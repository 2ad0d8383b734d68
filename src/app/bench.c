/* bench.c - centra bench: the time of one head on generated features, or of one network (bench_backbones.c).
 *
 * bench_episode.c makes the features. With --wait a script decides when runs start, so that
 * two programs can be timed in turns. */
#include "app/bench.h"
#include "app/library.h"
#include "app/table.h"
#include "app/terminal.h"
#include "base/json.h"
#include <string.h>

enum { RESIDENT = 50 };

struct scored {
    centra_head *head;
    const struct bench_episode *e;
};

static status score_once(void *of)
{
    const struct scored *s = of;
    return library(centra_head_score(s->head, &s->e->episode, &s->e->result));
}

struct drilled {
    centra_head_drill *drill;
    size_t episodes;
};

static status drill_once(void *of)
{
    const struct drilled *d = of;
    return library(centra_head_drill_pass(d->drill, d->episodes));
}

/* How many episodes in a row a run has whose features stay on the device; 0: they come from our memory, one by one. */
static size_t resident_of(const struct call *c)
{
    const struct bench *b = c->settings;
    const bool elsewhere = c->common.device && strcmp(c->common.device, "cpu");
    return b->passes >= 0 ? (size_t)b->passes : elsewhere ? RESIDENT : 0;
}

/* Of the similarities of all query with all support locations, without anything else; the backward pass has two such
 * products more. */
static double similarity_gflop(const struct bench *b, const struct bench_episode *e)
{
    double locations = (double)(e->height * e->width);
    double pairs = (double)e->episode.query_count * locations * (double)b->way * locations;
    return 2 * pairs * (double)b->channels * (b->gradients ? 3 : 1) / 1e9;
}

static void add_json(text *to, const struct call *c, const struct bench_episode *e, const centra_session *session,
                     const struct bench_times *times)
{
    const struct bench *b = c->settings;
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
                  {"passes", (int64_t)resident_of(c)},
                  {"threads", (int64_t)centra_session_threads(session)}};
    struct json_writer w;
    json_begin(&w, to, false);
    json_object(&w);
    json_key(&w, "head");
    json_string(&w, b->head);
    bench_json_options(&w, c->head_options, c->head_option_count);
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
    bench_json_times(&w, times);
    json_key(&w, "gflop");
    json_real(&w, similarity_gflop(b, e));
    json_object_end(&w);
    text_add(to, "\n");
}

static void add_words(text *to, const struct call *c, const struct bench_episode *e, const centra_session *session,
                      const struct bench_times *times)
{
    const struct bench *b = c->settings;
    double gflop = similarity_gflop(b, e);
    text_addf(to, "%s, %lld-way %lld-shot, %zu queries, %lld channels, %zux%zu, %s%s, %zu threads, %s\n", b->head,
              (long long)b->way, (long long)b->shot, e->episode.query_count, (long long)b->channels, e->height,
              e->width, b->precision == CENTRA_F64 ? "f64" : "f32", b->gradients ? ", forward and backward" : "",
              centra_session_threads(session), centra_session_isa(session));
    bench_say_times(to, times);
    text_addf(to, "similarities %.3f GFLOP, %.1f GFLOP/s\n", gflop, gflop / bench_quantile(times, 0.5) * 1e3);
}

static void add_row(struct table *t, const char *head, const struct bench_times *times)
{
    table_cell(t, "%s", head);
    table_cell(t, "%.3f", bench_quantile(times, 0.5));
    table_cell(t, "%.3f", times->ms[0]);
    table_cell(t, "%.3f", bench_quantile(times, 0.25));
    table_cell(t, "%.3f", bench_quantile(times, 0.75));
}

/* Into a row of the table, unless that is NULL. */
static status time_and_report(const struct call *c, const struct bench_job *j, const struct bench_episode *e,
                              const centra_session *session, struct table *rows)
{
    const struct bench *b = c->settings;
    text t = {0};
    struct bench_times times = {0};
    status st = OK;
    TRY(bench_measure(j, (size_t)b->repeats, &times));
    if (rows) add_row(rows, b->head, &times);
    else (c->common.json ? add_json : add_words)(&t, c, e, session, &times);
    if (!rows) TRY(put(&t));
done:
    bench_times_free(&times);
    return st;
}

static status head_run(const struct call *c, struct table *rows)
{
    const struct bench *b = c->settings;
    struct bench_episode e = {0};
    centra_session *session = NULL;
    centra_head *head = NULL;
    centra_head_info info;
    struct drilled d = {NULL, resident_of(c)};
    status st = OK;
    TRY(session_open(c, &session));
    TRY(head_open(c, session, b->head, &head));
    TRY(bench_episode_make(b, (uint64_t)c->common.seed, &e));
    if (head_info(b->head, &info) && info.base) TRY(bench_give_base(b, (uint64_t)c->common.seed, head));
    struct scored s = {head, &e};
    struct bench_job j = {score_once, &s, 1};
    if (d.episodes) {
        TRY(library(centra_head_drill_new(head, &e.episode, b->gradients, &d.drill)));
        j = (struct bench_job){drill_once, &d, d.episodes};
    }
    TRY(bench_warm(&j, b->warmup));
    TRY(b->wait ? bench_answer_lines(&j) : time_and_report(c, &j, &e, session, rows));
done:
    bench_episode_free(&e);
    centra_head_drill_free(d.drill);
    centra_head_free(head);
    centra_session_close(session);
    return st;
}

/* One head after the other, each with a session of its own. */
static status every_head(const struct call *c)
{
    struct bench one = *(const struct bench *)c->settings;
    struct call each = *c;
    struct table rows = {.align = "lrrrr"};
    centra_head_info info;
    text t = {0};
    status st = OK;
    if (one.wait) return fail(ST_USAGE, "--wait times one head; name it with --head");
    each.settings = &one;
    static const char *const names[] = {"head", "median ms", "min", "p25", "p75"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) table_cell(&rows, "%s", names[i]);
    for (size_t i = 0; i < centra_head_count() && st == OK; i++) {
        st = library(centra_head_describe(i, &info));
        if (st != OK || (one.gradients && info.fitted)) continue;
        one.head = info.name;
        st = head_run(&each, c->common.json ? NULL : &rows);
    }
    table_write(&rows, 0, &t);
    if (st == OK && !c->common.json) return put(&t);
    text_free(&t);
    return st;
}

static status heads_run(const struct call *c)
{
    const struct bench *b = c->settings;
    return strcmp(b->head, "all") ? head_run(c, NULL) : every_head(c);
}

static status bench_run(const struct call *c)
{
    return strcmp(c->arguments[0], "heads") ? bench_backbones(c) : heads_run(c);
}

static const char *const mode_names[] = {[BENCH_INFER] = "infer", [BENCH_TRAIN] = "train", NULL};

static const struct option bench_options[] = {
    OPT_TEXT(struct bench, head, "head", "mcl-katz", "NAME", "the head, or all; centra list heads shows them"),
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
    OPT_TEXT(struct bench, backbone, "backbone", "conv4", "NAME", "the network; centra list backbones shows them"),
    OPT_INT(struct bench, batch, "batch", 80, 1, 100000, "pictures of a pass through the network"),
    OPT_INT(struct bench, side, "side", 84, 1, 10000, "height and width of the pictures"),
    OPT_INT(
        struct bench, passes, "passes", -1, -1, 100000,
        "passes or episodes in a row in a run, whose time is divided by them; 0: one episode from and to our memory; "
        "-1: for heads 50 on a GPU and else 0, for networks 1"),
    OPT_NAME(struct bench, mode, "mode", BENCH_INFER, mode_names,
             "pass through the network: train is forward, backward and a step of SGD"),
    OPT_FLAG(struct bench, wait, "wait", "time runs as lines on standard input ask for them"),
    OPT_END};

static const char *const bench_details[] = {
    "Times one head on generated features and says the median, minimum and quartiles, and the rate at which the "
    "similarities alone would have been computed in that time.",
    "With --head all there is a row for each head, with --json an object in a line of its own; with --gradients those "
    "that "
    "are fitted to each episode are left out.",
    "bench backbones times one network instead, on random pictures: --backbone, --batch, --side and --mode belong to "
    "it; "
    "--precision, --passes, --repeats, --warmup and --wait to both, the rest to bench heads.",
    "With --passes N a run scores the episode N times on features that are on the device already, or runs the network "
    "N "
    "times, waits for the device once, and its time is divided by N: what a training step pays. Scores and gradients "
    "are "
    "not fetched.",
    "With --wait the program makes its features and its warm-up runs, then reads standard input: for each line it does "
    "as many timed runs as the line says, or one, and answers with the line {\"ms\":[1.234567,...]}. It ends with its "
    "input. A script can thus time two programs in turns, each in one process.",
    "With --json one object is written: head, options, way, shot, queries, channels, height, width, kinds, repeats, "
    "passes, threads, "
    "precision, gradients, isa, median_ms, min_ms, p25_ms, p75_ms, gflop; or backbone, options, batch, side, passes, "
    "mode, "
    "repeats, threads, "
    "precision, maths, isa, median_ms, min_ms, p25_ms, p75_ms, pictures_per_second.",
    NULL};

static const char *const what[] = {"heads", "backbones", NULL};

const struct command bench_command = {
    .name = "bench",
    .title = "times a head or a network on given shapes",
    .arguments = "heads|backbones",
    .least = 1,
    .most = 1,
    .choices = what,
    .options = bench_options,
    .settings_bytes = sizeof(struct bench),
    .head_options = true,
    .net_options = true,
    .details = bench_details,
    .run = bench_run,
    .examples = {{"centra bench heads --channels 64 --map 10", "inference on 10x10 maps of 64 channels"},
                 {"centra bench backbones --backbone resnet12 --batch 16 --mode train",
                  "a training step of a network"}},
};
