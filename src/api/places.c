/* places.c - the folders of the library and of the program, as the linker and the kernel know them. */
#define _GNU_SOURCE /* dladdr */
#include "api/places.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char IN_THE_LIBRARY; /* whose address tells where it was loaded from */

/* Cuts a path down to its folder; without one it becomes "". */
static void keep_folder(char *path)
{
    char *slash = strrchr(path, '/');
    *(slash ? slash : path) = '\0';
}

void place_of_library(char out[PATH_MAX])
{
    Dl_info about;
    out[0] = '\0';
    if (dladdr(&IN_THE_LIBRARY, &about) && about.dli_fname) snprintf(out, PATH_MAX, "%s", about.dli_fname);
    keep_folder(out);
}

void place_of_program(char out[PATH_MAX])
{
    const ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = '\0';
    keep_folder(out);
}
