/* hash.c - hashes of decoded pixels, and the fingerprint made of them. */
#include "data/hash.h"
#include "base/sha256.h"
#include <stdlib.h>
#include <string.h>

static void add_u64(struct sha256 *s, uint64_t v)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(v >> 8 * i);
    sha256_add(s, bytes, sizeof bytes);
}

void picture_hash(const struct picture *p, char hex[65])
{
    struct sha256 s;
    sha256_begin(&s);
    add_u64(&s, p->width);
    add_u64(&s, p->height);
    sha256_add(&s, p->rgb, p->width * p->height * 3);
    sha256_end(&s, hex);
}

struct hashing {
    const struct dataset *d;
    size_t first;
    struct picture_hash *out;
};

static status hash_piece(void *context, size_t piece, size_t worker)
{
    const struct hashing *h = context;
    struct picture p = {0};
    (void)worker;
    h->out[piece] = (struct picture_hash){0};
    status st = dataset_picture(h->d, h->first + piece, &p);
    if (st == OK) {
        h->out[piece].width = (uint32_t)p.width;
        h->out[piece].height = (uint32_t)p.height;
        picture_hash(&p, h->out[piece].hex);
    }
    picture_free(&p);
    return st == ST_MEMORY ? st : OK;
}

status dataset_hash_some(const struct dataset *d, size_t first, size_t count, pool *threads, struct picture_hash *out)
{
    struct hashing h = {d, first, out};
    return pool_run(threads, count, hash_piece, &h);
}

status dataset_hashes(const struct dataset *d, struct picture_hash *out)
{
    pool *threads = NULL;
    status st = pool_new(0, &threads);
    if (st == OK) st = dataset_hash_some(d, 0, dataset_count(d), threads, out);
    pool_free(threads);
    return st;
}

void fingerprint_of(const struct dataset *d, const struct picture_hash *hashes, char hex[65])
{
    struct sha256 s;
    sha256_begin(&s);
    for (size_t c = 0; c < dataset_class_count(d); c++) {
        const char *label = dataset_class_name(d, c);
        size_t first = dataset_class_first(d, c), size = dataset_class_size(d, c);
        for (size_t i = first; i < first + size; i++) {
            if (!hashes[i].hex[0]) continue;
            sha256_add(&s, label, strlen(label) + 1);
            sha256_add(&s, hashes[i].hex, sizeof hashes[i].hex);
        }
    }
    sha256_end(&s, hex);
}

status dataset_fingerprint(const struct dataset *d, char hex[65])
{
    struct picture_hash *hashes = malloc(dataset_count(d) * sizeof *hashes);
    if (!hashes) return fail(ST_MEMORY, "no memory for the hashes of %zu pictures", dataset_count(d));
    status st = dataset_hashes(d, hashes);
    if (st == OK) fingerprint_of(d, hashes, hex);
    free(hashes);
    return st;
}
