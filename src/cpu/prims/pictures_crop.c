/* pictures_crop.c - squares cut from stored pictures, mirrored beyond their edges, as a network is shown them. */
#include "cpu/prims/pictures.h"

struct crops {
    const struct pictures_args *args;
    const struct picture_item *items;
    real *to;
    size_t side;
};

/* Place i of an axis of n places; beyond its ends it runs back: ... 2 1 | 0 1 ... n-1 | n-2 ... */
static size_t mirrored(int64_t i, size_t n)
{
    const int64_t last = (int64_t)n - 1;
    return (size_t)(i < 0 ? -i : i > last ? 2 * last - i : i);
}

static status crop_piece(void *context, size_t piece, size_t worker)
{
    const struct crops *w = context;
    const struct picture_item *p = &w->items[piece];
    const size_t side = w->side;
    size_t pixel, channel;
    real *to = w->to + piece * 3 * side * side;
    (void)worker;
    picture_steps(w->args, side, &pixel, &channel);
    for (size_t i = 0; i < side * side; i++) {
        const size_t x = p->flip ? side - 1 - i % side : i % side;
        const size_t from_x = mirrored((int64_t)x + p->left, p->width);
        const size_t from_y = mirrored((int64_t)(i / side) + p->top, p->height);
        const uint8_t *from = p->rgb + (from_y * p->width + from_x) * 3;
        for (size_t c = 0; c < 3; c++) to[i * pixel + c * channel] = picture_value(w->args, c, from[c]);
    }
    return OK;
}

status R(prim_pictures_crop)(struct device *d, const struct pictures_args *a, tensor *y)
{
    struct crops w = {a, a->items, reals(y), picture_side(a, y)};
    return pool_run(cpu_of(d)->threads, y->dim[0], crop_piece, &w);
}
