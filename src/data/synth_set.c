/* synth_set.c - the synthetic pictures as a data set, and as folders of PNG files. */
#include "data/synth.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/plain.h"
#include "base/pool.h"
#include "base/size.h"
#include "base/text.h"
#include "data/source.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES_MOST = 10000, PICTURES_MOST = 10000, SIDE_MOST = 4096, NAME_BYTES = 32 };

const struct option synth_options[] = {
    OPT_INT(struct synth, seed, "seed", 1, 0, 0x1p53, "what everything follows from"),
    OPT_INT(struct synth, side, "side", 84, 16, SIDE_MOST, "width and height of a picture"),
    OPT_INT(struct synth, train, "train", 64, 0, CLASSES_MOST, "classes to train with"),
    OPT_INT(struct synth, val, "val", 16, 0, CLASSES_MOST, "classes to validate with"),
    OPT_INT(struct synth, test, "test", 20, 0, CLASSES_MOST, "classes to test with"),
    OPT_INT(struct synth, pictures, "pictures", 60, 1, PICTURES_MOST, "pictures of each class"),
    OPT_END};

/* "key=value&key=value"; `settings` is cut up. */
static status parse_settings(char *settings, struct synth *out)
{
    status st = OK;
    for (char *at = settings, *next; at && st == OK; at = next) {
        next = strchr(at, '&');
        if (next) *next++ = 0;
        char *value = strchr(at, '=');
        if (!value) return fail(ST_USAGE, "'%s' should be key=value", at);
        *value++ = 0;
        st = option_set(synth_options, "", at, value, out);
    }
    return st;
}

status synth_parse(const char *spec, struct synth *out)
{
    static const char scheme[] = "synth:";
    status st = OK;
    struct synth s;
    if (strncmp(spec, scheme, strlen(scheme)) != 0)
        return fail(ST_USAGE, "'%s' does not begin with '%s'", spec, scheme);
    char *copy = strdup(spec + strlen(scheme));
    if (!copy) return fail(ST_MEMORY, "no memory to read '%s'", spec);
    char *settings = strchr(copy, '?');
    if (settings) *settings++ = 0;
    options_default(synth_options, &s);
    TRY(option_set(synth_options, "", "seed", copy, &s));
    TRY(parse_settings(settings, &s));
    *out = s;
done:
    if (st != OK) st = fail(st, "'%s': %s", spec, error_text());
    free(copy);
    return st;
}

/* The splits one behind the other: their names, and the classes they have. */
struct part {
    const char *name;
    size_t first, count; /* classes */
};
enum { PARTS = 3 };

static void parts_of(const struct synth *s, struct part out[PARTS])
{
    const char *const names[PARTS] = {"train", "val", "test"};
    const int64_t counts[PARTS] = {s->train, s->val, s->test};
    for (size_t i = 0, at = 0; i < PARTS; i++) {
        out[i] = (struct part){names[i], at, (size_t)counts[i]};
        at += out[i].count;
    }
}

static void class_name(size_t class_index, char out[NAME_BYTES])
{
    plain_snprintf(out, NAME_BYTES, "pattern-%05zu", class_index);
}

static void file_name(size_t index, char out[NAME_BYTES]) { plain_snprintf(out, NAME_BYTES, "%05zu.png", index); }

/* As a source */

static status source_picture(const struct source *source, const struct item *i, struct picture *out)
{
    const struct synth *s = source->context;
    return synth_picture((uint64_t)s->seed, (size_t)i->at, (size_t)i->bytes, (size_t)s->side, out);
}

/* There is no file: the pixels as they are. */
static status source_pixels(const struct source *source, const struct item *i, struct source_bytes *out)
{
    struct picture p = {0};
    const status st = source_picture(source, i, &p);
    if (st != OK) return st;
    out->owned = (char *)p.rgb;
    out->data = out->owned;
    out->n = p.width * p.height * 3;
    return OK;
}

static void source_end(struct source *s) { free(s->context); }

status synth_source_open(const char *spec, const char *split, struct source *out)
{
    status st = OK;
    struct synth s;
    struct part parts[PARTS];
    TRY(source_begin(out, split));
    TRY(synth_parse(spec, &s));
    out->context = malloc(sizeof s);
    if (!out->context) return fail(ST_MEMORY, "no memory to open '%s'", spec);
    memcpy(out->context, &s, sizeof s);
    out->picture = source_picture;
    out->bytes = source_pixels;
    out->close = source_end;
    parts_of(&s, parts);
    for (const struct part *p = parts; p < parts + PARTS; p++) {
        if (p->count) TRY(item_split(&out->list, p->name));
        if (!split || strcmp(p->name, split) != 0) continue;
        for (size_t c = p->first; c < p->first + p->count; c++)
            for (size_t i = 0; i < (size_t)s.pictures; i++) {
                char label[NAME_BYTES], file[NAME_BYTES];
                class_name(c, label);
                file_name(i, file);
                TRY(item_add(&out->list, p->name, label, file, c, i)); /* our own numbers in `at` and `bytes` */
            }
    }
done:
    return st;
}

/* As files */

enum { AT_ONCE = 64 }; /* pictures that are drawn together */

