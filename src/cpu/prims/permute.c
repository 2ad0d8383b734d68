/* permute.c - axes in another order: y.dim[i] = x.dim[order[i]].
 *
 * Axes that stay neighbours are merged. If the last axis stays last, runs are copied; otherwise x's last axis and y's
 * last axis span planes, each of which is a transposition by kernel. */
#include "cpu/prims/prim.h"
#include <string.h>

enum { TILE = 64 }; /* columns of a plane that are transposed together */

struct permute {
    const kernel_table *k;
    const real *x;
    real *y;
    int rank; /* axes of y after merging, outermost first */
    size_t dim[MAX_RANK], x_step[MAX_RANK], y_step[MAX_RANK];
    int column;          /* the axis of y that is x's last; rank - 1 when runs are copied */
    size_t tiles, units; /* of a plane, and of all planes; a run is a plane of one tile */
    size_t grain;        /* units of a piece */
};

static struct permute permute_plan(struct device *d, const tensor *x, const int *order, const tensor *y)
{
    struct permute w = {.k = KERNELS(d), .x = reals(x), .y = reals(y), .rank = 0};
    for (int i = 0; i < x->rank; i++) {
        size_t n = x->dim[order[i]], step = tensor_span(x, order[i] + 1, x->rank);
        if (n == 1) continue;
        if (w.rank > 0 && w.x_step[w.rank - 1] == n * step) {
            w.dim[w.rank - 1] *= n;
            w.x_step[w.rank - 1] = step;
        } else {
            w.dim[w.rank] = n;
            w.x_step[w.rank++] = step;
        }
    }
    if (w.rank == 0) {
        w.dim[0] = w.x_step[0] = 1;
        w.rank = 1;
    }
    size_t step = 1;
    for (int i = w.rank - 1; i >= 0; i--) {
        w.y_step[i] = step;
        step *= w.dim[i];
        if (w.x_step[i] == 1) w.column = i;
    }
    size_t last = w.dim[w.rank - 1], columns = w.column == w.rank - 1 ? 1 : w.dim[w.column];
    w.tiles = size_div_up(columns, TILE);
    w.units = tensor_count(x) / (last * columns) * w.tiles;
    w.grain = size_max(1, 2 * GRAIN / (last * size_min(TILE, columns)));
    return w;
}

/* Offsets of the plane (or run) number i: all axes but the last and the column axis count. */
static void plane_at(const struct permute *w, size_t i, size_t *x, size_t *y)
{
    *x = *y = 0;
    for (int j = w->rank - 2; j >= 0; j--) {
        if (j == w->column) continue;
        size_t index = i % w->dim[j];
        *x += index * w->x_step[j];
        *y += index * w->y_step[j];
        i /= w->dim[j];
    }
}

static status permute_piece(void *context, size_t piece, size_t worker)
{
    const struct permute *w = context;
    size_t last = w->dim[w->rank - 1], columns = w->dim[w->column];
    struct range r = piece_range(w->units, w->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        size_t x, y, from = i % w->tiles * TILE;
        plane_at(w, i / w->tiles, &x, &y);
        if (w->column == w->rank - 1) {
            memcpy(w->y + y, w->x + x, last * sizeof(real));
        } else {
            size_t step = w->y_step[w->column];
            w->k->transpose(last, size_min(TILE, columns - from), w->x + x + from, w->x_step[w->rank - 1],
                            w->y + y + from * step, step);
        }
    }
    return OK;
}

status R(prim_permute)(struct device *d, const tensor *x, const int *order, tensor *y)
{
    if (tensor_count(x) == 0) return OK;
    struct permute w = permute_plan(d, x, order, y);
    return pool_run(cpu_of(d)->threads, pieces_of(w.units, w.grain), permute_piece, &w);
}
