/* prims_transport.c - optimal transport: every answer is proved best by its prices, small ones are worked out by hand,
 * and amounts that are all equal do not make it run in circles. */
#include "tests/cpu/prims_rig.h"

struct answer {
    tensor cost, supply, demand, value, flow, u, v;
    size_t b, m, g, n;
};

static struct answer solve(struct rig *r, tensor cost, tensor supply, tensor demand)
{
    struct answer a = {.cost = cost, .supply = supply, .demand = demand};
    const size_t *dim = cost.dim;
    a.b = dim[0], a.m = dim[1], a.g = dim[2], a.n = dim[3];
    a.value = rig_blank(r, DIMS(a.b, a.g));
    a.flow = rig_blank(r, DIMS(a.b, a.m, a.g, a.n));
    a.u = rig_blank(r, DIMS(a.b, a.g, a.m));
    a.v = rig_blank(r, DIMS(a.b, a.g, a.n));
    const struct transport_args args = {&a.cost, &a.supply, &a.demand, &a.value, &a.flow, &a.u, &a.v};
    EXPECT_OK(PRIM(r, transport, &args));
    return a;
}

/* Flows are not negative and sum to the weights; no arc is cheaper than its prices, and their sum is the value. */
static void expect_best(struct rig *r, const struct answer *a)
{
    const double *cost = rig_numbers(r, &a->cost), *flow = rig_numbers(r, &a->flow), *value = rig_numbers(r, &a->value);
    const double *supply = rig_numbers(r, &a->supply), *demand = rig_numbers(r, &a->demand);
    const double *u = rig_numbers(r, &a->u), *v = rig_numbers(r, &a->v), near = 8 * r->epsilon + 1e-12;
    for (size_t p = 0; p < a->b * a->g; p++) {
        double total = 0, wanted = 0, dual = 0, primal = 0, off = 0, cheapest = 0, least = 0;
        for (size_t i = 0; i < a->m; i++) total += supply[p * a->m + i];
        for (size_t j = 0; j < a->n; j++) wanted += demand[p * a->n + j];
        for (size_t i = 0; i < a->m; i++) {
            double sum = 0;
            for (size_t j = 0; j < a->n; j++) {
                const size_t e = ((p / a->g * a->m + i) * a->g + p % a->g) * a->n + j;
                sum += flow[e];
                primal += flow[e] * cost[e];
                least = fmin(least, flow[e]);
                cheapest = fmin(cheapest, cost[e] - u[p * a->m + i] - v[p * a->n + j]);
            }
            off = fmax(off, fabs(sum - supply[p * a->m + i]));
            dual += supply[p * a->m + i] * u[p * a->m + i];
        }
        for (size_t j = 0; j < a->n; j++) {
            double sum = 0;
            for (size_t i = 0; i < a->m; i++) sum += flow[((p / a->g * a->m + i) * a->g + p % a->g) * a->n + j];
            off = fmax(off, fabs(sum - demand[p * a->n + j] * total / wanted));
            dual += demand[p * a->n + j] * total / wanted * v[p * a->n + j];
        }
        const bool fits = least >= 0 && off <= near * total && cheapest >= -near * 4 &&
                          fabs(primal - value[p]) <= near * total && fabs(dual - value[p]) <= near * 4 * total;
        if (!fits)
            test_failed(
                __FILE__, __LINE__,
                "problem %zu of %zux%zu: least flow %g, sums off by %g, an arc cheaper by %g, value %.12g, flow costs "
                "%.12g, prices say %.12g",
                p, a->m, a->n, least, off, cheapest, value[p], primal, dual);
    }
}

