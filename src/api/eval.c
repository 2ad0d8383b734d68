/* eval.c - an evaluation from file names to accuracies: model, data set, features, episodes, heads. */
#include "api/eval.h"
#include "base/clock.h"
#include "base/plain.h"
#include "data/hash.h"
#include "heads/mirror.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void warn_line(void *context, enum log_level level, const char *line)
{
    const centra_eval_options *o = context;
    (void)level;
    if (o->warn) o->warn(o->context, line);
}

static bool tell_encoding(void *context, size_t done, size_t of)
{
    const centra_eval_options *o = context;
    return !o->progress || o->progress(o->context, CENTRA_EVAL_ENCODING, done, of);
}

static bool tell_playing(void *context, size_t done, size_t of)
{
    const centra_eval_options *o = context;
    return !o->progress || o->progress(o->context, CENTRA_EVAL_PLAYING, done, of);
}

static status check(const centra_session *s, const centra_eval_options *o, centra_eval **out)
{
    if (!s || !o || !out) return fail(ST_USAGE, "centra_eval_run needs a session, options and a place for the results");
    if (!o->data) return fail(ST_USAGE, "no data set is given");
    if ((o->head_count && !o->heads) || (o->head_option_count && !o->head_options) ||
        (o->net_option_count && !o->net_options))
        return fail(ST_USAGE, "a list of centra_eval_options has a length but no entries");
    if (o->save_episodes && o->episodes_from)
        return fail(ST_USAGE, "episodes are played again from '%s'; saving them as well makes no sense",
                    o->episodes_from);
    return OK;
}

status keep_text(arena *memory, const char *s, const char **out)
{
    void *kept = NULL;
    const size_t bytes = s ? strlen(s) + 1 : 0;
    *out = NULL;
    if (!s) return OK;
    const status st = arena_take(memory, bytes, 1, &kept);
    if (st == OK) *out = memcpy(kept, s, bytes);
    return st;
}

/* The split that was asked for; else "test" where there are splits. */
static status choose_split(const centra_eval_options *o, centra_eval *e)
{
    const char **splits;
    if (o->split) return keep_text(e->lineup.memory, o->split, &e->summary.split);
    status st = dataset_splits(o->data, &splits);
    if (st != OK) return st;
    e->summary.split = splits[0] ? "test" : NULL;
    free(splits);
    return OK;
}

static status open_data(const centra_eval_options *o, const struct log_sink *log, centra_eval *e)
{
    centra_eval_summary *s = &e->summary;
    const struct dataset_options d = {.images = o->images, .log = log};
    status st = OK;
    TRY(choose_split(o, e));
    TRY(keep_text(e->lineup.memory, o->data, &s->data));
    TRY(dataset_open(o->data, s->split, &d, &e->set));
    s->classes = dataset_class_count(e->set);
    s->pictures = dataset_count(e->set);
    if (!o->episodes_from) TRY(course_possible(e));
done:
    return st;
}

/* Whether a head asks for mirror images; a list of episodes may have any number of shots. */
static bool mirrors(const centra_eval_options *o, const centra_eval *e)
{
    bool wanted = false;
    for (size_t i = 0; i < e->lineup.heads; i++)
        wanted = wanted || mirror_wanted(e->lineup.head[i].head, o->episodes_from ? 1 : e->summary.shot);
    return wanted;
}

/* All processes must be about to do the same: what they exchange has to fit. */
static status agree(centra_session *session, const centra_eval *e)
{
    char weights[65] = "", set[160];
    const centra_eval_summary *s = &e->summary;
    status st = OK;
    if (session->peers->size == 1) return OK;
    if (e->lineup.file) TRY(weights_fingerprint(e->lineup.file, weights));
    plain_snprintf(set, sizeof set, "%zu pictures of %zu classes", s->pictures, s->classes);
    text asked = {0};
    text_addf(&asked, "%zu %zu %zu %zu %zu %" PRIu64, s->heads, s->way, s->shot, s->query, s->episodes, s->seed);
    for (size_t h = 0; h < s->heads; h++) text_addf(&asked, " %s", e->lineup.head[h].head->name);
    st = text_status(&asked);
    const struct peers_fact facts[] = {{"version", centra_version(), true},
                                       {"file of weights", weights, false},
                                       {"data set, with", set, true},
                                       {"heads or episodes", text_string(&asked), false},
                                       {"maths", maths_name(session->dev->maths), true}};
    if (st == OK) st = peers_agree(session->peers, sizeof facts / sizeof *facts, facts);
    text_free(&asked);
done:
    return st;
}

