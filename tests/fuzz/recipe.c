/* Fuzz target: any bytes are either refused with a sentence, or give settings that are written and read back the same. */
#include "train/recipe.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct plan {
    bool fast;
    int64_t epochs;
    double rate;
    int kind;
    const char *title;
    struct recipe_extras rest;
};

static const char *const kinds[] = {"sgd", "adam", NULL};
static const struct option options[] = {OPT_FLAG(struct plan, fast, "fast", "hurry"),
                                        OPT_INT(struct plan, epochs, "epochs", 30, 1, 1000, "epochs"),
                                        OPT_FLOAT(struct plan, rate, "rate", 0.1, 0, 10, "rate"),
                                        OPT_NAME(struct plan, kind, "optimiser", 0, kinds, "kind"),
                                        OPT_TEXT(struct plan, title, "title", NULL, "TEXT", "title"),
                                        OPT_END};

static void check(bool condition)
{
    if (!condition) abort();
}

static status read_plan(const char *name, const char *bytes, size_t n, arena *memory, text *out)
{
    struct plan train = {0}, head = {0};
    const struct recipe_section sections[] = {
        {"train", options, &train, NULL}, {"head", options, &head, &head.rest}, {NULL, NULL, NULL, NULL}};
    options_default(options, &train);
    options_default(options, &head);
    const status st = recipe_parse(name, bytes, n, sections, memory);
    if (st == OK) check(recipe_write(sections, out) == OK);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    text first = {0}, second = {0};
    arena *memory = arena_new(4096);
    check(memory != NULL);
    if (read_plan("fuzz.txt", (const char *)bytes, n, memory, &first) != OK) {
        check(!strncmp(error_text(), "'fuzz.txt'", 10));
    } else {
        check(read_plan("again", first.data, first.length, memory, &second) == OK);
        check(first.length == second.length && !memcmp(first.data, second.data, first.length));
    }
    text_free(&first);
    text_free(&second);
    arena_free(memory);
    return 0;
}
