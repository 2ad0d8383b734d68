/* support_pack.c - a support as a file: safetensors with the arrays features [n, C, h, w], pictures [n, side, side, 3] and
 * labels [n], and what else there is to say as metadata (docs/classify.md).
 *
 * What is read may have been made by anybody: every shape, count and range is checked before it is used. */
#include "api/classifier.h"
#include "base/json.h"
#include "base/size.h"
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char FORMAT[] = "centra-support", VERSION[] = "1";
enum { MOST_TEXT = 4 << 20, MOST_SCORES = 4096, ARRAYS = 4, METAS = 10 };

/* Writing */

struct pack {
    struct named_array array[ARRAYS];
    struct meta meta[METAS];
    size_t arrays, metas;
    text classes, names;
    char temperature[NUMBER_BYTES];
};

static void pack_free(struct pack *p)
{
    text_free(&p->classes);
    text_free(&p->names);
}

static void say(struct pack *p, const char *key, const char *value) { p->meta[p->metas++] = (struct meta){key, value}; }

static void hold(struct pack *p, const char *name, enum array_type type, int rank, const size_t *dim, const void *data)
{
    struct named_array a = {.name = name, .type = type, .rank = rank, .data = data, .bytes = array_type_bytes(type)};
    for (int i = 0; i < rank; i++) a.bytes *= a.dim[i] = dim[i];
    p->array[p->arrays++] = a;
}

static void list_names(text *to, const centra_support *s, bool classes)
{
    struct json_writer w;
    json_begin(&w, to, false);
    json_array(&w);
    for (size_t i = 0; i < (classes ? s->classes : s->count); i++)
        json_string(&w, classes ? s->class[i].name : s->name[i]);
    json_array_end(&w);
}

static status pack_make(const centra_support *s, struct pack *p)
{
    const size_t side = s->model->info.side, n = s->count;
    const struct calibration *k = &s->calibration;
    status st = OK;
    if (!n) return fail(ST_USAGE, "there are no known pictures to save");
    hold(p, "features", ARRAY_F32, 4, (size_t[]){n, s->channels, s->height, s->width}, s->features);
    hold(p, "pictures", ARRAY_U8, 4, (size_t[]){n, side, side, 3}, s->seen);
    hold(p, "labels", ARRAY_I32, 1, &n, s->label);
    if (k->count) hold(p, "calibration", ARRAY_F64, 1, &k->count, k->score);
    list_names(&p->classes, s, true);
    list_names(&p->names, s, false);
    TRY(text_status(&p->classes));
    TRY(text_status(&p->names));
    if (p->classes.length > MOST_TEXT || p->names.length > MOST_TEXT)
        TRY(fail(ST_USAGE, "the names of %zu known pictures are too long for a pack", n));
    say(p, "format", FORMAT);
    say(p, "version", VERSION);
    say(p, "model", s->model->info.name);
    say(p, "model_fingerprint", s->model->fingerprint);
    say(p, "model_setup", s->model->setup);
    say(p, "classes", text_string(&p->classes));
    say(p, "names", text_string(&p->names));
    if (k->head) {
        number_text(k->temperature, p->temperature);
        say(p, "calibration.head", k->head);
        say(p, "calibration.temperature", p->temperature);
    }
done:
    return st;
}

centra_status centra_support_save(const centra_support *s, const char *path)
{
    struct pack p = {0};
    status st = OK;
    if (!s || !path) return (centra_status)fail(ST_USAGE, "centra_support_save needs a support and a path");
    TRY(pack_make(s, &p));
    TRY(weights_write(path, p.arrays, p.array, p.metas, p.meta));
done:
    pack_free(&p);
    return (centra_status)st;
}

centra_status centra_support_write(const centra_support *s, unsigned char **bytes, size_t *count)
{
    struct pack p = {0};
    text t = {0};
    status st = OK;
    if (!s || !bytes || !count)
        return (centra_status)fail(ST_USAGE, "centra_support_write needs a support and places for the bytes");
    TRY(pack_make(s, &p));
    TRY(weights_write_bytes("a pack", p.arrays, p.array, p.metas, p.meta, &t));
    *bytes = (unsigned char *)t.data;
    *count = t.length;
    t = (text){0};
done:
    text_free(&t);
    pack_free(&p);
    return (centra_status)st;
}

/* Reading */

struct reading {
    const char *path;
    const struct weights *file;
    arena *memory; /* of the lists of names */
    centra_support *to;
};

static status bad(const struct reading *r, const char *why)
{
    return fail(ST_FORMAT, "the pack '%.200s' is damaged: %s", r->path, why);
}

/* The part of `s`, between comma and blank, in which the place `at` lies. */
static const char *part_of(const char *s, size_t at, int *length)
{
    while (at && (s[at - 1] != ' ' || at < 2 || s[at - 2] != ',')) at--;
    const char *end = strstr(s + at, ", ");
    *length = (int)(end ? (size_t)(end - s) - at : strlen(s + at));
    return s + at;
}

