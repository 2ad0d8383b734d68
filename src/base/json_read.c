/* json_read.c - a recursive reader; its depth is limited, so its stack is too.
 *
 * The text is copied once and strings are decoded in place within the copy: no escape is shorter than what it stands
 * for, and the closing quote becomes the NUL. Offsets are therefore the same in the copy and in the original, from
 * which messages count lines. Values are taken from the arena in groups. */
#include "base/json.h"
#include "base/plain.h"
#include "base/utf8.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 32, FEW_MEMBERS = 64 };

struct reader {
    const char *name, *original;
    char *text; /* the copy, with a NUL at `n` */
    size_t at, n;
    int depth;
    arena *memory;
    struct json *group; /* values not yet used */
    size_t group_left;
};

/* Counts characters, not bytes, in the column. */
static status bad(const struct reader *r, size_t at, const char *what)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        if (r->original[i] == '\n') {
            line++;
            column = 1;
        } else {
            column += ((unsigned char)r->original[i] & 0xc0) != 0x80;
        }
    }
    return fail(ST_FORMAT, "'%s', line %zu, column %zu: %s", r->name, line, column, what);
}

static char peek(const struct reader *r) { return r->at < r->n ? r->text[r->at] : 0; }

static void skip_space(struct reader *r)
{
    while (r->at < r->n && strchr(" \t\n\r", r->text[r->at]) && r->text[r->at]) r->at++;
}

static status value_new(struct reader *r, struct json **out)
{
    if (r->group_left == 0) {
        void *group;
        status st = arena_take(r->memory, GROUP, sizeof *r->group, &group);
        if (st != OK) return st;
        r->group = group;
        r->group_left = GROUP;
    }
    r->group_left--;
    *out = r->group++;
    **out = (struct json){0};
    return OK;
}

/* Four hexadecimal digits at `at`; -1: others. */
static int hex4(const struct reader *r, size_t at)
{
    int v = 0;
    for (size_t i = at; i < at + 4; i++) {
        char c = i < r->n ? r->text[i] : 0;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        v = v * 16 + digit;
    }
    return v;
}

static char *put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(lead[more] | code >> (6 * more));
    while (more-- > 0) *to++ = (char)(0x80 | (code >> (6 * more) & 0x3f));
    return to;
}

/* \uXXXX, or a pair of them for a character beyond 16 bits; r->at stands on the backslash. */
static status unicode_escape(struct reader *r, char **to)
{
    int first = hex4(r, r->at + 2);
    if (first < 0) return bad(r, r->at, "\\u needs four hexadecimal digits");
    if (first == 0) return bad(r, r->at, "a text may not contain \\u0000");
    unsigned code = (unsigned)first;
    size_t used = 6;
    if (first >= 0xd800 && first <= 0xdfff) {
        bool pair = first <= 0xdbff && r->n - r->at >= 12 && r->text[r->at + 6] == '\\' && r->text[r->at + 7] == 'u';
        int second = pair ? hex4(r, r->at + 8) : -1;
        if (second < 0xdc00 || second > 0xdfff) return bad(r, r->at, "half of a surrogate pair stands alone");
        code = 0x10000 + ((code - 0xd800) << 10) + ((unsigned)second - 0xdc00);
        used = 12;
    }
    *to = put_utf8(*to, code);
    r->at += used;
    return OK;
}

static status escape(struct reader *r, char **to)
{
    static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    char c = r->at + 1 < r->n ? r->text[r->at + 1] : 0;
    if (c == 'u') return unicode_escape(r, to);
    const char *found = c ? strchr(names, c) : NULL;
    if (!found) return bad(r, r->at, "there is no such escape");
    *(*to)++ = means[found - names];
    r->at += 2;
    return OK;
}

