/* pictures_resize.cu - parts of stored pictures, resized and with other colours (image/resize.c, image/augment.c).
 *
 * The first kernel lays out the taps of every row and column of every picture; in the second, a block makes one picture:
 * each thread its own pixels, from the first sum to the last division, so that only the mean grey needs all threads. A
 * pixel sums its taps across for each row it needs, cuts the sums to bytes as the CPU's first pass does, then down. */
#include "cuda/pictures.cuh"
#include <cmath>

enum { FRACTION_BITS = 22, HALF = 1 << (FRACTION_BITS - 1) };

/* The taps of one place, `2 + most` numbers: the first input place, how many, their weights. Those of picture n: side
 * columns, then side rows. */
struct taps {
    int *at;
    size_t most;
    unsigned side;
    __device__ int *column(size_t n, unsigned i) const { return at + (n * 2 * side + i) * (2 + most); }
    __device__ int *row(size_t n, unsigned i) const { return column(n, side + i); }
};

static __device__ double weight_of(int place, double c, double support)
{
    const double t = fabs(((double)place - c + 0.5) * (1.0 / support));
    return t < 1.0 ? 1.0 - t : 0.0;
}

static __device__ void lay_taps(unsigned length, unsigned side, unsigned i, int *out)
{
    const double scale = (double)length / (double)side, support = scale > 1 ? scale : 1;
    const double c = ((double)i + 0.5) * scale, low = c - support + 0.5, high = c + support + 0.5;
    const int from = low > 0 ? (int)low : 0, to = min((int)length, (int)high), n = to - from;
    double sum = 0;
    for (int k = 0; k < n; k++) sum += weight_of(from + k, c, support);
    out[0] = from;
    out[1] = n;
    for (int k = 0; k < n; k++) {
        const double w = weight_of(from + k, c, support), share = sum != 0 ? w / sum : w;
        out[2 + k] = (int)(share * (1 << FRACTION_BITS) + 0.5);
    }
}

static __device__ int to_byte(int sum) { return min(max(sum >> FRACTION_BITS, 0), 255); }

static __device__ void resize_pixel(const struct picture_item *p, const int *column, const int *row, uint8_t *rgb)
{
    int down[3] = {HALF, HALF, HALF};
    for (int y = 0; y < row[1]; y++) {
        const size_t line = (size_t)(p->top + row[0] + y) * p->width + (size_t)(p->left + column[0]);
        const uint8_t *from = p->rgb + line * 3;
        int across[3] = {HALF, HALF, HALF};
        for (int x = 0; x < column[1]; x++, from += 3)
            for (int c = 0; c < 3; c++) across[c] += from[c] * column[2 + x];
        for (int c = 0; c < 3; c++) down[c] += to_byte(across[c]) * row[2 + y];
    }
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)to_byte(down[c]);
}

static __device__ int grey_of(const uint8_t *rgb)
{
    return (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16;
}

static __device__ uint8_t blend(int d, int x, float factor)
{
    if (factor == 1.0f) return (uint8_t)x;
    const float t = (float)d + factor * (float)(x - d);
    return (uint8_t)(t <= 0 ? 0 : t >= 255 ? 255 : (int)t);
}

/* Of the block's picture; a sum of integers does not depend on the order. */
static __device__ int grey_mean(const uint8_t *rgb, unsigned pixels)
{
    __shared__ unsigned long long sum;
    unsigned long long own = 0;
    __syncthreads(); /* nobody still reads the sum of an earlier call */
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < pixels; i += blockDim.x) own += (unsigned)grey_of(rgb + i * 3);
    atomicAdd(&sum, own);
    __syncthreads();
    return (int)((double)sum / (double)pixels + 0.5);
}

/* Change `kind` (0 brightness, 1 contrast, 2 saturation): away from black, from the mean grey, or from the own grey. */
static __device__ void recolour(uint8_t *rgb, unsigned pixels, int kind, float factor)
{
    const int mean = kind == 1 ? grey_mean(rgb, pixels) : 0;
    for (unsigned i = threadIdx.x; i < pixels; i += blockDim.x) {
        uint8_t *own = rgb + i * 3;
        const int from = kind == 2 ? grey_of(own) : mean;
        for (int c = 0; c < 3; c++) own[c] = blend(from, own[c], factor);
    }
}

/* A block makes a picture; `bytes` is [n, side, side, 3]. */
template <typename real> __global__ void show_kernel(struct canvas<real> c, struct taps t, uint8_t *bytes)
{
    const size_t n = blockIdx.x;
    const struct picture_item p = c.items[n];
    uint8_t *rgb = bytes + n * c.pixels * 3;
    for (unsigned i = threadIdx.x; i < c.pixels; i += blockDim.x)
        resize_pixel(&p, t.column(n, i % c.side), t.row(n, i / c.side), rgb + i * 3);
    for (int k = 0; k < 4; k++)
        if (p.order[k] < 3) recolour(rgb, c.pixels, p.order[k], p.factor[p.order[k]]);
    for (unsigned i = threadIdx.x; i < c.pixels; i += blockDim.x) {
        const unsigned x = i % c.side;
        c.put(n, p.flip ? i - x + c.side - 1 - x : i, rgb + i * 3);
    }
}

template <typename real> status pictures_resize(struct device *d, const struct pictures_args *a, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    const struct canvas<real> c = canvas_of<real>(a, y);
    const unsigned side = c.side;
    const size_t n = y->dim[0];
    const double reduction = a->longest > side ? (double)a->longest / (double)side : 1;
    struct taps t = {NULL, 2 * (size_t)ceil(reduction) + 1, side};
    struct cursor s = {};
    uint8_t *bytes = NULL;
    if (n == 0) return OK;
    for (int pass = 0; pass < 2; pass++) { /* counts, then takes */
        void *memory = NULL;
        if (pass) PASS(gpu_scratch(g, s.bytes, &memory));
        s = {(char *)memory, 0};
        t.at = cursor_take<int>(&s, n * 2 * side * (2 + t.most));
        bytes = cursor_take<uint8_t>(&s, n * c.pixels * 3);
    }
    const struct picture_item *items = c.items;
    PASS(each(g, n * 2 * side, [=] __device__(size_t i) {
        const size_t picture = i / (2 * side);
        const unsigned place = (unsigned)(i % (2 * side));
        const struct picture_item *p = items + picture;
        if (place < side) lay_taps(p->part_width, side, place, t.column(picture, place));
        else lay_taps(p->part_height, side, place - side, t.row(picture, place - side));
    }));
    show_kernel<<<(unsigned)n, THREADS, 0, g->stream>>>(c, t, bytes);
    return LAUNCHED(g, "resizing pictures");
}

void table_pictures_resize(struct prims p[DT_REALS])
{
    p[DT_F32].pictures_resize = pictures_resize<float>;
    p[DT_F64].pictures_resize = pictures_resize<double>;
}
