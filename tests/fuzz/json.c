/* Fuzz target: any bytes are either refused with a sentence, or give a tree that is written and read back the same. */
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool condition)
{
    if (!condition) abort();
}

static void write_value(struct json_writer *w, const struct json *v)
{
    if (v->key) json_key(w, v->key);
    switch (v->kind) {
    case JSON_NULL: json_null(w); break;
    case JSON_BOOL: json_bool(w, v->boolean); break;
    case JSON_INT: json_int(w, v->integer); break;
    case JSON_REAL: json_real(w, v->real); break;
    case JSON_STRING: json_string(w, v->string); break;
    case JSON_ARRAY:
        json_array(w);
        for (const struct json *m = v->first; m; m = m->next) write_value(w, m);
        json_array_end(w);
        break;
    case JSON_OBJECT:
        json_object(w);
        for (const struct json *m = v->first; m; m = m->next) write_value(w, m);
        json_object_end(w);
        break;
    }
}

/* A whole real number is written without a point and comes back as an integer; otherwise the kinds are the same too. */
static bool same(const struct json *a, const struct json *b)
{
    bool numbers = a->kind == JSON_REAL && b->kind == JSON_INT;
    if ((a->kind != b->kind && !numbers) || a->count != b->count || a->boolean != b->boolean || a->real != b->real)
        return false;
    if (a->kind == JSON_INT && a->integer != b->integer) return false;
    if (!a->key != !b->key || (a->key && strcmp(a->key, b->key))) return false;
    if (a->kind == JSON_STRING && strcmp(a->string, b->string)) return false;
    const struct json *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        if (!same(x, y)) return false;
    return !x && !y;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const struct json *v = NULL, *again = NULL;
    text t = {0};
    arena *memory = arena_new(4096);
    check(memory != NULL);
    if (json_parse("fuzz.json", (const char *)bytes, n, memory, &v) != OK) {
        check(v == NULL && !strncmp(error_text(), "'fuzz.json', line ", 18));
    } else {
        struct json_writer w;
        json_begin(&w, &t, n % 2);
        write_value(&w, v);
        check(text_status(&t) == OK && json_parse("again", t.data, t.length, memory, &again) == OK && same(v, again));
    }
    text_free(&t);
    arena_free(memory);
    return 0;
}
