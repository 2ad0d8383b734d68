/* completion.c - completion scripts for bash, fish and zsh, made from the command tables.
 *
 * Each script is a list of facts: the commands, and for each command its options, with the words that an option can
 * take. Paths are completed where the table says FILE. */
#include "app/family.h"
#include "app/help.h"
#include "app/library.h"
#include <string.h>

static void add_heads(text *to)
{
    centra_head_info head;
    for (size_t i = 0; library_has(centra_head_describe(i, &head)); i++) text_addf(to, "%s%s", i ? " " : "", head.name);
}

/* The words that the option can take, separated by blanks; "" when that cannot be said. */
static void add_values(text *to, const struct option *o)
{
    const char *name;
    if (o->type == OPTION_NAME) {
        for (const char *const *c = o->choices; *c; c++) text_addf(to, "%s%s", c == o->choices ? "" : " ", *c);
    } else if (!strcmp(o->name, "head")) {
        add_heads(to);
    } else if (!strcmp(o->name, "device")) {
        text_add(to, "cpu");
    } else if (!strcmp(o->name, "isa")) {
        for (size_t i = 0; (name = centra_isa_name(i)); i++) text_addf(to, "%s%s", i ? " " : "", name);
    }
}

/* Models are asked for when it comes to completing, since the user's own come and go. */
static const char MODEL_NAMES[] = "centra models list --names 2>/dev/null";
static bool is_model(const struct option *o) { return !strcmp(o->name, "model"); }

/* Arguments of the command: its choices, or for help the commands. */
static void add_arguments(text *to, const struct command *command)
{
    if (command->choices) {
        for (const char *const *c = command->choices; *c; c++) text_addf(to, "%s ", *c);
    } else if (command->arguments) {
        for (size_t i = 0; command_table[i]; i++) text_addf(to, "%s ", command_table[i]->name);
    }
}

typedef void (*option_writer)(text *to, const struct command *command, const struct option *o);

static void each_option(text *to, const struct command *command, option_writer write)
{
    const struct option *const tables[] = {command->options, common_options};
    for (size_t t = 0; t < 2; t++)
        for (const struct option *o = tables[t]; o && o->type != OPTION_END; o++) write(to, command, o);
}

/* Adds a line or word unless the text has it already, from `start` on. */
static void add_once(text *to, size_t start, const char *before, const char *prefix, const char *name,
                     const char *after)
{
    const size_t end = to->length;
    text_addf(to, "%s%s%s%s", before, prefix, name, after);
    if (to->length == end || strstr(to->data + start, to->data + end) == to->data + end) return;
    to->length = end;
    to->data[end] = '\0';
}

/* "--head.alpha --head.beta ": every option that any head or network of the command has, once. */
static void add_members(text *to, const struct command *command, const char *before, const char *after)
{
    const size_t start = to->length;
    const struct family *families[3];
    struct member m;
    centra_option_info o;
    command_families(command, families);
    for (const struct family **f = families; *f; f++)
        for (size_t i = 0; (*f)->describe(i, &m); i++)
            for (size_t k = 0; k < m.option_count && (*f)->option(i, k, &o); k++)
                add_once(to, start, before, (*f)->prefix, o.name, after);
}

/* bash and zsh share one function; zsh runs it through bashcompinit. */

static void bash_name(text *to, const struct command *command, const struct option *o)
{
    (void)command;
    text_addf(to, "--%s ", o->name);
}

static void bash_values(text *to, const struct command *command, const struct option *o)
{
    text values = {0};
    add_values(&values, o);
    if (is_model(o))
        text_addf(to, "    %s:--%s) COMPREPLY=($(compgen -f -W \"$(%s)\" -- \"$word\")); return ;;\n", command->name,
                  o->name, MODEL_NAMES);
    else if (values.length)
        text_addf(to, "    %s:--%s) COMPREPLY=($(compgen -W \"%s\" -- \"$word\")); return ;;\n", command->name, o->name,
                  text_string(&values));
    else if (o->type == OPTION_FILE)
        text_addf(to, "    %s:--%s) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", command->name, o->name);
    text_free(&values);
}

static void bash_script(text *to)
{
    text_add(to, "_centra() {\n"
                 "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} known=\n"
                 "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; command_table[i]; i++) text_addf(to, "%s ", command_table[i]->name);
    text_add(to, "--help --version\" -- \"$word\")); return\n    fi\n    case ${COMP_WORDS[1]}:$before in\n");
    for (size_t i = 0; command_table[i]; i++) each_option(to, command_table[i], bash_values);
    text_add(to, "    esac\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; command_table[i]; i++) {
        text_addf(to, "    %s) known=\"", command_table[i]->name);
        add_arguments(to, command_table[i]);
        each_option(to, command_table[i], bash_name);
        add_members(to, command_table[i], "--", " ");
        text_add(to, "\" ;;\n");
    }
    text_add(to, "    esac\n    COMPREPLY=($(compgen -W \"$known\" -- \"$word\"))\n}\ncomplete -F _centra centra\n");
}

/* fish */

static void fish_option(text *to, const struct command *command, const struct option *o)
{
    text values = {0};
    add_values(&values, o);
    text_addf(to, "complete -c centra -n '__fish_seen_subcommand_from %s' -l %s -d '%s'", command->name, o->name,
              o->help);
    if (is_model(o)) text_addf(to, " -r -F -a '(%s)'", MODEL_NAMES);
    else if (values.length) text_addf(to, " -x -a '%s'", text_string(&values));
    else if (o->type == OPTION_FILE) text_add(to, " -r -F");
    else if (o->type != OPTION_FLAG) text_add(to, " -x");
    text_add(to, "\n");
    text_free(&values);
}

static void fish_script(text *to)
{
    text_add(to, "complete -c centra -f\n");
    for (size_t i = 0; command_table[i]; i++)
        text_addf(to, "complete -c centra -n __fish_use_subcommand -a %s -d '%s'\n", command_table[i]->name,
                  command_table[i]->title);
    for (size_t i = 0; command_table[i]; i++) {
        const struct command *command = command_table[i];
        text before = {0}, arguments = {0};
        text_addf(&before, "complete -c centra -n '__fish_seen_subcommand_from %s' -x -l ", command->name);
        add_arguments(&arguments, command);
        if (arguments.length)
            text_addf(to, "complete -c centra -n '__fish_seen_subcommand_from %s' -a '%s'\n", command->name,
                      text_string(&arguments));
        each_option(to, command, fish_option);
        add_members(to, command, text_string(&before), "\n");
        text_free(&before);
        text_free(&arguments);
    }
}

void completion_script(enum shell shell, text *to)
{
    if (shell == SHELL_FISH) {
        fish_script(to);
        return;
    }
    if (shell == SHELL_ZSH) text_add(to, "#compdef centra\nautoload -U +X bashcompinit && bashcompinit\n");
    bash_script(to);
}
