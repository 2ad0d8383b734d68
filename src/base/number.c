/* number.c - numbers to and from text, the same in every locale.
 *
 * The grammar is checked here, by hand, because strtod also takes blanks, hexadecimal, "inf" and "nan"; the conversion
 * itself is the C library's, which rounds correctly. */
#include "base/option.h"
#include "base/plain.h"
#include <math.h>

static const char *skip_digits(const char *s)
{
    while (*s >= '0' && *s <= '9') s++;
    return s;
}

static const char *skip_sign(const char *s) { return *s == '+' || *s == '-' ? s + 1 : s; }

/* sign? (digits [. digits?] | . digits) ([eE] sign? digits)? and nothing behind it */
static bool is_decimal(const char *s)
{
    const char *whole = skip_sign(s), *end = skip_digits(whole);
    bool digits = end > whole;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        digits = digits || end > fraction;
    }
    if (!digits) return false;
    if (*end == 'e' || *end == 'E') {
        const char *exponent = skip_sign(end + 1);
        end = skip_digits(exponent);
        if (end == exponent) return false;
    }
    return *end == '\0';
}

bool number_parse(const char *s, double *out)
{
    if (!is_decimal(s)) return false;
    double v = plain_strtod(s, NULL);
    if (!isfinite(v)) return false;
    *out = v;
    return true;
}

bool integer_parse(const char *s, int64_t *out)
{
    const char *p = skip_sign(s);
    bool negative = *s == '-';
    int64_t v = 0;
    if (*p == '\0' || *skip_digits(p) != '\0') return false;
    for (; *p; p++) { /* summed below zero, where there is room for INT64_MIN */
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, *p - '0', &v)) return false;
    }
    if (!negative && v == INT64_MIN) return false;
    *out = negative ? v : -v;
    return true;
}

void number_text(double v, char out[NUMBER_BYTES])
{
    for (int digits = 15; digits <= 17; digits++) {
        plain_snprintf(out, NUMBER_BYTES, "%.*g", digits, v);
        if (plain_strtod(out, NULL) == v) break;
    }
}
