/* validate.c - every picture of the split encoded once, then the episodes. */
#include "train/validate.h"
#include "base/size.h"
#include "eval/evaluate.h"
#include "heads/mirror.h"
#include <stdlib.h>

static status make_sampler(size_t classes, const size_t *first, const size_t *size, const struct run_settings *s,
                           struct sampler **out)
{
    const struct validate_settings *v = &s->validate;
    return sampler_new(classes, first, size, (size_t)v->way, (size_t)v->shot, (size_t)v->query, (uint64_t)s->train.seed,
                       out);
}

status validate_check(const struct dataset *d, const struct run_settings *s)
{
    status st = OK;
    struct sampler *sampler = NULL;
    const size_t classes = dataset_class_count(d);
    size_t *first = calloc(2 * size_max(1, classes), sizeof *first);
    if (!first) return fail(ST_MEMORY, "no memory for %zu classes", classes);
    for (size_t i = 0; i < classes; i++) {
        first[i] = dataset_class_first(d, i);
        first[classes + i] = dataset_class_size(d, i);
    }
    st = make_sampler(classes, first, first + classes, s, &sampler);
    sampler_free(sampler);
    free(first);
    return st;
}

/* The head that plays the episodes; *settings is owned by the caller. */
static status find_head(const struct trainer *t, struct contender *out, void **settings)
{
    *out = (struct contender){t->model.head, t->model.head_settings, t->model.params};
    if (!t->pretrain) return OK;
    const status st = head_find(t->pretrain->head, &out->head);
    if (st != OK) return st;
    *settings = calloc(1, size_max(1, out->head->settings_bytes));
    if (!*settings) return fail(ST_MEMORY, "no memory for the settings of %s", out->head->name);
    options_default(out->head->options, *settings);
    if (out->head->presets) out->head->presets(*settings);
    out->settings = *settings;
    out->params = NULL;
    return OK;
}

struct watch { /* remembers that somebody wanted to stop */
    const struct validation_options *o;
    bool stopped;
};

static bool watched(void *context, size_t done, size_t of)
{
    struct watch *w = context;
    if (w->o->progress && !w->o->progress(w->o->context, done, of)) w->stopped = true;
    return !w->stopped;
}

status validate(const struct trainer *t, const struct validation_options *o, struct interval *out, bool *cut)
{
    status st = OK;
    struct features f = {0};
    struct sampler *sampler = NULL;
    struct contender head;
    struct outcome outcome = {0};
    struct watch w = {o, false};
    void *settings = NULL;
    TRY(find_head(t, &head, &settings));
    const struct features_options encode = {.transform = &t->transform,
                                            .stock = o->stock,
                                            .threads = o->threads,
                                            .peers = o->peers,
                                            .mirror = mirror_wanted(head.head, (size_t)o->settings->validate.shot),
                                            .skip_unreadable = true,
                                            .log = o->log,
                                            .progress = watched,
                                            .context = &w};
    const struct evaluate_options play = {.classes = dataset_class_count(o->data),
                                          .threads = o->threads,
                                          .peers = o->peers,
                                          .progress = watched,
                                          .context = &w};
    TRY(features_encode(&t->model, o->data, &encode, &f));
    TRY(make_sampler(f.classes, f.first, f.size, o->settings, &sampler));
    const struct episodes episodes = {
        .sampler = sampler, .count = (size_t)o->settings->validate.episodes, .epoch = t->pretrain ? o->epoch : 0};
    TRY(evaluate(&f, &head, 1, &episodes, &play, &outcome));
    *out = outcome.mean;
done:
    outcome_free(&outcome);
    sampler_free(sampler);
    features_free(&f);
    free(settings);
    *cut = st != OK && w.stopped;
    return *cut ? OK : st;
}