struct writing {
    const struct synth *s;
    const struct synth_progress *progress;
    pool *threads;
    size_t begun, done, total; /* pictures: those that may be there, that were told of, all */
    size_t class_index, first; /* of the pictures that are being drawn */
    text path;                 /* of what is being written; its first `root` bytes are the temporary folder */
    size_t root;
};

/* Back to a shorter path; a failure to lengthen it is forgotten. */
static void path_cut(struct writing *w, size_t length)
{
    assert(length <= w->path.length);
    w->path.st = OK;
    w->path.length = length;
    w->path.data[length] = 0;
}

/* Whether to stop. */
static bool told(const struct writing *w)
{
    return w->progress && w->progress->made && w->progress->made(w->progress->context, w->done, w->total);
}

static status write_piece(void *context, size_t piece, size_t worker)
{
    const struct writing *w = context;
    const size_t index = w->first + piece;
    char file[NAME_BYTES];
    struct picture p = {0};
    text path = {0};
    (void)worker;
    file_name(index, file);
    text_addf(&path, "%s/%s", w->path.data, file);
    status st = text_status(&path);
    if (st == OK) st = synth_picture((uint64_t)w->s->seed, w->class_index, index, (size_t)w->s->side, &p);
    if (st == OK) st = picture_write_png(path.data, &p);
    picture_free(&p);
    text_free(&path);
    return st;
}

static status write_class(struct writing *w, size_t class_index)
{
    status st = OK;
    const size_t pictures = (size_t)w->s->pictures;
    w->class_index = class_index;
    for (w->first = 0; w->first < pictures; w->first += AT_ONCE) {
        const size_t count = size_min(AT_ONCE, pictures - w->first);
        w->begun += count;
        TRY(pool_run(w->threads, count, write_piece, w));
        while (w->done < w->begun) {
            w->done++;
            if (told(w)) TRY(fail(ST_IO, "stopped after %zu of %zu pictures; nothing was kept", w->done, w->total));
        }
    }
done:
    return st;
}

static status write_parts(struct writing *w, const struct part *parts)
{
    status st = OK;
    for (const struct part *p = parts; p < parts + PARTS; p++)
        for (size_t c = p->first; c < p->first + p->count; c++) {
            char label[NAME_BYTES];
            class_name(c, label);
            text_addf(&w->path, "/%s/%s", p->name, label);
            TRY(text_status(&w->path));
            TRY(folder_make(w->path.data));
            TRY(write_class(w, c));
            path_cut(w, w->root);
        }
done:
    return st;
}

/* Removes what write_parts may have made; every name is known, so nothing else can go. */
static void remove_parts(struct writing *w, const struct part *parts)
{
    path_cut(w, w->root);
    for (const struct part *p = parts; p < parts + PARTS; p++) {
        for (size_t c = p->first; c < p->first + p->count; c++) {
            char label[NAME_BYTES], file[NAME_BYTES];
            class_name(c, label);
            for (size_t i = 0; i < (size_t)w->s->pictures && c * (size_t)w->s->pictures + i < w->begun; i++) {
                file_name(i, file);
                text_addf(&w->path, "/%s/%s/%s", p->name, label, file);
                if (text_status(&w->path) == OK) unlink(w->path.data);
                path_cut(w, w->root);
            }
            text_addf(&w->path, "/%s/%s", p->name, label);
            if (text_status(&w->path) == OK) rmdir(w->path.data);
            path_cut(w, w->root);
        }
        text_addf(&w->path, "/%s", p->name);
        if (text_status(&w->path) == OK) rmdir(w->path.data);
        path_cut(w, w->root);
    }
    rmdir(w->path.data);
}

/* "out/" and "out" are the same folder; the temporary one stands beside it, hidden. */
static status begin_writing(struct writing *w, const char *folder, size_t length)
{
    const char *slash = NULL;
    for (size_t i = 0; i < length; i++)
        if (folder[i] == '/') slash = folder + i;
    text_add_bytes(&w->path, folder, slash ? (size_t)(slash + 1 - folder) : 0);
    text_addf(&w->path, ".centra-%016" PRIx64 ".tmp", clock_ns() ^ (uint64_t)getpid() << 40);
    w->root = w->path.length;
    const status st = text_status(&w->path);
    return st == OK ? folder_make(w->path.data) : st;
}

status synth_write(const struct synth *s, const char *folder, const struct synth_progress *progress)
{
    struct part parts[PARTS];
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    if (!length) return fail(ST_USAGE, "the folder to write to has no name");
    if (file_exists(folder)) return fail(ST_IO, "'%s' exists already; name a folder that does not", folder);
    parts_of(s, parts);
    struct writing w = {.s = s, .progress = progress};
    for (size_t i = 0; i < PARTS; i++) w.total += parts[i].count * (size_t)s->pictures;
    if (!w.total) return fail(ST_VALUE, "a data set without classes cannot be written");
    status st = pool_new(progress ? progress->threads : 0, &w.threads);
    if (st == OK) st = begin_writing(&w, folder, length);
    if (st == OK) {
        st = write_parts(&w, parts);
        if (st == OK && rename(w.path.data, folder))
            st = fail(ST_IO, "cannot rename the new folder to '%s': %s", folder, plain_strerror(errno));
        if (st != OK) {
            struct error why;
            error_take(st, &why);
            remove_parts(&w, parts);
            st = error_put(&why);
        }
    }
    text_free(&w.path);
    pool_free(w.threads);
    return st;
}
