/* plugin.c - finds, opens and checks the shared object behind a device such as cuda:0.
 *
 * A plug-in is never closed again: a GPU's runtime does not like to be unloaded, and opening one twice gives the same
 * object. What it says about itself is compared before anything of it is called. */
#include "api/plugin.h"
#include "api/places.h"
#include "tensor/plugin.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CENTRA_PLUGIN_DIR
#define CENTRA_PLUGIN_DIR ""
#endif

static const char FILE_NAME[] = "centra-cuda.so";

bool plugin_file(const char *name, char out[PATH_MAX])
{
    char library[PATH_MAX], program[PATH_MAX];
    const char *asked = getenv("CENTRA_PLUGINS");
    place_of_library(library);
    place_of_program(program);
    const char *const folders[] = {asked ? asked : "", library, program, CENTRA_PLUGIN_DIR};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (!folders[i][0]) continue;
        const int n = snprintf(out, PATH_MAX, "%s/%s", folders[i], name);
        if (n > 0 && n < PATH_MAX && access(out, R_OK) == 0) return true;
    }
    return false;
}

/* The number behind "cuda:", 0 for "cuda"; -1 when that is none. */
static int number_of(const char *name)
{
    if (!strcmp(name, "cuda")) return 0;
    const char *digits = name + strlen("cuda:");
    const size_t n = strspn(digits, "0123456789");
    return n && n <= 3 && !digits[n] ? (int)strtol(digits, NULL, 10) : -1;
}

bool plugin_serves(const char *name) { return !strcmp(name, "cuda") || !strncmp(name, "cuda:", 5); }

static status load(const char *name, const struct plugin **out)
{
    char path[PATH_MAX];
    if (!plugin_file(FILE_NAME, path))
        return fail(ST_UNSUPPORTED,
                    "device '%s' is not there: this build has no CUDA backend, and no %s was found beside it or in "
                    "CENTRA_PLUGINS; use cpu",
                    name, FILE_NAME);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) return fail(ST_UNSUPPORTED, "device '%s' is not there: %s; use cpu", name, dlerror());
    const struct plugin *p = dlsym(object, PLUGIN_SYMBOL);
    if (!p)
        return fail(ST_UNSUPPORTED, "device '%s' is not there: %s is no plug-in of Centra, it has no %s; use cpu", name,
                    path, PLUGIN_SYMBOL);
    if (p->abi != DEVICE_ABI || p->bytes != sizeof(struct device))
        return fail(ST_UNSUPPORTED,
                    "device '%s' is not there: %s has interface %u of %u bytes, this library has %d of %zu; build both "
                    "from the same sources",
                    name, path, (unsigned)p->abi, (unsigned)p->bytes, (int)DEVICE_ABI, sizeof(struct device));
    *out = p;
    return OK;
}

status plugin_open(const char *name, struct device **out)
{
    status st = OK;
    const struct plugin *p = NULL;
    const int number = number_of(name);
    if (number < 0) return fail(ST_USAGE, "there is no device '%s'; a GPU is called cuda, cuda:0, cuda:1 ...", name);
    TRY(load(name, &p));
    TRY(p->open(fail, number, out));
done:
    return st;
}