/* The same weights with another stage, input or extractor give other features. Older packs do not say. */
static status check_setup(const struct reading *r)
{
    const centra_model *m = r->to->model;
    const char *setup = weights_meta(r->file, "model_setup");
    size_t at = 0;
    int was, is;
    if (!setup || !strcmp(setup, m->setup)) return OK;
    while (setup[at] && setup[at] == m->setup[at]) at++;
    const char *then = part_of(setup, at, &was), *now = part_of(m->setup, at, &is);
    return fail(ST_USAGE,
                "the pack '%.100s' was made with the weights of the model %.60s set up otherwise: %.*s, not %.*s; "
                "give a model set up so, or the pictures themselves",
                r->path, m->info.name, was < 100 ? was : 100, then, is < 100 ? is : 100, now);
}

/* Format, version and model, before anything else is believed. */
static status check_kind(const struct reading *r)
{
    const centra_model *m = r->to->model;
    const char *format = weights_meta(r->file, "format"), *version = weights_meta(r->file, "version");
    const char *name = weights_meta(r->file, "model"), *print = weights_meta(r->file, "model_fingerprint");
    if (!format || strcmp(format, FORMAT)) return fail(ST_FORMAT, "'%.200s' is no pack of known pictures", r->path);
    if (!version || strcmp(version, VERSION))
        return fail(ST_UNSUPPORTED, "the pack '%.200s' has version '%.20s'; this library reads %s", r->path,
                    version ? version : "", VERSION);
    if (!name || !print) return bad(r, "it does not say which model it is for");
    if (strcmp(print, m->fingerprint))
        return fail(ST_USAGE,
                    "the pack '%.150s' was made with the model %.80s (%.12s...), not with %.80s (%.12s...); "
                    "give that model, or the pictures themselves",
                    r->path, name, print, m->info.name, m->fingerprint);
    return check_setup(r);
}

static status find_array(const struct reading *r, const char *name, enum array_type type, int rank,
                         const struct named_array **out)
{
    const struct named_array *a = weights_find(r->file, name);
    if (!a || a->type != type || a->rank != rank)
        return fail(ST_FORMAT, "the pack '%.200s' is damaged: its array '%s' is missing or of another kind", r->path,
                    name);
    *out = a;
    return OK;
}

/* A JSON list of texts. */
static status find_names(const struct reading *r, const char *key, const struct json **out)
{
    const char *s = weights_meta(r->file, key);
    status st = OK;
    if (!s) return bad(r, "a list of names is missing");
    TRY(json_parse(r->path, s, strlen(s), r->memory, out));
    if ((*out)->kind != JSON_ARRAY) return bad(r, "its names are no list");
    for (const struct json *e = (*out)->first; e; e = e->next) {
        if (e->kind != JSON_STRING) return bad(r, "a name is no text");
        TRY(support_name_check(key[0] == 'c' ? "class" : "picture", e->string));
    }
done:
    return st;
}

static status check_features(const struct reading *r, const struct named_array *a)
{
    const size_t numbers = a->bytes / sizeof(float);
    for (size_t i = 0; i < 4; i++)
        if (!a->dim[i]) return bad(r, "its features are empty");
    for (size_t i = 0; i < numbers; i++) {
        float x;
        memcpy(&x, (const char *)a->data + i * sizeof x, sizeof x);
        if (!isfinite(x)) return bad(r, "a feature is not finite");
    }
    return OK;
}

/* Labels 0, 0, 1, 2, 2 ...: sorted, no class missing. */
static status read_labels(const struct reading *r, const struct named_array *a, size_t classes)
{
    centra_support *s = r->to;
    int32_t last = -1;
    for (size_t i = 0; i < s->count; i++) {
        int32_t x;
        memcpy(&x, (const char *)a->data + i * sizeof x, sizeof x);
        if (x != last && x != last + 1) return bad(r, "its labels are not in order");
        last = s->label[i] = x;
        if (x < 0 || (size_t)x >= classes) return bad(r, "a label names no class");
        s->class[x].count++;
    }
    if ((size_t)last + 1 != classes) return bad(r, "a class has no pictures");
    for (size_t c = 1; c < classes; c++) s->class[c].first = s->class[c - 1].first + s->class[c - 1].count;
    return OK;
}

static status read_classes(const struct reading *r, const struct json *list)
{
    centra_support *s = r->to;
    const char *last = NULL;
    s->class = calloc(size_max(list->count, 1), sizeof *s->class);
    if (!s->class) return fail(ST_MEMORY, "no memory for %zu classes", list->count);
    s->class_room = list->count;
    for (const struct json *e = list->first; e; e = e->next) {
        if (last && strcmp(last, e->string) >= 0) return bad(r, "its classes are not in order");
        last = e->string;
        s->class[s->classes].name = strdup(e->string);
        if (!s->class[s->classes].name) return fail(ST_MEMORY, "no memory for %zu classes", list->count);
        s->classes++;
    }
    return OK;
}

