/* describe.c - option tables in the words of centra.h. */
#include "api/describe.h"
#include <stdio.h>

size_t option_count(const struct option *table)
{
    size_t n = 0;
    while (table && table[n].type != OPTION_END) n++;
    return n;
}

status option_describe(const struct option *table, const char *owner, size_t index, centra_option_info *out)
{
    static const char *const types[] = {"", "flag", "int", "float", "name", "text", "file"};
    text standard = {0}, range = {0};
    status st = OK;
    if (index >= option_count(table))
        return fail(ST_USAGE, "%s has no option %zu; it has %zu", owner, index, option_count(table));
    const struct option *o = &table[index];
    option_default_text(o, &standard);
    option_range_text(o, &range);
    TRY(text_status(&standard));
    TRY(text_status(&range));
    *out = (centra_option_info){.name = o->name, .help = o->help, .type = types[o->type], .choices = o->choices};
    snprintf(out->standard, sizeof out->standard, "%s", text_string(&standard));
    snprintf(out->range, sizeof out->range, "%s", text_string(&range));
done:
    text_free(&standard);
    text_free(&range);
    return st;
}
