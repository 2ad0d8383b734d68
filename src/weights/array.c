/* array.c - the types of arrays in files, their sizes, and their numbers as f32 or f64. */
#include "base/size.h"
#include "weights/file.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [ARRAY_F32] = {"F32", 4}, [ARRAY_F64] = {"F64", 8}, [ARRAY_F16] = {"F16", 2}, [ARRAY_BF16] = {"BF16", 2},
    [ARRAY_I64] = {"I64", 8}, [ARRAY_I32] = {"I32", 4}, [ARRAY_U8] = {"U8", 1},   [ARRAY_BOOL] = {"BOOL", 1},
};

size_t array_type_bytes(enum array_type t) { return types[t].bytes; }

const char *array_type_name(enum array_type t) { return types[t].name; }

status array_bytes(const struct weights *w, const char *name, enum array_type type, int rank, const size_t *dim,
                   size_t *out)
{
    size_t bytes = array_type_bytes(type), product = bytes;
    if (rank > MAX_RANK)
        return fail(ST_FORMAT, "'%s': array '%.100s' has %d axes; at most %d are read", w->path, name, rank, MAX_RANK);
    for (int d = 0; d < rank; d++) { /* a 0 must not hide a product that does not fit */
        if (!size_mul(product, size_max(dim[d], 1), &product))
            return fail(ST_FORMAT, "'%s': array '%.100s' is larger than any memory", w->path, name);
        bytes *= dim[d];
    }
    *out = bytes;
    return OK;
}

static float float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits. The bits in the places of a float's are the number times 2^-112,
 * also of those without a leading one; the product is exact. */
static float half_value(uint16_t h)
{
    const float size = float_of_bits((uint32_t)(h & 0x7fff) << 13) * 0x1p112f;
    const uint32_t past = (h & 0x7c00) == 0x7c00
                              ? 0x7f800000
                              : 0; /* infinite, or not a number: no branch, so that loops are vectors */
    uint32_t bits;
    memcpy(&bits, &size, sizeof bits);
    return float_of_bits(bits | past | (uint32_t)(h >> 15) << 31);
}

static double double_of_bits(uint64_t bits)
{
    double f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static int64_t integer_at(const struct named_array *a, size_t i)
{
    const unsigned char *b = (const unsigned char *)a->data + i * array_type_bytes(a->type);
    if (a->type == ARRAY_I64) return (int64_t)load_u64(b);
    return a->type == ARRAY_I32 ? (int32_t)load_u32(b) : b[0];
}

static double real_at(const struct named_array *a, size_t i)
{
    const unsigned char *b = (const unsigned char *)a->data + i * array_type_bytes(a->type);
    switch (a->type) {
    case ARRAY_F32: return float_of_bits(load_u32(b));
    case ARRAY_F64: return double_of_bits(load_u64(b));
    case ARRAY_F16: return half_value(load_u16(b));
    case ARRAY_BF16: return float_of_bits((uint32_t)load_u16(b) << 16);
    default: return (double)integer_at(a, i);
    }
}

static bool is_integer(enum array_type t) { return t >= ARRAY_I64; }

static status get_floats(const struct named_array *a, const char *file, size_t count, float *out)
{
    if (a->type == ARRAY_F16) { /* millions of them, all of which fit */
        const unsigned char *b = a->data;
        for (size_t i = 0; i < count; i++) out[i] = half_value(load_u16(b + 2 * i));
        return OK;
    }
    for (size_t i = 0; i < count; i++) {
        double v = real_at(a, i);
        if (isfinite(v) && fabs(v) > FLT_MAX)
            return fail(ST_VALUE, "'%s': element %zu of '%.100s' is %g, too large for a 32-bit number", file, i,
                        a->name, v);
        out[i] = is_integer(a->type) ? (float)integer_at(a, i) : (float)v; /* not rounded twice */
    }
    return OK;
}

bool named_array_finite(const struct named_array *a)
{
    const size_t count = is_integer(a->type) ? 0 : a->bytes / array_type_bytes(a->type);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(real_at(a, i))) return false;
    return true;
}

/* A tensor of the same shape, only for its text. */
static const char *shape_text(int rank, const size_t *dim, char buffer[SHAPE_TEXT])
{
    tensor x = {.rank = rank};
    for (int d = 0; d < rank; d++) x.dim[d] = dim[d];
    return tensor_shape_text(&x, buffer);
}

status named_array_fits(const struct named_array *a, const char *file, int rank, const size_t *dim)
{
    char seen[SHAPE_TEXT], wanted[SHAPE_TEXT];
    bool same = a->rank == rank;
    for (int d = 0; same && d < rank; d++) same = a->dim[d] == dim[d];
    if (same) return OK;
    return fail(ST_SHAPE, "'%s': '%.100s' is %s, but %s is needed: these weights are for another network", file,
                a->name, shape_text(a->rank, a->dim, seen), shape_text(rank, dim, wanted));
}

const float *named_array_floats(const struct named_array *a)
{
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    return little && a->type == ARRAY_F32 && (uintptr_t)a->data % sizeof(float) == 0 ? a->data : NULL;
}

status named_array_get(const struct named_array *a, const char *file, dtype type, int rank, const size_t *dim,
                       void *out)
{
    const status st = named_array_fits(a, file, rank, dim);
    if (st != OK) return st;
    size_t count = a->bytes / array_type_bytes(a->type);
    if (type == DT_F32) return get_floats(a, file, count, out);
    if (type != DT_F64)
        return fail(ST_UNSUPPORTED, "'%s': '%.100s' cannot be read as %s", file, a->name, dtype_name(type));
    for (size_t i = 0; i < count; i++) ((double *)out)[i] = real_at(a, i);
    return OK;
}
