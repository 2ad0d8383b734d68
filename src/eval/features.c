/* features.c - a set's pictures through the network: a batch is decoded on all threads, then encoded on all threads.
 *
 * What cannot be read leaves no row behind, so that classes stay ranges of rows and a sampler never meets it. */
#include "eval/features.h"
#include "base/size.h"
#include "data/dataset.h"
#include "data/hash.h"
#include "data/stock.h"
#include "heads/mirror.h"
#include "image/transform.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_PIXELS = 32 * 84 * 84 };  /* of a batch, unless one picture has more */
enum { STOCK_PIXELS = 256 * 84 * 84 }; /* the same where pictures are on the device already */

struct batch {
    const struct dataset *set;
    const struct features_options *o;
    const struct extractor *extractor;
    size_t from, end;           /* the pictures that are ours */
    size_t first, most, each;   /* its first picture; room for pictures; numbers of one */
    float *pixels;              /* owned, [most, cells, 3, side, side] */
    struct error *errors;       /* owned, [most]; st OK: was read */
    struct picture_item *items; /* owned, [most]; with a stock instead of both */
};

/* A picture as the network sees it: whole, or all its cells. */
static status transform(const struct batch *b, const struct picture *p, float *out)
{
    const struct extractor *e = b->extractor;
    return e->kind == EXTRACT_GRID ? transform_cells(b->o->transform, p, e->count, e->sizes, NULL, out)
                                   : transform_apply(b->o->transform, p, NULL, out);
}

static status load(const struct batch *b, size_t i)
{
    struct picture p = {0};
    const size_t picture = b->first + i;
    status st = OK;
    TRY(dataset_picture(b->set, picture, &p));
    if (b->o->hashes) {
        struct picture_hash *h = &b->o->hashes[picture];
        h->width = (uint32_t)p.width;
        h->height = (uint32_t)p.height;
        picture_hash(&p, h->hex);
    }
    st = transform(b, &p, b->pixels + i * b->each);
    if (st != OK) {
        struct error cause;
        error_take(st, &cause);
        st = fail(st, "'%.200s': %.250s", dataset_name(b->set, picture), cause.text);
    }
done:
    picture_free(&p);
    return st;
}

static status load_piece(void *context, size_t piece, size_t worker)
{
    const struct batch *b = context;
    const status st = load(b, piece);
    (void)worker;
    b->errors[piece].st = OK;
    if (st != OK) error_take(st, &b->errors[piece]);
    return OK;
}

/* Decodes `count` pictures; those that were read move to the front. *rows: how many they are. */
static status load_batch(const struct batch *b, size_t count, struct features *out, size_t *rows)
{
    status st = OK;
    *rows = 0;
    if (b->o->threads) TRY(pool_run(b->o->threads, count, load_piece, (void *)(uintptr_t)b));
    else
        for (size_t i = 0; i < count; i++) TRY(load_piece((void *)(uintptr_t)b, i, 0));
    for (size_t i = 0; i < count; i++) {
        if (b->errors[i].st == OK) {
            if (*rows < i) memmove(b->pixels + *rows * b->each, b->pixels + i * b->each, b->each * sizeof(float));
            out->size[dataset_class_of(b->set, b->first + i)]++;
            ++*rows;
            continue;
        }
        if (!b->o->skip_unreadable || b->errors[i].st == ST_MEMORY) TRY(error_put(&b->errors[i]));
        log_line(b->o->log, LOG_WARN, "%s; the picture is left out", b->errors[i].text);
        out->unreadable++;
    }
done:
    return st;
}

/* The same from the stock, which has warned already. */
static status plan_batch(const struct batch *b, size_t count, struct features *out, size_t *rows)
{
    status st = OK;
    *rows = 0;
    for (size_t i = 0; i < count; i++) {
        const struct load_item item = {.picture = (uint32_t)(b->first + i)};
        if (!stock_has(b->o->stock, item.picture)) {
            out->unreadable++;
            continue;
        }
        TRY(stock_plan(b->o->stock, &item, &b->items[*rows]));
        out->size[dataset_class_of(b->set, item.picture)]++;
        ++*rows;
    }
done:
    return st;
}

/* The batch on the device, [count, 3, side, side]. */
static var *show(tape *t, const struct batch *b, size_t count)
{
    const size_t side = b->o->transform->side, dim[] = {count * extractor_cells(b->extractor), 3, side, side};
    const size_t bytes = count * sizeof *b->items;
    struct device *d = tape_device(t);
    tensor items, x;
    status st = OK;
    if (!b->o->stock) return tape_upload(t, DT_F32, 4, dim, b->pixels);
    TRY(tape_tensor(t, DT_I32, 1, (size_t[]){bytes / sizeof(int32_t)}, &items));
    TRY(tape_tensor(t, DT_F32, 4, dim, &x));
    TRY(d->upload(d, items.data, b->items, bytes));
    TRY(stock_show(b->o->stock, items.data, false, &x));
done:
    return st == OK ? tape_constant(t, &x) : tape_fail(t, st);
}

/* Memory for all rows, once the first map has shown what a row is. */
static status take_rows(struct features *f, const tensor *map, size_t rows, bool mirror)
{
    const size_t dim[] = {rows, map->dim[1], map->dim[2] * map->dim[3]};
    status st = tensor_make(&f->data, DT_F32, 3, dim, NULL);
    f->height = map->dim[2];
    f->width = map->dim[3];
    if (st == OK) st = f->device->alloc(f->device, tensor_bytes(&f->data), &f->data.data);
    if (st != OK || !mirror) return st;
    f->mirrored = f->data;
    f->mirrored.data = NULL;
    return f->device->alloc(f->device, tensor_bytes(&f->mirrored), &f->mirrored.data);
}

