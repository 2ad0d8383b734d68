/* log.c - makes a line and hands it to the sink. Lines are short; a longer one is cut. */
#include "base/log.h"
#include "base/plain.h"
#include <stdarg.h>

enum { LINE_BYTES = 1024 };

void log_line(const struct log_sink *sink, enum log_level level, const char *format, ...)
{
    if (!sink || !sink->line || level > sink->most) return;
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    int n = plain_vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n >= 0) sink->line(sink->context, level, line);
}
