/* onnx_pool.c - adaptive pooling in ONNX, which knows only cells of one size: an AveragePool where they are, else a product with
 * a matrix of averages along each axis. */
#include "api/onnx.h"
#include "base/plain.h"
#include "base/size.h"
#include <string.h>

/* Cell i of op_adaptive_pool: rows from..to of `size` that become `cells`. */
static size_t cell_from(size_t i, size_t size, size_t cells) { return i * size / cells; }
static size_t cell_to(size_t i, size_t size, size_t cells) { return size_div_up((i + 1) * size, cells); }

/* Whether all cells have one size and one distance, as an AveragePool needs them. */
static bool even_cells(size_t size, size_t cells, int64_t *kernel, int64_t *stride)
{
    const size_t first = cell_to(0, size, cells), step = cells > 1 ? cell_from(1, size, cells) : 1;
    for (size_t i = 0; i < cells; i++)
        if (cell_from(i, size, cells) != i * step || cell_to(i, size, cells) != i * step + first) return false;
    *kernel = (int64_t)first;
    *stride = (int64_t)step;
    return step > 0;
}

/* A matrix that averages along one axis: [cells, size], or turned [size, cells]. */
static status add_averages(struct onnx_writer *w, const char *name, size_t size, size_t cells, bool turned)
{
    const size_t dim[] = {turned ? size : cells, turned ? cells : size};
    float *m = onnx_constant(w->model, name, 2, dim);
    if (!m) return ST_MEMORY;
    memset(m, 0, size * cells * sizeof *m);
    for (size_t i = 0; i < cells; i++) {
        const size_t from = cell_from(i, size, cells), to = cell_to(i, size, cells);
        for (size_t j = from; j < to; j++)
            m[turned ? j * cells + i : i * size + j] = (float)(1.0 / (double)(to - from));
    }
    return OK;
}

/* An AveragePool where that can; else rows and columns are averaged by matrices. */
status onnx_adaptive_pool(struct onnx_writer *w, const struct step *step, const char *output)
{
    const size_t *in = steps_at(w->steps, step->in[0])->dim, *out = step->dim;
    const char *x = w->value[step->in[0]].name;
    int64_t kernel[2], stride[2];
    char rows[ONNX_NAME], columns[ONNX_NAME], half[ONNX_NAME];
    status st = OK;
    if (even_cells(in[2], out[2], &kernel[0], &stride[0]) && even_cells(in[3], out[3], &kernel[1], &stride[1])) {
        onnx_add(w->model, &(struct onnx_node){
                               .type = "AveragePool",
                               .output = output,
                               .input = {x},
                               .attributes = 2,
                               .attribute = {onnx_ints("kernel_shape", 2, kernel), onnx_ints("strides", 2, stride)}});
        return OK;
    }
    plain_snprintf(rows, sizeof rows, "%.60s.rows", output);
    plain_snprintf(columns, sizeof columns, "%.60s.columns", output);
    plain_snprintf(half, sizeof half, "%.60s.half", output);
    TRY(add_averages(w, rows, in[2], out[2], false));
    TRY(add_averages(w, columns, in[3], out[3], true));
    onnx_add(w->model, &(struct onnx_node){.type = "MatMul", .output = half, .input = {x, columns}});
    onnx_add(w->model, &(struct onnx_node){.type = "MatMul", .output = output, .input = {rows, half}});
done:
    return st;
}
