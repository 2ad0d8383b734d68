/* replay.c - feeds the files and folders given as arguments to a fuzz target, for builds without libFuzzer. */
#include "base/file.h"
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* The number of files that were fed; -1: something could not be read. */
static long replay(const char *path);

static long replay_file(const char *path)
{
    char *data;
    size_t n;
    if (file_read(path, (size_t)1 << 30, &data, &n) != OK) {
        fprintf(stderr, "replay: %s\n", error_text());
        return -1;
    }
    uint8_t *exact = malloc(n ? n : 1); /* without the NUL behind it, so that a sanitizer sees a read beyond the end */
    if (!exact) abort();
    memcpy(exact, data, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    free(data);
    return 1;
}

static long replay_folder(const char *path)
{
    DIR *d = opendir(path);
    long sum = 0;
    if (!d) {
        perror(path);
        return -1;
    }
    for (struct dirent *e; (e = readdir(d));) {
        char below[4096];
        if (e->d_name[0] == '.') continue;
        int n = snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        long fed = n > 0 && (size_t)n < sizeof below ? replay(below) : -1;
        sum = fed < 0 || sum < 0 ? -1 : sum + fed;
    }
    closedir(d);
    return sum;
}

static long replay(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode) ? replay_folder(path) : replay_file(path);
}

int main(int argc, char **argv)
{
    long sum = 0;
    for (int i = 1; i < argc; i++) {
        long fed = replay(argv[i]);
        if (fed < 0) return 1;
        sum += fed;
    }
    printf("%ld files\n", sum);
    return sum > 0 ? 0 : 1; /* a corpus that has gone missing is a failure */
}
