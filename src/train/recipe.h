/* recipe.h - recipes: text files of sections and `key = value`, read through option tables.
 *
 *     # CUB, Conv-4, one shot
 *     [train]
 *     epochs = 1200
 *     rate = 0.1   # behind a blank, the rest of a line is a comment
 *
 * A key is "section.name"; unknown ones are errors with a "did you mean" and the line, and so are repeated keys and
 * sections. `--set section.name=value` overrides. What was in effect is written back in the same form, defaults
 * included, so that a run can be repeated from its folder. */
#ifndef TRAIN_RECIPE_H
#define TRAIN_RECIPE_H
#include "base/arena.h"
#include "base/option.h"

enum { RECIPE_MOST_BYTES = 1 << 20, RECIPE_MOST_LINE = 4096, RECIPE_MOST_EXTRAS = 32 };

/* Keys that a section's table does not know but somebody else does: the options of the head or network that the section
 * names. They stay texts until that one's own table reads them (recipe_extras_set). */
struct recipe_extras {
    struct recipe_extra {
        const char *name, *value;
        size_t line; /* 0: from recipe_override */
    } item[RECIPE_MOST_EXTRAS];
    size_t count;
};

struct recipe_section {
    const char *name; /* "train" */
    const struct option *table;
    void *settings;
    struct recipe_extras *extras; /* NULL: unknown keys are errors */
};

/* Sets what the text says; texts in settings live in `memory`. `sections` ends with a NULL name. `name` stands in
 * messages. After a failure some settings may have been set. */
status recipe_parse(const char *name, const char *bytes, size_t n, const struct recipe_section *sections,
                    arena *memory);
status recipe_read(const char *path, const struct recipe_section *sections, arena *memory);
/* "section.name=value" */
status recipe_override(const char *assignment, const struct recipe_section *sections, arena *memory);
/* Sets options of `table` from a section's extras; `prefix` stands before names in messages: "head.". */
status recipe_extras_set(const struct recipe_extras *x, const char *prefix, const struct option *table, void *settings);
/* Every key with its value, in table order; reads back to the same settings. Texts that are not set are left out. */
status recipe_write(const struct recipe_section *sections, text *to);
#endif
