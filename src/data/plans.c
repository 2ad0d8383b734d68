/* plans.c - episode lists to and from JSON lines. */
#include "data/plans.h"
#include "base/file.h"
#include "base/json.h"
#include "base/size.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Writing */

static void write_numbers(struct json_writer *w, const char *key, const uint32_t *numbers, size_t n)
{
    json_key(w, key);
    json_array(w);
    for (size_t i = 0; i < n; i++) json_int(w, numbers[i]);
    json_array_end(w);
}

static void write_plan(const struct plan *p, text *to)
{
    struct json_writer w;
    json_begin(&w, to, false);
    json_object(&w);
    json_key(&w, "way"), json_int(&w, (int64_t)p->way);
    json_key(&w, "shot"), json_int(&w, (int64_t)p->shot);
    json_key(&w, "query"), json_int(&w, (int64_t)p->query);
    write_numbers(&w, "classes", p->classes, p->way);
    write_numbers(&w, "support", p->support, p->way * p->shot);
    write_numbers(&w, "queries", p->queries, p->way * p->query);
    write_numbers(&w, "labels", (const uint32_t *)p->query_labels, p->way * p->query); /* none is negative */
    json_object_end(&w);
    text_add(to, "\n");
}

static void write_heading(const struct plan_list *l, text *to)
{
    struct json_writer w;
    json_begin(&w, to, false);
    json_object(&w);
    json_key(&w, "centra"), json_string(&w, "episodes");
    json_key(&w, "version"), json_int(&w, 1);
    json_key(&w, "data"), json_string(&w, l->fingerprint);
    json_key(&w, "episodes"), json_int(&w, (int64_t)l->count);
    json_object_end(&w);
    text_add(to, "\n");
}

status plan_list_write(const char *path, const struct plan_list *l)
{
    struct file_writer w;
    text line = {0};
    status st = file_begin(path, &w);
    if (st != OK) return st;
    write_heading(l, &line);
    for (size_t i = 0;; i++) {
        TRY(text_status(&line));
        file_put(&w, line.data, line.length);
        text_clear(&line);
        if (i == l->count) break;
        write_plan(&l->plans[i], &line);
    }
    st = file_commit(&w);
done:
    if (st != OK) file_abandon(&w);
    text_free(&line);
    return st;
}

/* Reading. Sentences here say what is wrong; the caller puts file and line before them. */

/* Exactly the keys of `names`, in any order. */
static status only_keys(const struct json *o, const char *const *names, size_t n)
{
    if (o->kind != JSON_OBJECT) return fail(ST_FORMAT, "it is no object");
    for (size_t i = 0; i < n; i++)
        if (!json_member(o, names[i])) return fail(ST_FORMAT, "it has no '%s'", names[i]);
    for (const struct json *m = o->first; m; m = m->next) {
        size_t i = 0;
        while (i < n && strcmp(m->key, names[i]) != 0) i++;
        if (i == n) return fail(ST_FORMAT, "'%s' is not a key here", m->key);
    }
    return OK;
}

static status whole(const struct json *o, const char *key, int64_t most, size_t *out)
{
    const struct json *v = json_member(o, key);
    if (v->kind != JSON_INT || v->integer < 0 || v->integer > most)
        return fail(ST_FORMAT, "'%s' is not a whole number from 0 to %" PRId64, key, most);
    *out = (size_t)v->integer;
    return OK;
}

static status read_numbers(const struct json *o, const char *key, size_t wanted, int64_t most, uint32_t *out)
{
    const struct json *list = json_member(o, key);
    if (list->kind != JSON_ARRAY || list->count != wanted)
        return fail(ST_FORMAT, "'%s' is not a list of %zu", key, wanted);
    for (const struct json *v = list->first; v; v = v->next) {
        if (v->kind != JSON_INT || v->integer < 0 || v->integer > most)
            return fail(ST_FORMAT, "'%s' has an entry that is not a whole number from 0 to %" PRId64, key, most);
        *out++ = (uint32_t)v->integer;
    }
    return OK;
}

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* `numbers` may be put in another order. */
static bool all_differ(uint32_t *numbers, size_t n)
{
    qsort(numbers, n, sizeof *numbers, by_value);
    for (size_t i = 1; i < n; i++)
        if (numbers[i] == numbers[i - 1]) return false;
    return true;
}

