/* Fuzz target: any bytes are no record, in one sentence, or one whose texts and numbers can be used. */
#include "app/record.h"
#include "tests/fuzz/spill.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct spill s = spill_begin(bytes, n);
    struct record r;
    arena *memory = arena_new(1 << 12);
    if (!memory) abort();
    if (record_read(s.path, memory, &r) != OK) {
        if (strlen(error_text()) < 10) abort();
    } else if (!r.row || r.schema != RECORD_SCHEMA) {
        abort();
    }
    arena_free(memory);
    spill_end(&s);
    return 0;
}
