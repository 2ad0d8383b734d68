/* conv_rgb.h - for the convolutions in cpu/prims: a network's first layer, 3x3 over pictures of three colours. */
#ifndef CPU_PRIMS_CONV_RGB_H
#define CPU_PRIMS_CONV_RGB_H
#include "cpu/prims/winograd.h"

/* Whether these weights are a first layer's, and the device does not ask for another way. */
bool R(rgb_fits)(struct device *d, const tensor *w, struct conv_shape s);
/* The result of n pictures, [n, oh, ow, out] or, pooled, [n, oh / 2, ow / 2, out]. */
status R(rgb_conv)(struct device *d, const struct R(frame) *from, size_t n, size_t oh, size_t ow, const tensor *w,
                   const struct R(epilogue) *end, real *to);
#endif
