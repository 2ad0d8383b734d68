/* option.h - an option is one line of data: field, name, default, range, one sentence.
 *
 * From such a table come the parser, --help, the man page, completions, recipe keys and the error texts, so they
 * cannot disagree. Commands, heads and networks each have one. A table ends with OPT_END; the settings struct that it
 * describes is plain data that may be copied. Texts in a settings struct point at the argument that was parsed. */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H
#include "base/status.h"
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
    OPTION_END,
    OPTION_FLAG,  /* bool; on the command line --name or --no-name, elsewhere 0|1|true|false|yes|no */
    OPTION_INT,   /* int64_t */
    OPTION_FLOAT, /* double */
    OPTION_NAME,  /* int: index into `choices` */
    OPTION_TEXT,  /* const char * */
    OPTION_FILE   /* const char *, completed as a path */
};

struct option {
    enum option_type type;
    size_t offset;     /* of the field in the settings struct */
    const char *name;  /* "alpha", without dashes */
    const char *help;  /* one sentence, lower case, no full stop */
    const char *value; /* what stands for the value in help: "N", "FILE"; NULL: by type */
    bool required;
    bool many;                  /* OPTION_TEXT: a command line may give it more than once, and keeps them all */
    bool open_range;            /* the ends of the range are not allowed themselves */
    double standard, min, max;  /* OPTION_FLAG, INT, FLOAT, NAME (index) */
    const char *standard_text;  /* OPTION_TEXT, FILE; NULL: none */
    const char *const *choices; /* OPTION_NAME: NULL-terminated */
};

#define OPT_FLAG(s, field, name_, help_) \
    { \
        .type = OPTION_FLAG, .offset = offsetof(s, field), .name = name_, .help = help_, .min = 0, .max = 1 \
    }
#define OPT_INT(s, field, name_, default_, min_, max_, help_) \
    { \
        .type = OPTION_INT, .offset = offsetof(s, field), .name = name_, .help = help_, .standard = default_, \
        .min = min_, .max = max_ \
    }
#define OPT_FLOAT(s, field, name_, default_, min_, max_, help_) \
    { \
        .type = OPTION_FLOAT, .offset = offsetof(s, field), .name = name_, .help = help_, .standard = default_, \
        .min = min_, .max = max_ \
    }
#define OPT_FLOAT_INSIDE(s, field, name_, default_, min_, max_, help_) \
    { \
        .type = OPTION_FLOAT, .offset = offsetof(s, field), .name = name_, .help = help_, .standard = default_, \
        .min = min_, .max = max_, .open_range = true \
    }
#define OPT_NAME(s, field, name_, default_, choices_, help_) \
    { \
        .type = OPTION_NAME, .offset = offsetof(s, field), .name = name_, .help = help_, .standard = default_, \
        .choices = choices_ \
    }
#define OPT_TEXT(s, field, name_, default_, value_, help_) \
    { \
        .type = OPTION_TEXT, .offset = offsetof(s, field), .name = name_, .help = help_, .standard_text = default_, \
        .value = value_ \
    }
#define OPT_TEXTS(s, field, name_, value_, help_) \
    { \
        .type = OPTION_TEXT, .offset = offsetof(s, field), .name = name_, .help = help_, .value = value_, .many = true \
    }
#define OPT_FILE(s, field, name_, default_, help_) \
    { \
        .type = OPTION_FILE, .offset = offsetof(s, field), .name = name_, .help = help_, .standard_text = default_, \
        .value = "FILE" \
    }
#define OPT_FILE_REQUIRED(s, field, name_, help_) \
    { \
        .type = OPTION_FILE, .offset = offsetof(s, field), .name = name_, .help = help_, .value = "FILE", \
        .required = true \
    }
#define OPT_END \
    { \
        .type = OPTION_END \
    }

/* Writes every option's default into the settings. */
void options_default(const struct option *table, void *settings);
/* Sets one option from text. `prefix` stands before the name in messages: "--", "--head.". Unknown names get a "did
 * you mean"; values out of range a sentence with the range and the default. Numbers are read without the locale. */
status option_set(const struct option *table, const char *prefix, const char *name, const char *value, void *settings);
/* NULL when the table has no such option. */
const struct option *option_find(const struct option *table, const char *name);
/* The value in the settings as text that option_set reads back; false when there is none (a text that was not set). */
bool option_text(const struct option *o, const void *settings, text *to);
/* "net.width=64" with the prefix "net.", for every option that has a value; a space before each but at the text's beginning. */
void options_text(const struct option *table, const char *prefix, const void *settings, text *to);
/* The default as text ("0.5", "auto", ""), and the range ("between 0 and 1", "one of a, b, c", ""). */
void option_default_text(const struct option *o, text *to);
void option_range_text(const struct option *o, text *to);
/* The word for the value in help: "N", "FILE", "a|b|c", "" for a flag. */
void option_value_text(const struct option *o, text *to);

/* The entry of NULL-terminated `names` nearest to `word`, or NULL when none is near enough to be meant. */
const char *nearest_name(const char *word, const char *const *names);
/* A finite decimal number, the whole text, read without the locale; false otherwise. */
bool number_parse(const char *s, double *out);
bool integer_parse(const char *s, int64_t *out);
/* The shortest decimal that reads back as `v`, with a point in every locale: "0.5", "1e-06". */
enum { NUMBER_BYTES = 32 };
void number_text(double v, char out[NUMBER_BYTES]);
#endif
