/* score.c - centra score: a head on features from files.
 *
 * score_inputs.c reads and checks the files, the library computes, score_report.c shows or writes the results. */
#include "app/score.h"
#include "app/library.h"
#include "app/terminal.h"
#include "base/clock.h"
#include "base/file.h"
#include <stdlib.h>

/* What the options ask for and this head cannot do is said before any file is read. */
static status check_settings(const struct score *s)
{
    centra_head_info info;
    if (s->weights && head_info(s->head, &info) && !info.param_count)
        return fail(ST_USAGE, "--weights: the head %s has no parameters to load", s->head);
    if (!s->base != !s->base_labels)
        return fail(ST_USAGE, "--%s needs --%s", s->base ? "base" : "base-labels", s->base ? "base-labels" : "base");
    if (s->base && head_info(s->head, &info) && !info.base)
        return fail(ST_USAGE, "--base: the head %s does not look at base classes", s->head);
    if (s->gradients && !s->query_labels)
        return fail(ST_USAGE, "--gradients needs --query-labels: the gradients are those of the loss");
    if ((s->gradients || s->centrality) && !s->out)
        return fail(ST_USAGE, "--%s needs --out, the folder to write to", s->gradients ? "gradients" : "centrality");
    if (s->centrality && head_info(s->head, &info) && !info.centrality)
        return fail(ST_USAGE, "--centrality: the head %s has no centralities", s->head);
    return OK;
}

static status take_param_gradients(const centra_head *head, const struct inputs *in, struct outputs *out)
{
    status st = OK;
    const size_t n = out->param_count;
    out->params = calloc(n, sizeof *out->params);
    out->grad_params = calloc(n, sizeof *out->grad_params);
    if (!out->params || !out->grad_params) return fail(ST_MEMORY, "no memory for %zu gradients", n);
    for (size_t i = 0; i < n; i++) {
        centra_param_info *p = &out->params[i];
        size_t count = 1;
        TRY(library(centra_head_param(head, i, in->episode.channels, p)));
        for (size_t axis = 0; axis < p->rank; axis++) count *= p->dim[axis];
        TRY(array_take(count, 1, 1, precision_bytes(in->episode.precision), &out->grad_params[i]));
    }
    out->result.grad_params = out->grad_params;
done:
    return st;
}

static status take_outputs(const struct score *s, const centra_head *head, struct inputs *in, struct outputs *out)
{
    const centra_episode *e = &in->episode;
    centra_result *r = &out->result;
    size_t bytes = precision_bytes(e->precision);
    status st = OK;
    r->labels = in->classes; /* the library finds the same ones */
    if (e->query_labels) r->loss = &out->loss;
    TRY(array_take(e->query_count, in->way, 1, bytes, &r->scores));
    if (s->gradients) {
        TRY(array_take(e->support_count, e->channels, e->support_locations, bytes, &r->grad_support));
        TRY(array_take(e->query_count, e->channels, e->query_locations, bytes, &r->grad_query));
        if (out->param_count) TRY(take_param_gradients(head, in, out));
    }
    if (s->centrality) {
        TRY(array_take(e->query_count, in->way, e->support_locations, bytes, &r->centrality_support));
        TRY(array_take(e->query_count, e->query_locations, 1, bytes, &r->centrality_query));
    }
done:
    return st;
}

static void outputs_free(struct outputs *out)
{
    free(out->result.scores);
    free(out->result.grad_support);
    free(out->result.grad_query);
    free(out->result.centrality_support);
    free(out->result.centrality_query);
    for (size_t i = 0; out->grad_params && i < out->param_count; i++) free(out->grad_params[i]);
    free(out->grad_params);
    free(out->params);
}

size_t best_class(const struct inputs *in, const struct outputs *out, size_t i)
{
    size_t best = 0;
    for (size_t k = 1; k < in->way; k++) {
        double now = real_at(out->result.scores, in->episode.precision, i * in->way + k);
        if (now > real_at(out->result.scores, in->episode.precision, i * in->way + best)) best = k;
    }
    return best;
}

static double accuracy(const struct inputs *in, const struct outputs *out)
{
    size_t right = 0, n = in->episode.query_count;
    if (!in->episode.query_labels) return 0;
    for (size_t i = 0; i < n; i++) right += in->classes[best_class(in, out, i)] == in->episode.query_labels[i];
    return 100.0 * (double)right / (double)n;
}

