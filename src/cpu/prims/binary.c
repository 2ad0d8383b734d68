/* binary.c - y = a op b with numpy broadcasting.
 *
 * The shapes are merged into runs (broadcast.h); a stretched side of a run is copied out to a short block, so that one
 * kernel per operation serves all cases. */
#include "cpu/prims/broadcast.h"
#include "cpu/prims/prim.h"

enum { BLOCK = 512 };

typedef void (*binary_kernel)(const real *a, const real *b, real *y, size_t n);

struct binary {
    binary_kernel kernel;
    struct broadcast shape;
    const real *a, *b;
    real *y;
    size_t count;
};

static void repeat(real value, real *out, size_t n)
{
    for (size_t i = 0; i < n; i++) out[i] = value;
}

/* One run, or a part of one. At most one side is stretched: y's size is the larger of the two. */
static void binary_run(const struct binary *w, const real *a, const real *b, real *y, size_t n)
{
    size_t a_step = w->shape.a[0], b_step = w->shape.b[0];
    real block[BLOCK];
    if (a_step && b_step) {
        w->kernel(a, b, y, n);
        return;
    }
    repeat(a_step ? *b : *a, block, size_min(n, BLOCK));
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t length = size_min(BLOCK, n - i);
        w->kernel(a_step ? a + i : block, b_step ? b + i : block, y + i, length);
    }
}

static status binary_piece(void *context, size_t piece, size_t worker)
{
    const struct binary *w = context;
    struct range r = piece_range(w->count, 4 * GRAIN, piece);
    size_t n = w->shape.dim[0], skip = r.from % n;
    struct broadcast_at at = broadcast_seek(&w->shape, r.from / n);
    (void)worker;
    for (size_t i = r.from; i < r.to;) {
        size_t length = size_min(n - skip, r.to - i);
        binary_run(w, w->a + at.a + skip * w->shape.a[0], w->b + at.b + skip * w->shape.b[0], w->y + i, length);
        i += length;
        skip = 0;
        broadcast_next(&w->shape, &at);
    }
    return OK;
}

static binary_kernel binary_choose(const kernel_table *k, enum binary_kind kind)
{
    switch (kind) {
    case BINARY_ADD: return k->add;
    case BINARY_SUB: return k->sub;
    case BINARY_MUL: return k->mul;
    case BINARY_DIV: break;
    }
    return k->div;
}

status R(prim_binary)(struct device *d, enum binary_kind kind, const tensor *a, const tensor *b, tensor *y)
{
    struct binary w = {
        binary_choose(KERNELS(d), kind), broadcast_make(a, b, y), reals(a), reals(b), reals(y), tensor_count(y)};
    return pool_run(cpu_of(d)->threads, pieces_of(w.count, 4 * GRAIN), binary_piece, &w);
}
