/* transport.h - optimal transport between a few places of supply and a few of demand, exactly, by the network simplex.
 *
 * Wanted are flow[i, j] >= 0 whose rows sum to the supply and whose columns to the demand, with the least sum of
 * flow * cost. Amounts are turned into whole numbers that add up to TRANSPORT_WHOLE on both sides: flows are exact, and
 * so is the knowledge that one is 0. A basis is a tree over all places, its arcs those that may carry flow; prices
 * u, v with u[i] + v[j] = cost[i, j] along the tree show what any other arc would save (Orlin 1997 has the whole story).
 * Trees are kept strongly feasible (Cunningham 1976): no arc to a place of demand below its parent is empty, and so the
 * method ends even where many amounts are equal.
 *
 * The code stands in the header, because every device compiles it for itself: TRANSPORT_CODE is what it puts in front
 * of a function. Nothing is allocated. */
#ifndef BASE_TRANSPORT_H
#define BASE_TRANSPORT_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef TRANSPORT_CODE
#define TRANSPORT_CODE static inline
#endif

enum { TRANSPORT_LANES = 4 };
#define TRANSPORT_WHOLE ((int64_t)1 << 50)

struct transport {
    int rows, columns, stride; /* the columns rounded up to TRANSPORT_LANES */
    double *cost;              /* [rows, stride]: to be filled in; behind the columns INFINITY (transport_carve) */
    double *price;             /* u [rows], v [stride] */
    double *open;              /* [stride] while the first tree is made */
    int64_t *amount;           /* [places] supply and demand: rows, then columns */
    int64_t *flow;             /* [places] on the arc between a place and its parent */
    int *parent, *depth, *child, *next, *previous; /* [places] the tree; siblings are a list; -1: none */
    int *arc_row, *arc_column; /* [places] the first arcs; later arc_row holds an order of the places */
    int *arc_first, *arc_next; /* [places], [2 * places] lists of the ends of arcs at each place; end e is that of arc
                                  * e / 2 at its row, or where e is odd at its column */
};

TRANSPORT_CODE int transport_stride(int columns)
{
    return (columns + TRANSPORT_LANES - 1) / TRANSPORT_LANES * TRANSPORT_LANES;
}

/* Bytes of memory for one problem; a multiple of 8. */
TRANSPORT_CODE size_t transport_bytes(int rows, int columns)
{
    const size_t r = (size_t)rows, s = (size_t)transport_stride(columns), places = r + (size_t)columns;
    return (r * s + r + 2 * s + 2 * places) * 8 + (10 * places + 1) / 2 * 8;
}

/* Lays the arrays into `memory`, aligned to 8 bytes, and fills what lies behind the columns. */
TRANSPORT_CODE void transport_carve(struct transport *t, int rows, int columns, void *memory)
{
    const int stride = transport_stride(columns);
    const size_t r = (size_t)rows, s = (size_t)stride, places = r + (size_t)columns;
    t->rows = rows;
    t->columns = columns;
    t->stride = stride;
    t->cost = (double *)memory;
    t->price = t->cost + r * s;
    t->open = t->price + r + s;
    t->amount = (int64_t *)(void *)(t->open + s);
    t->flow = t->amount + places;
    t->parent = (int *)(void *)(t->flow + places);
    t->depth = t->parent + places;
    t->child = t->depth + places;
    t->next = t->child + places;
    t->previous = t->next + places;
    t->arc_row = t->previous + places;
    t->arc_column = t->arc_row + places;
    t->arc_first = t->arc_column + places;
    t->arc_next = t->arc_first + places;
    for (int i = 0; i < rows; i++)
        for (int j = columns; j < stride; j++) t->cost[i * stride + j] = INFINITY;
    for (int j = 0; j < stride; j++) t->price[rows + j] = 0;
}

/* Whole amounts, at least 1 each, that add up to TRANSPORT_WHOLE; false when `weight` does not allow it. The largest takes
 * what rounding leaves over. */
TRANSPORT_CODE bool transport_amounts(const double *weight, int n, int64_t *out)
{
    double sum = 0;
    int64_t left = TRANSPORT_WHOLE;
    int largest = 0;
    for (int i = 0; i < n; i++) {
        if (!(weight[i] >= 0)) return false;
        sum += weight[i];
        if (weight[i] > weight[largest]) largest = i;
    }
    if (!(sum > 0) || isinf(sum)) return false;
    for (int i = 0; i < n; i++) {
        out[i] = (int64_t)(weight[i] / sum * (double)TRANSPORT_WHOLE + 0.5);
        if (out[i] < 1) out[i] = 1;
        left -= out[i];
    }
    out[largest] += left;
    return out[largest] > 0;
}