static status read_rows(const struct reading *r)
{
    const struct named_array *features = NULL, *pictures = NULL, *labels = NULL;
    const struct json *classes = NULL, *names = NULL;
    centra_support *s = r->to;
    const size_t side = s->model->info.side;
    status st = OK;
    TRY(find_array(r, "features", ARRAY_F32, 4, &features));
    TRY(find_array(r, "pictures", ARRAY_U8, 4, &pictures));
    TRY(find_array(r, "labels", ARRAY_I32, 1, &labels));
    TRY(find_names(r, "classes", &classes));
    TRY(find_names(r, "names", &names));
    TRY(check_features(r, features));
    const size_t n = features->dim[0], *p = pictures->dim;
    if (labels->dim[0] != n || names->count != n || p[0] != n || p[1] != side || p[2] != side || p[3] != 3)
        return bad(r, "its arrays do not fit each other");
    TRY(read_classes(r, classes));
    TRY(support_reserve(s, n, features->dim + 1));
    memcpy(s->features, features->data, features->bytes);
    memcpy(s->seen, pictures->data, pictures->bytes);
    for (const struct json *e = names->first; e; e = e->next) {
        s->name[s->count] = strdup(e->string);
        if (!s->name[s->count]) return fail(ST_MEMORY, "no memory for %zu names", n);
        s->count++;
    }
    TRY(read_labels(r, labels, s->classes));
done:
    return st;
}

static status read_calibration(const struct reading *r)
{
    struct calibration *k = &r->to->calibration;
    const char *head = weights_meta(r->file, "calibration.head"), *t = weights_meta(r->file, "calibration.temperature");
    const struct named_array *scores = weights_find(r->file, "calibration");
    status st = OK;
    if (!head) return OK;
    if (!t || !number_parse(t, &k->temperature) || !(k->temperature >= 1e-3 && k->temperature <= 1e3))
        return bad(r, "its temperature is none");
    if (scores) {
        TRY(find_array(r, "calibration", ARRAY_F64, 1, &scores));
        if (scores->dim[0] > MOST_SCORES) return bad(r, "its calibration is too long");
        k->score = malloc(size_max(scores->bytes, 1));
        if (!k->score) return fail(ST_MEMORY, "no memory for a calibration");
        memcpy(k->score, scores->data, scores->bytes);
        k->count = scores->dim[0];
        for (size_t i = 0; i < k->count; i++)
            if (!isfinite(k->score[i]) || (i && k->score[i] < k->score[i - 1]))
                return bad(r, "its calibration is not in order");
        if (k->count == 1) return bad(r, "its calibration is too short");
        calibration_measure(k);
    }
    k->head = strdup(head);
    if (!k->head) return fail(ST_MEMORY, "no memory for a calibration");
done:
    return st;
}

static status read_pack(const centra_model *m, const char *path, const struct weights *file, centra_support **out)
{
    struct reading r = {.path = path, .file = file};
    status st = OK;
    r.memory = arena_new(1 << 14);
    if (!r.memory) return fail(ST_MEMORY, "no memory to read '%.200s'", path);
    TRY((status)centra_support_new(m, &r.to));
    TRY(check_kind(&r));
    TRY(read_rows(&r));
    TRY(read_calibration(&r));
    *out = r.to;
    r.to = NULL;
done:
    centra_support_free(r.to);
    arena_free(r.memory);
    return st;
}

/* Whoever takes a picture or a list for a pack shall not hear of weights. */
static status check_begin(const char *name, const unsigned char *bytes, size_t n)
{
    if (n > 8 && bytes[8] == '{') return OK; /* safetensors */
    return fail(ST_FORMAT, "'%.200s' is no pack of known pictures", name);
}

/* What is no file, or cannot be read, weights_open will name. */
static status check_file(const char *path)
{
    unsigned char first[9];
    struct stat about;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const ssize_t n = fd >= 0 && !fstat(fd, &about) && S_ISREG(about.st_mode) ? read(fd, first, sizeof first) : -1;
    if (fd >= 0) close(fd);
    return n < 0 ? OK : check_begin(path, first, (size_t)n);
}

centra_status centra_support_open(const centra_model *m, const char *path, centra_support **out)
{
    struct weights *file = NULL;
    status st = OK;
    if (!m || !path || !out)
        return (centra_status)fail(ST_USAGE, "centra_support_open needs a model, a path and a place");
    TRY(check_file(path));
    TRY(weights_open(path, &file));
    TRY(read_pack(m, path, file, out));
done:
    weights_close(file);
    return (centra_status)st;
}

centra_status centra_support_parse(const centra_model *m, const char *name, const unsigned char *bytes, size_t count,
                                   centra_support **out)
{
    struct weights *file = NULL;
    status st = OK;
    if (!m || !name || !out || (count && !bytes))
        return (centra_status)fail(ST_USAGE, "centra_support_parse needs a model, a name, bytes and a place");
    TRY(check_begin(name, bytes, count));
    TRY(weights_parse(name, bytes, count, &file));
    TRY(read_pack(m, name, file, out));
done:
    weights_close(file);
    return (centra_status)st;
}
