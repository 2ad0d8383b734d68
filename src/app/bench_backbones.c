/* bench_backbones.c - centra bench backbones: the time of one pass of a network over random pictures. */
#include "app/bench.h"
#include "app/library.h"
#include "app/terminal.h"

struct drill {
    centra_net_drill *drill;
    size_t passes;
};

static size_t passes_of(const struct bench *b) { return b->passes > 0 ? (size_t)b->passes : 1; }

static status run_once(void *of)
{
    const struct drill *d = of;
    return library(centra_net_drill_run(d->drill, d->passes));
}

static double pictures_per_second(const struct bench *b, const struct bench_times *t)
{
    return (double)b->batch / bench_quantile(t, 0.5) * 1e3;
}

static void add_json(text *to, const struct call *c, const centra_session *session, const struct bench_times *times)
{
    const struct bench *b = c->settings;
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {{"batch", b->batch},
                  {"side", b->side},
                  {"passes", (int64_t)passes_of(b)},
                  {"repeats", b->repeats},
                  {"threads", (int64_t)centra_session_threads(session)}};
    struct json_writer w;
    json_begin(&w, to, false);
    json_object(&w);
    json_key(&w, "backbone");
    json_string(&w, b->backbone);
    bench_json_options(&w, c->net_options, c->net_option_count);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        json_key(&w, counts[i].key);
        json_int(&w, counts[i].value);
    }
    json_key(&w, "mode");
    json_string(&w, b->mode == BENCH_TRAIN ? "train" : "infer");
    json_key(&w, "precision");
    json_string(&w, precision_names[b->precision]);
    json_key(&w, "maths");
    json_string(&w, centra_session_maths(session));
    json_key(&w, "isa");
    json_string(&w, centra_session_isa(session));
    bench_json_times(&w, times);
    json_key(&w, "pictures_per_second");
    json_real(&w, pictures_per_second(b, times));
    json_object_end(&w);
    text_add(to, "\n");
}

static void add_words(text *to, const struct call *c, const centra_session *session, const struct bench_times *times)
{
    const struct bench *b = c->settings;
    const int side = (int)b->side;
    text_addf(to, "%s, %lld pictures of %dx%d, %s, %s, %zu threads, %s\n", b->backbone, (long long)b->batch, side, side,
              b->mode == BENCH_TRAIN ? "a training step" : "inference", precision_names[b->precision],
              centra_session_threads(session), centra_session_isa(session));
    bench_say_times(to, times);
    text_addf(to, "%.1f pictures/s\n", pictures_per_second(b, times));
}

static status time_and_report(const struct call *c, const struct bench_job *j, const centra_session *session)
{
    const struct bench *b = c->settings;
    text t = {0};
    struct bench_times times = {0};
    status st = OK;
    TRY(bench_measure(j, (size_t)b->repeats, &times));
    (c->common.json ? add_json : add_words)(&t, c, session, &times);
    TRY(put(&t));
done:
    bench_times_free(&times);
    return st;
}

status bench_backbones(const struct call *c)
{
    const struct bench *b = c->settings;
    centra_session *session = NULL;
    centra_net *net = NULL;
    struct drill drill = {NULL, passes_of(b)};
    status st = OK;
    TRY(session_open(c, &session));
    TRY(library(centra_net_new(session, b->backbone, c->net_options, c->net_option_count,
                               (centra_precision)b->precision, (uint64_t)c->common.seed, &net)));
    TRY(library(centra_net_drill_new(net, (size_t)b->batch, (size_t)b->side, (size_t)b->side, b->mode == BENCH_TRAIN,
                                     &drill.drill)));
    const struct bench_job j = {.once = run_once, .of = &drill, .parts = drill.passes};
    TRY(bench_warm(&j, b->warmup));
    TRY(b->wait ? bench_answer_lines(&j) : time_and_report(c, &j, session));
done:
    centra_net_drill_free(drill.drill);
    centra_net_free(net);
    centra_session_close(session);
    return st;
}
