/* average.c - averages beside a model, shown by copying: recorded passes know the addresses of its numbers. */
#include "train/average.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>

struct average {
    struct params *model; /* borrowed */
    struct params *own;   /* owned: the model's numbers while the average is shown */
    struct param **mean;  /* owned: those of `state`, in the order of the model */
    double memory;
};

static status add_beside(struct average *a, struct params *state, size_t i)
{
    const struct param *of = params_at(a->model, i);
    const tensor *v = &of->value;
    text name = {0};
    struct param *own;
    text_addf(&name, "average.%s", of->name);
    status st = text_status(&name);
    if (st == OK) st = params_add_buffer(state, name.data, v->type, v->rank, v->dim, &a->mean[i]);
    if (st == OK) st = params_add_buffer(a->own, of->name, v->type, v->rank, v->dim, &own);
    text_free(&name);
    return st;
}

status average_new(struct params *model, struct params *state, double memory, struct average **out)
{
    status st = OK;
    const size_t count = params_count(model);
    if (!(memory > 0 && memory < 1))
        return fail(ST_VALUE, "an average's memory is %g, but must lie between 0 and 1", memory);
    struct average *a = calloc(1, sizeof *a);
    if (a) {
        *a = (struct average){.model = model, .memory = memory};
        a->own = params_new(params_device(model));
        a->mean = calloc(count + 1, sizeof(struct param *));
    }
    if (!a || !a->own || !a->mean) {
        st = fail(ST_MEMORY, "no memory for an average of the weights");
        goto done;
    }
    for (size_t i = 0; i < count; i++) TRY(add_beside(a, state, i));
    *out = a;
    a = NULL;
done:
    average_free(a);
    return st;
}

void average_free(struct average *a)
{
    if (!a) return;
    params_free(a->own);
    free(a->mean);
    free(a);
}

static status copy(struct device *d, const tensor *from, tensor *to)
{
    return d->copy(d, to->data, from->data, tensor_bytes(from));
}

status average_show(struct average *a, uint64_t epochs)
{
    status st = OK;
    struct device *d = params_device(a->model);
    const double part = fmax(1 - a->memory, 1 / ((double)epochs + 1));
    params_thaw(a->model);
    for (size_t i = 0; i < params_count(a->model); i++) {
        tensor *v = &params_at(a->model, i)->value;
        TRY(copy(d, v, &params_at(a->own, i)->value));
        TRY(PRIM_CALL(d, v->type, affine, (d, v, part, 0, v)));
        TRY(PRIM_CALL(d, v->type, axpy, (d, 1 - part, &a->mean[i]->value, v)));
    }
done:
    return st;
}

status average_hide(struct average *a, bool take)
{
    status st = OK;
    struct device *d = params_device(a->model);
    params_thaw(a->model);
    for (size_t i = 0; i < params_count(a->model); i++) {
        tensor *v = &params_at(a->model, i)->value;
        if (take) TRY(copy(d, v, &a->mean[i]->value));
        TRY(copy(d, &params_at(a->own, i)->value, v));
    }
done:
    return st;
}