/* The least of a[j] - b[j]; n is a multiple of the lanes. */
TRANSPORT_CODE double transport_least(const double *a, const double *b, int n)
{
    double best[TRANSPORT_LANES];
    for (int k = 0; k < TRANSPORT_LANES; k++) best[k] = INFINITY;
    for (int j = 0; j < n; j += TRANSPORT_LANES) {
        for (int k = 0; k < TRANSPORT_LANES; k++) {
            const double x = a[j + k] - b[j + k];
            best[k] = x < best[k] ? x : best[k];
        }
    }
    for (int k = 1; k < TRANSPORT_LANES; k++) best[0] = best[k] < best[0] ? best[k] : best[0];
    return best[0];
}

/* Where it is. */
TRANSPORT_CODE int transport_where(const double *a, const double *b, double least)
{
    int j = 0;
    while (a[j] - b[j] > least) j++;
    return j;
}

/* The first arcs: row by row to the cheapest column that still wants something, where a column's own cheapest row counts
 * as nothing. Each arc ends a row or a column, so that they make no circle. Returns their number. */
TRANSPORT_CODE int transport_greedy(struct transport *t)
{
    int arcs = 0;
    double *wanted = t->open;
    for (int j = 0; j < t->stride; j++) wanted[j] = INFINITY;
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < t->columns; j++)
            if (t->cost[i * t->stride + j] < wanted[j]) wanted[j] = t->cost[i * t->stride + j];
    for (int j = t->columns; j < t->stride; j++) wanted[j] = -INFINITY;
    for (int p = 0; p < t->rows + t->columns; p++) t->flow[p] = t->amount[p];
    for (int i = 0; i < t->rows; i++) {
        const double *cost = t->cost + i * t->stride;
        while (t->flow[i] > 0) {
            const int j = transport_where(cost, wanted, transport_least(cost, wanted, t->stride)), p = t->rows + j;
            const int64_t moved = t->flow[i] < t->flow[p] ? t->flow[i] : t->flow[p];
            t->flow[i] -= moved;
            t->flow[p] -= moved;
            if (t->flow[p] == 0) wanted[j] = -INFINITY;
            t->arc_row[arcs] = i;
            t->arc_column[arcs++] = p;
        }
    }
    return arcs;
}

TRANSPORT_CODE void transport_attach(struct transport *t, int place, int parent)
{
    t->parent[place] = parent;
    t->previous[place] = -1;
    t->next[place] = t->child[parent];
    if (t->child[parent] >= 0) t->previous[t->child[parent]] = place;
    t->child[parent] = place;
}

TRANSPORT_CODE void transport_detach(struct transport *t, int place)
{
    if (t->previous[place] >= 0) t->next[t->previous[place]] = t->next[place];
    else t->child[t->parent[place]] = t->next[place];
    if (t->next[place] >= 0) t->previous[t->next[place]] = t->previous[place];
}

TRANSPORT_CODE double transport_cost(const struct transport *t, int a, int b) /* of the arc between two places */
{
    return a < b ? t->cost[a * t->stride + b - t->rows] : t->cost[b * t->stride + a - t->rows];
}

/* A place below another: prices and depth follow. */
TRANSPORT_CODE void transport_hang(struct transport *t, int place, int parent)
{
    transport_attach(t, place, parent);
    t->depth[place] = t->depth[parent] + 1;
    t->price[place] = transport_cost(t, place, parent) - t->price[parent];
}

/* The place that follows in a walk through all below `top`, or -1. */
TRANSPORT_CODE int transport_follow(const struct transport *t, int place, int top)
{
    if (t->child[place] >= 0) return t->child[place];
    while (place != top && t->next[place] < 0) place = t->parent[place];
    return place == top ? -1 : t->next[place];
}

/* Hangs all that the first arcs connect with `top`, which hangs already. */
TRANSPORT_CODE void transport_grow(struct transport *t, int top)
{
    for (int place = top; place >= 0; place = transport_follow(t, place, top)) {
        for (int end = t->arc_first[place]; end >= 0; end = t->arc_next[end]) {
            const int other = end % 2 ? t->arc_row[end / 2] : t->arc_column[end / 2];
            if (other != t->parent[place]) transport_hang(t, other, place);
        }
    }
}

/* The flows of a tree follow from the amounts: what lies below a place must pass the arc above it. */
TRANSPORT_CODE void transport_settle(struct transport *t)
{
    int n = 0, *order = t->arc_row;
    for (int place = 0; place >= 0; place = transport_follow(t, place, 0)) {
        order[n++] = place;
        t->flow[place] = place < t->rows ? t->amount[place] : -t->amount[place];
    }
    while (--n > 0) t->flow[t->parent[order[n]]] += t->flow[order[n]];
    for (int place = t->rows; place < t->rows + t->columns; place++) t->flow[place] = -t->flow[place];
}

/* The first tree. Parts that the first arcs leave apart are joined by an empty arc from one of their rows to the column
 * that is cheapest for it. */
