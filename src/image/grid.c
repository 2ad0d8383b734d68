/* grid.c - where the overlapping cells of PyramidGrid lie. */
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
