/* lineup.c - encoder and heads for an evaluation.
 *
 * What is said last counts: an option's default, what the file's card says, what all heads were told, what this head was
 * told. The card's words about a head count for that head alone. */
#include "api/lineup.h"
#include "api/model_find.h"
#include <stdlib.h>
#include <string.h>

static status keep_path(struct lineup *l, const char *weights)
{
    char found[PATH_MAX];
    void *memory = NULL;
    status st = OK;
    TRY(model_find_weights(weights, found));
    TRY(arena_take(l->memory, strlen(found) + 1, 1, &memory));
    l->path = memcpy(memory, found, strlen(found) + 1);
done:
    return st;
}

/* The extractor that was asked for, else the one that the file was trained with. */
static status keep_extractor(struct lineup *l, const char *asked)
{
    void *memory;
    const char *name = asked ? asked : l->card.extractor ? l->card.extractor : "map";
    const status st = arena_take(l->memory, strlen(name) + 1, 1, &memory);
    if (st == OK) l->extractor = memcpy(memory, name, strlen(name) + 1);
    return st;
}

static const char *of_file(void *context, const char *key) { return weights_meta(context, key); }

static status open_file(struct lineup *l, const char *weights)
{
    status st = OK;
    TRY(keep_path(l, weights));
    TRY(weights_open(l->path, &l->file));
    const char *backbone = weights_meta(l->file, "backbone"); /* without one the words are another project's */
    if (backbone && *backbone) TRY(card_read(l->path, of_file, l->file, &l->card));
done:
    return st;
}

static status set_options(const struct option *table, const char *prefix, const centra_option *options, size_t count,
                          void *settings)
{
    status st = OK;
    for (size_t i = 0; i < count && st == OK; i++) {
        if (!options[i].name || !options[i].value) return fail(ST_USAGE, "option %zu has no name or no value", i);
        st = option_set(table, prefix, options[i].name, options[i].value, settings);
    }
    return st;
}

static status open_encoder(struct lineup *l, centra_session *s, const centra_eval_options *o)
{
    static const char *const ignore[] = {"head.", "pre.", NULL};
    const char *name = o->backbone ? o->backbone : l->card.backbone;
    struct model *m = &l->model;
    status st = OK;
    if (!name && !l->path) return fail(ST_USAGE, "neither weights nor a backbone are given; give weights to evaluate");
    if (!name) return fail(ST_USAGE, "'%s' does not say which network it is for; name the backbone", l->path);
    TRY(model_new(s->dev, name, NULL, m));
    if (l->card.backbone && !strcmp(name, l->card.backbone))
        TRY(card_options(&l->card, "net.", m->net->options, m->net_settings, l->memory));
    TRY(model_extract(m, l->extractor, &l->card.transform));
    TRY(set_options(m->net->options, "--net.", o->net_options, o->net_option_count, m->net_settings));
    TRY(model_start(m, DT_F32, o->seed));
    if (l->file) TRY(weights_load(l->file, m->params, "", ignore));
done:
    return st;
}

/* Each option for all heads must mean something to one of them. */
static status check_shared(const struct lineup *l, const centra_eval_options *o)
{
    for (size_t i = 0; i < o->head_option_count; i++) {
        bool known = false;
        if (!o->head_options[i].name) return fail(ST_USAGE, "option %zu for all heads has no name", i);
        for (size_t h = 0; h < l->heads && !known; h++)
            known = option_find(l->head[h].head->options, o->head_options[i].name) != NULL;
        if (!known) /* the first head's "did you mean" */
            return option_set(l->head[0].head->options, "--head.", o->head_options[i].name, "", NULL);
    }
    return OK;
}

static status set_head(struct lineup *l, const centra_eval_options *o, const centra_eval_head *asked,
                       const struct head *h, void *settings)
{
    status st = OK;
    options_default(h->options, settings);
    if (h->presets) h->presets(settings);
    if (l->card.head && !strcmp(h->name, l->card.head))
        TRY(card_options(&l->card, "head.", h->options, settings, l->memory));
    for (size_t i = 0; i < o->head_option_count; i++)
        if (option_find(h->options, o->head_options[i].name))
            TRY(set_options(h->options, "--head.", &o->head_options[i], 1, settings));
    TRY(set_options(h->options, "--head.", asked->options, asked->option_count, settings));
done:
    return st;
}

