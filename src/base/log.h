/* log.h - where messages about progress go. The library never prints: it hands lines to a sink, or to nobody. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log_sink {
    void (*line)(void *context, enum log_level level, const char *line); /* without newline; NULL: silence */
    void *context;
    enum log_level most; /* lines above this level are not made */
};
void log_line(const struct log_sink *sink, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#endif
