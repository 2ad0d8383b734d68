/* command.h - a command is a table entry: name, title, options, arguments, function, examples.
 *
 * From that entry come the parser (args.c), the help (help.c), the man page (man.c) and the completions
 * (completion.c). A new command is one file with one `const struct command`, and one line in commands.def. Results go to
 * standard output, everything else to standard error; a command returns a status and main.c says why it failed. */
#ifndef APP_COMMAND_H
#define APP_COMMAND_H
#include "base/option.h"
#include "base/status.h"
#include "base/text.h"
#include "centra.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What every command understands. */
struct common {
    bool help, json, quiet, verbose;
    int64_t threads, seed;
    const char *isa, *device, *maths;
};
extern const struct option common_options[];

/* One parsed command line. Texts point into the arguments of main(). */
struct call {
    const struct command *command;
    struct common common;
    void *settings;              /* owned: the command's own struct, filled by its table */
    centra_option *head_options; /* owned: --head.KEY VALUE in the order given */
    size_t head_option_count;
    centra_option *net_options; /* owned: --net.KEY VALUE likewise */
    size_t net_option_count;
    const char *
        *texts; /* owned: the values of the option that may be given more than once; a command has one at most */
    size_t text_count;
    bool seed_given;        /* --seed was there */
    const char **arguments; /* owned: what is neither option nor value */
    size_t argument_count;
};

struct example {
    const char *line, *does;
};

struct command {
    const char *name, *title;
    const char *arguments;        /* in the usage line: "heads|kernels|devices"; NULL: none */
    size_t least, most;           /* how many arguments */
    const char *const *choices;   /* of the first argument, NULL-terminated; NULL: anything */
    const struct option *options; /* NULL: only the common ones */
    size_t settings_bytes;
    bool head_options;          /* takes --head.KEY VALUE */
    bool net_options;           /* takes --net.KEY VALUE */
    const char *const *details; /* paragraphs of the help, NULL-terminated; NULL: none */
    status (*run)(const struct call *c);
    struct example examples[2];
};

/* All commands, sorted by name, NULL-terminated. */
extern const struct command *const command_table[];
/* ST_USAGE with a "did you mean" when there is none. */
status command_find(const char *name, const struct command **out);

/* args.c: fills a zeroed call from the words behind the command's name; free with call_free in either case. With
 * --help among the words nothing else is checked. Changes the words: "--name=value" is cut at the "=". */
status args_parse(const struct command *command, int count, char **words, struct call *out);
void call_free(struct call *c);
#endif
