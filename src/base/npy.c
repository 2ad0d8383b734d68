/* npy.c - reading and writing the numbers of NumPy's array files; the header's text is read by npy_header.c. */
#include "base/npy.h"
#include "base/npy_header.h"
#include "base/size.h"
#include "base/text.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t type_bytes(enum npy_type type) { return type == NPY_F32 ? 4 : 8; }

/* A number of 1, 2, 4 or 8 bytes, in either byte order, as bits. */
static uint64_t load_bits(const unsigned char *from, size_t bytes, bool big_endian)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < bytes; i++) bits = bits << 8 | from[big_endian ? i : bytes - 1 - i];
    return bits;
}

static status load_integer(const char *name, const struct npy_header *h, uint64_t bits, size_t at, int64_t *to)
{
    if (h->kind == 'i') {
        uint64_t sign = UINT64_C(1) << (8 * h->item_bytes - 1);
        bits = (bits ^ sign) - sign; /* the sign bit fills the upper bytes */
        memcpy(to, &bits, sizeof bits);
        return OK;
    }
    if (h->kind == 'b' && bits > 1)
        return fail(ST_FORMAT, "'%s': element %zu of a bool array is %u, neither 0 nor 1", name, at, (unsigned)bits);
    if (bits > INT64_MAX)
        return fail(ST_VALUE, "'%s': element %zu is %llu, which does not fit 64 bits with a sign", name, at,
                    (unsigned long long)bits);
    *to = (int64_t)bits;
    return OK;
}

/* Element `at` of the result from its place in the file. */
static status load_element(const char *name, const struct npy_header *h, const unsigned char *from, size_t at,
                           struct npy *to)
{
    uint64_t bits = load_bits(from, h->item_bytes, h->big_endian);
    if (to->type == NPY_I64) return load_integer(name, h, bits, at, (int64_t *)to->data + at);
    if (to->type == NPY_F64) {
        memcpy((double *)to->data + at, &bits, sizeof bits);
    } else {
        uint32_t half = (uint32_t)bits;
        memcpy((float *)to->data + at, &half, sizeof half);
    }
    return OK;
}

/* Where the element behind `place` stands in a file in Fortran order, going through the result in C order: the last
 * index runs fastest here and slowest there. `index` holds the indices of the element and moves on. */
static size_t fortran_next(const struct npy *a, size_t index[NPY_MAX_RANK], size_t place)
{
    size_t stride = a->count;
    for (int d = a->rank - 1; d >= 0; d--) {
        stride /= a->dim[d]; /* never 0: arrays without elements are not walked */
        place += stride;
        if (++index[d] < a->dim[d]) return place;
        place -= stride * a->dim[d];
        index[d] = 0;
    }
    return place;
}

static status load_all(const char *name, const struct npy_header *h, const unsigned char *from, struct npy *to)
{
    if (h->kind == 'f' && !h->fortran && h->big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)) {
        memcpy(to->data, from, to->count * h->item_bytes); /* already as it should be */
        return OK;
    }
    size_t index[NPY_MAX_RANK] = {0}, place = 0;
    for (size_t i = 0; i < to->count; i++) {
        status st = load_element(name, h, from + place * h->item_bytes, i, to);
        if (st != OK) return st;
        place = h->fortran ? fortran_next(to, index, place) : i + 1;
    }
    return OK;
}

/* Whether the `n` bytes behind the header are the array and nothing else. */
static status size_check(const char *name, const struct npy_header *h, size_t n)
{
    size_t want = 0; /* npy_header_parse has seen that this does not wrap */
    bool fits = size_mul(h->count, h->item_bytes, &want);
    assert(fits);
    (void)fits;
    if (n < want)
        return fail(ST_FORMAT, "'%s' is cut short: its header promises %zu bytes of numbers, %zu are there", name, want,
                    n);
    if (n > want) return fail(ST_FORMAT, "'%s' has %zu bytes too many behind its numbers", name, n - want);
    return OK;
}

