/* results_speed.c - milliseconds of an episode with each head: the paper's, and what centra bench heads has measured. */
#include "app/results.h"
#include "base/file.h"
#include "base/json.h"
#include "base/plain.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPEED_BYTES = 1 << 20, SPEED_MOST = 256, FILES_MOST = 32 };
static const char SUFFIX[] = ".jsonl";

const int speed_sides[SPEED_SIDES] = {5, 8, 10, 12};
/* 5-way 1-shot, 15 queries a class, ResNet-12's 640 channels, without the encoding; the machine is not said. */
const struct speed speed_paper[] = {
    {"paper", "dn4", {11.16, 13.41, 16.82, 23.45}},      {"paper", "deepemd", {262.0, 814.6, 2781.9, 8035.4}},
    {"paper", "frn", {14.55, 20.42, 25.81, 30.65}},      {"paper", "mcl", {55.91, 119.0, 292.2, 464.8}},
    {"paper", "mcl-katz", {12.59, 14.59, 18.92, 29.10}}, {0}};

static double number(const struct json *object, const char *key)
{
    const struct json *v = json_member(object, key);
    return v && (v->kind == JSON_INT || v->kind == JSON_REAL) ? v->real : (double)NAN;
}

static struct speed *speed_of(struct results *r, const char *name, const char *head)
{
    for (size_t i = 0; i < r->speeds; i++)
        if (!strcmp(r->speed[i].name, name) && !strcmp(r->speed[i].head, head)) return &r->speed[i];
    if (r->speeds == SPEED_MOST) return NULL;
    struct speed *s = &r->speed[r->speeds++];
    *s = (struct speed){.name = name, .head = head};
    for (int i = 0; i < SPEED_SIDES; i++) s->ms[i] = (double)NAN;
    return s;
}

/* A line counts when it is of the paper's episode. */
static status take_line(const struct json *o, const char *name, struct results *r)
{
    const struct json *head = json_member(o, "head"), *gradients = json_member(o, "gradients");
    const double side = number(o, "height");
    if (!head || head->kind != JSON_STRING || !isfinite(number(o, "median_ms")))
        return fail(ST_FORMAT, "there is no head or no median_ms");
    if (side != number(o, "width") || number(o, "way") != 5 || number(o, "shot") != 1 || number(o, "channels") != 640 ||
        (gradients && gradients->boolean))
        return OK;
    for (int i = 0; i < SPEED_SIDES; i++) {
        struct speed *s = (double)speed_sides[i] == side ? speed_of(r, name, head->string) : NULL;
        if (s) s->ms[i] = number(o, "median_ms");
    }
    return OK;
}

static status read_speeds(const char *folder, const char *file, arena *memory, struct results *r)
{
    text path = {0};
    char *bytes = NULL;
    void *name = NULL;
    const struct json *o = NULL;
    size_t n = 0, line = 0;
    const size_t stem = strlen(file) - strlen(SUFFIX);
    status st = OK;
    text_addf(&path, "%s/%s", folder, file);
    TRY(text_status(&path));
    TRY(arena_take(memory, stem + 1, 1, &name));
    plain_snprintf(name, stem + 1, "%s", file);
    TRY(file_read(text_string(&path), SPEED_BYTES, &bytes, &n));
    for (char *rest = NULL, *s = strtok_r(bytes, "\n", &rest); s && st == OK; s = strtok_r(NULL, "\n", &rest)) {
        line++;
        st = json_parse(text_string(&path), s, strlen(s), memory, &o);
        if (st == OK) st = take_line(o, name, r);
        if (st != OK) {
            char why[300];
            plain_snprintf(why, sizeof why, "%s", error_text());
            st = fail(ST_FORMAT, "'%s': time %zu is damaged: %s", text_string(&path), line, why);
        }
    }
done:
    free(bytes);
    text_free(&path);
    return st;
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

status results_speed(const char *records, arena *memory, struct results *out)
{
    char files[FILES_MOST][256];
    size_t count = 0;
    void *taken = NULL;
    text folder = {0};
    status st = OK;
    text_addf(&folder, "%s/speed", records);
    TRY(text_status(&folder));
    TRY(arena_take(memory, SPEED_MOST, sizeof *out->speed, &taken));
    out->speed = taken;
    DIR *d = opendir(text_string(&folder));
    if (!d && errno != ENOENT) TRY(fail(ST_IO, "cannot read '%s': %s", text_string(&folder), plain_strerror(errno)));
    for (struct dirent *e; d && count < FILES_MOST && (e = readdir(d));) {
        const size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.' || n <= strlen(SUFFIX) || strcmp(e->d_name + n - strlen(SUFFIX), SUFFIX)) continue;
        plain_snprintf(files[count++], sizeof files[0], "%s", e->d_name);
    }
    if (d) closedir(d);
    qsort(files, count, sizeof files[0], by_name);
    for (size_t i = 0; i < count; i++) TRY(read_speeds(text_string(&folder), files[i], memory, out));
done:
    text_free(&folder);
    return st;
}
