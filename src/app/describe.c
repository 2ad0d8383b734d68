/* describe.c - an option in words. Options of commands come from our tables, options of heads and networks from the library. */
#include "app/describe.h"
#include <string.h>

static void add_note(text *to, bool required, const char *range, const char *standard)
{
    const char *between = "";
    if (required) {
        text_add(to, "required");
        between = "; ";
    }
    if (*range) {
        text_addf(to, "%s%s", between, range);
        between = "; ";
    }
    if (*standard) text_addf(to, "%sdefault %s", between, standard);
}

void option_left(const struct option *o, text *to)
{
    text_add(to, o->name);
    if (o->type == OPTION_FLAG) return;
    text_add(to, " ");
    option_value_text(o, to);
}

void option_note(const struct option *o, text *to)
{
    text range = {0}, standard = {0};
    if (o->type != OPTION_NAME) option_range_text(o, &range); /* the choices stand in place of the value already */
    if (o->type != OPTION_FLAG || o->standard != 0) option_default_text(o, &standard);
    add_note(to, o->required, text_string(&range), text_string(&standard));
    text_free(&range);
    text_free(&standard);
}

void member_option_left(const struct family *f, const centra_option_info *o, text *to)
{
    static const char *const words[][2] = {{"flag", "yes|no"}, {"int", "N"}, {"float", "X"}, {"file", "FILE"}};
    text_addf(to, "%s%s ", f->prefix, o->name);
    if (o->choices) {
        for (const char *const *c = o->choices; *c; c++) text_addf(to, "%s%s", c == o->choices ? "" : "|", *c);
        return;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i][0], o->type)) continue;
        text_add(to, words[i][1]);
        return;
    }
    text_add(to, "TEXT");
}

void member_option_note(const centra_option_info *o, text *to)
{
    add_note(to, false, o->choices ? "" : o->range, o->standard);
}
