/* device.c - what all devices share: an arena over a device's memory, and the sentence for a missing primitive. */
#include "tensor/device.h"

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

status device_lacks(const struct device *d, const char *primitive, dtype type)
{
    return fail(ST_UNSUPPORTED, "device %s has no primitive %s for %s; use another device, such as cpu", d->name,
                primitive, dtype_name(type));
}
