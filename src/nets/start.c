/* start.c - the parameters of convolutions and batch norms with their start values, drawn on the host by counter: the
 * same on every device. */
#include "base/plain.h"
#include "base/size.h"
#include "nets/layers.h"
#include <math.h>
#include <stdlib.h>

enum { FULL_NAME = LAYER_NAME + 32 };

struct start {
    double constant, normal, uniform; /* deviation, half-width */
};

static double draw(const struct start *s, struct random *r)
{
    if (s->normal > 0) return s->constant + s->normal * random_normal(r);
    if (s->uniform > 0) return s->constant + s->uniform * (2 * random_unit(r) - 1);
    return s->constant;
}

static status fill(struct layer_list *l, const tensor *x, const struct start *s)
{
    const size_t n = tensor_count(x);
    struct device *d = params_device(l->p);
    if (!l->random) return OK; /* they will be loaded */
    void *host = malloc(size_max(1, tensor_bytes(x)));
    if (!host) return fail(ST_MEMORY, "no memory for %zu start values", n);
    for (size_t i = 0; i < n; i++) {
        const double v = draw(s, l->random);
        if (x->type == DT_F32) ((float *)host)[i] = (float)v;
        else ((double *)host)[i] = v;
    }
    const status st = d->upload(d, x->data, host, tensor_bytes(x));
    free(host);
    return st;
}

status layer_conv_params(struct layer_list *l, const char *name, size_t out, size_t in, size_t k,
                         enum layer_start start)
{
    char full[FULL_NAME];
    struct param *p;
    const double taps = (double)(k * k);
    const struct start s = {.normal = start == START_KAIMING ? sqrt(2 / ((double)out * taps)) : 0,
                            .uniform = start == START_XAVIER ? sqrt(6 / (taps * (double)(in + out)))
                                                             : 1 / sqrt((double)in * taps)};
    plain_snprintf(full, sizeof full, "%s.weight", name);
    const status st = params_add(l->p, full, l->type, 4, (size_t[]){out, in, k, k}, &p);
    return st == OK ? fill(l, &p->value, &s) : st;
}

status layer_norm_params(struct layer_list *l, const char *name, size_t channels)
{
    static const struct {
        const char *part;
        bool trained;
        double value;
    } parts[] = {{"weight", true, 1}, {"bias", true, 0}, {"running_mean", false, 0}, {"running_var", false, 1}};
    status st = OK;
    for (int i = 0; i < 4 && st == OK; i++) {
        char full[FULL_NAME];
        struct param *p;
        plain_snprintf(full, sizeof full, "%s.%s", name, parts[i].part);
        st = parts[i].trained ? params_add(l->p, full, l->type, 1, &channels, &p)
                              : params_add_buffer(l->p, full, l->type, 1, &channels, &p);
        if (st == OK) st = fill(l, &p->value, &(struct start){.constant = parts[i].value});
    }
    return st;
}
