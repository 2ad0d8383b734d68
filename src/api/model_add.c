/* model_add.c - a file of weights becomes a model of the user: checked, described, converted, kept.
 *
 * Nothing is written before everything is known to fit, and then under another name that becomes the right one in one
 * step: whoever looks sees the whole model or none. */
#include "api/model_find.h"
#include "api/recognise.h"
#include "api/store.h"
#include "base/file.h"
#include "base/plain.h"
#include "centra.h"
#include "weights/foreign.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NOTE_BYTES = 1000, OWN_LINES = 5, SIDE_MOST = 4096 };

struct adding {
    const centra_model_add_options *o;
    const char *path; /* of the file */
    char name[MODEL_NAME_ROOM];
    struct weights *file;    /* owned: as it was read */
    struct weights *theirs;  /* owned: the same as ours, where it is a known file of another project; else NULL */
    struct recognised what;  /* owned */
    const struct head *head; /* that it was trained with; NULL: none */
    struct card_line card[CARD_LINES];
    struct meta *meta; /* owned */
    size_t metas;
    char sha256[65], fingerprint[65];
};

static void adding_free(struct adding *a)
{
    weights_close(a->theirs);
    weights_close(a->file);
    recognised_free(&a->what);
    card_free(a->card);
    free(a->meta);
}

/* What is kept: the file, or what became of it. */
static struct weights *kept_of(const struct adding *a) { return a->theirs ? a->theirs : a->file; }

/* Names */

/* "runs/birds/best.safetensors" gives birds, "x/resnet18-f37072fd.pth" resnet18-f37072fd. */
static status name_of_file(const char *path, char out[MODEL_NAME_ROOM])
{
    static const char best[] = "/best.safetensors";
    size_t end = strlen(path);
    if (end > strlen(best) && !strcmp(path + end - strlen(best), best)) end -= strlen(best);
    while (end && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin && path[begin - 1] != '/') begin--;
    static const char *const suffixes[] = {".safetensors", ".pth", ".pt", NULL};
    for (const char *const *s = suffixes; *s; s++) {
        const size_t n = strlen(*s);
        if (end - begin <= n || memcmp(path + end - n, *s, n)) continue;
        end -= n;
        break;
    }
    if (end - begin >= MODEL_NAME_ROOM) return fail(ST_USAGE, "the name of '%.200s' is too long; give --name", path);
    memcpy(out, path + begin, end - begin);
    out[end - begin] = '\0';
    return OK;
}

static status taken(const char *name, bool shipped)
{
    return fail(ST_USAGE, "there already is a model %s%s; give another --name%s", name,
                shipped ? ", which came with the library" : "", shipped ? "" : ", or remove it: centra models remove");
}

static status choose_name(struct adding *a)
{
    struct models *m = NULL;
    status st = OK;
    if (!a->o->name) TRY(name_of_file(a->path, a->name));
    else if (strlen(a->o->name) < MODEL_NAME_ROOM) memcpy(a->name, a->o->name, strlen(a->o->name) + 1);
    if (!model_name_good(a->name))
        TRY(fail(
            ST_USAGE,
            "'%.140s' cannot be a model's name: it begins with a letter or digit and goes on with those, '-', '_' or "
            "'.', %d at most; give --name",
            a->o->name ? a->o->name : a->name, MODEL_NAME_ROOM - 1));
    TRY(models_read(&m));
    if (shelf_find(&m->shipped, a->name) < m->shipped.count) TRY(taken(a->name, true));
    if (shelf_find(&m->own, a->name) < m->own.count) TRY(taken(a->name, false));
    if (m->own.count == SHELF_MOST) TRY(fail(ST_USAGE, "there are %d own models already; remove one", SHELF_MOST));
done:
    free(m);
    return st;
}

/* What the file is */

static const char *of_file(void *context, const char *key) { return weights_meta(context, key); }

/* A file that describes itself: one of our runs, or a model that was added before. */
static status read_card(struct adding *a)
{
    struct card card = {.transform = transform_standard(TRANSFORM_RESIZE_CROP, 84, 8)};
    struct recognised *r = &a->what;
    struct device *none = NULL;
    status st = OK;
    r->memory = arena_new(1 << 10);
    if (!r->memory) return fail(ST_MEMORY, "no memory for a model");
    TRY(card_read(a->path, of_file, kept_of(a), &card));
    TRY(model_new(none, card.backbone, card.head, &r->model));
    TRY(card_options(&card, "net.", r->model.net->options, r->model.net_settings, r->memory));
    a->head = r->model.head;
    if (a->head) TRY(card_options(&card, "head.", a->head->options, r->model.head_settings, r->memory));
    TRY(extractor_parse(card.extractor ? card.extractor : "map", &r->model.extractor));
    r->transform = card.transform;
done:
    return st;
}

