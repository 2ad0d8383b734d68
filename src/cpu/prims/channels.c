/* channels.c - channels last in bf16 and back, number by number: the CPU computes nothing else in bf16, so that this is
 * only what other devices are compared with. */
#include "cpu/prims/prim.h"
#include <string.h>

/* To the nearest, ties to even; a NaN stays one. */
static uint16_t narrow(real x)
{
    const float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (f != f) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static real widen(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (real)f;
}

/* Offset in [n, c, h, w] of element i of [n, h, w, c]. */
static size_t from_last(const tensor *last, size_t i)
{
    const size_t c = last->dim[3], pixels = last->dim[1] * last->dim[2];
    return (i / c / pixels * c + i % c) * pixels + i / c % pixels;
}

status R(prim_channels_last)(struct device *d, const tensor *x, tensor *y)
{
    (void)d;
    for (size_t i = 0; i < tensor_count(y); i++) ((uint16_t *)y->data)[i] = narrow(reals(x)[from_last(y, i)]);
    return OK;
}

status R(prim_channels_first)(struct device *d, const tensor *x, bool add, tensor *y)
{
    (void)d;
    for (size_t i = 0; i < tensor_count(x); i++) {
        real *to = &reals(y)[from_last(x, i)];
        *to = (add ? *to : 0) + widen(((const uint16_t *)x->data)[i]);
    }
    return OK;
}