static status compute(const struct call *c, centra_head *head, const struct inputs *in, struct outputs *out)
{
    const centra_episode *e = &in->episode;
    uint64_t start = clock_ns();
    status st;
    detail(c, "%zu support pictures of %zu classes, %zu queries, %zu channels, %zu and %zu locations", e->support_count,
           in->way, e->query_count, e->channels, e->support_locations, e->query_locations);
    st = library(centra_head_score(head, e, &out->result));
    detail(c, "scored in %.3f ms", (double)(clock_ns() - start) / 1e6);
    if (st == OK) out->accuracy = accuracy(in, out);
    return st;
}

static status score_run(const struct call *c)
{
    const struct score *s = c->settings;
    struct inputs in = {0};
    struct outputs out = {0};
    centra_session *session = NULL;
    centra_head *head = NULL;
    centra_head_info info = {0};
    status st = OK;
    TRY(session_open(c, &session));
    TRY(head_open(c, session, s->head, &head));
    TRY(check_settings(s));
    if (s->weights) TRY(library(centra_head_load(head, s->weights)));
    head_info(s->head, &info);
    out.param_count = info.param_count;
    detail(c, "%s on %s with %zu threads, %s", s->head, centra_session_device(session), centra_session_threads(session),
           centra_session_isa(session));
    TRY(inputs_load(s, &in));
    if (s->out) TRY(folder_make(s->out)); /* a folder that cannot be made is known before the work */
    TRY(inputs_give_base(&in, head));
    TRY(take_outputs(s, head, &in, &out));
    TRY(compute(c, head, &in, &out));
    TRY(s->out ? report_files(c, &in, &out, info.probabilities) : report_table(c, &in, &out, info.probabilities));
done:
    centra_head_free(head);
    centra_session_close(session);
    outputs_free(&out);
    inputs_free(&in);
    return st;
}

static const struct option score_options[] = {
    {.type = OPTION_TEXT,
     .offset = offsetof(struct score, head),
     .name = "head",
     .help = "the head; centra list heads shows them",
     .value = "NAME",
     .standard_text = "mcl-katz"},
    OPT_FILE_REQUIRED(struct score, support, "support",
                      "features of the support pictures, .npy [n, C, h, w] or [n, C, r]"),
    OPT_FILE_REQUIRED(struct score, support_labels, "support-labels", "their classes, .npy [n] of any integers"),
    OPT_FILE_REQUIRED(struct score, query, "query", "features of the query pictures, shaped as the support's"),
    OPT_FILE(struct score, query_labels, "query-labels", NULL, "their true classes, for accuracy, loss and gradients"),
    OPT_NAME(struct score, precision, "precision", 0, precision_names, "precision to compute with"),
    OPT_FILE(struct score, weights, "weights", NULL,
             "parameters of the head, of those that have any: safetensors, .pth or a folder of .npy"),
    OPT_FILE(struct score, base, "base", NULL, "features of pictures of base classes, for heads that look at them"),
    OPT_FILE(struct score, base_labels, "base-labels", NULL, "their classes, .npy [n] of any integers"),
    {.type = OPTION_FILE,
     .offset = offsetof(struct score, out),
     .name = "out",
     .value = "DIR",
     .help = "folder to write the results to, made if missing"},
    OPT_FLAG(struct score, gradients, "gradients",
             "also write the loss's gradients with respect to features and parameters"),
    OPT_FLAG(struct score, centrality, "centrality", "also write the centralities of all locations"),
    OPT_END};

static const char *const score_details[] = {
    "Scores every query picture against the classes of the support pictures. Features are raw (not normalised); "
    "classes "
    "are the sorted distinct labels, and their numbers of pictures may differ.",
    "Without --out the predictions are shown as a table; with --json each is a line {\"query\", \"label\", "
    "\"probability\" or \"score\", \"margin\"}, and with --query-labels also \"true\", followed by one line "
    "{\"accuracy\", \"loss\"}. The margin is the distance to the second best class. Accuracies are percent.",
    "With --out DIR these are written: scores.npy [queries, classes], labels.npy (the classes in order), with "
    "--query-labels loss.npy, with --gradients grad_support.npy and grad_query.npy in the shapes of the inputs "
    "and grad_params/NAME.npy for each parameter of the head, with --centrality centrality_query.npy [queries, r] and "
    "centrality_support.npy [queries, classes * r].",
    "Options of a head are written --head.KEY VALUE. A head's parameters have their start values without --weights.",
    NULL};

const struct command score_command = {
    .name = "score",
    .title = "scores given dense features with a head",
    .options = score_options,
    .settings_bytes = sizeof(struct score),
    .head_options = true,
    .details = score_details,
    .run = score_run,
    .examples =
        {{"centra score --support S.npy --support-labels L.npy --query Q.npy", "a table of predictions"},
         {"centra score --head mcl --head.gamma 40 --support S.npy --support-labels L.npy --query Q.npy --out DIR",
          "scores.npy and labels.npy in DIR"}},
};
