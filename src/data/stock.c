/* stock.c - decoding on all threads, a chunk of the set at a time; each chunk becomes one block of device memory. */
#include "data/stock.h"
#include "base/size.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 };

struct kept {
    const uint8_t *rgb; /* on the device; NULL: cannot be read */
    uint32_t width, height;
};

struct stock {
    const struct dataset *data;
    struct device *dev;
    struct transform transform;
    bool random;
    struct kept *kept; /* owned, [pictures] */
    void **blocks;     /* owned, and each of them device memory */
    size_t block_count, bytes, longest;
};

struct chunk { /* of the set, on the host */
    const struct stock *stock;
    size_t first, count;
    struct picture made[CHUNK]; /* owned */
    struct error errors[CHUNK];
};

/* The part of the transform that is the same each time. */
static status make(const struct stock *s, const struct picture *from, struct picture *out)
{
    const struct transform *t = &s->transform;
    struct random any = {0};
    struct picture_plan plan;
    status st = OK;
    if (s->random && t->kind == TRANSFORM_RESIZE_CROP)
        return picture_resize(from, t->side + t->pad, t->side + t->pad, out);
    if (s->random && t->kind != TRANSFORM_SHORTER_CROP) {
        st = transform_plan(t, from->width, from->height, &any, &plan); /* whether it can be shown at all */
        return st == OK ? picture_crop(from, 0, 0, from->width, from->height, out) : st;
    }
    struct picture p = {0};
    TRY(picture_new(t->side, t->side, &p));
    TRY(transform_apply_bytes(t, from, NULL, p.rgb));
    *out = p;
    p = (struct picture){0};
done:
    picture_free(&p);
    return st;
}

static status make_piece(void *context, size_t piece, size_t worker)
{
    struct chunk *c = context;
    const struct dataset *d = c->stock->data;
    struct picture from = {0};
    (void)worker;
    status st = dataset_picture(d, c->first + piece, &from);
    if (st == OK) {
        st = make(c->stock, &from, &c->made[piece]);
        if (st != OK && st != ST_MEMORY) st = fail(st, "'%s': %s", dataset_name(d, c->first + piece), error_text());
    }
    picture_free(&from);
    c->errors[piece].st = OK;
    if (st != OK) error_take(st, &c->errors[piece]);
    return OK;
}

/* Warns of what cannot be read, or fails; counts the bytes of the rest. */
static status look_over(const struct chunk *c, const struct stock_options *o, size_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct picture *p = &c->made[i];
        if (p->rgb) *bytes += p->width * p->height * 3;
        if (p->rgb) continue;
        if (o->strict || c->errors[i].st == ST_MEMORY) return error_put(&c->errors[i]);
        log_line(o->log, LOG_WARN, "%s; %s", c->errors[i].text,
                 o->random ? "another picture of its class stands in" : "the picture is left out");
    }
    return OK;
}

/* One after the other into one block of the device. */
static status store(struct stock *s, const struct chunk *c, size_t bytes)
{
    status st = OK;
    void *block = NULL;
    uint8_t *host = malloc(size_max(1, bytes));
    if (!host) return fail(ST_MEMORY, "no memory for %zu bytes of pictures", bytes);
    TRY(s->dev->alloc(s->dev, bytes, &block));
    s->blocks[s->block_count++] = block;
    size_t at = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct picture *p = &c->made[i];
        if (!p->rgb) continue;
        memcpy(host + at, p->rgb, p->width * p->height * 3);
        s->kept[c->first + i] = (struct kept){(uint8_t *)block + at, (uint32_t)p->width, (uint32_t)p->height};
        s->longest = size_max(s->longest, size_max(p->width, p->height));
        at += p->width * p->height * 3;
    }
    TRY(s->dev->upload(s->dev, block, host, bytes));
    TRY(s->dev->sync(s->dev));
    s->bytes += bytes;
done:
    free(host);
    return st;
}

/* All chunks; *fits false: as it goes on, there will be more than `most`. */
static status fill(struct stock *s, const struct stock_options *o, struct chunk *c, size_t most, bool *fits)
{
    status st = OK;
    const size_t count = dataset_count(s->data);
    *fits = true;
    for (; c->first < count && *fits; c->first += c->count) {
        size_t bytes;
        c->count = size_min(CHUNK, count - c->first);
        TRY(pool_run(o->threads, c->count, make_piece, c));
        TRY(look_over(c, o, &bytes));
        *fits = (double)(s->bytes + bytes) * (double)count <= (double)most * (double)(c->first + c->count);
        if (*fits) TRY(store(s, c, bytes));
        for (size_t i = 0; i < c->count; i++) {
            picture_free(&c->made[i]);
            c->made[i] = (struct picture){0};
        }
    }
done:
    for (size_t i = 0; i < CHUNK; i++) picture_free(&c->made[i]);
    return st;
}

