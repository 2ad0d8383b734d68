/* tabs.h - what the server keeps for each session, which is usually a browser tab: its classes and the results so far.
 *
 * A session is known by a random id that nobody can guess. There are at most so many; the least recently used goes first,
 * and those that were idle for long go by themselves. Everything here belongs to the worker's thread. */
#ifndef SERVE_TABS_H
#define SERVE_TABS_H
#include "base/status.h"
#include "base/text.h"
#include "centra.h"
#include "serve/request.h"
#include <stdbool.h>
#include <stdint.h>

enum { MOST_RESULTS = 10000 };

struct tab {
    char id[SESSION_ID_BYTES + 1];
    centra_support *support;
    uint64_t used;       /* clock_ns() of the last request */
    text results;        /* lines of CSV, without the title */
    size_t result_count; /* at most MOST_RESULTS: the oldest go */
};

struct tabs {
    struct tab **tab; /* [count], room for `most` */
    size_t count, most;
    uint64_t idle; /* nanoseconds */
};

status tabs_init(struct tabs *t, size_t most, double idle_seconds);
void tabs_clear(struct tabs *t);
/* Forgets what was idle for too long at `now`. */
void tabs_sweep(struct tabs *t, uint64_t now);
/* A new tab that takes over `support`, in place of the least recently used where there are too many. */
status tabs_add(struct tabs *t, centra_support *support, uint64_t now, struct tab **out);
/* NULL: unknown or forgotten. */
struct tab *tabs_find(struct tabs *t, const char *id, uint64_t now);
void tabs_remove(struct tabs *t, struct tab *tab);

/* Other classes for the tab, whose own are freed. */
void tab_replace(struct tab *t, centra_support *support);
/* Adds a line of results. */
void tab_keep_result(struct tab *t, const char *line);
#endif
