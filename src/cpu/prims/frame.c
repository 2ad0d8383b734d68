/* frame.c - copying rows of a picture into a frame. */
#include "cpu/prims/frame.h"
#include <string.h>

/* The coordinates of the picture whose place in the frame lies in [0, size): from the first, up to but without `to`. */
static struct range inside(ptrdiff_t border, size_t step, size_t count, size_t size)
{
    const size_t from = border < 0 ? size_div_up((size_t)-border, step) : 0;
    const ptrdiff_t room = (ptrdiff_t)size - border;
    const size_t to = room <= 0 ? 0 : size_min(count, size_div_up((size_t)room, step));
    return (struct range){size_min(from, to), to};
}

/* Row y of a picture, y * step rows below the frame's top, between zeros. */
static void copy_row(const struct R(frame) *f, const real *picture, size_t y, real *out)
{
    const struct range x = inside(f->left, f->step, f->w, f->width);
    const real *row = picture + y * f->w * (f->planes ? 1 : f->c);
    const size_t pixel = f->c * sizeof *out;
    if (x.from == x.to) {
        memset(out, 0, f->width * pixel);
        return;
    }
    const size_t first = (size_t)((ptrdiff_t)(x.from * f->step) + f->left);
    memset(out, 0, first * pixel);
    if (f->step == 1) {
        const size_t last = first + (x.to - x.from);
        if (f->planes) f->planes->transpose(f->c, x.to - x.from, row + x.from, f->h * f->w, out + first * f->c, f->c);
        else memcpy(out + first * f->c, row + x.from * f->c, (x.to - x.from) * pixel);
        memset(out + last * f->c, 0, (f->width - last) * pixel);
        return;
    }
    memset(out + first * f->c, 0, (f->width - first) * pixel);
    for (size_t i = x.from; i < x.to; i++) memcpy(out + (first + (i - x.from) * f->step) * f->c, row + i * f->c, pixel);
}

void R(frame_copy)(const struct R(frame) *f, size_t picture, size_t from, size_t rows, real *out)
{
    const real *data = f->data + picture * f->h * f->w * f->c;
    for (size_t i = 0; i < rows; i++, out += f->width * f->c) {
        const ptrdiff_t y = (ptrdiff_t)(from + i) - f->top;
        const bool empty = y < 0 || (size_t)y % f->step || (size_t)y / f->step >= f->h;
        if (empty) memset(out, 0, f->width * f->c * sizeof *out);
        else copy_row(f, data, (size_t)y / f->step, out);
    }
}
