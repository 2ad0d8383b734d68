/* join.c - one whole made of the features that each process has encoded. */
#include "base/size.h"
#include "data/hash.h"
#include "eval/features.h"
#include <stdlib.h>

/* What a process says of its part. */
struct part {
    size_t rows, channels, height, width; /* of a row; 0 where it has none */
};

struct parts {
    struct peers *peers;
    struct part *of; /* owned, [size] */
    size_t *bytes;   /* owned, [size] */
    size_t rows;
};

static status tell_parts(struct parts *p, const struct features *f, size_t rows)
{
    status st = OK;
    const size_t size = (size_t)p->peers->size;
    const struct part mine = {rows, rows ? f->data.dim[1] : 0, f->height, f->width};
    for (size_t r = 0; r < size; r++) p->bytes[r] = sizeof mine;
    TRY(p->peers->gather(p->peers, p->bytes, &mine, p->of));
    for (size_t r = 0; r < size; r++) p->rows += p->of[r].rows;
done:
    return st;
}

/* How many pictures of each class there are, and how many could not be read. */
static status add_counts(struct parts *p, struct features *f)
{
    double *n = calloc(f->classes + 1, sizeof *n);
    if (!n) return fail(ST_MEMORY, "no memory for %zu classes", f->classes);
    for (size_t c = 0; c < f->classes; c++) n[c] = (double)f->size[c];
    n[f->classes] = (double)f->unreadable;
    const status st = peers_total(p->peers, f->classes + 1, n);
    for (size_t c = 0; c < f->classes; c++) f->size[c] = (size_t)n[c];
    f->unreadable = (size_t)n[f->classes];
    free(n);
    return st;
}

/* Memory, where all of our pictures were unreadable. */
static status make_room(const struct parts *p, struct features *f, size_t pictures, bool mirror)
{
    status st = OK;
    for (int r = 0; r < p->peers->size && !f->data.data; r++) {
        const struct part *from = &p->of[r];
        const size_t dim[] = {pictures, from->channels, from->height * from->width};
        if (!from->rows) continue;
        TRY(tensor_make(&f->data, DT_F32, 3, dim, NULL));
        f->mirrored = f->data;
        TRY(f->device->alloc(f->device, tensor_bytes(&f->data), &f->data.data));
        if (mirror) TRY(f->device->alloc(f->device, tensor_bytes(&f->mirrored), &f->mirrored.data));
        f->height = from->height;
        f->width = from->width;
    }
done:
    return st;
}

/* Our rows are at the front; everybody's take their places. */
static status join(struct parts *p, struct device *d, const tensor *x)
{
    status st = OK;
    const size_t row = x->dim[1] * x->dim[2] * sizeof(float), own = p->of[p->peers->rank].rows * row;
    char *all = x->data;
    for (int r = 0; r < p->peers->size; r++) p->bytes[r] = p->of[r].rows * row;
    if (!d->on_host) {
        all = malloc(size_max(1, p->rows * row));
        if (!all) return fail(ST_MEMORY, "no memory for the features of %zu pictures", p->rows);
        TRY(d->download(d, all, x->data, own));
    }
    TRY(p->peers->gather(p->peers, p->bytes, all, all));
    if (!d->on_host) TRY(d->upload(d, x->data, all, p->rows * row));
    if (!d->on_host) TRY(d->sync(d));
done:
    if (all != x->data) free(all);
    return st;
}

static status join_hashes(struct parts *p, struct picture_hash *hashes, size_t pictures)
{
    const size_t size = (size_t)p->peers->size;
    for (size_t r = 0; r < size; r++)
        p->bytes[r] = (peers_first(pictures, r + 1, size) - peers_first(pictures, r, size)) * sizeof *hashes;
    return p->peers->gather(p->peers, p->bytes, hashes + peers_first(pictures, (size_t)p->peers->rank, size), hashes);
}

status features_join(struct features *f, const struct features_options *o, size_t pictures, size_t *rows)
{
    status st = OK;
    struct parts p = {.peers = o->peers};
    p.of = calloc((size_t)o->peers->size, sizeof *p.of);
    p.bytes = calloc((size_t)o->peers->size, sizeof *p.bytes);
    if (!p.of || !p.bytes) TRY(fail(ST_MEMORY, "no memory for the parts of %d processes", o->peers->size));
    TRY(tell_parts(&p, f, *rows));
    TRY(add_counts(&p, f));
    *rows = p.rows;
    if (o->hashes) TRY(join_hashes(&p, o->hashes, pictures));
    if (!p.rows) goto done;
    TRY(make_room(&p, f, pictures, o->mirror));
    TRY(join(&p, f->device, &f->data));
    if (o->mirror) TRY(join(&p, f->device, &f->mirrored));
done:
    free(p.of);
    free(p.bytes);
    return st;
}
