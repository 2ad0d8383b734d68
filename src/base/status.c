/* status.c - the sentence of each thread's last failure. */
#include "base/status.h"
#include "base/plain.h"
#include "base/utf8.h"
#include <assert.h>
#include <stdarg.h>
#include <string.h>

static _Thread_local char slot[ERROR_BYTES];

/* A sentence that was cut must not end within a character. */
static void drop_partial_character(char *s)
{
    size_t n = strlen(s), back = 0;
    while (back < 3 && back < n && ((unsigned char)s[n - 1 - back] & 0xc0) == 0x80) back++;
    if (back < n && (unsigned char)s[n - 1 - back] >= 0xc0 && !utf8_length(s + n - 1 - back, back + 1))
        s[n - 1 - back] = 0;
}

status fail(status st, const char *format, ...)
{
    assert(st != OK);
    char sentence[ERROR_BYTES]; /* not the slot itself: error_text() is often among the arguments */
    va_list args;
    va_start(args, format);
    int n = plain_vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (n < 0) sentence[0] = 0;
    if (n >= ERROR_BYTES) drop_partial_character(sentence);
    memcpy(slot, sentence, sizeof slot);
    return st;
}

const char *error_text(void) { return slot; }

void error_take(status st, struct error *out)
{
    out->st = st;
    memcpy(out->text, slot, sizeof slot);
    slot[0] = 0;
}

status error_put(const struct error *in)
{
    memcpy(slot, in->text, sizeof slot);
    return in->st;
}

const char *status_name(status st)
{
    static const char *const names[ST_COUNT] = {
        [OK] = "success",
        [ST_USAGE] = "wrong use",
        [ST_VALUE] = "value out of range",
        [ST_SHAPE] = "shapes do not fit",
        [ST_FORMAT] = "malformed file",
        [ST_IO] = "input or output failed",
        [ST_MEMORY] = "no memory",
        [ST_UNSUPPORTED] = "not supported",
        [ST_NUMERIC] = "no numerical answer",
    };
    return (unsigned)st < ST_COUNT ? names[st] : "unknown status";
}
