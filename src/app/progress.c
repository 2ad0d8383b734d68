/* progress.c - the changing line, and what training and evaluation say on it. */
#include "app/progress.h"
#include "app/terminal.h"
#include "base/clock.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

struct progress progress_begin(const struct call *c)
{
    return (struct progress){
        .command = c->command->name, .quiet = c->common.quiet, .terminal = isatty(STDERR_FILENO) != 0};
}

bool progress_due(struct progress *p)
{
    enum { BETWEEN_NS = 100000000 };
    const uint64_t now = clock_ns();
    if (p->quiet || p->follows || !p->terminal || (p->last && now - p->last < BETWEEN_NS)) return false;
    p->last = now;
    return true;
}

void progress_wipe(struct progress *p)
{
    if (p->shown) fprintf(stderr, "\r%*s\r", (int)p->shown, "");
    p->shown = 0;
}

void progress_show(struct progress *p, text *line)
{
    progress_wipe(p);
    fputs(text_string(line), stderr);
    fflush(stderr);
    p->shown = line->length;
    text_free(line);
}

void progress_say(struct progress *p, const char *format, ...)
{
    va_list args;
    if (p->quiet || p->follows) return;
    progress_wipe(p);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void progress_add_left(text *to, double seconds)
{
    const unsigned long s = isfinite(seconds) && seconds < 1e9 ? (unsigned long)(seconds + 0.5) : 0;
    if (!isfinite(seconds)) return;
    if (s >= 3600) text_addf(to, ", %lu h %02lu min left", s / 3600, s / 60 % 60);
    else if (s >= 60) text_addf(to, ", %lu min %02lu s left", s / 60, s % 60);
    else text_addf(to, ", %lu s left", s);
}

void progress_count(struct progress *p, const char *what, size_t done, size_t of)
{
    text line = {0};
    if (!p->start || done < p->done) { /* new work */
        p->start = clock_ns();
        p->from = done;
    }
    p->done = done;
    if (done == of) progress_wipe(p);
    else if (progress_due(p)) {
        const double seconds = (double)(clock_ns() - p->start) / 1e9;
        text_addf(&line, "%zu of %zu %s", done, of, what);
        if (done > p->from && seconds > 1) {
            const double rate = (double)(done - p->from) / seconds;
            text_addf(&line, ", %.0f/s", rate);
            progress_add_left(&line, (double)(of - done) / rate);
        }
        progress_show(p, &line);
    }
}

static void show_step(struct progress *p, const centra_train_progress *t)
{
    text line = {0};
    text_addf(&line, "epoch %ju of %ju", (uintmax_t)t->epoch + 1, (uintmax_t)t->epochs);
    if (t->phase == CENTRA_TRAIN_VALIDATION) {
        text_addf(&line, ", validating %zu of %zu", t->done, t->of);
    } else {
        text_addf(&line, ", step %ju of %ju, loss %.3f, accuracy %.1f %%, %.0f pictures/s", (uintmax_t)t->step,
                  (uintmax_t)t->steps, t->loss, 100 * t->accuracy, t->pictures_per_second);
        progress_add_left(&line, t->seconds_left);
    }
    progress_show(p, &line);
}

static void say_epoch(struct progress *p, const centra_train_progress *t)
{
    text line = {0};
    text_addf(&line, "epoch %ju of %ju: loss %.4f, accuracy %.2f %%, rate %g", (uintmax_t)t->epoch,
              (uintmax_t)t->epochs, t->loss, 100 * t->accuracy, t->rate);
    if (t->validated)
        text_addf(&line, ", validation %.2f +- %.2f %%%s", 100 * t->validation, 100 * t->validation_ci95,
                  t->best ? " (best)" : "");
    text_addf(&line, ", %.0f s", t->seconds);
    progress_say(p, "%s", text_string(&line));
    text_free(&line);
}

int progress_of_training(void *context, const centra_train_progress *t)
{
    struct progress *p = context;
    interrupt_hold(); /* from the first step on Ctrl-C and SIGTERM save before they end the program */
    if (t->phase == CENTRA_TRAIN_EPOCH) say_epoch(p, t);
    else if (progress_due(p)) show_step(p, t);
    return interrupt_pending();
}

int progress_of_evaluation(void *context, centra_eval_phase phase, size_t done, size_t of)
{
    progress_count(context, phase == CENTRA_EVAL_ENCODING ? "pictures encoded" : "episodes played", done, of);
    return 1;
}

/* May come from another thread: it only reads what never changes, and writes with one call. */
void progress_warning(void *context, const char *line)
{
    const struct progress *p = context;
    char shown[ERROR_BYTES];
    snprintf(shown, sizeof shown, "%s", line);
    terminal_tame(shown);
    if (!p->quiet) fprintf(stderr, "%scentra %s: warning: %s\n", p->terminal ? "\r\033[K" : "", p->command, shown);
}