status npy_parse(const char *name, const void *bytes, size_t n, struct npy *out)
{
    status st = OK;
    struct npy a = {0};
    struct npy_header h;
    TRY(npy_header_parse(name, bytes, n, &h));
    TRY(size_check(name, &h, n - h.data_at));

    a = (struct npy){.type = h.kind != 'f'       ? NPY_I64
                             : h.item_bytes == 4 ? NPY_F32
                                                 : NPY_F64,
                     .rank = h.rank,
                     .count = h.count};
    memcpy(a.dim, h.dim, sizeof a.dim);
    size_t need;
    a.data = size_mul(a.count, type_bytes(a.type), &need) ? malloc(size_max(need, 1)) : NULL;
    if (!a.data) {
        st = fail(ST_MEMORY, "no memory for the %zu numbers of '%s'", a.count, name);
        goto done;
    }
    TRY(load_all(name, &h, (const unsigned char *)bytes + h.data_at, &a));
    *out = a;
    a.data = NULL;
done:
    free(a.data);
    return st;
}

status npy_read(const char *path, size_t limit_bytes, struct npy *out)
{
    char *data;
    size_t bytes;
    status st = file_read(path, limit_bytes, &data, &bytes);
    if (st != OK) return st;
    st = npy_parse(path, data, bytes, out);
    free(data);
    return st;
}

void npy_free(struct npy *a)
{
    free(a->data);
    *a = (struct npy){0};
}

static double number_at(const struct npy *a, size_t i)
{
    switch (a->type) {
    case NPY_F32: return ((const float *)a->data)[i];
    case NPY_F64: return ((const double *)a->data)[i];
    case NPY_I64: break;
    }
    return (double)((const int64_t *)a->data)[i];
}

/* As float. Straight from the integer: by way of double it would be rounded twice. */
static float float_at(const struct npy *a, size_t i)
{
    return a->type == NPY_I64 ? (float)((const int64_t *)a->data)[i] : (float)number_at(a, i);
}

status npy_convert(struct npy *a, enum npy_type type, const char *name)
{
    if (a->type == type) return OK;
    if (type == NPY_I64) return fail(ST_VALUE, "'%s' holds real numbers where integers are needed", name);
    size_t need;
    void *data = size_mul(a->count, type_bytes(type), &need) ? malloc(size_max(need, 1)) : NULL;
    if (!data) return fail(ST_MEMORY, "no memory for the %zu numbers of '%s'", a->count, name);
    for (size_t i = 0; i < a->count; i++) {
        if (type == NPY_F64) {
            ((double *)data)[i] = number_at(a, i);
            continue;
        }
        double v = number_at(a, i);
        float f = fabs(v) <= FLT_MAX || !isfinite(v) ? float_at(a, i) : INFINITY;
        ((float *)data)[i] = f;
        if (isfinite(v) && !isfinite(f)) {
            free(data);
            return fail(ST_VALUE, "'%s': element %zu is %g, too large for a 32-bit number", name, i, v);
        }
    }
    free(a->data);
    a->data = data;
    a->type = type;
    return OK;
}

/* The numbers, little-endian whatever this machine is. */
static void put_numbers(struct file_writer *w, enum npy_type type, size_t count, const void *data)
{
    unsigned char chunk[4096];
    size_t item = type_bytes(type), fill = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        if (item == 8) {
            memcpy(&bits, (const char *)data + i * 8, 8);
        } else {
            uint32_t half;
            memcpy(&half, (const char *)data + i * 4, 4);
            bits = half;
        }
        for (size_t b = 0; b < item; b++) chunk[fill++] = (unsigned char)(bits >> (8 * b));
        if (fill == sizeof chunk) {
            file_put(w, chunk, fill);
            fill = 0;
        }
    }
    file_put(w, chunk, fill);
}

status npy_write(const char *path, enum npy_type type, int rank, const size_t *dim, const void *data)
{
    assert(rank >= 0 && rank <= NPY_MAX_RANK);
    status st = OK;
    struct file_writer w = {0};
    text header = {0};
    size_t count = 1;
    for (int d = 0; d < rank; d++) count *= dim[d]; /* cannot wrap: so many numbers are in memory */
    npy_header_write(&header, type, rank, dim);
    TRY(text_status(&header));
    TRY(file_begin(path, &w));
    file_put(&w, header.data, header.length);
    put_numbers(&w, type, count, data);
    TRY(file_commit(&w));
done:
    text_free(&header);
    return st;
}
