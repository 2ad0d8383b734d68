/* Fuzz target: any bytes are either refused with a sentence, or give members that lie within and names that stay within. */
#include "data/tar.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool condition)
{
    if (!condition) abort();
}

struct archive {
    const uint8_t *bytes;
    size_t n;
    unsigned char sum;
};

static status visit(void *context, const char *name, size_t at, size_t n)
{
    struct archive *a = context;
    check(at <= a->n && n <= a->n - at && *name && *name != '/');
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        const size_t length = strcspn(part, "/");
        check(length && !(length == 1 && *part == '.') && !(length == 2 && !strncmp(part, "..", 2)));
    }
    for (size_t i = 0; i < n; i++) a->sum ^= a->bytes[at + i]; /* touches every byte */
    return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct archive a = {bytes, n, 0};
    (void)tar_begins(bytes, n);
    if (tar_walk("fuzz.tar", bytes, n, visit, &a) != OK) check(!strncmp(error_text(), "'fuzz.tar'", 10));
    (void)(*(volatile unsigned char *)&a.sum);
    return 0;
}
