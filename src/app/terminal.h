/* terminal.h - what standard output can show, and the two ways onto it. */
#ifndef APP_TERMINAL_H
#define APP_TERMINAL_H
#include "app/command.h"

/* Columns for running text: the terminal's, at most 100; 80 when standard output is no terminal. */
size_t terminal_width(void);
/* Bold and colour: on a terminal that is not "dumb", unless NO_COLOR is set. */
bool terminal_colour(void);
/* Whether the locale's characters are UTF-8. */
bool terminal_unicode(void);

/* What would steer a terminal or begin another line becomes '?': names and messages may come from anybody's files. */
void terminal_tame(char *s);

/* Writes and frees the text. What standard output does not take is noticed once, at the end of main(). */
status put(text *t);
/* A line on standard error with --verbose. */
void detail(const struct call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ctrl-C (SIGINT) and SIGTERM end the program with 130 at once, except between hold and release: then they do so at the
 * release, so that no half-written file is left behind. */
void interrupt_watch(void);
void interrupt_hold(void);
void interrupt_release(void);
bool interrupt_pending(void); /* it came while held */
#endif
