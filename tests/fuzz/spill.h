/* spill.h - a fuzz target's bytes as a file, for readers that take a path. It lies in memory and is gone with spill_end. */
#ifndef TESTS_FUZZ_SPILL_H
#define TESTS_FUZZ_SPILL_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct spill {
    int file;
    char path[40];
};

static inline struct spill spill_begin(const uint8_t *bytes, size_t n)
{
    struct spill s = {.file = (int)syscall(SYS_memfd_create, "fuzz", 0u)};
    if (s.file < 0) abort();
    for (size_t at = 0; at < n;) {
        const ssize_t put = write(s.file, bytes + at, n - at);
        if (put <= 0) abort();
        at += (size_t)put;
    }
    snprintf(s.path, sizeof s.path, "/proc/self/fd/%d", s.file);
    return s;
}

static inline void spill_end(struct spill *s) { close(s->file); }
#endif
