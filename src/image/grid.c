/* grid.c - PyramidGrid: where the overlapping cells lie, and each as a network's input. */
#include "base/size.h"
#include "image/transform.h"
#include <assert.h>

void grid_cell(size_t length, size_t n, double enlargement, size_t k, size_t *from, size_t *to)
{
    assert(n > 0 && k < n && enlargement > 0);
    const size_t raw = length / n;
    const size_t half = (size_t)((double)length / (double)n * enlargement) / 2; /* real division, then cut */
    const size_t centre = raw / 2 + k * raw;
    *from = centre > half ? centre - half : 0;
    *to = size_min(length, centre + half);
}

static status cell(const struct transform *t, const struct picture *p, size_t n, double enlargement, size_t k,
                   struct random *r, float *out)
{
    struct picture part = {0};
    size_t left, right, top, bottom;
    grid_cell(p->width, n, enlargement, k % n, &left, &right);
    grid_cell(p->height, n, enlargement, k / n, &top, &bottom);
    if (left >= right || top >= bottom)
        return fail(ST_SHAPE, "a picture of %zu x %zu pixels is too small for a grid of %zu x %zu cells", p->width,
                    p->height, n, n);
    status st = picture_crop(p, (int64_t)left, (int64_t)top, right - left, bottom - top, &part);
    if (st == OK) st = transform_apply(t, &part, r, out);
    picture_free(&part);
    return st;
}

status transform_cells(const struct transform *t, const struct picture *p, size_t grids, const size_t *sizes,
                       struct random *r, float *out)
{
    const size_t each = 3 * t->side * t->side;
    for (size_t g = 0; g < grids; g++) {
        const double enlargement = r ? 1 + 2 * random_unit(r) : 2;
        for (size_t k = 0; k < sizes[g] * sizes[g]; k++, out += each) {
            const status st = cell(t, p, sizes[g], enlargement, k, r, out);
            if (st != OK) return st;
        }
    }
    return OK;
}
