/* arrays.c - copies of parameters on the host. */
#include "train/arrays.h"
#include "base/plain.h"
#include "base/size.h"
#include <stdlib.h>
#include <string.h>

enum array_type arrays_type(dtype type) { return type == DT_F64 ? ARRAY_F64 : ARRAY_F32; }

static status array_from(const char *prefix, const struct param *p, struct device *d, struct named_array *out)
{
    const size_t length = strlen(prefix) + strlen(p->name) + 1;
    char *name = malloc(length);
    void *data = malloc(size_max(1, tensor_bytes(&p->value)));
    *out = (struct named_array){.name = name, .data = data}; /* the list owns them from here, whatever follows */
    if (!name || !data) return fail(ST_MEMORY, "no memory to save '%s'", p->name);
    plain_snprintf(name, length, "%s%s", prefix, p->name);
    out->type = arrays_type(p->value.type);
    out->rank = p->value.rank;
    memcpy(out->dim, p->value.dim, sizeof out->dim);
    out->bytes = tensor_bytes(&p->value);
    return d->download(d, data, p->value.data, out->bytes);
}

status arrays_add(struct arrays *a, const char *prefix, struct params *p, const char *without)
{
    status st = OK;
    const size_t total = a->count + params_count(p);
    struct named_array *item = realloc(a->item, size_max(1, total) * sizeof *item);
    if (!item) return fail(ST_MEMORY, "no memory to save %zu tensors", total);
    a->item = item;
    for (size_t i = 0; i < params_count(p) && st == OK; i++) {
        const struct param *from = params_at(p, i);
        if (without && !strncmp(from->name, without, strlen(without))) continue;
        st = array_from(prefix, from, params_device(p), &a->item[a->count++]);
    }
    return st;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named_array *)a)->name, ((const struct named_array *)b)->name);
}

void arrays_sort(struct arrays *a)
{
    if (a->count) qsort(a->item, a->count, sizeof *a->item, by_name);
}

void arrays_free(struct arrays *a)
{
    for (size_t i = 0; i < a->count; i++) {
        free((char *)(uintptr_t)a->item[i].name);
        free((void *)(uintptr_t)a->item[i].data);
    }
    free(a->item);
    *a = (struct arrays){0};
}
