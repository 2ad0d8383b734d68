/* thin.h - for the convolutions in cpu/prims: weight gradients of a layer with few input channels. */
#ifndef CPU_PRIMS_THIN_H
#define CPU_PRIMS_THIN_H
#include "cpu/prims/frame.h"

bool R(thin_fits)(const kernel_table *k, const tensor *dw);
/* dw += the derivative; `from` is x, dy [n, oh, ow, out]. */
status R(thin_grad_w)(struct device *d, const struct R(frame) *from, size_t n, size_t stride, const tensor *dy,
                      const tensor *dw);
#endif
