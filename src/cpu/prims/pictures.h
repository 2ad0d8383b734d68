/* pictures.h - for the primitives that show pictures to a network: places, and bytes to numbers. */
#ifndef CPU_PRIMS_PICTURES_H
#define CPU_PRIMS_PICTURES_H
#include "cpu/prims/prim.h"

/* A byte's value in channel c, computed in float whatever the type of y. */
static inline real picture_value(const struct pictures_args *a, size_t c, uint8_t v)
{
    return (real)(((float)v / 255.0f - a->mean[c]) / a->std[c]);
}

static inline size_t picture_side(const struct pictures_args *a, const tensor *y)
{
    return a->channels_last ? y->dim[1] : y->dim[2];
}

/* The distance in y between pixels and between channels. */
static inline void picture_steps(const struct pictures_args *a, size_t side, size_t *pixel, size_t *channel)
{
    *pixel = a->channels_last ? 3 : 1;
    *channel = a->channels_last ? 1 : side * side;
}
#endif
