/* transport.c - optimal transport, one problem after the other in each piece; the method is in base/transport.h. */
#include "base/transport.h"
#include "cpu/prims/prim.h"

struct jobs {
    struct cpu *cpu;
    const struct transport_args *a;
    size_t b, m, g, n, bytes, grain;
};

static void widen(const real *from, size_t count, double *to)
{
    for (size_t i = 0; i < count; i++) to[i] = (double)from[i];
}

static status refuse(size_t problem)
{
    return fail(ST_NUMERIC, "transport problem %zu of the batch has costs or weights that are not finite", problem);
}

/* The problem of group p % g of columns with group p / g of rows, from the tensors. */
static status read_problem(const struct jobs *w, size_t p, void *memory, struct transport *t, double *total)
{
    const size_t stride = w->g * w->n;
    const real *cost = reals(w->a->cost) + p / w->g * w->m * stride + p % w->g * w->n;
    const real *supply = reals(w->a->supply) + p * w->m, *demand = reals(w->a->demand) + p * w->n;
    transport_carve(t, (int)w->m, (int)w->n, memory);
    for (size_t i = 0; i < w->m; i++) widen(cost + i * stride, w->n, t->cost + i * (size_t)t->stride);
    widen(supply, w->m, t->price); /* for the moment */
    *total = 0;
    for (size_t i = 0; i < w->m; i++) *total += t->price[i];
    if (!transport_amounts(t->price, t->rows, t->amount)) return refuse(p);
    widen(demand, w->n, t->price);
    if (!transport_amounts(t->price, t->columns, t->amount + t->rows)) return refuse(p);
    for (int j = 0; j < t->stride; j++) t->price[t->rows + j] = 0;
    return OK;
}

static void write_flow(const struct jobs *w, size_t p, const struct transport *t, double unit)
{
    const size_t stride = w->g * w->n;
    real *flow = reals(w->a->flow) + p / w->g * w->m * stride + p % w->g * w->n;
    for (size_t i = 0; i < w->m; i++)
        for (size_t j = 0; j < w->n; j++) flow[i * stride + j] = 0;
    for (int place = 1; place < t->rows + t->columns; place++) {
        const int up = t->parent[place], row = place < up ? place : up, column = (place < up ? up : place) - t->rows;
        flow[(size_t)row * stride + (size_t)column] = (real)((double)t->flow[place] * unit);
    }
}

static void write_answer(const struct jobs *w, size_t p, const struct transport *t, double unit)
{
    double value = 0;
    for (int place = 1; place < t->rows + t->columns; place++)
        value += (double)t->flow[place] * transport_cost(t, place, t->parent[place]);
    reals(w->a->value)[p] = (real)(value * unit);
    if (w->a->flow) write_flow(w, p, t, unit);
    for (size_t i = 0; w->a->supply_price && i < w->m; i++) reals(w->a->supply_price)[p * w->m + i] = (real)t->price[i];
    for (size_t j = 0; w->a->demand_price && j < w->n; j++)
        reals(w->a->demand_price)[p * w->n + j] = (real)t->price[w->m + j];
}

static status transport_piece(void *context, size_t piece, size_t worker)
{
    const struct jobs *w = context;
    const struct range r = piece_range(w->b * w->g, w->grain, piece);
    status st = OK;
    void *memory;
    TRY(cpu_scratch(w->cpu, worker, w->bytes, &memory));
    for (size_t p = r.from; p < r.to; p++) {
        struct transport t;
        double total;
        TRY(read_problem(w, p, memory, &t, &total));
        if (!transport_solve(&t)) return refuse(p);
        write_answer(w, p, &t, total / (double)TRANSPORT_WHOLE);
    }
done:
    return st;
}

status R(prim_transport)(struct device *d, const struct transport_args *a)
{
    const size_t *dim = a->cost->dim;
    struct jobs w = {cpu_of(d), a, dim[0], dim[1], dim[2], dim[3], 0, 0};
    w.bytes = transport_bytes((int)w.m, (int)w.n);
    w.grain = size_max(1, GRAIN / 16 / size_max(1, w.m * w.n));
    const status st = cpu_reserve(w.cpu, w.bytes);
    return st == OK ? pool_run(w.cpu->threads, pieces_of(w.b * w.g, w.grain), transport_piece, &w) : st;
}
