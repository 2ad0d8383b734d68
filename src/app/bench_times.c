/* bench_times.c - runs timed one by one, or as a script asks for them, and what is said about the times. */
#include "app/bench.h"
#include "base/clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 10000 };

static status time_once(const struct bench_job *j, double *ms)
{
    const uint64_t start = clock_ns();
    const status st = j->once(j->of);
    *ms = (double)(clock_ns() - start) / 1e6 / (double)(j->parts ? j->parts : 1);
    return st;
}

/* How many runs the next line asks for: its number, or 1. 0 at the end of the input. */
static size_t read_runs(void)
{
    char line[32];
    int64_t runs;
    if (!fgets(line, sizeof line, stdin)) return 0;
    line[strcspn(line, "\n")] = '\0';
    return integer_parse(line, &runs) && runs >= 1 && runs <= MOST_RUNS ? (size_t)runs : 1;
}

status bench_answer_lines(const struct bench_job *j)
{
    double ms[MOST_RUNS];
    status st = OK;
    size_t runs;
    while (st == OK && (runs = read_runs())) {
        for (size_t i = 0; i < runs && st == OK; i++) st = time_once(j, ms + i);
        for (size_t i = 0; i < runs && st == OK; i++) printf("%s%.6f", i ? "," : "{\"ms\":[", ms[i]);
        if (st == OK) printf("]}\n");
        fflush(stdout);
    }
    return st;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

status bench_warm(const struct bench_job *j, int64_t runs)
{
    double ms;
    status st = OK;
    for (int64_t i = 0; st == OK && i < runs; i++) st = time_once(j, &ms);
    return st;
}

status bench_measure(const struct bench_job *j, size_t runs, struct bench_times *out)
{
    double *times = calloc(runs, sizeof *times);
    status st = times ? OK : fail(ST_MEMORY, "no memory for %zu times", runs);
    for (size_t i = 0; st == OK && i < runs; i++) st = time_once(j, &times[i]);
    if (st == OK) {
        qsort(times, runs, sizeof *times, compare_times);
        *out = (struct bench_times){times, runs};
        return OK;
    }
    free(times);
    return st;
}

void bench_times_free(struct bench_times *t) { free(t->ms); }

double bench_quantile(const struct bench_times *t, double q)
{
    double place = q * (double)(t->count - 1);
    size_t i = (size_t)place;
    if (i + 1 >= t->count) return t->ms[t->count - 1];
    return t->ms[i] + (place - (double)i) * (t->ms[i + 1] - t->ms[i]);
}

void bench_json_options(struct json_writer *w, const centra_option *options, size_t count)
{
    double number;
    json_key(w, "options");
    json_object(w);
    for (size_t i = 0; i < count; i++) {
        json_key(w, options[i].name);
        if (number_parse(options[i].value, &number)) json_real(w, number);
        else json_string(w, options[i].value);
    }
    json_object_end(w);
}

void bench_json_times(struct json_writer *w, const struct bench_times *t)
{
    const struct {
        const char *key;
        double value;
    } reals[] = {{"median_ms", bench_quantile(t, 0.5)},
                 {"min_ms", t->ms[0]},
                 {"p25_ms", bench_quantile(t, 0.25)},
                 {"p75_ms", bench_quantile(t, 0.75)}};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        json_key(w, reals[i].key);
        json_real(w, reals[i].value);
    }
}

void bench_say_times(text *to, const struct bench_times *t)
{
    text_addf(to, "median %.3f ms of %zu (min %.3f, quartiles %.3f and %.3f); ", bench_quantile(t, 0.5), t->count,
              t->ms[0], bench_quantile(t, 0.25), bench_quantile(t, 0.75));
}