/* r->at stands on the opening quote. */
static status read_string(struct reader *r, const char **out)
{
    size_t start = r->at++;
    char *to = r->text + r->at;
    *out = to;
    for (;;) {
        if (r->at >= r->n) return bad(r, start, "this text has no closing quote");
        unsigned char c = (unsigned char)r->text[r->at];
        if (c == '"') break;
        if (c < 0x20) return bad(r, r->at, "control characters in a text must be escaped");
        if (c == '\\') {
            status st = escape(r, &to);
            if (st != OK) return st;
            continue;
        }
        size_t length = utf8_length(r->text + r->at, r->n - r->at);
        if (length == 0) return bad(r, r->at, "this is not UTF-8");
        memmove(to, r->text + r->at, length);
        to += length;
        r->at += length;
    }
    *to = 0;
    r->at++;
    return OK;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool skip_digits(struct reader *r)
{
    size_t start = r->at;
    while (is_digit(peek(r))) r->at++;
    return r->at > start;
}

/* Finds the end of the number; `whole`: it has neither fraction nor exponent. */
static status number_extent(struct reader *r, bool *whole)
{
    *whole = true;
    if (peek(r) == '-') r->at++;
    size_t first = r->at;
    if (!skip_digits(r)) return bad(r, r->at, "a digit is missing");
    if (r->text[first] == '0' && r->at - first > 1) return bad(r, first, "a number may not begin with 0");
    if (peek(r) == '.') {
        *whole = false;
        r->at++;
        if (!skip_digits(r)) return bad(r, r->at, "a digit is missing behind the point");
    }
    if (peek(r) == 'e' || peek(r) == 'E') {
        *whole = false;
        r->at++;
        if (peek(r) == '+' || peek(r) == '-') r->at++;
        if (!skip_digits(r)) return bad(r, r->at, "a digit is missing in the exponent");
    }
    return OK;
}

/* Counts downwards, because the range has one more number there. */
static bool integer_value(const char *s, const char *end, int64_t *out)
{
    bool negative = *s == '-';
    int64_t v = 0;
    for (s += negative; s < end; s++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, *s - '0', &v)) return false;
    if (!negative) return !__builtin_sub_overflow((int64_t)0, v, out);
    *out = v;
    return true;
}

static status read_number(struct reader *r, struct json *v)
{
    size_t start = r->at;
    bool whole;
    status st = number_extent(r, &whole);
    if (st != OK) return st;
    const char *s = r->text + start, *end = r->text + r->at;
    if (whole && end - s == 2 && s[0] == '-' && s[1] == '0') whole = false; /* minus zero exists among reals only */
    if (whole) {
        v->kind = JSON_INT;
        if (!integer_value(s, end, &v->integer)) return bad(r, start, "this whole number needs more than 64 bits");
        v->real = (double)v->integer;
        return OK;
    }
    v->kind = JSON_REAL;
    v->real = plain_strtod(s, NULL); /* ends where we did: what it takes beyond our grammar cannot begin here */
    return isfinite(v->real) ? OK : bad(r, start, "this number is too large");
}

static status read_word(struct reader *r, struct json *v)
{
    static const struct {
        const char *word;
        enum json_kind kind;
        bool boolean;
    } words[] = {{"null", JSON_NULL, false}, {"true", JSON_BOOL, true}, {"false", JSON_BOOL, false}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i].word);
        if (r->n - r->at < n || memcmp(r->text + r->at, words[i].word, n)) continue;
        v->kind = words[i].kind;
        v->boolean = words[i].boolean;
        r->at += n;
        return OK;
    }
    return bad(r, r->at, r->at < r->n ? "a value is expected here" : "a value is expected, but the text ends");
}

static status read_value(struct reader *r, struct json *v);

static status repeated(const struct reader *r, const char *key)
{
    return bad(r, (size_t)(key - r->text) - 1, "this key stands here for the second time");
}

static int key_order(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = strcmp(x, y);
    return order ? order : (x > y) - (x < y); /* equal keys in the order of the text */
}

