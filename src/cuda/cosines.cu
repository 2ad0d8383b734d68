/* cosines.cu - two launches: unit vectors as halves, and cuBLAS. */
#include "cuda/cosines.cuh"
#include <climits>

enum { ALIGNED = 8, MOST_BYTES = 256 << 20 };

/* Bytes that one query takes. */
static size_t query_bytes(const struct cosines *c)
{
    const size_t padded = size_round_up(c->channels, ALIGNED);
    return c->rq * (3 * padded * sizeof(__half) + (c->row + 1) * sizeof(float));
}

status cosines_make(struct gpu *g, const tensor *support, const tensor *query, bool among, struct cosines *out,
                    size_t *queries)
{
    *out = {};
    out->support = reals<float>(support);
    out->query = reals<float>(query);
    out->ns = support->dim[0];
    out->rs = support->dim[2];
    out->nq = query->dim[0];
    out->rq = query->dim[2];
    out->channels = query->dim[1];
    out->among = among;
    out->row = size_round_up(out->ns * out->rs, ALIGNED);
    *queries = size_min(out->nq, size_max(1, MOST_BYTES / query_bytes(out)));
    const size_t sizes[] = {*queries * out->rq + out->row, out->channels, out->row};
    for (size_t n : sizes)
        if (n > INT_MAX / 16) return g->fail(ST_UNSUPPORTED, "%zu features are too many for the GPU", n);
    return OK;
}

void cosines_lay(struct cosines *c, struct cursor *memory)
{
    const size_t deep = 3 * size_round_up(c->channels, ALIGNED), rows = c->nq * c->rq, more = c->among ? c->row : 0;
    c->query_halves = cursor_take<__half>(memory, (rows + more) * deep);
    c->again = c->query_halves + rows * deep;
    c->support_halves = cursor_take<__half>(memory, c->row * deep);
    c->query_inverse = cursor_take<float>(memory, rows);
    c->support_inverse = cursor_take<float>(memory, c->row);
    c->unused = cursor_take<float>(memory, more);
    c->phi = cursor_take<float>(memory, (rows + more) * c->row);
}

static struct unit_maps maps_of(const float *x, size_t pictures, size_t r, float *inverse, __half *halves, int low)
{
    struct unit_maps o = {};
    o.x = x;
    o.pictures = (int)pictures;
    o.r = (int)r;
    o.inverse = inverse;
    o.halves = halves;
    o.low = low;
    return o;
}

/* low high high against high low high; `among`, the support stands on both sides */
status cosines_run(struct gpu *g, const struct cosines *c)
{
    const size_t padded = size_round_up(c->channels, ALIGNED), deep = 3 * padded;
    const size_t rows = c->nq * c->rq + (c->among ? c->ns * c->rs : 0);
    struct units u = {};
    u.channels = (int)c->channels;
    u.padded = (int)padded;
    u.of[0] = maps_of(c->support, c->ns, c->rs, c->support_inverse, c->support_halves, 1);
    u.of[1] = maps_of(c->query, c->nq, c->rq, c->query_inverse, c->query_halves, 0);
    if (c->among) u.of[2] = maps_of(c->support, c->ns, c->rs, c->unused, c->again, 0);
    PASS(units_run(g, &u));
    const struct half_factor a = {c->query_halves, deep, false}, b = {c->support_halves, deep, true};
    const struct half_product product = {rows, c->row, deep, a, b, c->phi, c->row, 1 / (UNIT_SCALE * UNIT_SCALE)};
    return half_product_run(g, &product);
}
