/* extract.c - extractors by name, and PyramidGrid's end: a vector for each cell. */
#include "nets/extract.h"
#include <string.h>

const struct extract_about extract_table[EXTRACT_KINDS] = {
    [EXTRACT_MAP] = {"map", "map", "the network's last map as it is", "VanillaFCN"},
    [EXTRACT_PYRAMID] = {"pyramid", "pyramid-5,3", "the map averaged to several sizes, side by side", "PyramidFCN"},
    [EXTRACT_GRID] = {"grid", "grid-3,2", "overlapping cells of the picture, each seen by itself: a vector a cell",
                      "PyramidGrid"},
};

static status not_known(const char *name)
{
    return fail(ST_USAGE, "'%s' is no extractor; use map, pyramid-5,3 or grid-3,2 (up to %d sizes from 1 to %d)", name,
                EXTRACT_MOST_SIZES, EXTRACT_MOST_SIZE);
}

/* One size at *at, which moves behind it; 0: none there. */
static size_t size_at(const char **at)
{
    size_t size = 0;
    for (; **at >= '0' && **at <= '9' && size <= EXTRACT_MOST_SIZE; (*at)++) size = size * 10 + (size_t)(**at - '0');
    return size <= EXTRACT_MOST_SIZE ? size : 0;
}

status extractor_parse(const char *name, struct extractor *out)
{
    struct extractor e = {EXTRACT_MAP, 0, {0}};
    if (!strcmp(name, extract_table[EXTRACT_MAP].kind)) {
        *out = e;
        return OK;
    }
    for (e.kind = EXTRACT_PYRAMID; e.kind <= EXTRACT_GRID; e.kind++) {
        const size_t length = strlen(extract_table[e.kind].kind);
        if (strncmp(name, extract_table[e.kind].kind, length)) continue;
        const char *at = name + length;
        for (char before = '-'; *at == before && e.count < EXTRACT_MOST_SIZES; before = ',') {
            at++;
            if (!(e.sizes[e.count++] = size_at(&at))) return not_known(name);
        }
        if (!e.count || *at) return not_known(name);
        *out = e;
        return OK;
    }
    return not_known(name);
}

void extractor_add_name(const struct extractor *e, text *to)
{
    text_add(to, extract_table[e->kind].kind);
    for (size_t i = 0; i < e->count; i++) text_addf(to, "%s%zu", i ? "," : "-", e->sizes[i]);
}

size_t extractor_cells(const struct extractor *e)
{
    size_t cells = 0;
    for (size_t i = 0; i < e->count; i++) cells += e->sizes[i] * e->sizes[i];
    return e->kind == EXTRACT_GRID ? cells : 1;
}

var *extract_grid(tape *t, var *x, size_t cells)
{
    char shape[SHAPE_TEXT];
    if (!x || tape_status(t) != OK) return NULL;
    if (x->value.rank != 4 || !cells || x->value.dim[0] % cells)
        return tape_fail(t,
                         fail(ST_SHAPE, "a grid of %zu cells needs maps [n * cells, channels, height, width], not %s",
                              cells, tensor_shape_text(&x->value, shape)));
    const size_t channels = x->value.dim[1], n = x->value.dim[0] / cells;
    var *vectors = op_reshape(t, op_adaptive_pool(t, x, 1, 1), 3, (size_t[]){n, cells, channels});
    return op_reshape(t, op_permute(t, vectors, (int[]){0, 2, 1}), 4, (size_t[]){n, channels, cells, 1});
}

var *extract(tape *t, const struct extractor *e, var *maps)
{
    switch (e->kind) {
    case EXTRACT_PYRAMID: return extract_pyramid(t, maps, e->count, e->sizes);
    case EXTRACT_GRID: return extract_grid(t, maps, extractor_cells(e));
    case EXTRACT_MAP:
    case EXTRACT_KINDS: break;
    }
    return maps;
}
