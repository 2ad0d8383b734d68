/* zip.c - reading a zip archive by its central directory, which stands at the end; the headers in front of the members
 * repeat it and may have sizes of 0. Archives with more than 4 GB have 64-bit numbers in extra places (zip64). */
#include "weights/zip.h"
#include "base/size.h"
#include "weights/file.h"
#include <stdlib.h>
#include <string.h>

enum {
    END_BYTES = 22,       /* the record behind the central directory */
    END64_BYTES = 56,     /* its 64-bit form, in front of it */
    LOCATOR_BYTES = 20,   /* which says where that is */
    ENTRY_BYTES = 46,     /* one member in the directory, without its name */
    LOCAL_BYTES = 30,     /* the header in front of a member's name */
    COMMENT_MOST = 65535, /* bytes of text behind the end record */
    STORED = 0
};

struct reader {
    const char *file;
    const unsigned char *bytes;
    size_t n;
    arena *memory;
};

struct directory {
    uint64_t at, bytes, count;
    size_t end_at; /* where it must end */
};

static uint32_t crc32_of(const unsigned char *b, size_t n)
{
    uint32_t table[256], crc = 0xffffffff;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
        table[i] = c;
    }
    for (size_t i = 0; i < n; i++) crc = table[(crc ^ b[i]) & 255] ^ crc >> 8;
    return ~crc;
}

static bool has_mark(const struct reader *r, size_t at, unsigned char third, unsigned char fourth)
{
    const unsigned char mark[4] = {'P', 'K', third, fourth};
    return at <= r->n && r->n - at >= 4 && !memcmp(r->bytes + at, mark, 4);
}

/* The end record stands last, in front of a comment whose length it tells. */
static bool find_end(const struct reader *r, size_t *out)
{
    for (size_t back = END_BYTES; back <= r->n && back <= END_BYTES + COMMENT_MOST; back++) {
        size_t at = r->n - back;
        if (has_mark(r, at, 5, 6) && load_u16(r->bytes + at + 20) == back - END_BYTES) {
            *out = at;
            return true;
        }
    }
    return false;
}

static status find_directory(const struct reader *r, struct directory *d)
{
    size_t end;
    if (!find_end(r, &end))
        return fail(ST_FORMAT, "'%s' is cut short: a zip archive ends with a directory, which is not there", r->file);
    const unsigned char *b = r->bytes + end;
    *d = (struct directory){load_u32(b + 16), load_u32(b + 12), load_u16(b + 10), end};
    if (end >= LOCATOR_BYTES && has_mark(r, end - LOCATOR_BYTES, 6, 7)) {
        uint64_t at = load_u64(b - LOCATOR_BYTES + 8);
        if (at > end - LOCATOR_BYTES || end - LOCATOR_BYTES - at < END64_BYTES || !has_mark(r, (size_t)at, 6, 6))
            return fail(ST_FORMAT, "'%s': the archive's 64-bit end record is not where it should be", r->file);
        b = r->bytes + at;
        *d = (struct directory){load_u64(b + 48), load_u64(b + 40), load_u64(b + 32), (size_t)at};
    }
    if (d->at > d->end_at || d->end_at - d->at != d->bytes || d->count > d->bytes / ENTRY_BYTES)
        return fail(ST_FORMAT, "'%s': the archive's directory does not lie where its end record says", r->file);
    return OK;
}

/* Replaces those of the numbers that are all ones by their 64-bit forms, which stand in the extra field with id 1. */
static bool widen(const unsigned char *extra, size_t n, uint64_t *size, uint64_t *packed, uint64_t *offset)
{
    uint64_t *number[] = {size, packed, offset};
    if (*size != UINT32_MAX && *packed != UINT32_MAX && *offset != UINT32_MAX) return true;
    while (n >= 4) {
        size_t id = load_u16(extra), length = load_u16(extra + 2), used = 0;
        if (length > n - 4) return false;
        for (int i = 0; id == 1 && i < 3; i++)
            if (*number[i] == UINT32_MAX) {
                if (length - used < 8) return false;
                *number[i] = load_u64(extra + 4 + used);
                used += 8;
            }
        if (id == 1) return true;
        extra += 4 + length;
        n -= 4 + length;
    }
    return false;
}

