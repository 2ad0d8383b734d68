/* model.c - models as handles: a file of weights that says which network, head and transform it is for.
 *
 * The file stays in memory and is only read, so that any number of threads may build classifiers from one model. */
#include "api/classifier.h"
#include "api/model_find.h"
#include "base/size.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static status keep(arena *memory, const char *s, size_t n, const char **out)
{
    void *kept = NULL;
    const status st = arena_take(memory, n + 1, 1, &kept);
    if (st != OK) return st;
    memcpy(kept, s, n);
    ((char *)kept)[n] = '\0';
    *out = kept;
    return OK;
}

/* "runs/birds/best.safetensors" is the model birds, "x/conv4-mini.safetensors" conv4-mini. */
static status keep_name(centra_model *m, const char *path)
{
    static const char suffix[] = ".safetensors", best[] = "best.safetensors";
    size_t end = strlen(path);
    if (end > sizeof best && !strcmp(path + end - sizeof best, "/best.safetensors")) end -= sizeof best;
    else if (end > strlen(suffix) && !strcmp(path + end - strlen(suffix), suffix)) end -= strlen(suffix);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin && path[begin - 1] != '/') begin--;
    return keep(m->memory, path + begin, end - begin, &m->info.name);
}

static const char *of_file(void *context, const char *key) { return weights_meta(context, key); }

static const char *said(const centra_model *m, const char *key)
{
    const char *s = weights_meta(m->file, key);
    return s ? s : "";
}

/* All that the file says, checked as far as that goes without a device. */
static status read_card(centra_model *m)
{
    const char *path = m->info.path;
    const struct net *net;
    const struct head *head;
    status st = OK;
    m->card.transform = transform_standard(TRANSFORM_RESIZE_CROP, 84, 8);
    if (!*said(m, "backbone")) /* then its other words are another project's, and may mean anything */
        TRY(fail(ST_FORMAT,
                 "'%.200s' does not say which network it is for; give a model that centra train made, or add it with "
                 "centra models add",
                 path));
    TRY(card_read(path, of_file, m->file, &m->card));
    TRY(net_find(m->card.backbone, &net));
    if (m->card.head) TRY(head_find(m->card.head, &head));
    TRY(extractor_parse(m->card.extractor ? m->card.extractor : "map", &m->extractor));
    if (m->card.transform.kind == TRANSFORM_PAD_CROP) { /* trained on pictures of the right size: others are made so */
        m->card.transform.kind = TRANSFORM_RESIZE_CROP;
        m->card.transform.pad = 0;
    }
    m->info.backbone = m->card.backbone;
    m->info.head = m->card.head ? m->card.head : model_standard_head;
    m->info.extractor = m->card.extractor ? m->card.extractor : "map";
    m->info.side = m->card.transform.side;
    m->info.data = said(m, "data");
    m->info.accuracy = said(m, "accuracy");
done:
    return st;
}

static status keep_setup(centra_model *m)
{
    const struct net *net;
    text t = {0};
    void *settings = NULL;
    status st = OK;
    TRY(net_find(m->card.backbone, &net));
    TRY(arena_take(m->memory, size_max(net->settings_bytes, 1), 1, &settings));
    options_default(net->options, settings);
    TRY(card_options(&m->card, "net.", net->options, settings, m->memory));
    card_add_setup(net, settings, &m->extractor, &m->card.transform, &t);
    TRY(text_status(&t));
    TRY(keep(m->memory, text_string(&t), t.length, &m->setup));
done:
    text_free(&t);
    return st;
}

/* A model of the store knows which weights it was given. */
static status check_recorded(const centra_model *m)
{
    const char *recorded = weights_meta(m->file, MODEL_FINGERPRINT);
    if (!recorded || !strcmp(recorded, m->fingerprint)) return OK;
    return fail(ST_FORMAT,
                "the model '%.200s' is damaged: its weights have the fingerprint %.12s..., not %.12s... as recorded; "
                "remove it and add it anew",
                m->info.path, m->fingerprint, recorded);
}

static status open_path(centra_model *m, const char *path)
{
    status st = OK;
    TRY(keep(m->memory, path, strlen(path), &m->info.path));
    TRY(keep_name(m, path));
    TRY(weights_open(path, &m->file));
    TRY(read_card(m));
    TRY(keep_setup(m));
    TRY(weights_fingerprint(m->file, m->fingerprint));
    TRY(check_recorded(m));
    m->info.fingerprint = m->fingerprint;
done:
    return st;
}

centra_status centra_model_open(const char *path, centra_model **out)
{
    char found[PATH_MAX];
    status st = OK;
    if (!out) return (centra_status)fail(ST_USAGE, "centra_model_open needs a place for the model");
    centra_model *m = calloc(1, sizeof *m);
    if (!m) return (centra_status)fail(ST_MEMORY, "no memory for a model");
    m->memory = arena_new(1 << 10);
    if (!m->memory) {
        st = fail(ST_MEMORY, "no memory for a model");
        goto done;
    }
    TRY(model_find(path, found));
    TRY(open_path(m, found));
    *out = m;
    m = NULL;
done:
    centra_model_close(m);
    return (centra_status)st;
}

void centra_model_close(centra_model *m)
{
    if (!m) return;
    weights_close(m->file);
    arena_free(m->memory);
    free(m);
}

void centra_model_describe(const centra_model *m, centra_model_info *out) { *out = m->info; }

centra_status centra_model_note(const centra_model *m, size_t index, const char **key, const char **value)
{
    if (index >= weights_meta_count(m->file))
        return (centra_status)fail(ST_USAGE, "there is no note %zu; the model has %zu", index,
                                   weights_meta_count(m->file));
    weights_meta_at(m->file, index, key, value);
    return CENTRA_OK;
}
