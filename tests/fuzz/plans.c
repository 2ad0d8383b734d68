/* Fuzz target: any bytes are either refused with the line, or give episodes that hold what the reader promises. */
#include "data/plans.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool condition)
{
    if (!condition) abort();
}

/* Labels name one of the classes, and no picture plays twice. */
static void check_plan(const struct plan *p)
{
    const size_t support = p->way * p->shot, queries = p->way * p->query;
    for (size_t i = 0; i < queries; i++) {
        check(p->query_labels[i] >= 0 && (size_t)p->query_labels[i] < p->way);
        for (size_t k = 0; k < support; k++) check(p->queries[i] != p->support[k]);
        for (size_t k = 0; k < i; k++) check(p->queries[i] != p->queries[k]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct plan_list list;
    arena *memory = arena_new(1 << 12);
    if (!memory) return 0;
    if (plan_list_parse("fuzz.jsonl", (const char *)bytes, n, memory, &list) != OK)
        check(!strncmp(error_text(), "'fuzz.jsonl', line ", 19));
    else
        for (size_t i = 0; i < list.count; i++) check_plan(&list.plans[i]);
    arena_free(memory);
    return 0;
}
