/* Fuzz target: any bytes are either refused with the line, or give lines that are read back the same. */
#include "data/csv.h"
#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool condition)
{
    if (!condition) abort();
}

static void add_cell(text *to, const char *s)
{
    check(*s != 0);
    text_add(to, "\"");
    for (; *s; s++) text_addf(to, "%s%c", *s == '"' ? "\"" : "", *s);
    text_add(to, "\"");
}

static status add_line(void *context, const char *filename, const char *label)
{
    add_cell(context, filename);
    text_add(context, ",");
    add_cell(context, label);
    text_add(context, "\n");
    return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    text first = {0}, second = {0};
    text_add(&first, "filename,label\n");
    text_add(&second, "filename,label\n");
    if (csv_read("fuzz.csv", (const char *)bytes, n, add_line, &first) != OK) {
        check(!strncmp(error_text(), "'fuzz.csv', line ", 17));
    } else {
        check(csv_read("again", first.data, first.length, add_line, &second) == OK);
        check(first.length == second.length && !memcmp(first.data, second.data, first.length));
    }
    text_free(&first);
    text_free(&second);
    return 0;
}
