/* plain.c - each call changes the calling thread's locale for its own duration; other threads see nothing of it. */
#include "base/plain.h"
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The "C" locale is built into the C library: this neither allocates nor fails there. Were it to fail elsewhere, the
 * thread's own locale stays in use. */
static locale_t c_locale(void)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c ? c : uselocale((locale_t)0);
}

/* Gives back what c_locale made and puts the thread's locale in force again. */
static void leave(locale_t before, locale_t c)
{
    uselocale(before);
    if (c != before && c != LC_GLOBAL_LOCALE) freelocale(c);
}

int plain_vsnprintf(char *to, size_t capacity, const char *format, va_list args)
{
    locale_t c = c_locale(), before = uselocale(c);
    int n = vsnprintf(to, capacity, format, args);
    leave(before, c);
    return n;
}

int plain_snprintf(char *to, size_t capacity, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = plain_vsnprintf(to, capacity, format, args);
    va_end(args);
    return n;
}

double plain_strtod(const char *s, char **end)
{
    locale_t c = c_locale(), before = uselocale(c);
    double v = strtod(s, end);
    int error = errno;
    leave(before, c);
    errno = error;
    return v;
}

const char *plain_strerror(int error)
{
    locale_t c = c_locale();
    const char *words = strerror_l(error, c);
    if (c != uselocale((locale_t)0) && c != LC_GLOBAL_LOCALE) freelocale(c);
    return words;
}
