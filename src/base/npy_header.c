/* npy_header.c - a strict reader of {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } and its writer.
 *
 * The keys may come in any order, each exactly once, and no other; a comma may stand behind the last. What is refused
 * is named, since it usually means that the array was saved with a type that nobody chose. */
#include "base/npy_header.h"
#include "base/size.h"
#include <string.h>

enum { MAGIC_BYTES = 6, MAX_HEADER_BYTES = 65536, MAX_WORD = 32 };
static const char magic[MAGIC_BYTES] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

struct cursor {
    const char *name; /* of the file, for messages */
    const char *at, *end;
};

static void skip_spaces(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n')) c->at++;
}

/* The next character that is not a space; 0 at the end. */
static char peek(struct cursor *c)
{
    skip_spaces(c);
    return c->at < c->end ? *c->at : 0;
}

static bool take(struct cursor *c, char wanted)
{
    if (peek(c) != wanted || wanted == 0) return false;
    c->at++;
    return true;
}

static status bad_header(const struct cursor *c, const char *what)
{
    return fail(ST_FORMAT, "'%s': its header is malformed: %s", c->name, what);
}

/* A text in quotes, without escapes: no key or type has any. */
static status take_string(struct cursor *c, char to[MAX_WORD])
{
    char quote = peek(c);
    if (quote != '\'' && quote != '"') return bad_header(c, "a text in quotes is missing");
    const char *from = ++c->at;
    while (c->at < c->end && *c->at != quote) {
        if (*c->at < ' ' || *c->at > '~' || *c->at == '\\')
            return bad_header(c, "a text holds a character that no key or type has");
        c->at++;
    }
    if (c->at == c->end) return bad_header(c, "a text does not end");
    size_t n = (size_t)(c->at++ - from);
    if (n >= MAX_WORD) return bad_header(c, "a text is longer than any key or type");
    memcpy(to, from, n);
    to[n] = 0;
    return OK;
}

/* "the element type '<c8' (complex numbers)": why a type is refused. */
static const char *refused_kind(char kind)
{
    switch (kind) {
    case 'c': return "complex numbers";
    case 'O': return "Python objects";
    case 'S':
    case 'a':
    case 'U': return "texts";
    case 'V': return "raw bytes or records";
    case 'm':
    case 'M': return "times";
    default: return "unknown";
    }
}

static status type_parse(const struct cursor *c, const char *descr, struct npy_header *h)
{
    static const char *const accepted[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"};
    char order = descr[0];
    const char *type = order && strchr("<>|=", order) ? descr + 1 : descr;
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        if (strcmp(type, accepted[i])) continue;
        h->kind = type[0];
        h->item_bytes = (size_t)(type[1] - '0');
        if (type == descr || (order == '|' && h->item_bytes > 1))
            return fail(ST_FORMAT, "'%s': the element type '%s' does not say its byte order", c->name, descr);
        h->big_endian = order == '>' || (order == '=' && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
        return OK;
    }
    const char *why = type[0] == 'f' && type[1] == '2' ? "half precision"
                      : type[0] == 'f'                 ? "a long float"
                                                       : refused_kind(type[0]);
    return fail(
        ST_UNSUPPORTED,
        "'%s': the element type '%s' (%s) is not supported; save the array as float32, float64 or an integer type",
        c->name, descr, why);
}

static status descr_parse(struct cursor *c, struct npy_header *h)
{
    char descr[MAX_WORD] = "";
    if (peek(c) == '[')
        return fail(ST_UNSUPPORTED,
                    "'%s': structured arrays (records with fields) are not supported; save each field by itself",
                    c->name);
    status st = take_string(c, descr);
    return st != OK ? st : type_parse(c, descr, h);
}

static status order_parse(struct cursor *c, struct npy_header *h)
{
    static const char *const words[] = {"False", "True"};
    skip_spaces(c);
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(c->end - c->at) < n || memcmp(c->at, words[i], n)) continue;
        c->at += n;
        h->fortran = i == 1;
        return OK;
    }
    return bad_header(c, "'fortran_order' is neither True nor False");
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static status dim_parse(struct cursor *c, size_t *out)
{
    char first = peek(c);
    if (!is_digit(first)) return bad_header(c, "the shape holds something else than whole numbers from 0 up");
    size_t v = 0;
    const char *from = c->at;
    for (; c->at < c->end && is_digit(*c->at); c->at++)
        if (!size_mul(v, 10, &v) || !size_add(v, (size_t)(*c->at - '0'), &v))
            return bad_header(c, "a dimension is too large");
    if (first == '0' && c->at - from > 1) return bad_header(c, "a dimension begins with 0");
    *out = v;
    return OK;
}

/* (), (3,), (3, 4) or (3, 4,); but (3) is no tuple. */
static status shape_parse(struct cursor *c, struct npy_header *h)
{
    if (!take(c, '(')) return bad_header(c, "the shape does not begin with (");
    bool comma = true;
    while (!take(c, ')')) {
        if (!comma) return bad_header(c, "a comma is missing in the shape");
        if (h->rank == NPY_MAX_RANK)
            return fail(ST_UNSUPPORTED, "'%s' has more than %d dimensions", c->name, NPY_MAX_RANK);
        status st = dim_parse(c, &h->dim[h->rank++]);
        if (st != OK) return st;
        comma = take(c, ',');
    }
    if (h->rank == 1 && !comma) return bad_header(c, "a comma is missing in the shape");
    return OK;
}

