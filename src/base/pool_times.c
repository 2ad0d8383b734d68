/* pool_times.c - the times of a pool's runs, added up by name.
 *
 * Beside what was, the table says what could be: with more threads than were there a run takes at least as long as its longest
 * piece, and as the number of pieces that one of the threads must take; what lies between two runs is done by one thread.
 * Measured with one thread, that is the speed-up which the cut of the work allows. Pieces are measured in processor time, so
 * that it counts as waiting when a core was given to somebody else. */
#include "base/pool_times.h"
#include "base/clock.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 256, GUESSES = 5 };
static const size_t guessed[GUESSES] = {2, 4, 8, 16, 32}; /* threads */

struct region {
    const char *name;
    uint64_t calls, pieces;
    uint64_t before, wall, work,
        longest;             /* ns; before: since the last run; longest: the sum of each call's longest piece */
    uint64_t least[GUESSES]; /* ns that the calls take at least with so many threads */
};

struct pool_times {
    size_t threads, count;
    uint64_t began, ended;
    _Atomic uint64_t work, longest;       /* of the run at hand */
    struct region region[MOST_NAMES + 1]; /* the last takes what has no room */
};

struct pool_times *pool_times_new(size_t threads)
{
    const char *path = getenv("CENTRA_WAITS");
    struct pool_times *t = path && *path ? calloc(1, sizeof *t) : NULL;
    if (t) t->threads = threads;
    return t;
}

void pool_times_begin(struct pool_times *t)
{
    if (!t) return;
    atomic_store(&t->work, 0);
    atomic_store(&t->longest, 0);
    t->began = clock_ns();
}

void pool_times_piece(struct pool_times *t, uint64_t ns)
{
    uint64_t longest = atomic_load(&t->longest);
    atomic_fetch_add(&t->work, ns);
    while (longest < ns && !atomic_compare_exchange_weak(&t->longest, &longest, ns)) continue;
}

static struct region *region_of(struct pool_times *t, const char *name)
{
    size_t i = 0;
    while (i < t->count && strcmp(t->region[i].name, name) != 0) i++;
    if (i == t->count && t->count < MOST_NAMES) t->region[t->count++].name = name;
    if (i == MOST_NAMES) t->region[i].name = "others";
    return &t->region[i];
}

void pool_times_end(struct pool_times *t, const char *name, size_t pieces)
{
    if (!t) return;
    struct region *r = region_of(t, name);
    const uint64_t now = clock_ns(), work = atomic_load(&t->work), longest = atomic_load(&t->longest);
    r->calls++;
    r->pieces += pieces;
    r->before += t->ended ? t->began - t->ended : 0;
    r->wall += now - t->began;
    r->work += work;
    r->longest += longest;
    for (size_t i = 0; i < GUESSES; i++) {
        const uint64_t dealt = work / pieces * ((pieces + guessed[i] - 1) / guessed[i]);
        r->least[i] += longest > dealt ? longest : dealt;
    }
    t->ended = now;
}

static int by_wall(const void *a, const void *b)
{
    const uint64_t x = ((const struct region *)a)->wall, y = ((const struct region *)b)->wall;
    return (x < y) - (x > y);
}

static double ms(uint64_t ns) { return (double)ns / 1e6; }

static void print_region(FILE *f, const struct region *r, size_t threads)
{
    const double idle = (double)threads * ms(r->wall) - ms(r->work);
    fprintf(f, "%-44.44s %7llu %7.1f %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f\n", r->name, (unsigned long long)r->calls,
            (double)r->pieces / (double)r->calls, ms(r->before), ms(r->wall), ms(r->work), idle > 0 ? idle : 0,
            ms(r->longest), ms(r->least[3]));
}

static void print(FILE *f, struct pool_times *t)
{
    struct region all = {.name = "all", .calls = 1};
    const size_t count = t->count + (t->region[MOST_NAMES].calls > 0);
    qsort(t->region, count, sizeof *t->region, by_wall);
    fprintf(f, "%zu threads; milliseconds\n%-44s %7s %7s %9s %9s %9s %9s %9s %9s\n", t->threads, "run", "calls",
            "pieces", "before", "wall", "work", "waited", "longest", "16 least");
    for (size_t i = 0; i < count; i++) {
        const struct region *r = &t->region[i];
        print_region(f, r, t->threads);
        all.pieces += r->pieces;
        all.before += r->before;
        all.wall += r->wall;
        all.work += r->work;
        all.longest += r->longest;
        for (size_t g = 0; g < GUESSES; g++) all.least[g] += r->least[g];
    }
    print_region(f, &all, t->threads);
    fprintf(f, "part of so many times one thread that the cut of the work allows:");
    for (size_t g = 0; g < GUESSES; g++)
        fprintf(f, " %zu: %.1f%%", guessed[g],
                100 * ms(all.before + all.work) / ((double)guessed[g] * ms(all.before + all.least[g])));
    fprintf(f, "\n\n");
}

void pool_times_free(struct pool_times *t)
{
    if (!t) return;
    FILE *f = t->count ? fopen(getenv("CENTRA_WAITS"), "a") : NULL;
    if (f) {
        print(f, t);
        fclose(f);
    }
    free(t);
}
