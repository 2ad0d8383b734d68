/* Fuzz target: what a file of weights says about its model. The input is lines KEY=VALUE; the card that they make is refused
 * with the file's name, or its transform is one that pictures can be put through. */
#include "eval/card.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

struct lines {
    char *text; /* with NUL in place of every line's end */
    size_t n;
};

static const char *find(void *context, const char *key)
{
    const struct lines *l = context;
    const size_t length = strlen(key);
    for (size_t at = 0; at < l->n; at += strlen(l->text + at) + 1)
        if (!strncmp(l->text + at, key, length) && l->text[at + length] == '=') return l->text + at + length + 1;
    return NULL;
}

struct settings {
    int64_t width;
    double gamma;
    bool fast;
    const char *text;
};
static const struct option table[] = {OPT_INT(struct settings, width, "width", 64, 1, 1 << 20, "channels"),
                                      OPT_FLOAT(struct settings, gamma, "gamma", 20, 0, 1e6, "sharpness"),
                                      OPT_FLAG(struct settings, fast, "fast", "hurry"),
                                      OPT_TEXT(struct settings, text, "text", NULL, "TEXT", "words"), OPT_END};

static void check(bool condition)
{
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct lines l = {malloc(n + 1), n};
    struct card c = {.options = ""};
    struct settings s;
    arena *memory = arena_new(1 << 12);
    check(l.text && memory);
    if (n) memcpy(l.text, bytes, n);
    l.text[n] = 0;
    for (size_t i = 0; i < n; i++)
        if (l.text[i] == '\n') l.text[i] = 0;
    options_default(table, &s);
    if (card_read("fuzz.safetensors", find, &l, &c) != OK) check(strstr(error_text(), "fuzz.safetensors") != NULL);
    else if (card_options(&c, "net.", table, &s, memory) == OK)
        check(s.width >= 1 && s.width <= 1 << 20 && s.gamma >= 0);
    arena_free(memory);
    free(l.text);
    return 0;
}
