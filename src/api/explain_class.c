/* explain_class.c - what of the walk speaks for a class: maps of the query and a known picture, pairs of places.
 *
 * A place that looks alike in the pictures of all classes (a corner of the sky) is central in the walk and yet says
 * nothing. So what counts of a place is how much more it goes to the class c than to one at random. In the symbols of
 * docs/mcl.md, with chance = pictures of c / all known pictures:
 *
 *     e[i]       = max(0, sum over j in c of A[i, j] - chance)       what place i of the query says for the class
 *     x[i]       = w[i] e[i]                                         the query's map
 *     y[j]       = sum over i of x[i] A[i, j]                        a known picture's map
 *     pair(i, j) = sqrt(x[i] A[i, j] * y[j] B[i, j])                 the mean of the flow there and that back
 *
 * The class's picture is that with the largest sum of y. Where no place says anything for the class (e = 0 everywhere),
 * e[i] is the sum itself: the part of the class's mass that comes through each place. */
#include "api/explain.h"
#include "base/size.h"
#include <math.h>
#include <stdlib.h>

static const double WEAKEST = 0.05; /* of the class's strongest pair; weaker ones only clutter */

/* x; the known pictures of the class are first .. first + count - 1 */
static void query_map(const struct why_walk *w, size_t first, size_t count, double *x)
{
    const double chance = (double)count / (double)w->count;
    double all = 0;
    for (int plain = 0; plain < 2 && !(all > 0); plain++)
        for (size_t i = 0; i < w->places; i++) {
            double class_part = 0;
            for (size_t p = first; p < first + count; p++) class_part += w->toward[i * w->count + p];
            x[i] = w->leaving[i] * (plain ? class_part : fmax(class_part - chance, 0));
            all += x[i];
        }
}

/* The picture that x goes to most, the first of equals. */
static size_t strongest(const struct why_walk *w, size_t first, size_t count, const double *x)
{
    size_t best = first;
    double most = -1;
    for (size_t p = first; p < first + count; p++) {
        double mass = 0;
        for (size_t i = 0; i < w->places; i++) mass += x[i] * w->toward[i * w->count + p];
        if (mass > most) best = p, most = mass;
    }
    return best;
}

static void known_map(const struct why_walk *w, size_t picture, const double *x, double *y)
{
    for (size_t j = 0; j < w->places; j++) {
        y[j] = 0;
        for (size_t i = 0; i < w->places; i++) y[j] += x[i] * walk_there(w, i, picture * w->places + j);
    }
}

static size_t gap(size_t a, size_t b) { return a > b ? a - b : b - a; }

static bool near(size_t a, size_t b, size_t width, size_t reach)
{
    return gap(a / width, b / width) <= reach && gap(a % width, b % width) <= reach;
}

/* Whether one of its places is taken, or a neighbour of one that is. */
static bool crowded(const struct why_class *k, size_t query, size_t known, size_t width, size_t reach)
{
    for (size_t i = 0; i < k->pair_count; i++)
        if (near(k->pairs[i].query, query, width, reach) || near(k->pairs[i].known, known, width, reach)) return true;
    return false;
}

static status find_pairs(const struct why_walk *w, size_t height, size_t width, struct why_class *k)
{
    const size_t r = w->places, reach = (size_max(height, width) - 1) / 8;
    double *flow = malloc(r * r * sizeof *flow);
    if (!flow) return fail(ST_MEMORY, "no memory for the pairs of %zu places", r);
    for (size_t n = 0; n < r * r; n++) {
        const size_t i = n / r, j = n % r, known = k->picture * r + j;
        flow[n] = sqrt(k->on_query[i] * walk_there(w, i, known)) * sqrt(k->on_known[j] * walk_back(w, i, known));
    }
    for (k->pair_count = 0; k->pair_count < WHY_PAIRS; k->pair_count++) {
        centra_pair best = {0};
        for (size_t n = 0; n < r * r; n++)
            if (flow[n] > best.weight && !crowded(k, n / r, n % r, width, reach))
                best = (centra_pair){n / r, n % r, flow[n]};
        if (!(best.weight > 0) || (k->pair_count && best.weight < WEAKEST * k->pairs[0].weight)) break;
        k->pairs[k->pair_count] = best;
    }
    free(flow);
    return OK;
}

status why_class(const struct why_walk *w, const struct why_input *in, size_t first, size_t count,
                 struct why_class *out)
{
    query_map(w, first, count, out->on_query);
    out->picture = strongest(w, first, count, out->on_query);
    known_map(w, out->picture, out->on_query, out->on_known);
    return find_pairs(w, in->height, in->width, out);
}
