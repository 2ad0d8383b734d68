/* json.h - a strict JSON reader and a writer.
 *
 * The reader accepts exactly RFC 8259, with stated limits: depth 32, no repeated keys, integers exact to 64 bits,
 * numbers finite, text valid UTF-8, no NUL in strings. It does not look at the locale. The value tree lives in an arena and
 * points into a copy there. The writer keeps track of commas and nesting, so that a caller cannot write broken JSON
 * without an assert. */
#ifndef BASE_JSON_H
#define BASE_JSON_H
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_INT, JSON_REAL, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_kind kind;
    bool boolean;
    int64_t integer;    /* JSON_INT */
    double real;        /* JSON_INT and JSON_REAL */
    const char *string; /* JSON_STRING, NUL-terminated */
    const char *key;    /* name within the object, else NULL */
    size_t count;       /* members of an array or object */
    struct json *first; /* its first member */
    struct json *next;  /* the sibling behind this one */
};

enum { JSON_MAX_DEPTH = 32 };

/* `name` stands in messages, with line and column. The result lives in `memory`. */
status json_parse(const char *name, const char *bytes, size_t n, arena *memory, const struct json **out);
/* The member with that key, or NULL (also when `object` is NULL or no object). */
const struct json *json_member(const struct json *object, const char *key);

struct json_writer {
    text *to;
    int depth;
    bool pretty;                        /* one member a line */
    bool comma[JSON_MAX_DEPTH + 1];     /* a member has been written at that depth */
    bool in_object[JSON_MAX_DEPTH + 1]; /* that depth is an object's: values need keys */
    bool after_key;
};
void json_begin(struct json_writer *w, text *to, bool pretty);
void json_object(struct json_writer *w);
void json_object_end(struct json_writer *w);
void json_array(struct json_writer *w);
void json_array_end(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
void json_string(struct json_writer *w, const char *s); /* bytes that are not UTF-8 become U+FFFD */
void json_int(struct json_writer *w, int64_t v);
void json_real(struct json_writer *w, double v); /* shortest text that reads back the same; not finite becomes null */
void json_bool(struct json_writer *w, bool v);
void json_null(struct json_writer *w);
#endif
