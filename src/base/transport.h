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
 * of a function, TRANSPORT_LOWEST how it finds a bit. Several threads may be the crew of one problem, whose arrays and struct
 * they share: all call transport_solve, search together, and number 0 alone changes the tree. Nothing is allocated. */
#ifndef BASE_TRANSPORT_H
#define BASE_TRANSPORT_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef TRANSPORT_CODE
#define TRANSPORT_CODE static inline
#define TRANSPORT_LOWEST(set) __builtin_ctzll(set) /* the number of the lowest bit */
#endif
#ifndef TRANSPORT_CREW
#define TRANSPORT_WORK TRANSPORT_CODE /* in front of what a crew calls; the rest anybody may call */
#define TRANSPORT_CREW 1              /* how many; a divisor of 64 */
#define TRANSPORT_MEMBER 0            /* which one this is */
#define TRANSPORT_MEET() ((void)0)    /* waits for all, and sees what they wrote */
#endif
/* The places of a word that are this member's. */
#define TRANSPORT_SHARE \
    (~(uint64_t)0 / (TRANSPORT_CREW == 64 ? ~(uint64_t)0 : ((uint64_t)1 << TRANSPORT_CREW % 64) - 1) \
     << TRANSPORT_MEMBER)

enum { TRANSPORT_LANES = 4, TRANSPORT_LOOK = 2 };
#define TRANSPORT_WHOLE ((int64_t)1 << 50)

struct transport {
    int rows, columns, stride; /* the columns rounded up to TRANSPORT_LANES */
    int words;                 /* of a set of places, 64 to a word */
    int planted;               /* places of the first tree so far */
    double rise;               /* of the prices of rows that move with the last pivot */
    double *cost;              /* [rows, stride]: to be filled in; behind the columns INFINITY (transport_carve) */
    double *price;             /* u [rows], v [stride] */
    double *open;              /* [stride] while the first tree is made */
    int64_t *amount;           /* [places] supply and demand: rows, then columns */
    int64_t *flow;             /* [places] on the arc between a place and its parent */
    uint64_t *below;           /* [places, words] sets: the places below each in the tree, and itself */
    uint64_t *moving, *before; /* [words] for transport_pivot */
    int *parent;               /* [places]; -1: the root */
    int *order;                /* [places] of the first tree: parents before children */
    int *arc_row, *arc_column; /* [places] the first arcs */
    int *arc_first, *arc_next; /* [places], [2 * places] lists of the ends of arcs at each place; end e is that of arc
                                * e / 2 at its row, or where e is odd at its column */
};

TRANSPORT_CODE int transport_stride(int columns)
{
    return (columns + TRANSPORT_LANES - 1) / TRANSPORT_LANES * TRANSPORT_LANES;
}

TRANSPORT_CODE int transport_words(int rows, int columns) { return (rows + columns + 63) / 64; }

/* Bytes of memory for one problem; a multiple of 8. */
TRANSPORT_CODE size_t transport_bytes(int rows, int columns)
{
    const size_t r = (size_t)rows, s = (size_t)transport_stride(columns), places = r + (size_t)columns;
    const size_t words = (size_t)transport_words(rows, columns);
    return (r * s + r + 2 * s + 2 * places + (places + 2) * words) * 8 + (7 * places + 1) / 2 * 8;
}