/* Few members are compared each with each; many are sorted, so that a hostile file costs no quadratic time. */
static status keys_check(const struct reader *r, const struct json *object)
{
    if (object->count <= FEW_MEMBERS) {
        for (const struct json *a = object->first; a; a = a->next)
            for (const struct json *b = object->first; b != a; b = b->next)
                if (!strcmp(a->key, b->key)) return repeated(r, a->key);
        return OK;
    }
    void *taken;
    status st = arena_take(r->memory, object->count, sizeof(char *), &taken);
    if (st != OK) return st;
    const char **keys = taken;
    size_t n = 0;
    for (const struct json *m = object->first; m; m = m->next) keys[n++] = m->key;
    qsort(keys, n, sizeof *keys, key_order);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(keys[i - 1], keys[i])) return repeated(r, keys[i]);
    return OK;
}

/* "key": of an object's member. */
static status read_key(struct reader *r, const char **key)
{
    if (peek(r) != '"') return bad(r, r->at, "a key in quotes is expected here");
    status st = read_string(r, key);
    if (st != OK) return st;
    skip_space(r);
    if (peek(r) != ':') return bad(r, r->at, "a colon is expected here");
    r->at++;
    skip_space(r);
    return OK;
}

/* The members of an array or object up to its end, `close`; r->at stands behind the opening bracket. */
static status read_members(struct reader *r, struct json *v, char close)
{
    struct json **last = &v->first;
    skip_space(r);
    if (peek(r) == close) {
        r->at++;
        return OK;
    }
    for (;;) {
        struct json *m;
        status st = value_new(r, &m);
        if (st != OK) return st;
        if (v->kind == JSON_OBJECT && (st = read_key(r, &m->key)) != OK) return st;
        if ((st = read_value(r, m)) != OK) return st;
        *last = m;
        last = &m->next;
        v->count++;
        skip_space(r);
        char c = peek(r);
        if (c != ',' && c != close)
            return bad(r, r->at, close == ']' ? "a comma or ] is expected here" : "a comma or } is expected here");
        r->at++;
        if (c == close) return v->kind == JSON_OBJECT ? keys_check(r, v) : OK;
        skip_space(r);
    }
}

static status read_value(struct reader *r, struct json *v)
{
    char c = peek(r);
    if (c == '"') {
        v->kind = JSON_STRING;
        return read_string(r, &v->string);
    }
    if (c == '-' || is_digit(c)) return read_number(r, v);
    if (c != '[' && c != '{') return read_word(r, v);
    if (r->depth == JSON_MAX_DEPTH) return bad(r, r->at, "this is nested too deeply");
    v->kind = c == '[' ? JSON_ARRAY : JSON_OBJECT;
    r->at++;
    r->depth++;
    status st = read_members(r, v, c == '[' ? ']' : '}');
    r->depth--;
    return st;
}

status json_parse(const char *name, const char *bytes, size_t n, arena *memory, const struct json **out)
{
    status st = OK;
    struct reader r = {.name = name, .original = bytes, .n = n, .memory = memory};
    struct json *root;
    void *copy;
    if (n == SIZE_MAX) return fail(ST_MEMORY, "no memory for the %zu bytes of '%s'", n, name);
    TRY(arena_take(memory, n + 1, 1, &copy));
    r.text = copy;
    if (n) memcpy(r.text, bytes, n);
    r.text[n] = 0;
    TRY(value_new(&r, &root));
    skip_space(&r);
    TRY(read_value(&r, root));
    skip_space(&r);
    if (r.at < n) {
        st = bad(&r, r.at, "something stands behind the end of the value");
        goto done;
    }
    *out = root;
done:
    return st;
}

const struct json *json_member(const struct json *object, const char *key)
{
    if (!object || object->kind != JSON_OBJECT) return NULL;
    const struct json *m = object->first;
    while (m && strcmp(m->key, key)) m = m->next;
    return m;
}
