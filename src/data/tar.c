/* tar.c - reading tar headers; a header and a member's data fill whole blocks of 512 bytes. */
#include "data/tar.h"
#include "base/size.h"
#include "base/text.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 512,
    NAME_AT = 0,
    NAME_BYTES = 100,
    SIZE_AT = 124,
    SIZE_BYTES = 12,
    SUM_AT = 148,
    SUM_BYTES = 8,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
    PREFIX_BYTES = 155,
    LONG_MOST = 1 << 16 /* bytes of a name or of pax records */
};

struct tar {
    const char *path;
    const unsigned char *bytes;
    size_t n, at;   /* `at`: the header that is being read */
    text next_name; /* from a long name or pax record in front; empty: the header's own */
    uint64_t next_size;
    bool has_next_size;
};

static status bad(const struct tar *t, const char *what)
{
    return fail(ST_FORMAT, "'%s' is no good tar: %s at byte %zu", t->path, what, t->at);
}

/* Octal digits after blanks, ended by a blank, a NUL or the field's end; or GNU's big-endian binary after 0x80. */
static bool read_number(const unsigned char *field, size_t n, uint64_t *out)
{
    size_t i = 0, digits = 0;
    uint64_t v = 0;
    if (field[0] & 0x80) {
        for (i = 1; i < n; i++) {
            if (v >> 55) return false;
            v = v << 8 | field[i];
        }
        *out = v;
        return field[0] == 0x80;
    }
    while (i < n && field[i] == ' ') i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++, digits++) v = v << 3 | (uint64_t)(field[i] - '0');
    while (i < n && (field[i] == ' ' || field[i] == 0)) i++;
    *out = v; /* at most 12 digits: 36 bits */
    return digits > 0 && i == n;
}

/* The sum of the header's bytes with the field itself as blanks. */
static bool sum_fits(const unsigned char *h)
{
    uint64_t sum = 0, wanted;
    for (size_t i = 0; i < BLOCK; i++) sum += i >= SUM_AT && i < SUM_AT + SUM_BYTES ? ' ' : h[i];
    return read_number(h + SUM_AT, SUM_BYTES, &wanted) && sum == wanted;
}

static bool is_empty(const unsigned char *h)
{
    for (size_t i = 0; i < BLOCK; i++)
        if (h[i]) return false;
    return true;
}

bool tar_begins(const unsigned char *bytes, size_t n) { return n >= BLOCK && !is_empty(bytes) && sum_fits(bytes); }

/* Appends the parts of a name; false when it leads outside. */
static bool add_parts(text *to, const char *name, size_t n)
{
    if (n && name[0] == '/') return false;
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && name[end] != '/') end++;
        const size_t part = end - i;
        if (part == 2 && !memcmp(name + i, "..", 2)) return false;
        if (part && !(part == 1 && name[i] == '.')) {
            if (to->length) text_add(to, "/");
            text_add_bytes(to, name + i, part);
        }
        i = end + 1;
    }
    return true;
}

static size_t field_bytes(const unsigned char *field, size_t most)
{
    const unsigned char *end = memchr(field, 0, most);
    return end ? (size_t)(end - field) : most;
}

/* The member's name: the one announced in front, or prefix and name of the header. */
static status member_name(struct tar *t, const unsigned char *h, text *to)
{
    const char *name = (const char *)h + NAME_AT, *prefix = (const char *)h + PREFIX_AT;
    const bool has_prefix = !memcmp(h + MAGIC_AT, "ustar\0", 6); /* GNU's "ustar " has other fields there */
    bool good = true;
    text_clear(to);
    if (t->next_name.length) {
        good = add_parts(to, t->next_name.data, t->next_name.length);
    } else {
        if (has_prefix) good = add_parts(to, prefix, field_bytes(h + PREFIX_AT, PREFIX_BYTES));
        good = good && add_parts(to, name, field_bytes(h + NAME_AT, NAME_BYTES));
    }
    if (text_status(to) != OK) return text_status(to);
    return good && to->length ? OK : bad(t, "a member's name is empty or leads outside");
}