/* Finds the member's data behind its own header. */
static status locate(const struct reader *r, uint64_t offset, uint64_t size, size_t directory_at, struct zip_member *m)
{
    if (offset > directory_at || directory_at - offset < LOCAL_BYTES || !has_mark(r, (size_t)offset, 3, 4))
        return fail(ST_FORMAT, "'%s': member '%.100s' has no header where the directory says", r->file, m->name);
    const unsigned char *b = r->bytes + offset;
    size_t name = load_u16(b + 26), room = directory_at - (size_t)offset - LOCAL_BYTES;
    size_t before = name + load_u16(b + 28);
    if (before > room || name != strlen(m->name) || memcmp(b + LOCAL_BYTES, m->name, name))
        return fail(ST_FORMAT, "'%s': member '%.100s' has another name in its own header", r->file, m->name);
    if (size > room - before)
        return fail(ST_FORMAT, "'%s': member '%.100s' has %llu bytes, %zu are there", r->file, m->name,
                    (unsigned long long)size, room - before);
    m->data = b + LOCAL_BYTES + before;
    m->bytes = (size_t)size;
    m->begin = (size_t)offset;
    m->end = (size_t)offset + LOCAL_BYTES + before + m->bytes;
    if (crc32_of(m->data, m->bytes) != m->crc)
        return fail(ST_FORMAT, "'%s': the data of member '%.100s' were damaged (their CRC-32 differs)", r->file,
                    m->name);
    return OK;
}

static status read_name(const struct reader *r, const unsigned char *from, size_t n, const char **out)
{
    void *to;
    if (memchr(from, 0, n)) return fail(ST_FORMAT, "'%s': the archive has a member with a NUL in its name", r->file);
    status st = arena_take(r->memory, n + 1, 1, &to);
    if (st != OK) return st;
    memcpy(to, from, n);
    ((char *)to)[n] = 0;
    *out = to;
    return OK;
}

/* One entry of the directory, of which `n` bytes are left; *used is how many it has. */
static status read_entry(const struct reader *r, const unsigned char *b, size_t n, size_t directory_at,
                         struct zip_member *m, size_t *used)
{
    status st = OK;
    static const unsigned char mark[4] = {'P', 'K', 1, 2};
    if (n < ENTRY_BYTES || memcmp(b, mark, 4))
        return fail(ST_FORMAT, "'%s': the archive's directory is damaged", r->file);
    size_t name = load_u16(b + 28), extra = load_u16(b + 30);
    *used = ENTRY_BYTES + name + extra + load_u16(b + 32);
    if (*used > n) return fail(ST_FORMAT, "'%s': the archive's directory is cut short", r->file);
    *m = (struct zip_member){.crc = load_u32(b + 16)};
    TRY(read_name(r, b + ENTRY_BYTES, name, &m->name));
    uint64_t packed = load_u32(b + 20), size = load_u32(b + 24), offset = load_u32(b + 42);
    if (load_u16(b + 8) & 1) return fail(ST_FORMAT, "'%s': member '%.100s' is encrypted", r->file, m->name);
    if (load_u16(b + 10) != STORED)
        return fail(
            ST_FORMAT,
            "'%s': member '%.100s' is compressed; save it again with torch.save, which stores members as they are",
            r->file, m->name);
    if (!widen(b + ENTRY_BYTES + name, extra, &size, &packed, &offset) || size != packed)
        return fail(ST_FORMAT, "'%s': the sizes of member '%.100s' contradict each other", r->file, m->name);
    TRY(locate(r, offset, size, directory_at, m));
done:
    return st;
}

static int by_place(const void *a, const void *b)
{
    const struct zip_member *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct zip_member *)a)->name, ((const struct zip_member *)b)->name);
}

/* Leaves the members sorted by name. */
static status check_members(const struct reader *r, struct zip *z)
{
    if (!z->count) return OK;
    qsort(z->member, z->count, sizeof *z->member, by_place);
    for (size_t i = 1; i < z->count; i++)
        if (z->member[i].begin < z->member[i - 1].end)
            return fail(ST_FORMAT, "'%s': members '%.100s' and '%.100s' overlap", r->file, z->member[i - 1].name,
                        z->member[i].name);
    qsort(z->member, z->count, sizeof *z->member, by_name);
    for (size_t i = 1; i < z->count; i++)
        if (!strcmp(z->member[i].name, z->member[i - 1].name))
            return fail(ST_FORMAT, "'%s': two members are called '%.100s'", r->file, z->member[i].name);
    return OK;
}

status zip_read(const char *file, const unsigned char *bytes, size_t n, arena *memory, struct zip *out)
{
    status st = OK;
    struct reader r = {file, bytes, n, memory};
    struct directory d = {0};
    struct zip z = {0};
    void *members;
    TRY(find_directory(&r, &d));
    TRY(arena_take(memory, (size_t)d.count, sizeof *z.member, &members));
    z.member = members;
    size_t at = (size_t)d.at, used = 0;
    for (; z.count < d.count; z.count++, at += used)
        TRY(read_entry(&r, bytes + at, d.end_at - at, (size_t)d.at, &z.member[z.count], &used));
    if (at != d.end_at)
        return fail(ST_FORMAT, "'%s': the archive's directory has %zu bytes too many", file, d.end_at - at);
    TRY(check_members(&r, &z));
    *out = z;
done:
    return st;
}

const struct zip_member *zip_find(const struct zip *z, const char *name)
{
    struct zip_member key = {.name = name};
    return z->count ? bsearch(&key, z->member, z->count, sizeof key, by_name) : NULL;
}
