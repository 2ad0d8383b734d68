/* start.c - the parameters of heads: made from their tables, met again by name. */
#include "base/size.h"
#include "heads/head.h"
#include <math.h>
#include <stdlib.h>

static double draw(const struct head_param *h, double scale, struct random *r)
{
    double v = h->start;
    if (h->start_normal > 0) v += scale * h->start_normal * random_normal(r);
    if (h->start_uniform > 0) v += scale * h->start_uniform * (2 * random_unit(r) - 1);
    return v;
}

/* n start values in host memory of the type */
static void draw_all(const struct head_param *h, size_t channels, struct random *r, dtype type, size_t n, void *host)
{
    const double scale = h->by_channels ? 1 / sqrt((double)channels) : 1;
    for (size_t i = 0; i < n; i++) {
        const double v = draw(h, scale, r);
        if (type == DT_F32) ((float *)host)[i] = (float)v;
        else ((double *)host)[i] = v;
    }
}

static status fill(const struct head_param *h, size_t channels, const tensor *x, struct device *d, struct random *r)
{
    const size_t n = tensor_count(x);
    void *host = malloc(size_max(1, tensor_bytes(x)));
    if (!host) return fail(ST_MEMORY, "no memory for %zu start values of %s", n, h->name);
    draw_all(h, channels, r, x->type, n, host);
    const status st = d->upload(d, x->data, host, tensor_bytes(x));
    free(host);
    return st;
}

size_t head_param_count(const struct head *h)
{
    size_t n = 0;
    while (h->params && h->params[n].name) n++;
    return n;
}

static void shape(const struct head_param *e, size_t channels, size_t dim[MAX_RANK])
{
    for (int axis = 0; axis < e->rank; axis++) dim[axis] = e->dim(channels, axis);
}

status head_start(const struct head *h, size_t channels, dtype type, struct random *r, struct params *p)
{
    status st = OK;
    for (const struct head_param *e = h->params; e && e->name && st == OK; e++) {
        size_t dim[MAX_RANK] = {0};
        struct param *added = NULL;
        shape(e, channels, dim);
        st = params_add(p, e->name, type, e->rank, dim, &added);
        if (st == OK) st = fill(e, channels, &added->value, params_device(p), r);
    }
    return st;
}

var *head_var(tape *t, struct params *p, const struct head_param *e, size_t channels, dtype type)
{
    struct param *found = p ? params_find(p, e->name) : NULL;
    struct random none = {0}; /* constants draw nothing */
    tensor x = {.type = type};
    void *host;
    size_t dim[MAX_RANK] = {0};
    if (found) return tape_param(t, found);
    if (p || e->start_normal > 0 || e->start_uniform > 0)
        return tape_fail(t, fail(ST_USAGE, "the parameter %s is missing", e->name));
    shape(e, channels, dim);
    status st = tensor_make(&x, type, e->rank, dim, NULL);
    if (st == OK) st = tape_host(t, tensor_bytes(&x), &host);
    if (st != OK) return tape_fail(t, st);
    draw_all(e, channels, &none, type, tensor_count(&x), host);
    return tape_upload(t, type, e->rank, dim, host);
}
