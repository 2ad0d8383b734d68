/* Fuzz target: any body is refused as a form or gives parts that lie inside it, and the size of any picture is told without reading
 * beyond it. The first line of the input is the Content-Type header. */
#include "serve/guard.h"
#include "serve/measure.h"
#include "serve/multipart.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(int condition)
{
    if (!condition) abort();
}

static void check_parts(const char *type, const char *body, size_t n)
{
    struct part parts[8];
    size_t count = 0;
    const status st = multipart_parse(type, body, n, parts, 8, &count);
    check(count <= 8 && (st == OK || st == ST_FORMAT || st == ST_VALUE));
    for (size_t i = 0; i < count; i++) {
        check(parts[i].data >= body && parts[i].bytes <= n && parts[i].data + parts[i].bytes <= body + n);
        check(strlen(parts[i].name) < PART_NAME_BYTES);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const struct guard g = {.bound = "127.0.0.1", .port = 80};
    const uint8_t *end = n ? memchr(bytes, '\n', n) : NULL;
    uint64_t width, height;
    measure_picture(bytes, n, &width, &height);
    if (!end) return 0;
    char *type = strndup((const char *)bytes, (size_t)(end - bytes));
    check(type != NULL);
    check_parts(type, (const char *)end + 1, n - (size_t)(end - bytes) - 1);
    guard_host(&g, type);
    guard_origin(type, "127.0.0.1");
    free(type);
    return 0;
}