static status encode(centra_session *session, const centra_eval_options *o, const struct log_sink *log, centra_eval *e)
{
    const struct features_options f = {.transform = &e->lineup.card.transform,
                                       .threads = session->threads,
                                       .peers = session->peers,
                                       .mirror = mirrors(o, e),
                                       .skip_unreadable = !o->strict,
                                       .log = log,
                                       .hashes = calloc(e->summary.pictures, sizeof *f.hashes),
                                       .progress = tell_encoding,
                                       .context = (void *)(uintptr_t)o};
    const uint64_t start = clock_ns();
    status st = OK;
    if (!f.hashes) return fail(ST_MEMORY, "no memory for %zu pictures", e->summary.pictures);
    TRY(features_encode(&e->lineup.model, e->set, &f, &e->features));
    TRY(base_encode(o, &f, e));
    fingerprint_of(e->set, f.hashes, e->fingerprint);
    e->summary.encode_seconds = (double)(clock_ns() - start) / 1e9;
    e->summary.unreadable = e->features.unreadable;
    if (e->features.unreadable && e->writes)
        log_line(log, LOG_WARN, "%zu of %zu pictures cannot be read and are left out", e->features.unreadable,
                 e->summary.pictures);
done:
    free(f.hashes);
    return st;
}

static status play(centra_session *session, const centra_eval_options *o, const struct log_sink *log, centra_eval *e)
{
    const struct evaluate_options v = {.classes = e->summary.classes,
                                       .threads = session->threads,
                                       .peers = session->peers,
                                       .base = e->shown.classes ? &e->shown : NULL,
                                       .shuffle_labels = o->shuffle_labels,
                                       .progress = tell_playing,
                                       .context = (void *)(uintptr_t)o};
    struct course c;
    status st = OK;
    TRY(course_open(o, e, log, &c));
    e->out = calloc(e->lineup.heads, sizeof *e->out);
    if (!e->out) TRY(fail(ST_MEMORY, "no memory for the results of %zu heads", e->lineup.heads));
    TRY(evaluate(&e->features, e->lineup.head, e->lineup.heads, &c.episodes, &v, e->out));
    features_free(&e->features);
    features_free(&e->base);
    for (size_t h = 0; h < e->lineup.heads; h++)
        for (size_t i = 0; i < e->summary.episodes; i++) e->out[h].accuracy[i] *= 100;
done:
    course_close(&c);
    return st;
}

static centra_eval_summary asked_for(const centra_eval_options *o)
{
    return (centra_eval_summary){.way = o->way ? o->way : 5,
                                 .shot = o->shot ? o->shot : 1,
                                 .query = o->query ? o->query : 15,
                                 .episodes = o->episodes ? o->episodes : 10000,
                                 .seed = o->seed};
}

centra_status centra_eval_run(centra_session *session, const centra_eval_options *o, centra_eval **out)
{
    status st = check(session, o, out);
    if (st != OK) return (centra_status)st;
    const struct log_sink log = {.line = warn_line, .context = (void *)(uintptr_t)o, .most = LOG_WARN};
    centra_eval *e = calloc(1, sizeof *e);
    if (!e) return (centra_status)fail(ST_MEMORY, "no memory for an evaluation");
    e->summary = asked_for(o);
    e->writes = session->peers->rank == 0;
    TRY(lineup_open(session, o, &log, &e->lineup));
    e->summary.heads = e->lineup.heads;
    e->summary.backbone = e->lineup.model.net->name;
    e->summary.extractor = e->lineup.extractor;
    e->summary.weights = e->lineup.path;
    e->summary.data_fingerprint = e->fingerprint;
    TRY(base_possible(o, e, &log));
    TRY(open_data(o, &log, e));
    TRY(agree(session, e));
    TRY(encode(session, o, &log, e));
    TRY(play(session, o, &log, e));
    TRY(result_options(e));
    lineup_leave(&e->lineup);
    *out = e;
    e = NULL;
done:
    st = session_end(session, st);
    centra_eval_free(e);
    return (centra_status)st;
}

void centra_eval_free(centra_eval *e)
{
    if (!e) return;
    for (size_t h = 0; e->out && h < e->lineup.heads; h++) outcome_free(&e->out[h]);
    free(e->out);
    features_free(&e->features);
    features_free(&e->base);
    dataset_close(e->set);
    lineup_close(&e->lineup);
    free(e);
}

void centra_eval_paired(const double *a, const double *b, size_t count, double *difference, double *ci95)
{
    const struct interval i = interval_of_difference(a, b, count, 0.95);
    *difference = i.mean;
    *ci95 = i.half;
}