TRANSPORT_CODE void transport_plant(struct transport *t)
{
    const int arcs = transport_greedy(t), places = t->rows + t->columns;
    for (int p = 0; p < places; p++) t->arc_first[p] = t->child[p] = -1, t->parent[p] = -2;
    for (int a = 0; a < arcs; a++) {
        t->arc_next[2 * a] = t->arc_first[t->arc_row[a]];
        t->arc_first[t->arc_row[a]] = 2 * a;
        t->arc_next[2 * a + 1] = t->arc_first[t->arc_column[a]];
        t->arc_first[t->arc_column[a]] = 2 * a + 1;
    }
    t->parent[0] = t->next[0] = t->previous[0] = -1;
    t->depth[0] = 0;
    t->price[0] = 0;
    transport_grow(t, 0);
    for (int i = 1; i < t->rows; i++) {
        const double *cost = t->cost + i * t->stride;
        if (t->parent[i] != -2) continue;
        for (int j = 0; j < t->columns; j++)
            t->open[j] = t->parent[t->rows + j] == -2 ? -INFINITY : t->price[t->rows + j];
        transport_hang(t, i, t->rows + transport_where(cost, t->open, transport_least(cost, t->open, t->stride)));
        transport_grow(t, i);
    }
    transport_settle(t);
}

/* The circle that an arc from row a to column b closes: how much can move along it, and the place whose arc to its parent
 * is empty then. Along the circle, arcs from below a row on a's side, and from below a column on b's side, lose flow. Of
 * several that become empty the last one counts, from the top by a and b back to the top. */
struct transport_circle {
    int64_t moved;
    int out;
    bool on_a; /* it lies between the top and a */
};

TRANSPORT_CODE struct transport_circle transport_close(const struct transport *t, int a, int b)
{
    struct transport_circle of_a = {INT64_MAX, -1, true}, of_b = {INT64_MAX, -1, false};
    while (a != b) {
        if (t->depth[a] >= t->depth[b]) {
            if (a < t->rows && t->flow[a] < of_a.moved) of_a.moved = t->flow[a], of_a.out = a;
            a = t->parent[a];
        } else {
            if (b >= t->rows && t->flow[b] <= of_b.moved) of_b.moved = t->flow[b], of_b.out = b;
            b = t->parent[b];
        }
    }
    return of_b.moved <= of_a.moved ? of_b : of_a;
}

TRANSPORT_CODE void transport_move(struct transport *t, int a, int b, int64_t moved)
{
    while (a != b) {
        if (t->depth[a] >= t->depth[b]) {
            t->flow[a] += a < t->rows ? -moved : moved;
            a = t->parent[a];
        } else {
            t->flow[b] += b >= t->rows ? -moved : moved;
            b = t->parent[b];
        }
    }
}

/* Takes the arc of row a and column b, which would save `saved`, into the tree, and out the one that is empty first. */
TRANSPORT_CODE void transport_pivot(struct transport *t, int a, int b, double saved)
{
    const struct transport_circle c = transport_close(t, a, b);
    const int top = c.on_a ? a : b;
    if (c.moved) transport_move(t, a, b, c.moved);
    int64_t flow = c.moved;
    for (int place = top, parent = c.on_a ? b : a, done = 0;
         !done;) { /* from the new arc on, parents become children */
        const int above = t->parent[place];
        const int64_t held = t->flow[place];
        transport_detach(t, place);
        transport_attach(t, place, parent);
        t->flow[place] = flow;
        done = place == c.out;
        flow = held;
        parent = place;
        place = above;
    }
    const double rows = c.on_a ? -saved : saved;
    for (int place = top; place >= 0; place = transport_follow(t, place, top)) {
        t->depth[place] = t->depth[t->parent[place]] + 1;
        t->price[place] += place < t->rows ? rows : -rows;
    }
}

/* The largest |cost|, or NaN when one is not finite. */
TRANSPORT_CODE double transport_size(const struct transport *t)
{
    double most = 0;
    for (int i = 0; i < t->rows; i++) {
        for (int j = 0; j < t->columns; j++) {
            const double size = fabs(t->cost[i * t->stride + j]);
            if (!(size <= 1e300)) return NAN;
            if (size > most) most = size;
        }
    }
    return most;
}

/* Solves for the costs and amounts that were filled in: rows are searched in turn for the arc that saves most. False when a
 * cost is not finite (or, beyond all experience, when it does not end). */
TRANSPORT_CODE bool transport_solve(struct transport *t)
{
    const double least_gain = 1e-12 * transport_size(t);
    int64_t most = 1000 * ((int64_t)t->rows + t->columns) + 1000000;
    if (isnan(least_gain)) return false;
    transport_plant(t);
    for (int row = 0, idle = 0; idle < t->rows; row = row + 1 == t->rows ? 0 : row + 1) {
        const double *cost = t->cost + row * t->stride, *v = t->price + t->rows;
        const double least = transport_least(cost, v, t->stride), saved = t->price[row] - least;
        idle++;
        if (!(saved > least_gain)) continue;
        if (--most < 0) return false;
        transport_pivot(t, row, t->rows + transport_where(cost, v, least), saved);
        idle = 0;
    }
    return true;
}
#endif