/* Parameters come from the file when it was made for this head, else they are start values and that is said. */
static status load_head(struct lineup *l, const struct head *h, struct params *p, const struct log_sink *log)
{
    static const char *const all[] = {"", NULL};
    bool there = l->file && (!l->card.head || !strcmp(l->card.head, h->name));
    if (!params_count(p)) return OK;
    for (size_t i = 0; i < params_count(p) && there && !l->card.head; i++)
        there = weights_find(l->file, params_at(p, i)->name) != NULL;
    if (there) return weights_load(l->file, p, "head.", all);
    log_line(log, LOG_WARN, "the weights have no parameters for %s, which keeps its start values", h->name);
    return OK;
}

static status open_head(struct lineup *l, centra_session *s, const centra_eval_options *o,
                        const centra_eval_head *asked, size_t i, const struct log_sink *log)
{
    struct contender *c = &l->head[i];
    status st = OK;
    void *settings = calloc(1, c->head->settings_bytes ? c->head->settings_bytes : 1);
    c->settings = settings;
    c->params = params_new(s->dev);
    if (!settings || !c->params) TRY(fail(ST_MEMORY, "no memory for the head %s", c->head->name));
    TRY(set_head(l, o, asked, c->head, settings));
    TRY(model_start_head(c->head, l->model.channels, DT_F32, o->seed, c->params));
    TRY(load_head(l, c->head, c->params, log));
done:
    return st;
}

static status open_heads(struct lineup *l, centra_session *s, const centra_eval_options *o, const struct log_sink *log)
{
    const centra_eval_head own = {.name = l->card.head ? l->card.head : model_standard_head};
    const centra_eval_head *asked = o->head_count ? o->heads : &own;
    const size_t count = o->head_count ? o->head_count : 1;
    status st = OK;
    if (!o->head_count && !o->weights) return fail(ST_USAGE, "neither a head nor weights are named; name a head");
    l->head = calloc(count, sizeof *l->head);
    if (!l->head) return fail(ST_MEMORY, "no memory for %zu heads", count);
    for (size_t i = 0; i < count; i++) {
        if (!asked[i].name) TRY(fail(ST_USAGE, "head %zu has no name", i));
        TRY(head_find(asked[i].name, &l->head[i].head));
        l->heads++;
    }
    TRY(check_shared(l, o));
    for (size_t i = 0; i < count; i++) TRY(open_head(l, s, o, &asked[i], i, log));
done:
    return st;
}

status lineup_open(centra_session *s, const centra_eval_options *o, const struct log_sink *log, struct lineup *out)
{
    status st = OK;
    struct lineup *l = out;
    *l = (struct lineup){.card.transform = transform_standard(TRANSFORM_RESIZE_CROP, 84, 8)};
    l->memory = arena_new(1 << 12);
    if (!l->memory) return fail(ST_MEMORY, "no memory for a model");
    if (o->weights) TRY(open_file(l, o->weights));
    TRY(keep_extractor(l, o->extractor));
    TRY(open_encoder(l, s, o));
    TRY(open_heads(l, s, o, log));
    if (!o->weights) log_line(log, LOG_WARN, "there are no weights: %s starts from random ones", l->model.net->name);
done:
    return st;
}

void lineup_leave(struct lineup *l)
{
    for (size_t i = 0; i < l->heads; i++) {
        params_free(l->head[i].params);
        l->head[i].params = NULL;
    }
    model_free(&l->model);
}

void lineup_close(struct lineup *l)
{
    lineup_leave(l);
    for (size_t i = 0; i < l->heads; i++) free((void *)(uintptr_t)l->head[i].settings);
    free(l->head);
    weights_close(l->file);
    arena_free(l->memory);
    *l = (struct lineup){0};
}
