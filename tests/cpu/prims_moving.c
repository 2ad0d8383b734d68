/* prims_moving.c - permute, copy_slices and gather. */
#include "tests/cpu/prims_rig.h"

struct order {
    int rank;
    size_t dim[MAX_RANK];
    int order[MAX_RANK];
};

static const struct order orders[] = {
    {0, {0}, {0}},
    {1, {9}, {0}},
    {2, {131, 257}, {1, 0}},
    {2, {1, 57}, {1, 0}},
    {3, {75, 64, 25}, {0, 2, 1}},
    {3, {6, 5, 40}, {1, 0, 2}},
    {3, {6, 5, 7}, {2, 1, 0}},
    {4, {3, 5, 7, 9}, {0, 3, 1, 2}},
    {4, {3, 5, 7, 9}, {2, 0, 3, 1}},
    {4, {3, 5, 1, 9}, {3, 2, 1, 0}},
    {6, {2, 3, 2, 3, 2, 3}, {5, 0, 4, 1, 3, 2}},
    {3, {3, 0, 5}, {2, 1, 0}},
};

static void check_permute(struct rig *r)
{
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        const struct order *o = &orders[k];
        size_t dim[MAX_RANK], step[MAX_RANK + 1] = {0};
        step[o->rank] = 1;
        for (int i = o->rank - 1; i >= 0; i--) step[i] = step[i + 1] * o->dim[i];
        for (int i = 0; i < o->rank; i++) dim[i] = o->dim[o->order[i]];
        tensor x = rig_random(r, -1, 1, o->rank, o->dim), y = rig_blank(r, o->rank, dim);
        double *xn = rig_numbers(r, &x), *want = rig_zeros(r, tensor_count(&y));
        for (size_t e = 0; e < tensor_count(&y); e++) {
            size_t rest = e, from = 0;
            for (int i = o->rank - 1; i >= 0; i--) {
                from += rest % dim[i] * step[o->order[i] + 1];
                rest /= dim[i];
            }
            want[e] = xn[from];
        }
        EXPECT_OK(PRIM(r, permute, &x, o->order, &y));
        EXPECT_TENSOR(r, y, want, 0);
    }
}
TEST(permute_moves_every_element) { rig_each(check_permute); }

static void check_slices(struct rig *r)
{
    static const size_t shapes[][2] = {{1, 1}, {3, 5}, {700, 257}, {0, 4}, {4, 0}}; /* slices, length */
    for (size_t k = 0; k < 5; k++) {
        size_t slices = shapes[k][0], length = shapes[k][1], x_step = length + 2, y_step = length + 3;
        tensor x = rig_random(r, -1, 1, DIMS(slices * x_step + 1)), y = rig_random(r, -1, 1, DIMS(slices * y_step + 2));
        double *xn = rig_numbers(r, &x), *want = rig_numbers(r, &y);
        for (size_t s = 0; s < slices; s++)
            for (size_t i = 0; i < length; i++) want[2 + s * y_step + i] = xn[1 + s * x_step + i];
        EXPECT_OK(PRIM(r, copy_slices, &x, 1, x_step, slices, length, y_step, 2, false, &y));
        EXPECT_TENSOR(r, y, want, 0);
        for (size_t s = 0; s < slices; s++)
            for (size_t i = 0; i < length; i++) want[2 + s * y_step + i] += xn[1 + s * x_step + i];
        EXPECT_OK(PRIM(r, copy_slices, &x, 1, x_step, slices, length, y_step, 2, true, &y));
        EXPECT_TENSOR(r, y, want, 1);
    }
}
TEST(copy_slices_touches_slices_only) { rig_each(check_slices); }

static void check_gather(struct rig *r)
{
    static const struct axis axes[] = {{1, 4, 1}, {3, 6, 1}, {2, 5, 7}, {300, 9, 40}, {1, 3, 1000}};
    for (size_t k = 0; k < 5; k++) {
        struct axis a = axes[k];
        enum { PICKS = 6 };
        size_t dim[] = {a.outer, a.n, a.inner}, picked[] = {a.outer, PICKS, a.inner};
        tensor x = rig_random(r, -1, 1, 3, dim), y = rig_blank(r, 3, picked), dy = rig_random(r, -1, 1, 3, picked);
        tensor dx = rig_filled(r, 0.5, 3, dim), index = rig_ints(r, PICKS);
        int32_t *place = index.data;
        for (size_t j = 0; j < PICKS; j++) place[j] = (int32_t)random_below(&r->random, a.n); /* with repeats */
        place[1] = place[0];
        double *xn = rig_numbers(r, &x), *g = rig_numbers(r, &dy), *want = rig_zeros(r, tensor_count(&y)),
               *grad = rig_numbers(r, &dx);
        for (size_t e = 0; e < tensor_count(&y); e++) {
            size_t from = (e / a.inner / PICKS * a.n + (size_t)place[e / a.inner % PICKS]) * a.inner + e % a.inner;
            want[e] = xn[from];
            grad[from] += g[e];
        }
        EXPECT_OK(PRIM(r, gather, &x, &index, a, &y));
        EXPECT_TENSOR(r, y, want, 0);
        EXPECT_OK(PRIM(r, gather_grad, &index, &dy, a, &dx));
        EXPECT_TENSOR(r, dx, grad, 8);
    }
}
TEST(gather_picks_and_its_derivative_adds_repeats) { rig_each(check_gather); }
