/* text.c - a growing string; its memory doubles, so adding is cheap however small the pieces. */
#include "base/text.h"
#include "base/plain.h"
#include "base/size.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 64 };

static _Thread_local bool lost;

bool text_any_lost(void) { return lost; }

static bool out_of_memory(text *t)
{
    t->st = ST_MEMORY;
    lost = true;
    return false;
}

/* Room for `n` more bytes and the NUL; false, with the failure kept, when there is none. */
static bool make_room(text *t, size_t n)
{
    if (t->st != OK) return false;
    size_t need;
    if (!size_add(t->length, n, &need) || !size_add(need, 1, &need)) return out_of_memory(t);
    if (need <= t->capacity) return true;
    size_t twice = t->capacity <= SIZE_MAX / 2 ? t->capacity * 2 : need;
    size_t capacity = size_max(size_max(need, twice), FIRST_BYTES);
    char *data = realloc(t->data, capacity);
    if (!data) return out_of_memory(t);
    t->data = data;
    t->capacity = capacity;
    return true;
}

void text_add_bytes(text *t, const void *bytes, size_t n)
{
    if (!make_room(t, n)) return;
    if (n) memcpy(t->data + t->length, bytes, n);
    t->length += n;
    t->data[t->length] = 0;
}

void text_add(text *t, const char *s) { text_add_bytes(t, s, strlen(s)); }

void text_addf(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = plain_vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) { /* longer than INT_MAX: nothing of ours is */
        if (t->st == OK) out_of_memory(t);
        return;
    }
    if (!make_room(t, (size_t)n)) return;
    va_start(args, format);
    plain_vsnprintf(t->data + t->length, (size_t)n + 1, format, args);
    va_end(args);
    t->length += (size_t)n;
}

static void add_spaces(text *t, size_t n)
{
    if (!make_room(t, n)) return;
    memset(t->data + t->length, ' ', n);
    t->length += n;
    t->data[t->length] = 0;
}

/* Characters, not bytes: what follows a UTF-8 lead byte takes no column. */
static size_t columns(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

void text_add_wrapped(text *t, const char *s, size_t column, size_t indent, size_t width)
{
    bool fresh = true; /* no word on this line yet, so no space before the next */
    for (;;) {
        s += strspn(s, " \n");
        size_t n = strcspn(s, " \n");
        if (n == 0) return;
        size_t wide = columns(s, n);
        bool fits = column + !fresh + wide <= width;
        if (!fits && (!fresh || column > indent)) { /* a word wider than a whole line stands alone */
            text_add(t, "\n");
            add_spaces(t, indent);
            column = indent;
            fresh = true;
        }
        if (!fresh) text_add(t, " ");
        text_add_bytes(t, s, n);
        column += !fresh + wide;
        fresh = false;
        s += n;
    }
}

const char *text_string(const text *t) { return t->data ? t->data : ""; }

status text_status(const text *t)
{
    return t->st == OK ? OK : fail(t->st, "no memory for a text of %zu bytes", t->length);
}

void text_clear(text *t)
{
    t->length = 0;
    if (t->data) t->data[0] = 0;
    t->st = OK;
}

void text_free(text *t)
{
    free(t->data);
    *t = (text){0};
}
