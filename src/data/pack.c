/* pack.c - reading a pack: every number is checked before it is used as a place or a length. */
#include "data/pack.h"
#include "base/map.h"
#include "base/text.h"
#include "data/pack_format.h"
#include "data/source.h"
#include <stdlib.h>
#include <string.h>

struct pack {
    struct file_map map;        /* empty when the bytes are the caller's */
    const unsigned char *bytes; /* [n] */
    size_t n;
    char *path; /* owned */
    size_t table_at, table_bytes;
    uint64_t pictures;
};

struct record {
    uint64_t at, sum;
    uint32_t width, height, name_bytes[3]; /* split, class, file */
    size_t bytes;                          /* of the pixels */
};

static status bad(const struct pack *p, const char *what)
{
    return fail(ST_FORMAT, "'%s' is no good pack: %s; make it again with 'centra data pack'", p->path, what);
}

static status read_footer(struct pack *p)
{
    const unsigned char *b = p->bytes;
    const size_t n = p->n;
    if (n < PACK_HEADER_BYTES + PACK_FOOTER_BYTES || memcmp(b, PACK_MAGIC, 8)) return bad(p, "it has no header");
    if (pack_u32(b + 8) != PACK_VERSION)
        return fail(ST_UNSUPPORTED, "'%s' is a pack of version %u; this program reads version %d", p->path,
                    pack_u32(b + 8), PACK_VERSION);
    const unsigned char *footer = b + n - PACK_FOOTER_BYTES;
    const uint64_t at = pack_u64(footer), bytes = pack_u64(footer + 8), end = n - PACK_FOOTER_BYTES;
    if (memcmp(footer + PACK_END_MAGIC_AT, PACK_END_MAGIC, 8) || pack_u64(footer + 32) != n)
        return bad(p, "its end is missing");
    if (at < PACK_HEADER_BYTES || at > end || bytes != end - at) return bad(p, "its table lies outside");
    if (pack_sum(b + at, (size_t)bytes) != pack_u64(footer + 16)) return bad(p, "its table is damaged");
    p->table_at = (size_t)at;
    p->table_bytes = (size_t)bytes;
    p->pictures = pack_u64(footer + 24);
    return OK;
}

/* The record at b, of which `left` bytes remain. */
static status read_record(const struct pack *p, const unsigned char *b, size_t left, struct record *out)
{
    if (left < PACK_RECORD_BYTES) return bad(p, "its table is cut");
    *out = (struct record){pack_u64(b), pack_u64(b + 8), pack_u32(b + 16), pack_u32(b + 20), {0}, 0};
    left -= PACK_RECORD_BYTES;
    for (int i = 0; i < 3; i++) {
        out->name_bytes[i] = pack_u32(b + 24 + 4 * i);
        if (out->name_bytes[i] > PACK_NAME_MOST || out->name_bytes[i] > left) return bad(p, "a name is too long");
        left -= out->name_bytes[i];
    }
    const uint64_t pixels = (uint64_t)out->width * out->height;
    if (!pixels || pixels > PICTURE_MOST_PIXELS) return bad(p, "a picture has no pixels or too many");
    if (out->at % PACK_ALIGN || out->at < PACK_HEADER_BYTES || out->at > p->table_at ||
        3 * pixels > p->table_at - out->at)
        return bad(p, "a picture lies outside");
    if (!out->name_bytes[1] || !out->name_bytes[2]) return bad(p, "a name is empty");
    out->bytes = (size_t)(3 * pixels);
    return OK;
}

static status read_table(struct pack *p, struct item_list *list)
{
    status st = OK;
    text name[3] = {{0}, {0}, {0}};
    size_t at = p->table_at;
    const size_t end = p->table_at + p->table_bytes;
    for (uint64_t i = 0; i < p->pictures; i++) {
        struct record r;
        const size_t record_at = at;
        TRY(read_record(p, p->bytes + at, end - at, &r));
        at += PACK_RECORD_BYTES;
        for (int k = 0; k < 3; k++) {
            text_clear(&name[k]);
            text_add_bytes(&name[k], p->bytes + at, r.name_bytes[k]);
            TRY(text_status(&name[k]));
            if (strlen(text_string(&name[k])) != r.name_bytes[k]) {
                st = bad(p, "a name has a NUL");
                goto done;
            }
            at += r.name_bytes[k];
        }
        const char *split = r.name_bytes[0] ? text_string(&name[0]) : NULL;
        TRY(item_add(list, split, text_string(&name[1]), text_string(&name[2]), record_at, 0));
    }
    if (at != end) st = bad(p, "its table is too long");
done:
    for (int k = 0; k < 3; k++) text_free(&name[k]);
    return st;
}

/* The pixels of an item, whose record was checked when the pack was opened; a file changed since then is noticed. */
static status find(const struct pack *p, const struct item *i, struct record *out)
{
    const size_t at = (size_t)i->at;
    status st = read_record(p, p->bytes + at, p->table_at + p->table_bytes - at, out);
    if (st != OK) return st;
    if (pack_sum(p->bytes + out->at, out->bytes) == out->sum) return OK;
    return fail(ST_FORMAT, "'%s' in the pack '%s' is damaged; make the pack again", i->name, p->path);
}

static status pack_bytes(const struct source *s, const struct item *i, struct source_bytes *out)
{
    const struct pack *p = s->context;
    struct record r;
    status st = find(p, i, &r);
    if (st == OK) *out = (struct source_bytes){(const char *)p->bytes + r.at, r.bytes, NULL};
    return st;
}

static status pack_picture(const struct source *s, const struct item *i, struct picture *out)
{
    const struct pack *p = s->context;
    struct record r;
    struct picture q = {0};
    status st = find(p, i, &r);
    if (st == OK) st = picture_new(r.width, r.height, &q);
    if (st != OK) return st;
    memcpy(q.rgb, p->bytes + r.at, r.bytes);
    *out = q;
    return OK;
}

static void pack_close(struct source *s)
{
    struct pack *p = s->context;
    if (!p) return;
    file_unmap(&p->map);
    free(p->path);
    free(p);
}

static status begin(const char *path, const char *split, struct source *out)
{
    status st = source_begin(out, split);
    if (st != OK) return st;
    struct pack *p = calloc(1, sizeof *p);
    out->context = p;
    out->close = pack_close;
    out->bytes = pack_bytes;
    out->picture = pack_picture;
    if (p) p->path = strdup(path);
    return p && p->path ? OK : fail(ST_MEMORY, "no memory to open '%s'", path);
}

static status read_index(struct source *s, const void *bytes, size_t n)
{
    struct pack *p = s->context;
    p->bytes = bytes;
    p->n = n;
    status st = read_footer(p);
    return st == OK ? read_table(p, &s->list) : st;
}

status pack_source_parse(const char *path, const void *bytes, size_t n, const char *split, struct source *out)
{
    status st = begin(path, split, out);
    return st == OK ? read_index(out, bytes, n) : st;
}

status pack_source_open(const char *path, const char *split, struct source *out)
{
    status st = begin(path, split, out);
    if (st != OK) return st;
    struct file_map *map = &((struct pack *)out->context)->map;
    st = file_map(path, map);
    return st == OK ? read_index(out, map->bytes, map->n) : st;
}
