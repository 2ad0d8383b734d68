/* terminal.c - what standard output can show, lines on standard error, and being asked to end. */
#include "app/terminal.h"
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { NARROW = 40, USUAL = 80, WIDE = 100, EXIT_INTERRUPTED = 130 };

size_t terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col) return USUAL;
    return size.ws_col < NARROW ? NARROW : size.ws_col > WIDE ? WIDE : size.ws_col;
}

bool terminal_colour(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

bool terminal_unicode(void)
{
    /* Characters only: numbers are written the same way in every locale. */
    return setlocale(LC_CTYPE, "") && !strcmp(nl_langinfo(CODESET), "UTF-8");
}

void terminal_tame(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f) *s = '?';
}

status put(text *t)
{
    status st = text_status(t);
    if (st == OK) fputs(text_string(t), stdout);
    text_free(t);
    return st;
}

void detail(const struct call *c, const char *format, ...)
{
    va_list args;
    if (!c->common.verbose || c->common.quiet) return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* A signal handler can reach nothing else; the program's main thread alone holds and releases. */
static volatile sig_atomic_t held, interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (!held) _exit(EXIT_INTERRUPTED);
    interrupted = 1;
}

void interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    static const int asked[] = {SIGINT, SIGTERM};
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    /* A job started with one of them ignored (nohup, a script's background job) keeps ignoring it. */
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
        if (sigaction(asked[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(asked[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write that fails, as on a full disk */
}

void interrupt_hold(void) { held = 1; }

void interrupt_release(void)
{
    held = 0;
    if (interrupted) exit(EXIT_INTERRUPTED); /* no handler any more: what is registered for the end may run */
}

bool interrupt_pending(void) { return interrupted != 0; }
