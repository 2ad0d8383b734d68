/* half.c - filters and matrices in IEEE 754 binary16, half the bytes of a model: numbers are rounded to the nearest, among two as
 * near to the even one. A network's features then differ by about a thousandth. */
#include "weights/file.h"
#include <math.h>
#include <string.h>

/* 1 sign, 5 exponent and 10 fraction bits. False: too large. */
static bool half_of(double v, uint16_t *out)
{
    const uint16_t sign = signbit(v) ? 0x8000 : 0;
    const double size = fabs(v);
    int exponent;
    if (size == 0) {
        *out = sign;
        return true;
    }
    frexp(size, &exponent);                                     /* size is in [2^(exponent - 1), 2^exponent) */
    const int unit = exponent - 11 > -24 ? exponent - 11 : -24; /* of the last fraction bit; below 2^-14 it stays */
    const double steps = rint(ldexp(size, -unit));              /* to even; 2^11 carries into the exponent by itself */
    if (!(ldexp(steps, unit) <= 65504)) return false;
    *out = (uint16_t)(sign + ((uint16_t)(unit + 24) << 10) + (uint16_t)steps);
    return true;
}

static double number_at(const struct named_array *a, size_t i)
{
    const unsigned char *b = (const unsigned char *)a->data + i * array_type_bytes(a->type);
    float f;
    double d;
    const uint32_t narrow = load_u32(b);
    memcpy(&f, &narrow, sizeof f);
    if (a->type == ARRAY_F32) return (double)f;
    const uint64_t wide = load_u64(b);
    memcpy(&d, &wide, sizeof d);
    return d;
}

static status halve(const char *file, struct named_array *a, arena *memory)
{
    const size_t count = a->bytes / array_type_bytes(a->type);
    void *taken;
    const status st = arena_take(memory, count, 2, &taken);
    if (st != OK) return st;
    unsigned char *to = taken;
    for (size_t i = 0; i < count; i++, to += 2) {
        uint16_t h;
        if (!half_of(number_at(a, i), &h))
            return fail(ST_VALUE, "'%s': element %zu of '%.100s' is %g, too large for a 16-bit number", file, i,
                        a->name, number_at(a, i));
        to[0] = (unsigned char)(h & 255);
        to[1] = (unsigned char)(h >> 8);
    }
    a->type = ARRAY_F16;
    a->data = taken;
    a->bytes = count * 2;
    return OK;
}

status arrays_halve(const char *file, size_t count, struct named_array *arrays, arena *memory)
{
    status st = OK;
    for (size_t i = 0; i < count && st == OK; i++)
        if (arrays[i].rank >= 2 && (arrays[i].type == ARRAY_F32 || arrays[i].type == ARRAY_F64))
            st = halve(file, &arrays[i], memory);
    return st;
}
