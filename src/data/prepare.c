/* prepare.c - decode, keep, transform; and who stands in for a picture that cannot be read. */
#include "data/prepare.h"
#include "base/size.h"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What is known of a picture. Nobody waits: two threads may decode the same one, and the first to be done keeps it. */
enum { UNKNOWN, BEING_KEPT, KEPT, UNREADABLE };

struct prepare {
    const struct dataset *data;
    struct transform transform;
    size_t grids;             /* 0: pictures are taken whole */
    const size_t *grid_sizes; /* [grids] */
    bool random, strict;
    const struct log_sink *log;
    pthread_mutex_t talking;
    uint8_t *kept;           /* [pictures, each], resized; NULL: nothing is kept */
    size_t each;             /* bytes of a kept picture */
    _Atomic uint8_t state[]; /* [pictures] */
};

/* Memory for all pictures, when they fit and are resized alike, which cells are not; it is touched only as they come. */
static void reserve(struct prepare *p, size_t limit_bytes)
{
    const struct transform *t = &p->transform;
    size_t side, bytes;
    if (p->grids || t->kind != TRANSFORM_RESIZE_CROP || !size_add(t->side, t->pad, &side)) return;
    if (!size_mul(side, side, &bytes) || !size_mul(bytes, 3, &p->each)) return;
    if (!size_mul(p->each, dataset_count(p->data), &bytes) || bytes > limit_bytes) return;
    p->kept = malloc(bytes); /* without it everything still works */
}

size_t prepare_floats(const struct loader_options *o)
{
    size_t inputs = o->grids ? 0 : 1;
    for (size_t g = 0; g < o->grids; g++) inputs += o->grid_sizes[g] * o->grid_sizes[g];
    return inputs * 3 * o->transform->side * o->transform->side;
}

status prepare_new(const struct dataset *d, const struct loader_options *o, struct prepare **out)
{
    const size_t n = dataset_count(d);
    struct prepare *p = calloc(1, sizeof *p + n * sizeof p->state[0]);
    if (!p) return fail(ST_MEMORY, "no memory to load %zu pictures", n);
    p->data = d;
    p->transform = *o->transform;
    p->grids = o->grids;
    p->grid_sizes = o->grid_sizes;
    p->random = o->random;
    p->strict = o->strict;
    p->log = o->log;
    pthread_mutex_init(&p->talking, NULL);
    reserve(p, o->cache_bytes);
    *out = p;
    return OK;
}

void prepare_free(struct prepare *p)
{
    if (!p) return;
    pthread_mutex_destroy(&p->talking);
    free(p->kept);
    free(p);
}

/* Resizes, and keeps the result for the next time unless another thread is doing so. */
static status resize_and_keep(struct prepare *p, size_t picture, const struct picture *from, struct random *r,
                              float *out)
{
    const size_t side = p->transform.side + p->transform.pad;
    struct picture large = {0};
    const status st = picture_resize(from, side, side, &large);
    if (st != OK) return st;
    transform_resized(&p->transform, large.rgb, r, out);
    uint8_t unknown = UNKNOWN;
    if (atomic_compare_exchange_strong(&p->state[picture], &unknown, BEING_KEPT)) {
        memcpy(p->kept + picture * p->each, large.rgb, p->each);
        atomic_store(&p->state[picture], KEPT);
    }
    picture_free(&large);
    return OK;
}

/* `random` is a copy: a stand-in draws the same numbers. */
static status prepare_one(struct prepare *p, size_t picture, struct random random, float *out)
{
    struct random *r = p->random ? &random : NULL;
    struct picture from = {0};
    if (atomic_load(&p->state[picture]) == KEPT) {
        transform_resized(&p->transform, p->kept + picture * p->each, r, out);
        return OK;
    }
    status st = dataset_picture(p->data, picture, &from);
    if (st != OK) return st;
    if (p->grids) st = transform_cells(&p->transform, &from, p->grids, p->grid_sizes, r, out);
    else st = p->kept ? resize_and_keep(p, picture, &from, r, out) : transform_apply(&p->transform, &from, r, out);
    if (st != OK && st != ST_MEMORY) st = fail(st, "'%s': %s", dataset_name(p->data, picture), error_text());
    picture_free(&from);
    return st;
}

/* Remembers it, and says so the first time. */
static void give_up(struct prepare *p, size_t picture)
{
    if (atomic_exchange(&p->state[picture], UNREADABLE) == UNREADABLE) return;
    pthread_mutex_lock(&p->talking);
    log_line(p->log, LOG_WARN, "%s; another picture of its class stands in", error_text());
    pthread_mutex_unlock(&p->talking);
}

status prepare_item(struct prepare *p, const struct load_item *item, float *out)
{
    assert(item->picture < dataset_count(p->data));
    const size_t c = dataset_class_of(p->data, item->picture);
    const size_t first = dataset_class_first(p->data, c), size = dataset_class_size(p->data, c);
    for (size_t i = 0; i < size; i++) {
        const size_t picture = first + (item->picture - first + i) % size;
        if (atomic_load(&p->state[picture]) == UNREADABLE) continue;
        const status st = prepare_one(p, picture, item->random, out);
        if (st == OK || st == ST_MEMORY || p->strict) return st;
        give_up(p, picture);
    }
    return fail(ST_FORMAT, "no picture of class '%s' can be read", dataset_class_name(p->data, c));
}
