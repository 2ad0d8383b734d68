/* pictures_crop.cu - squares cut from stored pictures, mirrored beyond their edges: a thread a pixel. */
#include "cuda/pictures.cuh"

/* Place i of an axis of n places; beyond its ends it runs back. */
static __device__ size_t mirrored(int i, unsigned n)
{
    const int last = (int)n - 1;
    return (size_t)(i < 0 ? -i : i > last ? 2 * last - i : i);
}

/* Grid: [picture, part of its pixels]. */
template <typename real> __global__ void crop_kernel(struct canvas<real> c)
{
    const unsigned at = blockIdx.y * blockDim.x + threadIdx.x;
    if (at >= c.pixels) return;
    const struct picture_item p = c.items[blockIdx.x];
    const unsigned row = at / c.side, column = at % c.side;
    const int x = (int)(p.flip ? c.side - 1 - column : column) + p.left, y = (int)row + p.top;
    c.put(blockIdx.x, at, p.rgb + (mirrored(y, p.height) * p.width + mirrored(x, p.width)) * 3);
}

template <typename real> status pictures_crop(struct device *d, const struct pictures_args *a, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    const struct canvas<real> c = canvas_of<real>(a, y);
    if (y->dim[0] == 0) return OK;
    const dim3 grid((unsigned)y->dim[0], (unsigned)size_div_up(c.pixels, THREADS));
    crop_kernel<<<grid, THREADS, 0, g->stream>>>(c);
    return LAUNCHED(g, "cutting pictures");
}

void table_pictures_crop(struct prims p[DT_REALS])
{
    p[DT_F32].pictures_crop = pictures_crop<float>;
    p[DT_F64].pictures_crop = pictures_crop<double>;
}
