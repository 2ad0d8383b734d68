/* metrics.c - writing and reading metrics.jsonl. */
#include "train/metrics.h"
#include "base/file.h"
#include "base/json.h"
#include "base/plain.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct metrics {
    int fd;
    char *path; /* owned */
    text line;
};

/* Reading */

static double number(const struct json *object, const char *key)
{
    const struct json *v = json_member(object, key);
    return v && (v->kind == JSON_INT || v->kind == JSON_REAL) ? v->real : (double)NAN;
}

static uint64_t whole(const struct json *object, const char *key)
{
    const struct json *v = json_member(object, key);
    return v && v->kind == JSON_INT && v->integer > 0 ? (uint64_t)v->integer : 0;
}

static struct metrics_line line_from(const struct json *o)
{
    const struct json *validation = json_member(o, "validation"), *best = json_member(o, "best");
    struct metrics_line line = {.epoch = whole(o, "epoch"),
                                .step = whole(o, "step"),
                                .loss = number(o, "loss"),
                                .accuracy = number(o, "accuracy"),
                                .rate = number(o, "rate"),
                                .seconds = number(o, "seconds"),
                                .validation = {(double)NAN, (double)NAN, 0},
                                .best = best && best->boolean};
    if (validation)
        line.validation = (struct interval){number(validation, "mean"), number(validation, "half"),
                                            (size_t)whole(validation, "count")};
    return line;
}

/* Bytes of the lines that are whole. */
static size_t whole_bytes(const char *bytes, size_t n)
{
    while (n > 0 && bytes[n - 1] != '\n') n--;
    return n;
}

static status parse_lines(const char *path, const char *bytes, size_t n, struct metrics_line *out)
{
    arena *scratch = arena_new(4096); /* of one line */
    status st = scratch ? OK : fail(ST_MEMORY, "no memory to read '%s'", path);
    for (size_t i = 0, at = 0; at < n && st == OK; i++) {
        const size_t length = (size_t)((const char *)memchr(bytes + at, '\n', n - at) - bytes) - at;
        const struct json *o;
        st = json_parse(path, bytes + at, length, scratch, &o);
        if (st == OK && o->kind != JSON_OBJECT) st = fail(ST_FORMAT, "it is no object");
        if (st == OK) out[i] = line_from(o);
        else if (st != ST_MEMORY)
            st = fail(ST_FORMAT, "'%s': measurement %zu is broken: %s", path, i + 1, error_text());
        arena_reset(scratch);
        at += length + 1;
    }
    arena_free(scratch);
    return st;
}

status metrics_read(const char *path, arena *memory, struct metrics_line **lines, size_t *count)
{
    char *bytes = NULL;
    void *taken;
    size_t n, total = 0;
    status st = file_read(path, METRICS_MOST_BYTES, &bytes, &n);
    if (st != OK) return st;
    n = whole_bytes(bytes, n);
    for (size_t i = 0; i < n; i++) total += bytes[i] == '\n';
    TRY(arena_take(memory, total, sizeof **lines, &taken));
    TRY(parse_lines(path, bytes, n, taken));
    *lines = taken;
    *count = total;
done:
    free(bytes);
    return st;
}

/* Writing */

static void line_write(const struct metrics_line *line, text *to)
{
    struct json_writer w;
    json_begin(&w, to, false);
    json_object(&w);
    json_key(&w, "epoch"), json_int(&w, (int64_t)line->epoch);
    json_key(&w, "step"), json_int(&w, (int64_t)line->step);
    json_key(&w, "loss"), json_real(&w, line->loss);
    json_key(&w, "accuracy"), json_real(&w, line->accuracy);
    json_key(&w, "rate"), json_real(&w, line->rate);
    json_key(&w, "seconds"), json_real(&w, line->seconds);
    if (line->validation.count) {
        json_key(&w, "validation");
        json_object(&w);
        json_key(&w, "mean"), json_real(&w, line->validation.mean);
        json_key(&w, "half"), json_real(&w, line->validation.half);
        json_key(&w, "count"), json_int(&w, (int64_t)line->validation.count);
        json_object_end(&w);
        json_key(&w, "best"), json_bool(&w, line->best);
    }
    json_object_end(&w);
    text_add(to, "\n");
}

/* Bytes at the start of the file that stay: whole lines, of epochs before `keep_epochs`. */
static status kept_bytes(const char *path, size_t keep_epochs, off_t *out)
{
    char *bytes = NULL;
    size_t n, keep = 0, lines = 0;
    struct metrics_line *line;
    arena *memory = arena_new(4096);
    status st = memory ? OK : fail(ST_MEMORY, "no memory to open '%s'", path);
    if (st == OK) st = file_read(path, METRICS_MOST_BYTES, &bytes, &n);
    if (st == OK) st = metrics_read(path, memory, &line, &lines);
    for (size_t i = 0; i < lines && line[i].epoch < keep_epochs; i++)
        keep = (size_t)((const char *)memchr(bytes + keep, '\n', n - keep) - bytes) + 1;
    free(bytes);
    arena_free(memory);
    *out = (off_t)keep;
    return st;
}

status metrics_open(const char *path, size_t keep_epochs, struct metrics **out)
{
    status st = OK;
    off_t keep = 0;
    if (file_exists(path) && (st = kept_bytes(path, keep_epochs, &keep)) != OK) return st;
    struct metrics *m = calloc(1, sizeof *m);
    if (!m || !(m->path = strdup(path))) {
        free(m);
        return fail(ST_MEMORY, "no memory to open '%s'", path);
    }
    m->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (m->fd < 0 || ftruncate(m->fd, keep)) {
        st = fail(ST_IO, "cannot write '%s': %s", path, plain_strerror(errno));
        metrics_close(m);
        return st;
    }
    *out = m;
    return OK;
}

void metrics_close(struct metrics *m)
{
    if (!m) return;
    if (m->fd >= 0) close(m->fd);
    text_free(&m->line);
    free(m->path);
    free(m);
}

/* One write for the whole line; what a full disk left of it is taken back. */
static status append(struct metrics *m)
{
    ssize_t n;
    const off_t before = lseek(m->fd, 0, SEEK_END);
    do n = write(m->fd, m->line.data, m->line.length);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)m->line.length) return OK;
    const int error = n < 0 ? errno : ENOSPC;
    const bool cut = n > 0 && (before < 0 || ftruncate(m->fd, before)); /* then opening the file again removes it */
    return fail(ST_IO, "cannot write '%s': %s%s", m->path, plain_strerror(error),
                cut ? "; its last line is not whole" : "");
}

status metrics_add(struct metrics *m, const struct metrics_line *line)
{
    text_clear(&m->line);
    line_write(line, &m->line);
    const status st = text_status(&m->line);
    return st == OK ? append(m) : st;
}