/* Lays the arrays into `memory`, aligned to 8 bytes, and fills what lies behind the columns. */
TRANSPORT_CODE void transport_carve(struct transport *t, int rows, int columns, void *memory)
{
    const int stride = transport_stride(columns), words = transport_words(rows, columns);
    const size_t r = (size_t)rows, s = (size_t)stride, places = r + (size_t)columns;
    t->rows = rows;
    t->columns = columns;
    t->stride = stride;
    t->words = words;
    t->cost = (double *)memory;
    t->price = t->cost + r * s;
    t->open = t->price + r + s;
    t->amount = (int64_t *)(void *)(t->open + s);
    t->flow = t->amount + places;
    t->below = (uint64_t *)(void *)(t->flow + places);
    t->moving = t->below + places * (size_t)words;
    t->before = t->moving + words;
    t->parent = (int *)(void *)(t->before + words);
    t->order = t->parent + places;
    t->arc_row = t->order + places;
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

#if TRANSPORT_CREW == 1
/* The least of a[j] - b[j]; n is a multiple of the lanes. A crew brings functions of its own for this and the next two. */
TRANSPORT_WORK double transport_least(const double *a, const double *b, int n)
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

/* Where it is: the first place. */
TRANSPORT_WORK int transport_where(const double *a, const double *b, int n, double least)
{
    int j = 0;
    (void)n;
    while (a[j] - b[j] > least) j++;
    return j;
}

/* The largest of all members' numbers, NaN when one is. */
TRANSPORT_WORK double transport_most(double x) { return x; }
#endif

/* As much as there is and is wanted from row i to the column at place p, by a first arc. */
TRANSPORT_WORK void transport_move(struct transport *t, int i, int p, int arc)
{
    const int64_t moved = t->flow[i] < t->flow[p] ? t->flow[i] : t->flow[p];
    t->flow[i] -= moved;
    t->flow[p] -= moved;
    if (t->flow[p] == 0) t->open[p - t->rows] = -INFINITY;
    t->arc_row[arc] = i;
    t->arc_column[arc] = p;
}

/* The first arcs: row by row to the cheapest column that still wants something, where a column's own cheapest row counts
 * as nothing. Each arc ends a row or a column, so that they make no circle. Returns their number. */
TRANSPORT_WORK int transport_greedy(struct transport *t)
{
    int arcs = 0;
    double *wanted = t->open;
    for (int j = TRANSPORT_MEMBER; j < t->stride; j += TRANSPORT_CREW)
        wanted[j] = j < t->columns ? INFINITY : -INFINITY;
    for (int i = 0; i < t->rows; i++)
        for (int j = TRANSPORT_MEMBER; j < t->stride; j += TRANSPORT_CREW)
            wanted[j] = t->cost[i * t->stride + j] < wanted[j] ? t->cost[i * t->stride + j] : wanted[j];
    for (int p = TRANSPORT_MEMBER; p < t->rows + t->columns; p += TRANSPORT_CREW) t->flow[p] = t->amount[p];
    TRANSPORT_MEET();
    for (int i = 0; i < t->rows; i++) {
        const double *cost = t->cost + i * t->stride;
        while (t->flow[i] > 0) {
            const double least = transport_least(cost, wanted, t->stride);
            const int j = transport_where(cost, wanted, t->stride, least);
            if (TRANSPORT_MEMBER == 0) transport_move(t, i, t->rows + j, arcs);
            arcs++;
            TRANSPORT_MEET();
        }
    }
    return arcs;
}

TRANSPORT_CODE double transport_cost(const struct transport *t, int a, int b) /* of the arc between two places */
{
    return a < b ? t->cost[a * t->stride + b - t->rows] : t->cost[b * t->stride + a - t->rows];
}

/* Puts a place below another, or -1: at the root, behind the `n` places of the first tree so far, and then all that the
 * first arcs connect with it. Returns how many there are. */
TRANSPORT_CODE int transport_grow(struct transport *t, int n, int place, int parent)
{
    t->parent[place] = parent;
    t->price[place] = parent < 0 ? 0 : transport_cost(t, place, parent) - t->price[parent];
    t->order[n++] = place;
    for (int k = n - 1; k < n; k++) {
        const int p = t->order[k];
        for (int end = t->arc_first[p]; end >= 0; end = t->arc_next[end]) {
            const int other = end % 2 ? t->arc_row[end / 2] : t->arc_column[end / 2];
            if (other == t->parent[p]) continue;
            t->parent[other] = p;
            t->price[other] = transport_cost(t, p, other) - t->price[p];
            t->order[n++] = other;
        }
    }
    return n;
}

/* Flows and sets of the first tree: what lies below a place must pass the arc above it. */
TRANSPORT_CODE void transport_settle(struct transport *t)
{
    const int places = t->rows + t->columns, words = t->words;
    for (int p = 0; p < places; p++) t->flow[p] = p < t->rows ? t->amount[p] : -t->amount[p];
    for (int i = 0; i < places * words; i++) t->below[i] = 0;
    for (int k = places - 1; k >= 0; k--) {
        const int p = t->order[k], up = t->parent[p];
        t->below[p * words + p / 64] |= (uint64_t)1 << p % 64;
        if (up < 0) continue;
        t->flow[up] += t->flow[p];
        for (int w = 0; w < words; w++) t->below[up * words + w] |= t->below[p * words + w];
    }
    for (int p = t->rows; p < places; p++) t->flow[p] = -t->flow[p];
}

/* The lists of the first arcs, and what they connect with row 0. */
TRANSPORT_CODE void transport_begin(struct transport *t, int arcs)
{
    for (int p = 0; p < t->rows + t->columns; p++) t->arc_first[p] = -1, t->parent[p] = -2;
    for (int a = 0; a < arcs; a++) {
        t->arc_next[2 * a] = t->arc_first[t->arc_row[a]];
        t->arc_first[t->arc_row[a]] = 2 * a;
        t->arc_next[2 * a + 1] = t->arc_first[t->arc_column[a]];
        t->arc_first[t->arc_column[a]] = 2 * a + 1;
    }
    t->planted = transport_grow(t, 0, 0, -1);
}

/* The first tree. Parts that the first arcs leave apart are joined by an empty arc from one of their rows to the column
 * that is cheapest for it. */
TRANSPORT_WORK void transport_plant(struct transport *t)
{
    const int arcs = transport_greedy(t);
    if (TRANSPORT_MEMBER == 0) transport_begin(t, arcs);
    TRANSPORT_MEET();
    for (int i = 1; i < t->rows && t->planted < t->rows + t->columns; i++) {
        const double *cost = t->cost + i * t->stride;
        if (t->parent[i] != -2) continue;
        for (int j = TRANSPORT_MEMBER; j < t->columns; j += TRANSPORT_CREW)
            t->open[j] = t->parent[t->rows + j] == -2 ? -INFINITY : t->price[t->rows + j];
        TRANSPORT_MEET();
        const int j = transport_where(cost, t->open, t->stride, transport_least(cost, t->open, t->stride));
        if (TRANSPORT_MEMBER == 0) t->planted = transport_grow(t, t->planted, i, t->rows + j);
        TRANSPORT_MEET();
    }
    if (TRANSPORT_MEMBER == 0) transport_settle(t);
    TRANSPORT_MEET();
}

/* The circle that an arc from row a to column b closes: how much can move along it, and the place whose arc to its parent
 * is empty then. Along the circle, arcs from below a row on a's side, and from below a column on b's side, lose flow. Of
 * several that become empty the last one counts, from the top by a and b back to the top. */
struct transport_circle {
    int64_t moved;
    int top, out;
    bool on_a; /* `out` lies between the top and a */
};

TRANSPORT_CODE bool transport_has(const struct transport *t, int place, int below)
{
    return t->below[place * t->words + below / 64] >> below % 64 & 1;
}

/* Rows and columns take turns on the way up. */
TRANSPORT_CODE struct transport_circle transport_close(const struct transport *t, int a, int b)
{
    struct transport_circle c = {INT64_MAX, a, -1, true};
    while (!transport_has(t, c.top, b)) {
        const int64_t flow = t->flow[c.top];
        c.out = flow < c.moved ? c.top : c.out;
        c.moved = flow < c.moved ? flow : c.moved;
        c.top = t->parent[c.top];
        if (transport_has(t, c.top, b)) break;
        c.top = t->parent[c.top];
    }
    while (b != c.top) {
        const int64_t flow = t->flow[b];
        c.on_a = flow <= c.moved ? false : c.on_a;
        c.out = flow <= c.moved ? b : c.out;
        c.moved = flow <= c.moved ? flow : c.moved;
        b = t->parent[b];
        if (b == c.top) break;
        b = t->parent[b];
    }
    return c;
}

/* From a place up to below `top`: arcs above rows gain, those above columns lose, and the moving set comes or goes. */
TRANSPORT_CODE void transport_pass(struct transport *t, int place, int top, int64_t gain)
{
    for (; place != top; place = t->parent[place]) {
        t->flow[place] += place < t->rows ? gain : -gain;
        for (int w = 0; w < t->words; w++) t->below[place * t->words + w] ^= t->moving[w];
    }
}

/* What hangs on the arc above `out` is hung up by its place `in`, below `hook`: on the way between the two, parents become
 * children, and an arc belongs to the other of its ends. */
TRANSPORT_CODE void transport_hang(struct transport *t, const struct transport_circle *c, int in, int hook,
                                   int64_t gain)
{
    int64_t flow = c->moved;
    for (int place = in, parent = hook, last = 0; !last;) {
        const int above = t->parent[place];
        const int64_t held = t->flow[place] + (place < t->rows ? gain : -gain);
        for (int w = 0; w < t->words; w++) {
            const uint64_t old = t->below[place * t->words + w];
            t->below[place * t->words + w] = t->moving[w] ^ t->before[w];
            t->before[w] = old;
        }
        t->parent[place] = parent;
        t->flow[place] = flow;
        last = place == c->out;
        flow = held;
        parent = place;
        place = above;
    }
}

/* Takes the arc of row a and column b, which would save `saved`, into the tree, and out the one that is empty first. What moves
 * with it has old prices yet. */
TRANSPORT_CODE void transport_pivot(struct transport *t, int a, int b, double saved)
{
    const struct transport_circle c = transport_close(t, a, b);
    const int in = c.on_a ? a : b, hook = c.on_a ? b : a;
    const int64_t gain = c.on_a ? -c.moved : c.moved; /* of arcs above rows, on the side of `out` */
    t->rise = c.on_a ? -saved : saved;
    for (int w = 0; w < t->words; w++) t->moving[w] = t->below[c.out * t->words + w], t->before[w] = 0;
    transport_pass(t, t->parent[c.out], c.top, gain);
    transport_pass(t, hook, c.top, -gain);
    transport_hang(t, &c, in, hook, gain);
}

/* New prices for what has moved. */
TRANSPORT_WORK void transport_reprice(struct transport *t)
{
    for (int w = 0; w < t->words; w++) {
        for (uint64_t set = t->moving[w] & TRANSPORT_SHARE; set; set &= set - 1) {
            const int place = 64 * w + TRANSPORT_LOWEST(set);
            t->price[place] += place < t->rows ? t->rise : -t->rise;
        }
    }
}

/* The largest |cost|, or NaN when one is not finite. */
TRANSPORT_WORK double transport_size(const struct transport *t)
{
    double most = 0;
    for (int i = 0; i < t->rows; i++) {
        for (int j = TRANSPORT_MEMBER; j < t->columns; j += TRANSPORT_CREW) {
            const double size = fabs(t->cost[i * t->stride + j]);
            most = size <= 1e300 ? size > most ? size : most : NAN; /* which nothing is larger than */
        }
    }
    return transport_most(most);
}

/* Of TRANSPORT_LOOK rows from *row on, the arc that saves most, and more than *saved, which becomes what it saves; its row, or
 * -1. *row becomes the row behind them. */
TRANSPORT_WORK int transport_enter(const struct transport *t, int *row, double *saved, int *column)
{
    const double *v = t->price + t->rows;
    double of_best = 0;
    int best = -1;
    for (int k = 0; k < TRANSPORT_LOOK; k++) {
        const double least = transport_least(t->cost + *row * t->stride, v, t->stride), saves = t->price[*row] - least;
        if (saves > *saved) *saved = saves, of_best = least, best = *row;
        *row = *row + 1 == t->rows ? 0 : *row + 1;
    }
    if (best >= 0) *column = transport_where(t->cost + best * t->stride, v, t->stride, of_best);
    return best;
}

/* Solves for the costs and amounts that were filled in. False when a cost is not finite (or, beyond all experience, when
 * it does not end). */
TRANSPORT_WORK bool transport_solve(struct transport *t)
{
    const double least_gain = 1e-12 * transport_size(t);
    int64_t most = 1000 * ((int64_t)t->rows + t->columns) + 1000000;
    int row = 0, column = 0;
    if (isnan(least_gain)) return false;
    transport_plant(t);
    for (int idle = 0; idle < t->rows;) { /* rows that were searched in vain since the tree last changed */
        double saved = least_gain;
        const int best = transport_enter(t, &row, &saved, &column);
        idle = best < 0 ? idle + TRANSPORT_LOOK : 0;
        if (best < 0) continue;
        if (--most < 0) return false;
        if (TRANSPORT_MEMBER == 0) transport_pivot(t, best, t->rows + column, saved);
        TRANSPORT_MEET();
        transport_reprice(t);
        TRANSPORT_MEET();
    }
    return true;
}
#endif
