/* Fuzz target: any metrics.jsonl is refused with its line, or gives lines; opened to go on, it never grows a broken one. */
#include "tests/fuzz/spill.h"
#include "train/metrics.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct spill s = spill_begin(bytes, n);
    struct metrics_line *lines = NULL;
    size_t count = 0;
    double sum = 0;
    arena *memory = arena_new(1 << 12);
    if (!memory) abort();
    if (metrics_read(s.path, memory, &lines, &count) != OK) {
        if (strlen(error_text()) < 10) abort();
    } else {
        for (size_t i = 0; i < count; i++) sum += (double)(lines[i].epoch & 1) + (double)lines[i].best;
        if (!(sum >= 0)) abort();
    }
    arena_free(memory);
    spill_end(&s);
    return 0;
}
