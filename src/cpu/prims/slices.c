/* slices.c - equally spaced slices copied or added from one tensor to another: what concat and slice are made of. */
#include "cpu/prims/prim.h"
#include <string.h>

struct slices {
    const kernel_table *k;
    const real *x; /* at the first slice */
    real *y;
    size_t x_step, y_step, length, count;
    bool add;
};

static status slices_piece(void *context, size_t piece, size_t worker)
{
    const struct slices *w = context;
    struct range r = piece_range(w->count * w->length, GRAIN, piece);
    size_t skip = r.from % w->length, slice = r.from / w->length;
    (void)worker;
    for (size_t i = r.from; i < r.to; slice++) {
        size_t n = size_min(w->length - skip, r.to - i);
        const real *x = w->x + slice * w->x_step + skip;
        real *y = w->y + slice * w->y_step + skip;
        if (w->add) w->k->add(x, y, y, n);
        else memcpy(y, x, n * sizeof *y);
        i += n;
        skip = 0;
    }
    return OK;
}

status R(prim_copy_slices)(struct device *d, const tensor *x, size_t x_offset, size_t x_step, size_t slices,
                           size_t length, size_t y_step, size_t y_offset, bool add, tensor *y)
{
    struct slices w = {KERNELS(d), reals(x) + x_offset, reals(y) + y_offset, x_step, y_step, length, slices, add};
    return pool_run(cpu_of(d)->threads, pieces_of(slices * length, GRAIN), slices_piece, &w);
}
