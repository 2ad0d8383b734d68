/* results_order.c - whether methods stand in the same order as in the paper, pair by pair.
 *
 * The interval of a difference is taken as if the two accuracies were independent. They come from the same test episodes,
 * where differences scatter less, so that it is rather too wide: a pair that it decides is decided. */
#include "app/results.h"
#include <math.h>

const char *const verdict_names[] = {
    [ORDER_SAME] = "same", [ORDER_OPEN] = "within the interval", [ORDER_OTHER] = "other"};

static bool counts(const struct result *r) { return r->seeds && r->at.row->paper > 0; }

static struct pair pair_of(const struct result *a, const struct result *b)
{
    const bool swapped = a->at.row->paper < b->at.row->paper;
    const struct result *higher = swapped ? b : a, *lower = swapped ? a : b;
    struct pair p = {.higher = higher,
                     .lower = lower,
                     .paper = higher->at.row->paper - lower->at.row->paper,
                     .ours = higher->accuracy - lower->accuracy,
                     .interval = hypot(higher->ci95, lower->ci95)};
    p.verdict = fabs(p.ours) <= p.interval ? ORDER_OPEN : p.ours > 0 ? ORDER_SAME : ORDER_OTHER;
    return p;
}

status results_pairs(const struct result *first, size_t rows, arena *memory, struct pair **out, size_t *count)
{
    void *taken = NULL;
    const status st = arena_take(memory, rows * rows + 1, sizeof **out, &taken);
    if (st != OK) return st;
    *out = taken;
    *count = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = i + 1; j < rows; j++) {
            const struct result *a = &first[i], *b = &first[j];
            if (!counts(a) || !counts(b) || fabs(a->at.row->paper - b->at.row->paper) < 0.005) continue; /* a tie */
            (*out)[(*count)++] = pair_of(a, b);
        }
    return OK;
}
