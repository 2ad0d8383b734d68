/* device.c - opens the device under test, and finds memory that a GPU and the host share. */
#include "tests/device.h"
#include "api/plugin.h"
#include "cpu/cpu.h"
#include "tests/test.h"
#include <dlfcn.h>
#include <stdlib.h>

const char *test_device(void)
{
    const char *name = getenv("CENTRA_TEST_DEVICE");
    return name && *name && strcmp(name, "cpu") ? name : NULL;
}

status test_cpu_open(pool *threads, const char *isa, struct device **out)
{
    const struct kernels *kernels;
    const status st = kernels_choose(isa, &kernels);
    return st == OK ? cpu_open(threads, kernels, out) : st;
}

status test_device_open(pool *threads, const char *isa, struct device **out)
{
    return test_device() ? plugin_open(test_device(), out) : test_cpu_open(threads, isa, out);
}

bool test_is_for_cpu(void)
{
    if (test_device()) test_skip("a promise of the CPU alone");
    return test_device() != NULL;
}

/* Memory of the host that stays in its place can be followed by kernels; the driver's library has it. */
struct pinned {
    int (*take)(void **out, size_t bytes);
    int (*give)(void *memory);
};

static bool find_pinned(struct pinned *out)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *take = driver ? dlsym(driver, "cuMemAllocHost_v2") : NULL,
         *give = driver ? dlsym(driver, "cuMemFreeHost") : NULL;
    memcpy(&out->take, &take, sizeof take); /* C has no cast from an object's address to a function's */
    memcpy(&out->give, &give, sizeof give);
    return take && give;
}

static status pinned_take(void *context, size_t bytes, void **out)
{
    struct pinned p;
    (void)context;
    if (!find_pinned(&p) || p.take(out, bytes ? bytes : 1) != 0) return fail(ST_MEMORY, "no pinned memory");
    return OK;
}

static void pinned_give(void *context, void *memory)
{
    struct pinned p;
    (void)context;
    if (find_pinned(&p)) (void)p.give(memory);
}

arena *test_device_arena(size_t first_block_bytes)
{
    if (!test_device()) return arena_new(first_block_bytes);
    return arena_new_from((struct arena_source){pinned_take, pinned_give, NULL}, first_block_bytes);
}
