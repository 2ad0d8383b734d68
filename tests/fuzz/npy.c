/* Fuzz target: any bytes are either refused with a sentence or give an array that can be read and converted. */
#include "base/npy.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool condition)
{
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct npy a = {0};
    status st = npy_parse("fuzz.npy", bytes, n, &a);
    if (st != OK) {
        check(a.data == NULL && strlen(error_text()) > 10);
        return 0;
    }
    size_t product = 1;
    for (int d = 0; d < a.rank; d++) product *= a.dim[d];
    check(a.data && product == a.count && a.count <= n);
    unsigned char sum = 0; /* touches every byte */
    for (size_t i = 0; i < a.count * (a.type == NPY_F32 ? 4 : 8); i++) sum ^= ((unsigned char *)a.data)[i];
    (void)(*(volatile unsigned char *)&sum);
    check(npy_convert(&a, NPY_F64, "fuzz.npy") == OK);
    st = npy_convert(&a, NPY_F32, "fuzz.npy");
    check(st == OK || st == ST_VALUE);
    npy_free(&a);
    return 0;
}
