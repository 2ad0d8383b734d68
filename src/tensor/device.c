/* device.c - what all devices share: an arena over a device's memory, steps as one, the choice of its maths, and the sentence for a
 * missing primitive. */
#include "tensor/device.h"
#include <string.h>

static status take(void *context, size_t bytes, void **out)
{
    struct device *d = context;
    return d->alloc(d, bytes, out);
}

static void give(void *context, void *memory)
{
    struct device *d = context;
    d->release(d, memory);
}

arena *device_arena(struct device *d, size_t first_block_bytes)
{
    return arena_new_from((struct arena_source){take, give, d}, first_block_bytes);
}

status device_together_begin(struct device *d) { return d->together_begin ? d->together_begin(d) : OK; }

status device_together_end(struct device *d, status st)
{
    const status ended = d->together_end ? d->together_end(d) : OK;
    return st == OK ? ended : st;
}

const char *maths_name(enum maths m)
{
    static const char *const names[MATHS_COUNT] = {[MATHS_F32] = "f32", [MATHS_TF32] = "tf32", [MATHS_BF16] = "bf16"};
    return names[m];
}

status device_set_maths(struct device *d, const char *name)
{
    for (int m = 0; m < MATHS_COUNT; m++) {
        if (strcmp(name, maths_name((enum maths)m))) continue;
        if (!(d->maths_known >> m & 1))
            return fail(ST_UNSUPPORTED, "device %s cannot compute in %s; use f32", d->name, name);
        d->maths = (enum maths)m;
        return OK;
    }
    return fail(ST_USAGE, "there are no maths '%.40s'; there are f32, tf32 and bf16", name);
}

status device_lacks(const struct device *d, const char *primitive, dtype type)
{
    return fail(ST_UNSUPPORTED, "device %s has no primitive %s for %s; use another device, such as cpu", d->name,
                primitive, dtype_name(type));
}
