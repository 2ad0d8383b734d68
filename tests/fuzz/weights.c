/* Fuzz target: any bytes are either refused with a sentence or give arrays that can be read through. */
#include "weights/foreign.h"
#include "weights/weights.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool condition)
{
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct weights *w = NULL;
    char hex[65];
    status st = weights_parse("fuzz", bytes, n, &w);
    if (st != OK) {
        check(w == NULL && strlen(error_text()) > 10);
        return 0;
    }
    for (size_t i = 0; i < weights_count(w); i++) {
        const struct named_array *a = weights_at(w, i);
        size_t product = array_type_bytes(a->type);
        for (int d = 0; d < a->rank; d++) product *= a->dim[d];
        check(product == a->bytes && weights_find(w, a->name) == a);
    }
    check(weights_fingerprint(w, hex) == OK && strlen(hex) == 64); /* touches every byte */
    for (size_t i = 0; foreign_at(i); i++) {                       /* as if it were each of the files that are known */
        struct weights *ours = NULL;
        check((foreign_convert(foreign_at(i), w, &ours) == OK) == (ours != NULL));
        weights_close(ours);
    }
    weights_close(w);
    return 0;
}
