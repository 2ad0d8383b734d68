/* class_mean.c - the mean of the rows of each class, and its derivative. */
#include "cpu/prims/prim.h"
#include <string.h>

enum { WIDTH = 1024 }; /* columns of a unit */

struct class_mean {
    const kernel_table *k;
    const real *from; /* x [n, m], or dy [way, m] */
    const int *labels;
    const int *count; /* rows of each class; only for the gradient */
    real *to;
    size_t n, m, way;
    size_t grain; /* classes times blocks of columns, or rows, in a piece */
};

/* Rows are added in their order. A class without rows, which the op refuses, would get zeros. */
static status class_mean_piece(void *context, size_t piece, size_t worker)
{
    const struct class_mean *w = context;
    size_t blocks = size_div_up(w->m, WIDTH);
    struct range r = piece_range(w->way * blocks, w->grain, piece);
    (void)worker;
    for (size_t u = r.from; u < r.to; u++) {
        size_t class = u / blocks, from = u % blocks * WIDTH, width = size_min(WIDTH, w->m - from), count = 0;
        real *y = w->to + class * w->m + from;
        for (size_t i = 0; i < w->n; i++) {
            const real *x = w->from + i * w->m + from;
            if ((size_t)w->labels[i] != class) continue;
            if (count++) w->k->add(y, x, y, width);
            else memcpy(y, x, width * sizeof *y);
        }
        if (!count) memset(y, 0, width * sizeof *y);
        if (count > 1) w->k->affine(y, 1 / (real)count, (real)-0.0, y, width);
    }
    return OK;
}

static status class_mean_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct class_mean *w = context;
    struct range r = piece_range(w->n, w->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        size_t class = (size_t)w->labels[i];
        w->k->axpy(1 / (real)w->count[class], w->from + class * w->m, w->to + i * w->m, w->m);
    }
    return OK;
}

status R(prim_class_mean)(struct device *d, const tensor *x, const tensor *labels, tensor *y)
{
    size_t n = tensor_count(labels), way = y->dim[0], m = tensor_span(y, 1, y->rank);
    struct class_mean w = {KERNELS(d), reals(x), ints(labels), NULL, reals(y), n, m, way, 0};
    size_t units = way * size_div_up(m, WIDTH);
    w.grain = size_max(1, 4 * GRAIN * units / size_max(1, n * m));
    return pool_run(cpu_of(d)->threads, pieces_of(units, w.grain), class_mean_piece, &w);
}

status R(prim_class_mean_grad)(struct device *d, const tensor *labels, const tensor *dy, tensor *dx)
{
    size_t n = tensor_count(labels), way = dy->dim[0], m = tensor_span(dy, 1, dy->rank);
    void *memory;
    status st = cpu_shared(cpu_of(d), way * sizeof(int), &memory);
    if (st != OK) return st;
    int *count = memory;
    memset(count, 0, way * sizeof *count);
    for (size_t i = 0; i < n; i++) count[ints(labels)[i]]++;
    struct class_mean w = {KERNELS(d), reals(dy), ints(labels), count, reals(dx), n, m, way, 0};
    w.grain = size_max(1, 4 * GRAIN / size_max(1, m));
    return pool_run(cpu_of(d)->threads, pieces_of(n, w.grain), class_mean_grad_piece, &w);
}
