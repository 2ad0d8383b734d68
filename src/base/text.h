/* text.h - a growing string. Failure is sticky: after memory runs out, additions do nothing and text_status says so,
 * so a writer adds its lines and checks once. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H
#include "base/status.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct text {
    char *data; /* owned; NUL-terminated once anything was added; NULL before */
    size_t length, capacity;
    status st;
} text;

void text_add(text *t, const char *s);
void text_add_bytes(text *t, const void *bytes, size_t n);
void text_addf(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds words of `s` wrapped at `width` columns, each line but the first indented by `indent`; `column` is where the
 * first line stands now. Ends without a newline. */
void text_add_wrapped(text *t, const char *s, size_t column, size_t indent, size_t width);
/* "" when nothing was added. */
const char *text_string(const text *t);
status text_status(const text *t);
/* Whether any text of this thread has lost something since it began, also one whose status nobody asked for: whoever prints
 * what was put together from many must not call that a success. */
bool text_any_lost(void);
void text_clear(text *t); /* empty again, memory kept, failure forgotten */
void text_free(text *t);
#endif
