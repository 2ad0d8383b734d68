/* commands.c - the table of commands, made from commands.def, and the options that all of them share. */
#include "app/command.h"
#include <string.h>

#define COMMAND(name) extern const struct command name##_command;
#include "app/commands.def"
#undef COMMAND
#define COMMAND(name) &name##_command,
const struct command *const command_table[] = {
#include "app/commands.def"
    NULL};
#undef COMMAND

const struct option common_options[] = {
    OPT_FLAG(struct common, help, "help", "show this help"),
    OPT_FLAG(struct common, json, "json", "write the results as JSON"),
    OPT_FLAG(struct common, quiet, "quiet", "write nothing but results and errors"),
    OPT_FLAG(struct common, verbose, "verbose", "say on standard error what is being done"),
    OPT_INT(struct common, threads, "threads", 0, 0, 256, "threads to use, 0 for all cores that the process may use"),
    OPT_INT(struct common, seed, "seed", 1, 0, 9223372036854775807.0, "seed of everything that is random"),
    OPT_TEXT(struct common, isa, "isa", NULL, "NAME", "instruction set to force; centra list kernels shows them"),
    OPT_TEXT(struct common, device, "device", "cpu", "NAME", "where to compute; centra list devices shows them"),
    OPT_TEXT(struct common, maths, "maths", NULL, "f32|tf32|bf16",
             "how a GPU multiplies in networks (bf16 when it trains, else f32)"),
    OPT_END};

status command_find(const char *name, const struct command **out)
{
    const char *names[64] = {0}, *meant;
    for (size_t i = 0; command_table[i] && i + 1 < sizeof names / sizeof *names; i++) {
        names[i] = command_table[i]->name;
        if (strcmp(names[i], name)) continue;
        *out = command_table[i];
        return OK;
    }
    meant = nearest_name(name, names);
    if (meant) return fail(ST_USAGE, "there is no command '%.60s', did you mean %s?", name, meant);
    return fail(ST_USAGE, "there is no command '%.60s'; centra help lists them", name);
}