static status encode(const struct model *m, tape *t, const struct batch *b, size_t count, size_t row,
                     struct features *f)
{
    status st = OK;
    struct net_pass pass = {.mode = NET_EVAL};
    tape_reset(t, TAPE_INFERENCE);
    var *x = show(t, b, count);
    var *y = extract(t, &m->extractor, m->net->forward(t, m->net_settings, m->params, &pass, x));
    if (b->o->pool) y = op_adaptive_pool(t, y, 1, 1);
    TRY(tape_status(t));
    if (!f->data.data) TRY(take_rows(f, &y->value, dataset_count(b->set), b->o->mirror));
    const size_t bytes = tensor_bytes(&y->value);
    TRY(f->device->copy(f->device, (char *)f->data.data + row * (bytes / count), y->value.data, bytes));
    if (b->o->mirror) {
        const var *z = extract(t, &m->extractor,
                               m->net->forward(t, m->net_settings, m->params, &pass, mirror_images(t, x)));
        TRY(tape_status(t));
        TRY(f->device->copy(f->device, (char *)f->mirrored.data + row * (bytes / count), z->value.data, bytes));
    }
    if (!b->o->stock) TRY(f->device->sync(f->device)); /* the pixels may be overwritten now */
done:
    return st;
}

static status batch_open(struct batch *b)
{
    const size_t side = b->o->transform->side;
    size_t pixels, bytes = 0;
    if (!side || !size_mul(side, side, &pixels) || !size_mul(pixels, extractor_cells(b->extractor), &pixels) ||
        !size_mul(pixels, 3 * sizeof(float), &b->each))
        return fail(ST_USAGE, "pictures of side %zu cannot be encoded", side);
    b->most = b->o->batch ? b->o->batch : size_max(1, (b->o->stock ? STOCK_PIXELS : BATCH_PIXELS) / pixels);
    if (b->o->stock) {
        b->items = calloc(b->most, sizeof *b->items);
        return b->items ? OK : fail(ST_MEMORY, "no memory for a batch of %zu pictures", b->most);
    }
    if (size_mul(b->most, b->each, &bytes)) b->pixels = malloc(bytes);
    b->each /= sizeof(float);
    b->errors = calloc(b->most, sizeof *b->errors);
    if (!b->pixels || !b->errors) return fail(ST_MEMORY, "no memory for a batch of %zu pictures", b->most);
    return OK;
}

/* *row: how many rows our pictures have. */
static status encode_own(const struct model *m, tape *t, struct batch *b, struct features *f, size_t *row)
{
    status st = OK;
    const struct features_options *o = b->o;
    const size_t count = b->end - b->from;
    size_t rows;
    for (b->first = b->from; b->first < b->end; b->first += b->most) {
        if (o->progress && !o->progress(o->context, b->first - b->from, count))
            TRY(fail(ST_USAGE, "stopped after %zu of %zu pictures", b->first - b->from, count));
        TRY((o->stock ? plan_batch : load_batch)(b, size_min(b->most, b->end - b->first), f, &rows));
        if (rows) TRY(encode(m, t, b, rows, *row, f));
        *row += rows;
    }
    if (o->progress) (void)o->progress(o->context, count, count);
done:
    return st;
}

static status encode_all(const struct model *m, tape *t, struct batch *b, struct features *f)
{
    status st = OK;
    size_t row = 0;
    TRY(encode_own(m, t, b, f, &row));
    if (b->o->peers && b->o->peers->size > 1) TRY(features_join(f, b->o, dataset_count(b->set), &row));
    if (!row) TRY(fail(ST_FORMAT, "none of the %zu pictures can be read", dataset_count(b->set)));
    f->data.dim[0] = f->mirrored.dim[0] = row;
    for (size_t c = 1; c < f->classes; c++) f->first[c] = f->first[c - 1] + f->size[c - 1];
done:
    return st;
}

status features_encode(const struct model *m, const struct dataset *d, const struct features_options *o,
                       struct features *out)
{
    status st = OK;
    struct features f = {.device = params_device(m->params), .classes = dataset_class_count(d)};
    const size_t rank = o->peers ? (size_t)o->peers->rank : 0, size = o->peers ? (size_t)o->peers->size : 1;
    struct batch b = {.set = d,
                      .o = o,
                      .extractor = &m->extractor,
                      .from = peers_first(dataset_count(d), rank, size),
                      .end = peers_first(dataset_count(d), rank + 1, size)};
    tape *t = NULL;
    assert(!o->stock || (stock_data(o->stock) == d && !o->hashes && extractor_cells(&m->extractor) == 1));
    f.first = calloc(f.classes, sizeof *f.first);
    f.size = calloc(f.classes, sizeof *f.size);
    if (!f.first || !f.size) TRY(fail(ST_MEMORY, "no memory for %zu classes", f.classes));
    TRY(tape_new(f.device, TAPE_INFERENCE, &t));
    TRY(batch_open(&b));
    if ((b.end - b.from) / b.most > PARAMS_FREEZE_PAYS) params_freeze(m->params);
    TRY(encode_all(m, t, &b, &f));
    *out = f;
    f = (struct features){0};
done:
    params_thaw(m->params);
    free(b.pixels);
    free(b.errors);
    free(b.items);
    tape_free(t);
    features_free(&f);
    return st;
}

void features_free(struct features *f)
{
    if (f->data.data) f->device->release(f->device, f->data.data);
    if (f->mirrored.data) f->device->release(f->device, f->mirrored.data);
    free(f->first);
    free(f->size);
    *f = (struct features){0};
}