static status open_stock(struct stock *s, const struct stock_options *o, struct chunk *c, bool *fits)
{
    status st = OK;
    const size_t count = dataset_count(s->data);
    size_t most = o->most_bytes;
    s->kept = calloc(size_max(1, count), sizeof *s->kept);
    s->blocks = calloc(size_div_up(size_max(1, count), CHUNK), sizeof *s->blocks);
    if (!s->kept || !s->blocks || !c) TRY(fail(ST_MEMORY, "no memory to keep %zu pictures", count));
    c->stock = s;
    if (!most) {
        TRY(s->dev->room(s->dev, &most));
        most /= 2;
    }
    TRY(fill(s, o, c, most, fits));
done:
    return st;
}

status stock_new(const struct dataset *d, struct device *dev, const struct stock_options *o, struct stock **out)
{
    bool fits = false;
    struct stock *s = calloc(1, sizeof *s);
    struct chunk *c = calloc(1, sizeof *c);
    *out = NULL;
    status st = s ? OK : fail(ST_MEMORY, "no memory for a stock of pictures");
    if (s) {
        *s = (struct stock){.data = d, .dev = dev, .transform = *o->transform, .random = o->random};
        st = open_stock(s, o, c, &fits);
    }
    free(c);
    if (st == OK && fits) *out = s;
    else stock_free(s);
    return st;
}

void stock_free(struct stock *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->block_count; i++) s->dev->release(s->dev, s->blocks[i]);
    free(s->blocks);
    free(s->kept);
    free(s);
}

size_t stock_bytes(const struct stock *s) { return s->bytes; }
bool stock_has(const struct stock *s, size_t picture) { return s->kept[picture].rgb != NULL; }
const struct dataset *stock_data(const struct stock *s) { return s->data; }

/* The picture, or the next of its class that can be read; NULL: there is none. */
static const struct kept *find(const struct stock *s, size_t picture)
{
    if (s->kept[picture].rgb) return &s->kept[picture];
    const size_t c = dataset_class_of(s->data, picture);
    const size_t first = dataset_class_first(s->data, c), size = dataset_class_size(s->data, c);
    for (size_t i = 1; i < size; i++) {
        const struct kept *k = &s->kept[first + (picture - first + i) % size];
        if (k->rgb) return k;
    }
    return NULL;
}

static bool draws(const struct stock *s) { return s->random && s->transform.kind != TRANSFORM_SHORTER_CROP; }

status stock_plan(const struct stock *s, const struct load_item *item, struct picture_item *out)
{
    const struct transform *t = &s->transform;
    const struct kept *k = find(s, item->picture);
    struct picture_plan p = {.box = {0, 0, t->side, t->side}};
    struct random r = item->random;
    status st = OK;
    if (!k)
        return fail(ST_FORMAT, "no picture of class '%s' can be read",
                    dataset_class_name(s->data, dataset_class_of(s->data, item->picture)));
    if (draws(s)) st = transform_plan(t, k->width, k->height, &r, &p);
    const int32_t pad = draws(s) && t->kind == TRANSFORM_PAD_CROP ? (int32_t)t->pad : 0;
    *out = (struct picture_item){.rgb = k->rgb,
                                 .width = k->width,
                                 .height = k->height,
                                 .left = (int32_t)p.box.left - pad,
                                 .top = (int32_t)p.box.top - pad,
                                 .part_width = (uint32_t)p.box.width,
                                 .part_height = (uint32_t)p.box.height,
                                 .factor = {p.jitter.brightness, p.jitter.contrast, p.jitter.saturation},
                                 .flip = p.flip};
    for (int i = 0; i < 4; i++) out->order[i] = (uint8_t)p.jitter.order[i];
    return st;
}

status stock_show(const struct stock *s, const struct picture_item *items, bool channels_last, tensor *y)
{
    const struct transform *t = &s->transform;
    struct pictures_args a = {.items = items, .longest = s->longest, .channels_last = channels_last};
    memcpy(a.mean, t->mean, sizeof a.mean);
    memcpy(a.std, t->std, sizeof a.std);
    return draws(s) && t->kind == TRANSFORM_RESIZED_CROP ? PRIM_CALL(s->dev, y->type, pictures_resize, (s->dev, &a, y))
                                                         : PRIM_CALL(s->dev, y->type, pictures_crop, (s->dev, &a, y));
}
