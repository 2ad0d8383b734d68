/* showing.c - where the pictures of a step come from: arrays of the host, or a stock on the device. */
#include "train/parts.h"
#include "train/trainer.h"
#include <stdlib.h>

status trainer_take_stock(struct trainer *t, const struct stock *s)
{
    struct picture_item *items = calloc(course_most(t->course), sizeof *items);
    if (!items) return fail(ST_MEMORY, "no memory for steps of %zu pictures", course_most(t->course));
    free(t->items);
    t->items = items;
    t->stock = s;
    return OK;
}

/* Draws on the host with the streams that a loader uses; the items are the tape's until its reset. */
status trainer_plan(struct trainer *t, const struct lesson *l, const struct picture_item **out)
{
    status st = OK;
    const size_t n = l->support + l->queries, bytes = n * sizeof *t->items;
    struct device *d = tape_device(t->tape);
    const struct random streams = course_streams((uint64_t)t->settings->train.seed, STREAM_PICTURE, l->epoch, l->index);
    tensor x;
    for (size_t i = 0; i < n; i++) {
        const struct load_item item = {l->picture[i], random_branch(&streams, lesson_place(l, i))};
        TRY(stock_plan(t->stock, &item, &t->items[i]));
    }
    TRY(tape_tensor(t->tape, DT_I32, 1, (size_t[]){bytes / sizeof(int32_t)}, &x));
    TRY(d->upload(d, x.data, t->items, bytes));
    *out = x.data;
done:
    return st;
}

static var *from_stock(struct trainer *t, const struct pass *p, size_t first, const size_t dim[4])
{
    tensor x;
    status st = tape_tensor(t->tape, DT_F32, 4, dim, &x);
    if (st == OK) st = stock_show(t->stock, p->items + first, false, &x);
    return st == OK ? tape_constant(t->tape, &x) : tape_fail(t->tape, st);
}

var *trainer_pictures(struct trainer *t, const struct pass *p, size_t first, size_t count)
{
    const size_t side = t->transform.side, cells = extractor_cells(&t->model.extractor);
    const size_t dim[4] = {count * cells, 3, side, side};
    tensor x;
    if (tape_status(t->tape) != OK) return NULL;
    if (p->items) return from_stock(t, p, first, dim);
    const float *from = p->pictures + first * cells * 3 * side * side;
    if (!tape_device(t->tape)->on_host) return tape_upload(t->tape, DT_F32, 4, dim, from);
    const status st = tensor_make(&x, DT_F32, 4, dim, (void *)(uintptr_t)from); /* a constant is only read */
    return st == OK ? tape_constant(t->tape, &x) : tape_fail(t->tape, st);
}