static void check_random(struct rig *r)
{
    static const size_t sizes[][4] = {{1, 1, 1, 1},   {3, 1, 2, 5},   {2, 6, 1, 1},   {40, 5, 2, 4},   {5, 9, 3, 9},
                                      {9, 25, 5, 25}, {2, 36, 1, 21}, {1, 60, 2, 64}, {1, 130, 1, 129}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t b = sizes[s][0], m = sizes[s][1], g = sizes[s][2], n = sizes[s][3];
        const struct answer a = solve(r, rig_random(r, -1, 1, DIMS(b, m, g, n)), rig_random(r, 0, 1, DIMS(b, g, m)),
                                      rig_random(r, 0, 1, DIMS(b, g, n)));
        expect_best(r, &a);
        EXPECT_TENSOR(r, a.value, rig_numbers(r, &a.value), 0); /* the same with any number of threads */
        EXPECT_TENSOR(r, a.flow, rig_numbers(r, &a.flow), 0);
    }
}
TEST(transport_is_proved_best_by_its_prices) { rig_each(check_random); }

/* Costs that are small whole numbers, weights all equal: nearly every arc is a tie, nearly every flow is empty. */
static void check_ties(struct rig *r)
{
    enum { N = 30 };
    double cost[N * N];
    for (size_t kind = 0; kind < 4; kind++) {
        for (size_t i = 0; i < N * N; i++) cost[i] = kind ? (double)random_below(&r->random, kind + 1) : 0;
        const struct answer a = solve(r, rig_given(r, cost, DIMS(1, N, 1, N)), rig_filled(r, 1, DIMS(1, 1, N)),
                                      rig_filled(r, 1, DIMS(1, 1, N)));
        expect_best(r, &a);
    }
}
TEST(transport_ends_where_everything_is_equal) { rig_each(check_ties); }

/* 3 and 1 to 2 and 2: one unit must cross. Twice the demand is the same problem. A weight of 0 carries nothing. */
static void check_by_hand(struct rig *r)
{
    const tensor cost = rig_given(r, NUMBERS(1, 4, 2, 3), DIMS(1, 2, 1, 2));
    struct answer a = solve(r, cost, rig_given(r, NUMBERS(3, 1), DIMS(1, 1, 2)),
                            rig_given(r, NUMBERS(4, 4), DIMS(1, 1, 2)));
    EXPECT_TENSOR(r, a.value, NUMBERS(2 * 1 + 1 * 4 + 1 * 3), 4);
    EXPECT_TENSOR(r, a.flow, NUMBERS(2, 1, 0, 1), 4);
    a = solve(r, cost, rig_given(r, NUMBERS(2, 0), DIMS(1, 1, 2)), rig_given(r, NUMBERS(1, 1), DIMS(1, 1, 2)));
    EXPECT_TENSOR(r, a.flow, NUMBERS(1, 1, 0, 0), 16);
}
TEST(transport_gives_the_worked_example) { rig_each(check_by_hand); }

static status solve_bad(struct rig *r, double cost, double supply, double demand)
{
    tensor c = rig_given(r, NUMBERS(1, cost, 2, 3), DIMS(1, 2, 1, 2)),
           s = rig_given(r, NUMBERS(1, supply), DIMS(1, 1, 2));
    tensor d = rig_given(r, NUMBERS(demand, 0), DIMS(1, 1, 2)), value = rig_blank(r, DIMS(1, 1));
    return PRIM(r, transport, &(struct transport_args){.cost = &c, .supply = &s, .demand = &d, .value = &value});
}

static void check_bad(struct rig *r)
{
    EXPECT_OK(solve_bad(r, 1, 1, 1));
    EXPECT_STATUS(solve_bad(r, NAN, 1, 1), ST_NUMERIC);
    EXPECT_STATUS(solve_bad(r, INFINITY, 1, 1), ST_NUMERIC);
    EXPECT_STATUS(solve_bad(r, 1, NAN, 1), ST_NUMERIC);
    EXPECT_STATUS(solve_bad(r, 1, -0.5, 1), ST_NUMERIC);
    EXPECT_STATUS(solve_bad(r, 1, 1, 0), ST_NUMERIC); /* nothing is wanted */
}
TEST(transport_refuses_what_is_not_a_problem) { rig_each(check_bad); }