/* One record "LENGTH KEY=VALUE\n" at data[*at]. */
static status pax_record(struct tar *t, const char *data, size_t n, size_t *at)
{
    const char *record = data + *at;
    size_t length = 0, i = 0;
    const size_t left = n - *at;
    for (; i < left && i < 8 && record[i] >= '0' && record[i] <= '9'; i++)
        length = 10 * length + (size_t)(record[i] - '0');
    if (i == 0 || i >= left || record[i] != ' ' || length > left || length < i + 3 || record[length - 1] != '\n')
        return bad(t, "a pax record is broken");
    const char *key = record + i + 1, *equals = memchr(key, '=', length - i - 2);
    if (!equals) return bad(t, "a pax record is broken");
    const char *value = equals + 1;
    const size_t key_bytes = (size_t)(equals - key), value_bytes = (size_t)(record + length - 1 - value);
    *at += length;
    if (key_bytes == 4 && !memcmp(key, "path", 4)) {
        if (memchr(value, 0, value_bytes)) return bad(t, "a pax name has a NUL");
        text_clear(&t->next_name);
        text_add_bytes(&t->next_name, value, value_bytes);
    }
    if (key_bytes == 4 && !memcmp(key, "size", 4)) {
        uint64_t v = 0;
        for (i = 0; i < value_bytes; i++) {
            if (value[i] < '0' || value[i] > '9' || i == 18) return bad(t, "a pax size is no number");
            v = 10 * v + (uint64_t)(value[i] - '0');
        }
        t->next_size = v;
        t->has_next_size = value_bytes > 0;
    }
    if (key_bytes > 11 && !memcmp(key, "GNU.sparse.", 11)) return bad(t, "sparse files are not read");
    return text_status(&t->next_name);
}

/* What stands in front of a member and is about it. */
static status read_ahead(struct tar *t, unsigned char type, const char *data, size_t n)
{
    if (n > LONG_MOST) return bad(t, "a name or a list of attributes is too long");
    if (type == 'L') {
        text_clear(&t->next_name);
        text_add_bytes(&t->next_name, data, field_bytes((const unsigned char *)data, n));
        return text_status(&t->next_name);
    }
    for (size_t at = 0; at < n;) {
        status st = pax_record(t, data, n, &at);
        if (st != OK) return st;
    }
    return OK;
}

/* The member whose header stands at t->at, and on to the next. */
static status read_member(struct tar *t, text *name, tar_visit visit, void *context)
{
    const unsigned char *h = t->bytes + t->at;
    const unsigned char type = h[TYPE_AT];
    const bool ahead = type == 'L' || type == 'x' || type == 'K' || type == 'g';
    uint64_t size;
    status st = OK;
    if (!sum_fits(h)) return bad(t, "a header's checksum is wrong");
    if (!read_number(h + SIZE_AT, SIZE_BYTES, &size)) return bad(t, "a size is no number");
    if (!ahead && t->has_next_size) size = t->next_size;
    const size_t data = t->at + BLOCK;
    if (size > t->n - data) return bad(t, "a member is longer than the file");
    if (type == 'L' || type == 'x') TRY(read_ahead(t, type, (const char *)t->bytes + data, (size_t)size));
    if (type == 'S') return bad(t, "sparse files are not read");
    if (type == '0' || type == 0 || type == '7') {
        TRY(member_name(t, h, name));
        TRY(visit(context, text_string(name), data, (size_t)size));
    }
    if (!ahead) {
        text_clear(&t->next_name);
        t->has_next_size = false;
    }
    t->at = data + (size_t)size;
    t->at = t->n - t->at < BLOCK ? t->n : size_round_up(t->at, BLOCK);
done:
    return st;
}

status tar_walk(const char *path, const unsigned char *bytes, size_t n, tar_visit visit, void *context)
{
    status st = OK;
    text name = {0};
    struct tar t = {.path = path, .bytes = bytes, .n = n};
    for (;;) {
        if (t.n - t.at < BLOCK) {
            st = bad(&t, "it ends without the empty block that closes it");
            goto done;
        }
        if (is_empty(bytes + t.at)) break;
        TRY(read_member(&t, &name, visit, context));
    }
done:
    text_free(&name);
    text_free(&t.next_name);
    return st;
}
