/* json_write.c - writes JSON member by member; asserts what only a mistake of ours can get wrong. */
#include "base/json.h"
#include "base/plain.h"
#include "base/utf8.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

void json_begin(struct json_writer *w, text *to, bool pretty) { *w = (struct json_writer){.to = to, .pretty = pretty}; }

static void new_line(struct json_writer *w)
{
    if (!w->pretty) return;
    text_add(w->to, "\n");
    for (int i = 0; i < w->depth; i++) text_add(w->to, "  ");
}

/* What stands before a member: a comma, and a line of its own. */
static void before_member(struct json_writer *w)
{
    assert(w->depth > 0 || !w->comma[0]); /* one value and no more */
    if (w->comma[w->depth]) text_add(w->to, ",");
    if (w->depth > 0) new_line(w);
    w->comma[w->depth] = true;
}

static void before_value(struct json_writer *w)
{
    assert(w->after_key == w->in_object[w->depth]); /* in an object each value has a key, elsewhere none */
    if (!w->after_key) before_member(w);
    w->after_key = false;
}

static void open_level(struct json_writer *w, bool object)
{
    before_value(w);
    assert(w->depth < JSON_MAX_DEPTH);
    text_add(w->to, object ? "{" : "[");
    w->depth++;
    w->comma[w->depth] = false;
    w->in_object[w->depth] = object;
}

static void close_level(struct json_writer *w, bool object)
{
    assert(w->depth > 0 && w->in_object[w->depth] == object && !w->after_key);
    bool any = w->comma[w->depth];
    w->depth--;
    if (any) new_line(w);
    text_add(w->to, object ? "}" : "]");
}

void json_object(struct json_writer *w) { open_level(w, true); }
void json_object_end(struct json_writer *w) { close_level(w, true); }
void json_array(struct json_writer *w) { open_level(w, false); }
void json_array_end(struct json_writer *w) { close_level(w, false); }

/* One character of a string, `n` bytes long. */
static void add_character(text *to, const char *s, size_t n)
{
    static const char names[] = "\"\\bfnrt", means[] = "\"\\\b\f\n\r\t";
    const char *found = n == 1 ? strchr(means, *s) : NULL;
    if (found) text_addf(to, "\\%c", names[found - means]);
    else if (n == 1 && ((unsigned char)*s < 0x20 || *s == 0x7f)) text_addf(to, "\\u%04x", (unsigned)*s);
    else text_add_bytes(to, s, n);
}

static void add_quoted(text *to, const char *s)
{
    text_add(to, "\"");
    for (size_t left = strlen(s); left > 0;) {
        size_t n = utf8_length(s, left);
        if (n) add_character(to, s, n);
        else text_add(to, "\xef\xbf\xbd"); /* U+FFFD */
        s += n ? n : 1;
        left -= n ? n : 1;
    }
    text_add(to, "\"");
}

void json_key(struct json_writer *w, const char *key)
{
    assert(w->in_object[w->depth] && !w->after_key);
    before_member(w);
    add_quoted(w->to, key);
    text_add(w->to, w->pretty ? ": " : ":");
    w->after_key = true;
}

void json_string(struct json_writer *w, const char *s)
{
    before_value(w);
    add_quoted(w->to, s);
}

void json_int(struct json_writer *w, int64_t v)
{
    before_value(w);
    text_addf(w->to, "%" PRId64, v);
}

void json_real(struct json_writer *w, double v)
{
    before_value(w);
    if (!isfinite(v)) {
        text_add(w->to, "null");
        return;
    }
    char digits[32];
    for (int precision = 15; precision <= 17; precision++) { /* 17 digits always read back the same */
        plain_snprintf(digits, sizeof digits, "%.*g", precision, v);
        if (plain_strtod(digits, NULL) == v) break;
    }
    text_add(w->to, digits);
}

void json_bool(struct json_writer *w, bool v)
{
    before_value(w);
    text_add(w->to, v ? "true" : "false");
}

void json_null(struct json_writer *w)
{
    before_value(w);
    text_add(w->to, "null");
}
