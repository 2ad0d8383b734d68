/* Fuzz target: any bytes between a pack's marks are either refused with a sentence, or give pictures or a sentence for
 * each. The sum over the table is made right first: it is there for accidents, not for bounds. */
#include "data/pack_format.h"
#include "data/source.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool condition)
{
    if (!condition) abort();
}

static void mend(uint8_t *b, size_t n)
{
    uint8_t *footer = b + n - PACK_FOOTER_BYTES;
    const uint64_t at = pack_u64(footer), bytes = pack_u64(footer + 8);
    memcpy(b, PACK_MAGIC, 8);
    pack_put(b + 8, PACK_VERSION, 4);
    memcpy(footer + PACK_END_MAGIC_AT, PACK_END_MAGIC, 8);
    pack_put(footer + 32, n, 8);
    if (at <= n && bytes <= n - at) pack_put(footer + 16, pack_sum(b + at, (size_t)bytes), 8);
}

static void look(const struct source *s)
{
    for (size_t i = 0; i < s->list.count && i < 100; i++) {
        struct picture p = {0};
        struct source_bytes b = {0};
        if (s->picture(s, &s->list.item[i], &p) != OK) check(p.rgb == NULL && strlen(error_text()) > 10);
        else check(p.rgb && p.width && p.height);
        picture_free(&p);
        if (s->bytes(s, &s->list.item[i], &b) == OK) check(b.n && !b.owned);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const splits[] = {NULL, "train", ""};
    uint8_t *copy = malloc(n + !n);
    check(copy != NULL);
    if (n) memcpy(copy, bytes, n);
    if (n >= PACK_HEADER_BYTES + PACK_FOOTER_BYTES) mend(copy, n);
    for (int i = 0; i < 3; i++) {
        struct source s;
        if (pack_source_parse("fuzz.pack", copy, n, splits[i], &s) == OK) look(&s);
        else check(strlen(error_text()) > 10);
        source_close(&s);
    }
    free(copy);
    return 0;
}