/* No class and no picture twice, and each class asked for equally often. */
static status check_plan(const struct plan *p, arena *scratch)
{
    const size_t support = p->way * p->shot, queries = p->way * p->query, most = size_max(support + queries, p->way);
    void *taken = NULL;
    const status st = arena_take(scratch, most, sizeof(uint32_t), &taken);
    if (st != OK) return st;
    uint32_t *sorted = taken;
    memcpy(sorted, p->classes, p->way * sizeof *sorted);
    if (!all_differ(sorted, p->way)) return fail(ST_FORMAT, "a class is there twice");
    memcpy(sorted, p->support, support * sizeof *sorted);
    memcpy(sorted + support, p->queries, queries * sizeof *sorted);
    if (!all_differ(sorted, support + queries)) return fail(ST_FORMAT, "a picture is there twice");
    memset(sorted, 0, p->way * sizeof *sorted);
    for (size_t i = 0; i < queries; i++) sorted[p->query_labels[i]]++;
    for (size_t k = 0; k < p->way; k++)
        if (sorted[k] != p->query)
            return fail(ST_FORMAT, "label %zu has %" PRIu32 " queries, not %zu", k, sorted[k], p->query);
    return OK;
}

static status take_numbers(arena *memory, size_t n, uint32_t **out)
{
    void *taken = NULL;
    const status st = arena_take(memory, n, sizeof(uint32_t), &taken);
    if (st == OK) *out = taken;
    return st;
}

static status read_plan(const struct json *o, arena *memory, arena *scratch, struct plan *p)
{
    static const char *const keys[] = {"way", "shot", "query", "classes", "support", "queries", "labels"};
    enum { MOST = 1 << 20 }; /* of anything in one episode: products stay far below an overflow */
    status st = OK;
    uint32_t *labels = NULL;
    TRY(only_keys(o, keys, sizeof keys / sizeof keys[0]));
    TRY(whole(o, "way", MOST, &p->way));
    TRY(whole(o, "shot", MOST, &p->shot));
    TRY(whole(o, "query", MOST, &p->query));
    if (!p->way || !p->shot || !p->query) return fail(ST_FORMAT, "'way', 'shot' or 'query' is 0");
    if (json_member(o, "queries")->count != p->way * p->query) /* before memory is taken for what is not there */
        return fail(ST_FORMAT, "'queries' is not a list of %zu", p->way * p->query);
    if (json_member(o, "support")->count != p->way * p->shot)
        return fail(ST_FORMAT, "'support' is not a list of %zu", p->way * p->shot);
    TRY(take_numbers(memory, p->way, &p->classes));
    TRY(take_numbers(memory, p->way * p->shot, &p->support));
    TRY(take_numbers(memory, p->way * p->query, &p->queries));
    TRY(take_numbers(memory, p->way * p->query, &labels));
    p->query_labels = (int32_t *)labels;
    TRY(read_numbers(o, "classes", p->way, UINT32_MAX, p->classes));
    TRY(read_numbers(o, "support", p->way * p->shot, UINT32_MAX, p->support));
    TRY(read_numbers(o, "queries", p->way * p->query, UINT32_MAX, p->queries));
    TRY(read_numbers(o, "labels", p->way * p->query, (int64_t)p->way - 1, labels));
    TRY(check_plan(p, scratch));
done:
    return st;
}