static status entry_parse(struct cursor *c, struct npy_header *h, unsigned *seen)
{
    static const struct {
        const char *key;
        status (*parse)(struct cursor *c, struct npy_header *h);
    } entries[] = {{"descr", descr_parse}, {"fortran_order", order_parse}, {"shape", shape_parse}};
    char key[MAX_WORD];
    status st = take_string(c, key);
    if (st != OK) return st;
    if (!take(c, ':')) return bad_header(c, "a colon is missing");
    for (unsigned i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (strcmp(key, entries[i].key)) continue;
        if (*seen & 1u << i) return fail(ST_FORMAT, "'%s': its header has the key '%s' twice", c->name, key);
        *seen |= 1u << i;
        return entries[i].parse(c, h);
    }
    return fail(ST_FORMAT, "'%s': its header has the unknown key '%s'", c->name, key);
}

static status dictionary_parse(struct cursor *c, struct npy_header *h)
{
    if (!take(c, '{')) return bad_header(c, "it does not begin with {");
    unsigned seen = 0;
    bool comma = true;
    while (!take(c, '}')) {
        if (!comma) return bad_header(c, "a comma is missing");
        status st = entry_parse(c, h, &seen);
        if (st != OK) return st;
        comma = take(c, ',');
    }
    if (seen != 7) return bad_header(c, "one of 'descr', 'fortran_order' and 'shape' is missing");
    skip_spaces(c);
    if (c->at < c->end) return bad_header(c, "something stands behind }");
    return c->end[-1] == '\n' ? OK : bad_header(c, "it does not end with a newline");
}

/* The number of elements; dimensions of 0 apart, so that no index into the array can wrap either. */
static status count_elements(const struct cursor *c, struct npy_header *h)
{
    size_t product = h->item_bytes;
    bool empty = false;
    for (int d = 0; d < h->rank; d++) {
        empty |= h->dim[d] == 0;
        if (h->dim[d] && !size_mul(product, h->dim[d], &product))
            return bad_header(c, "the shape has more elements than can be addressed");
    }
    h->count = empty ? 0 : product / h->item_bytes;
    return OK;
}

/* Finds the dictionary's text. Version 1 has a length of two bytes, versions 2 and 3 of four. */
static status frame_parse(const char *name, const unsigned char *b, size_t n, struct cursor *c, size_t *data_at)
{
    if (n < MAGIC_BYTES + 4 || memcmp(b, magic, MAGIC_BYTES))
        return fail(ST_FORMAT, "'%s' is not a NumPy array file: it does not begin as one", name);
    unsigned major = b[6], minor = b[7];
    if (major < 1 || major > 3 || minor != 0)
        return fail(ST_UNSUPPORTED, "'%s' has version %u.%u of the NumPy format; 1.0, 2.0 and 3.0 are known", name,
                    major, minor);
    size_t length = b[8] | (size_t)b[9] << 8, start = 10;
    if (major > 1) {
        if (n < 12) return fail(ST_FORMAT, "'%s' is cut short within its header", name);
        length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
        start = 12;
    }
    if (length > MAX_HEADER_BYTES)
        return fail(ST_FORMAT, "'%s' has a header of %zu bytes; at most %d are accepted", name, length,
                    MAX_HEADER_BYTES);
    if (length > n - start) return fail(ST_FORMAT, "'%s' is cut short within its header", name);
    *c = (struct cursor){name, (const char *)b + start, (const char *)b + start + length};
    *data_at = start + length;
    return OK;
}

status npy_header_parse(const char *name, const void *bytes, size_t n, struct npy_header *out)
{
    status st = OK;
    struct cursor c;
    struct npy_header h = {0};
    TRY(frame_parse(name, bytes, n, &c, &h.data_at));
    TRY(dictionary_parse(&c, &h));
    TRY(count_elements(&c, &h));
    *out = h;
done:
    return st;
}

void npy_header_write(text *to, enum npy_type type, int rank, const size_t *dim)
{
    static const char *const descr[] = {[NPY_F32] = "<f4", [NPY_F64] = "<f8", [NPY_I64] = "<i8"};
    static const size_t prefix = MAGIC_BYTES + 4;
    text_add_bytes(to, magic, MAGIC_BYTES);
    text_add_bytes(to, "\1\0\0\0", 4); /* the length follows below */
    text_addf(to, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr[type]);
    for (int d = 0; d < rank; d++) text_addf(to, d ? ", %zu" : "%zu", dim[d]);
    text_add(to, rank == 1 ? ",), }" : "), }");
    while ((to->length + 1) % 64 && to->st == OK) text_add(to, " ");
    text_add(to, "\n");
    if (to->st != OK) return;
    size_t length = to->length - prefix; /* below 300 */
    to->data[8] = (char)(length & 0xff);
    to->data[9] = (char)(length >> 8);
}
