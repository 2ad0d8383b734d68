/* explain_pairs.c - which places of a query and a known picture lead to each other.
 *
 * In the symbols of docs/mcl.md, the walk goes from the query's place i to the known place j with probability A[i, j] and from
 * there to i with B[i, j]. The weight of a pair is how much of the walk goes there and straight back, or back and straight there:
 *
 *     flow(i, j) = (w[i] + pi(S)[j]) A[i, j] B[i, j]
 *
 * with the walk's weight w[i] at the query's place and its centrality pi(S)[j] at the known one, which both sum to 1. A pair that
 * only one side chooses has no flow to speak of: both must find each other. */
#include "api/explain.h"
#include "base/size.h"
#include <math.h>
#include <stdlib.h>

static const double WEAKEST = 0.02; /* of the picture's strongest pair; weaker ones only clutter */

static double flow_at(const struct why_walk *w, size_t i, size_t j)
{
    const size_t m = w->count * w->places;
    const double phi = (double)w->cosine[i * m + j];
    const double there = exp(w->walk.gamma * phi - w->there[i]), back = exp(w->walk.beta * phi - w->back[j]);
    return (w->leaving[i] + (double)w->on_known[j]) * there * back;
}

static size_t gap(size_t a, size_t b) { return a > b ? a - b : b - a; }

static bool near(size_t a, size_t b, size_t width, size_t reach)
{
    return gap(a / width, b / width) <= reach && gap(a % width, b % width) <= reach;
}

/* Whether one of its places is taken, or a neighbour of one that is. */
static bool crowded(const centra_pair *taken, size_t count, size_t query, size_t known, size_t width, size_t reach)
{
    for (size_t k = 0; k < count; k++)
        if (near(taken[k].query, query, width, reach) || near(taken[k].known, known, width, reach)) return true;
    return false;
}

status why_pairs(const struct why_walk *w, size_t height, size_t width, size_t picture, centra_pair out[WHY_PAIRS],
                 size_t *count)
{
    const size_t r = w->places, reach = (size_max(height, width) - 1) / 8;
    double *flow = malloc(r * r * sizeof *flow);
    if (!flow) return fail(ST_MEMORY, "no memory for the pairs of %zu places", r);
    for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j < r; j++) flow[i * r + j] = flow_at(w, i, picture * r + j);
    for (*count = 0; *count < WHY_PAIRS; (*count)++) {
        centra_pair best = {0};
        for (size_t k = 0; k < r * r; k++)
            if (flow[k] > best.weight && !crowded(out, *count, k / r, k % r, width, reach))
                best = (centra_pair){k / r, k % r, flow[k]};
        if (!(best.weight > 0) || (*count && best.weight < WEAKEST * out[0].weight)) break;
        out[*count] = best;
    }
    free(flow);
    return OK;
}