static status read_heading(const struct json *o, struct plan_list *out)
{
    static const char *const keys[] = {"centra", "version", "data", "episodes"};
    status st = OK;
    size_t version = 0;
    TRY(only_keys(o, keys, sizeof keys / sizeof keys[0]));
    const struct json *kind = json_member(o, "centra"), *data = json_member(o, "data");
    if (kind->kind != JSON_STRING || strcmp(kind->string, "episodes") != 0)
        return fail(ST_FORMAT, "it is no list of episodes");
    TRY(whole(o, "version", INT32_MAX, &version));
    if (version != 1) return fail(ST_UNSUPPORTED, "version %zu is not known here; 1 is", version);
    if (data->kind != JSON_STRING || strlen(data->string) != 64 || strspn(data->string, "0123456789abcdef") != 64)
        return fail(ST_FORMAT, "'data' is not a SHA-256 in lower-case hex");
    memcpy(out->fingerprint, data->string, 65);
    TRY(whole(o, "episodes", PLANS_MOST_BYTES, &out->count));
done:
    return st;
}

struct lines { /* a file's text, line by line */
    const char *path, *at, *end;
    size_t number; /* of the line last read, from 1 */
};

static status next_line(struct lines *l, arena *scratch, const struct json **out)
{
    const char *stop = l->at < l->end ? memchr(l->at, '\n', (size_t)(l->end - l->at)) : NULL;
    l->number++;
    if (!stop) return fail(ST_FORMAT, "the file ends there");
    const char *from = l->at;
    l->at = stop + 1;
    arena_reset(scratch);
    return json_parse(l->path, from, (size_t)(stop - from), scratch, out);
}

static status read_lines(struct lines *l, arena *memory, arena *scratch, struct plan_list *out)
{
    status st = OK;
    const struct json *o = NULL;
    void *taken = NULL;
    TRY(next_line(l, scratch, &o));
    TRY(read_heading(o, out));
    if (out->count > (size_t)(l->end - l->at))
        return fail(ST_FORMAT, "it promises %zu episodes, more than follow", out->count);
    TRY(arena_take(memory, out->count, sizeof *out->plans, &taken));
    out->plans = taken;
    for (size_t i = 0; i < out->count; i++) {
        TRY(next_line(l, scratch, &o));
        TRY(read_plan(o, memory, scratch, &out->plans[i]));
    }
    if (l->at < l->end) {
        l->number++;
        return fail(ST_FORMAT, "it should have ended after %zu episodes", out->count);
    }
done:
    return st;
}

status plan_list_parse(const char *path, const char *bytes, size_t n, arena *memory, struct plan_list *out)
{
    struct plan_list list = {.count = 0};
    struct lines l = {.path = path, .at = bytes, .end = bytes + n};
    arena *scratch = arena_new(1 << 16); /* of one line */
    status st = scratch ? read_lines(&l, memory, scratch, &list) : fail(ST_MEMORY, "no memory to read '%s'", path);
    if (st == OK) *out = list;
    else if (st != ST_MEMORY) st = fail(st, "'%s', line %zu: %s", path, l.number, error_text());
    arena_free(scratch);
    return st;
}

status plan_list_read(const char *path, arena *memory, struct plan_list *out)
{
    char *bytes = NULL;
    size_t n = 0;
    status st = file_read(path, PLANS_MOST_BYTES, &bytes, &n);
    if (st == OK) st = plan_list_parse(path, bytes, n, memory, out);
    free(bytes);
    return st;
}

static bool all_below(const uint32_t *numbers, size_t n, size_t limit)
{
    for (size_t i = 0; i < n; i++)
        if (numbers[i] >= limit) return false;
    return true;
}

status plan_list_fits(const char *path, const struct plan_list *l, const char *fingerprint, size_t classes,
                      size_t pictures)
{
    if (strcmp(l->fingerprint, fingerprint) != 0)
        return fail(ST_VALUE, "the episodes of '%s' were drawn from other data (%.12s..., here %.12s...)", path,
                    l->fingerprint, fingerprint);
    for (size_t i = 0; i < l->count; i++) {
        const struct plan *p = &l->plans[i];
        if (!all_below(p->classes, p->way, classes) || !all_below(p->support, p->way * p->shot, pictures) ||
            !all_below(p->queries, p->way * p->query, pictures))
            return fail(ST_VALUE,
                        "'%s': episode %zu names something behind the last of the %zu classes or %zu pictures", path,
                        i + 1, classes, pictures);
    }
    return OK;
}
