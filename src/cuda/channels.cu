/* channels.cu - pictures f32 [n, c, h, w] to maps bf16 [n, h, w, c], and maps back. */
#include "cuda/half.cuh"

enum { TILE = 32, TILE_ROWS = 8 };

/* A tile of [rows, columns] of each picture becomes one of [columns, rows]; put(to, offset, number) writes. */
template <typename From, typename To, typename Put>
__global__ void turn_kernel(const From *from, unsigned rows, unsigned columns, To *to, Put put)
{
    __shared__ From tile[TILE][TILE + 1];
    const size_t picture = (size_t)blockIdx.z * rows * columns;
    const unsigned row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    for (unsigned i = threadIdx.y; i < TILE; i += TILE_ROWS)
        if (row + i < rows && column + threadIdx.x < columns)
            tile[i][threadIdx.x] = from[picture + (size_t)(row + i) * columns + column + threadIdx.x];
    __syncthreads();
    for (unsigned i = threadIdx.y; i < TILE; i += TILE_ROWS)
        if (column + i < columns && row + threadIdx.x < rows)
            put(to, picture + (size_t)(column + i) * rows + row + threadIdx.x, tile[threadIdx.x][i]);
}

template <typename From, typename To, typename Put>
static status turn(struct gpu *g, size_t pictures, const void *from, size_t rows, size_t columns, void *to, Put put)
{
    enum { MOST = 65535 };
    const size_t each = rows * columns;
    for (size_t first = 0; first < pictures && each; first += MOST) {
        const dim3 grid((unsigned)size_div_up(columns, TILE), (unsigned)size_div_up(rows, TILE),
                        (unsigned)size_min(MOST, pictures - first));
        if (grid.y > MOST) return g->fail(ST_UNSUPPORTED, "maps of %zu pixels are too large for the GPU", rows);
        turn_kernel<<<grid, dim3(TILE, TILE_ROWS), 0, g->stream>>>((const From *)from + first * each, (unsigned)rows,
                                                                   (unsigned)columns, (To *)to + first * each, put);
        PASS(LAUNCHED(g, "a change of layout"));
    }
    return OK;
}

/* Pictures have three channels: one thread a pixel. */
static status pictures_last(struct gpu *g, const float *from, size_t pictures, size_t pixels, bf16 *to)
{
    PASS(pictures * pixels < (1u << 31) ? OK : g->fail(ST_UNSUPPORTED, "%zu pictures are too many for one pass", pictures));
    const unsigned each_picture = (unsigned)pixels;
    return each(g, pictures * pixels, [=] __device__(size_t i) {
        const unsigned picture = (unsigned)i / each_picture, pixel = (unsigned)i - picture * each_picture;
        const float *own = from + (size_t)picture * 3 * each_picture + pixel;
        for (unsigned c = 0; c < 3; c++) to[i * 3 + c] = __float2bfloat16(own[(size_t)c * each_picture]);
    });
}

static status channels_last(struct device *d, const tensor *x, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    const size_t c = y->dim[3], pixels = y->dim[1] * y->dim[2];
    if (c == 3) return pictures_last(g, reals<float>(x), x->dim[0], pixels, (bf16 *)y->data);
    return turn<float, bf16>(g, x->dim[0], x->data, c, pixels, y->data,
                             [] __device__(bf16 *to, size_t at, float v) { to[at] = __float2bfloat16(v); });
}

static status channels_first(struct device *d, const tensor *x, bool add, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    const size_t c = x->dim[3], pixels = x->dim[1] * x->dim[2];
    return turn<bf16, float>(g, x->dim[0], x->data, pixels, c, y->data, [=] __device__(float *to, size_t at, bf16 v) {
        to[at] = (add ? to[at] : 0) + __bfloat162float(v);
    });
}

void table_channels(struct prims p[DT_REALS])
{
    p[DT_F32].channels_last = channels_last;
    p[DT_F32].channels_first = channels_first;
}
