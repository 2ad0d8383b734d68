/* record_log.c - reading what a run has left behind: its weights' metadata, and metrics.jsonl line by line. */
#include "app/record_log.h"
#include "app/library.h"
#include "base/file.h"
#include "base/json.h"
#include "base/option.h"
#include "base/plain.h"
#include "base/sha256.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = 1 << 28, MOST_POINTS = 40 };

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

/* The recipe */

/* The value of "key = " in a section of a recipe that the program has written, or NULL; n: its length. */
static const char *find_value(const char *recipe, const char *section, const char *key, size_t *n)
{
    const size_t section_n = strlen(section), key_n = strlen(key);
    bool here = false;
    for (const char *line = recipe; *line;) {
        const size_t length = strcspn(line, "\n");
        if (*line == '[') here = !strncmp(line + 1, section, section_n) && line[1 + section_n] == ']';
        if (here && length > key_n + 3 && !strncmp(line, key, key_n) && !strncmp(line + key_n, " = ", 3)) {
            *n = length - key_n - 3;
            return line + key_n + 3;
        }
        line += length + (line[length] == '\n');
    }
    return NULL;
}

static double train_number(const char *recipe, const char *key)
{
    size_t n = 0;
    const char *s = find_value(recipe, "train", key, &n);
    return s ? plain_strtod(s, NULL) : (double)NAN;
}

/* Pictures that a step sees; NaN when the recipe does not say. */
static double step_pictures(const char *recipe)
{
    size_t n = 0;
    const char *stage = find_value(recipe, "train", "stage", &n);
    const double batch = train_number(recipe, "batch");
    if (stage && !strncmp(stage, "pretrain", 8)) return batch;
    return batch * train_number(recipe, "way") * (train_number(recipe, "shot") + train_number(recipe, "query"));
}

/* Without the lines that name files: the same training elsewhere has the same hash. */
static void hash_recipe(const char *recipe, char hex[65])
{
    struct sha256 s;
    sha256_begin(&s);
    for (const char *line = recipe; *line;) {
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        if (strncmp(line, "path = ", 7) && strncmp(line, "weights = ", 10)) sha256_add(&s, line, length);
        line += length;
    }
    sha256_end(&s, hex);
}

/* The weights */

static const char *meta(const centra_weights *w, const char *key)
{
    const char *name, *value;
    for (size_t i = 0; library_has(centra_weights_meta(w, i, &name, &value)); i++)
        if (!strcmp(name, key)) return value;
    return NULL;
}

static double meta_number(const centra_weights *w, const char *key)
{
    double v;
    const char *s = meta(w, key);
    return s && number_parse(s, &v) ? v : (double)NAN;
}

/* A count that a file tells; 0 for what is none: a number beyond those of a double's exact integers has no integer value here. */
static int64_t whole(double v) { return v >= 0 && v <= 9007199254740992.0 ? (int64_t)v : 0; }

static status take_weights(const centra_weights *w, arena *memory, struct record *r, const char **recipe)
{
    char hex[65];
    status st = OK;
    const char *data = meta(w, "data_fingerprint"), *words = meta(w, "recipe");
    const double epochs = meta_number(w, "epochs");
    TRY(library(centra_weights_fingerprint(w, hex)));
    TRY(keep(memory, hex, strlen(hex), &r->weights));
    if (data) TRY(keep(memory, data, strlen(data), &r->train_data));
    if (words) {
        hash_recipe(words, hex);
        TRY(keep(memory, hex, strlen(hex), &r->recipe_sha256));
        TRY(keep(memory, words, strlen(words), recipe));
    }
    r->validation = meta_number(w, "accuracy");
    r->validation_ci95 = meta_number(w, "ci95");
    r->validation_epoch = whole(epochs);
done:
    return st;
}

/* The log */

static double number(const struct json *object, const char *key)
{
    const struct json *v = json_member(object, key);
    return v && (v->kind == JSON_INT || v->kind == JSON_REAL) ? v->real : (double)NAN;
}

/* Validation on the way. Every other point goes when it is full, so that it ends with 20 to 40, evenly spaced. */
struct curve {
    struct {
        double epoch, validation;
    } point[MOST_POINTS];
    size_t count, stride, seen;
};

static void add_point(struct curve *c, double epoch, double validation)
{
    if (c->seen++ % c->stride) return;
    if (c->count == MOST_POINTS) {
        for (size_t i = 0; i < MOST_POINTS / 2; i++) c->point[i] = c->point[2 * i];
        c->count = MOST_POINTS / 2;
        c->stride *= 2;
        if ((c->seen - 1) % c->stride) return;
    }
    c->point[c->count].epoch = epoch;
    c->point[c->count++].validation = validation;
}

static status keep_curve(const struct curve *c, arena *memory, struct record *r)
{
    text t = {0};
    for (size_t i = 0; i < c->count; i++)
        text_addf(&t, "%s%.0f %.2f", i ? ", " : "", c->point[i].epoch, c->point[i].validation);
    status st = text_status(&t);
    if (st == OK) st = keep(memory, text_string(&t), t.length, &r->curve);
    text_free(&t);
    return st;
}

static void take_line(const struct json *o, struct record *r, struct curve *c)
{
    const double epoch = number(o, "epoch"), step = number(o, "step");
    const double validation = number(json_member(o, "validation"), "mean");
    r->train_seconds = number(o, "seconds");
    r->epochs = isfinite(epoch) ? whole(epoch) + 1 : 0;
    r->steps = whole(step);
    if (isfinite(validation)) add_point(c, epoch + 1, 100 * validation);
}

static status take_log(const char *path, const char *recipe, arena *memory, struct record *r)
{
    char *bytes = NULL;
    size_t n = 0;
    struct curve curve = {.stride = 1};
    arena *line_memory = NULL;
    const struct json *o = NULL;
    status st = file_read(path, LOG_BYTES, &bytes, &n);
    if (st != OK) return st;
    line_memory = arena_new(4096);
    if (!line_memory) TRY(fail(ST_MEMORY, "no memory to read '%s'", path));
    for (size_t at = 0; at < n;) {
        const char *end = memchr(bytes + at, '\n', n - at);
        if (!end) break; /* cut while it was written */
        const size_t length = (size_t)(end - bytes) - at;
        TRY(json_parse(path, bytes + at, length, line_memory, &o));
        take_line(o, r, &curve);
        arena_reset(line_memory);
        at += length + 1;
    }
    TRY(keep_curve(&curve, memory, r));
    if (recipe && r->train_seconds > 0)
        r->pictures_per_second = (double)r->steps * step_pictures(recipe) / r->train_seconds;
done:
    arena_free(line_memory);
    free(bytes);
    return st;
}

status record_training(const char *weights, const char *log, arena *memory, struct record *r)
{
    status st = OK;
    centra_weights *w = NULL;
    const char *recipe = NULL;
    r->train_seconds = r->pictures_per_second = (double)NAN;
    TRY(library(centra_weights_open(weights, &w)));
    TRY(take_weights(w, memory, r, &recipe));
    if (log) TRY(take_log(log, recipe, memory, r));
done:
    centra_weights_close(w);
    return st;
}