static status take_wishes(struct adding *a)
{
    const centra_model_add_options *o = a->o;
    struct recognised *r = &a->what;
    status st = OK;
    for (size_t i = 0; i < o->net_option_count && st == OK; i++) {
        if (!o->net_options[i].name || !o->net_options[i].value)
            return fail(ST_USAGE, "option %zu has no name or no value", i);
        st = option_set(r->model.net->options, "--net.", o->net_options[i].name, o->net_options[i].value,
                        r->model.net_settings);
    }
    if (st != OK || !o->side) return st;
    if (o->side > SIDE_MOST) return fail(ST_USAGE, "a side of %zu is too much; at most %d", o->side, SIDE_MOST);
    r->transform.pad = r->transform.pad * o->side / r->transform.side; /* the same part of a picture is seen */
    r->transform.side = o->side;
    return OK;
}

static status check_side(const struct adding *a)
{
    const struct recognised *r = &a->what;
    const size_t least = r->model.net->least;
    if (r->transform.side >= least) return OK;
    return fail(a->o->side ? ST_USAGE : ST_FORMAT,
                "%s needs pictures of at least %zu x %zu pixels, but the side is %zu", r->model.net->name, least, least,
                r->transform.side);
}

static status understand(struct adding *a)
{
    const struct foreign *f = foreign_find(a->file);
    status st = OK;
    if (f) TRY(foreign_convert(f, a->file, &a->theirs));
    const char *backbone = weights_meta(kept_of(a), "backbone");
    TRY(backbone && *backbone ? read_card(a) : recognise(a->file, a->path, &a->what));
    TRY(take_wishes(a));
    TRY(check_side(a));
    TRY(recognised_check(kept_of(a), a->path, &a->what.model, a->head));
done:
    return st;
}

/* What is kept with it */

static status check_note(const char *what, const char *note)
{
    if (!note || strlen(note) <= NOTE_BYTES) return OK;
    return fail(ST_USAGE, "the %s note has %zu bytes; at most %d are kept", what, strlen(note), NOTE_BYTES);
}

static void note(struct adding *a, const char *key, const char *value)
{
    for (size_t i = 0; i < a->metas; i++)
        if (!strcmp(a->meta[i].key, key)) return; /* said already: what comes first counts */
    a->meta[a->metas++] = (struct meta){key, value};
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The card, then ours, then the file's own words where they are about something else. */
static status describe(struct adding *a)
{
    const size_t theirs = weights_meta_count(kept_of(a));
    status st = OK;
    TRY(check_note("source", a->o->source));
    TRY(check_note("licence", a->o->licence));
    TRY(card_write(&a->what.model, &a->what.transform, a->card));
    TRY(weights_convert_fingerprint(kept_of(a), a->fingerprint));
    a->meta = calloc(CARD_LINES + OWN_LINES + theirs, sizeof *a->meta);
    if (!a->meta) TRY(fail(ST_MEMORY, "no memory for a model"));
    for (size_t i = 0; i < CARD_LINES; i++) note(a, a->card[i].key, text_string(&a->card[i].value));
    note(a, MODEL_FILE, file_name(a->path));
    note(a, MODEL_FILE_SHA256, a->sha256);
    note(a, MODEL_FINGERPRINT, a->fingerprint);
    if (a->o->source) note(a, "source", a->o->source);
    if (a->o->licence) note(a, "licence", a->o->licence);
    for (size_t i = 0; i < theirs; i++) {
        const char *key, *value;
        weights_meta_at(kept_of(a), i, &key, &value);
        note(a, key, value);
    }
done:
    return st;
}

static status keep(struct adding *a)
{
    struct shelf *s = calloc(1, sizeof *s);
    char path[PATH_MAX];
    bool there = false;
    status st = OK;
    if (!s) return fail(ST_MEMORY, "no memory for the names of models");
    TRY(store_open(s));
    TRY(shelf_path(s, a->name, path));
    TRY(weights_convert_new(kept_of(a), a->metas, a->meta, path, &there));
    if (there) TRY(taken(a->name, false)); /* by somebody else, a moment ago */
done:
    free(s);
    return st;
}

static status open_file(struct adding *a)
{
    const status st = weights_open(a->path, &a->file);
    if (st != OK || weights_file_hash(a->file, a->sha256)) return st;
    return fail(ST_USAGE, "'%.200s' is a folder; centra weights convert makes it a file that can be added", a->path);
}

centra_status centra_model_add(const char *path, const centra_model_add_options *options, const char **name)
{
    static _Thread_local char kept[MODEL_NAME_ROOM];
    const centra_model_add_options standard = {0};
    struct adding a = {.o = options ? options : &standard, .path = path};
    char best[PATH_MAX];
    status st = OK;
    if (!path || (a.o->net_option_count && !a.o->net_options))
        return (centra_status)fail(ST_USAGE, "centra_model_add needs the path of a file of weights");
    const int n = plain_snprintf(best, sizeof best, "%s/best.safetensors", path);
    if (n > 0 && n < PATH_MAX && file_exists(best)) a.path = best;
    TRY(choose_name(&a));
    TRY(open_file(&a));
    TRY(understand(&a));
    TRY(describe(&a));
    TRY(keep(&a));
    memcpy(kept, a.name, sizeof kept);
    if (name) *name = kept;
done:
    adding_free(&a);
    return (centra_status)st;
}
