/* pictures.cuh - for the kernels that show pictures to a network: where a pixel goes, and what a byte becomes.
 *
 * Every number is the CPU's to the last bit: no fused multiply-add may slip in (cmake/cuda.cmake). */
#ifndef CUDA_PICTURES_CUH
#define CUDA_PICTURES_CUH
#include "cuda/gpu.cuh"

template <typename real> struct canvas {
    const struct picture_item *items;
    float mean[3], std[3];
    unsigned side, pixels;
    size_t pixel, channel; /* the distance in y between pixels and between channels */
    real *y;               /* [n, 3, side, side] or [n, side, side, 3] */

    /* The three bytes as pixel `at` of picture `n`. */
    __device__ void put(size_t n, unsigned at, const uint8_t rgb[3]) const
    {
        real *to = y + n * 3 * pixels + at * pixel;
        for (int c = 0; c < 3; c++) to[c * channel] = (real)(((float)rgb[c] / 255.0f - mean[c]) / std[c]);
    }
};

template <typename real> static struct canvas<real> canvas_of(const struct pictures_args *a, const tensor *y)
{
    const unsigned side = (unsigned)y->dim[a->channels_last ? 1 : 2];
    struct canvas<real> c = {(const struct picture_item *)a->items, {}, {}, side, side * side, 1, side * side,
                             reals<real>(y)};
    for (int i = 0; i < 3; i++) {
        c.mean[i] = a->mean[i];
        c.std[i] = a->std[i];
    }
    if (a->channels_last) {
        c.pixel = 3;
        c.channel = 1;
    }
    return c;
}
#endif
