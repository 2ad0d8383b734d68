/* plain.h - the C library's printf, strtod and strerror as they are in the "C" locale, whatever locale the host has
 * set: a decimal point is '.', and messages are in English. None of them allocates. */
#ifndef BASE_PLAIN_H
#define BASE_PLAIN_H
#include <stdarg.h>
#include <stddef.h>

/* As vsnprintf. */
int plain_vsnprintf(char *to, size_t capacity, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
/* As snprintf. */
int plain_snprintf(char *to, size_t capacity, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* As strtod; `end` may be NULL. It takes more than decimal numbers ("inf", "0x1p3"): check the text first. */
double plain_strtod(const char *s, char **end);
/* What an errno means. Valid until this thread's next call. */
const char *plain_strerror(int error);
#endif
