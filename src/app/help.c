/* help.c - centra help: the overview, the help of one command, man pages and completion scripts. */
#include "app/help.h"
#include "app/describe.h"
#include "app/terminal.h"
#include <string.h>

enum { RIGHT = 28 }; /* the column where explanations begin */

struct help {
    bool man;
    int completion; /* enum shell, or -1 */
};

static void add_heading(text *to, const char *words)
{
    bool bold = terminal_colour();
    text_addf(to, "\n%s%s%s\n", bold ? "\033[1m" : "", words, bold ? "\033[0m" : "");
}

/* "  --left VALUE            explanation (note)", wrapped */
static void add_entry(text *to, const char *dashes, const text *left, const char *explanation, const text *remark)
{
    size_t column = 2 + strlen(dashes) + left->length;
    text right = {0};
    text_addf(&right, "%s%s%s%s", explanation, remark->length ? " (" : "", text_string(remark),
              remark->length ? ")" : "");
    text_addf(to, "  %s%s", dashes, text_string(left));
    if (column + 2 > RIGHT) text_addf(to, "\n%*s", RIGHT, "");
    else text_addf(to, "%*s", (int)(RIGHT - column), "");
    text_add_wrapped(to, text_string(&right), RIGHT, RIGHT, terminal_width());
    text_add(to, "\n");
    text_free(&right);
}

static void add_options(text *to, const struct option *table)
{
    for (const struct option *o = table; o->type != OPTION_END; o++) {
        text left = {0}, remark = {0};
        option_left(o, &left);
        option_note(o, &remark);
        add_entry(to, "--", &left, o->help, &remark);
        text_free(&left);
        text_free(&remark);
    }
}

static void add_family(text *to, const struct family *f)
{
    struct member m;
    centra_option_info o;
    for (size_t i = 0; f->describe(i, &m); i++) {
        text_addf(to, "\nOptions of the %s %s (%s):\n", f->noun, m.name, m.title);
        for (size_t k = 0; k < m.option_count && f->option(i, k, &o); k++) {
            text left = {0}, remark = {0};
            member_option_left(f, &o, &left);
            member_option_note(&o, &remark);
            add_entry(to, "--", &left, o.help, &remark);
            text_free(&left);
            text_free(&remark);
        }
        if (m.option_count == 0) text_add(to, "  none\n");
    }
}

static void add_families(text *to, const struct command *command)
{
    const struct family *families[3];
    command_families(command, families);
    for (size_t i = 0; families[i]; i++) add_family(to, families[i]);
}

void help_usage(const struct command *command, text *to)
{
    text_addf(to, "centra %s", command->name);
    if (command->arguments) text_addf(to, command->least ? " %s" : " [%s]", command->arguments);
    for (const struct option *o = command->options; o && o->type != OPTION_END; o++) {
        if (!o->required) continue;
        text_add(to, " --");
        option_left(o, to);
    }
    text_add(to, " [options]");
}

static void add_command(text *to, const struct command *command)
{
    text usage = {0};
    text_addf(to, "centra %s - %s\n\nUsage: ", command->name, command->title);
    help_usage(command, &usage);
    text_add_wrapped(to, text_string(&usage), strlen("Usage: "), strlen("Usage: "), terminal_width());
    text_add(to, "\n");
    text_free(&usage);
    for (const char *const *p = command->details; p && *p; p++) {
        text_add(to, "\n");
        text_add_wrapped(to, *p, 0, 0, terminal_width());
        text_add(to, "\n");
    }
    if (command->options) {
        add_heading(to, "Options:");
        add_options(to, command->options);
    }
    add_families(to, command);
    add_heading(to, "Options of every command:");
    add_options(to, common_options);
    add_heading(to, "Examples:");
    for (size_t i = 0; i < sizeof command->examples / sizeof *command->examples; i++)
        text_addf(to, "  %s\n      %s\n", command->examples[i].line, command->examples[i].does);
}

void help_overview(text *to)
{
    text_add(to, "centra - few-shot image classification by mutual centralized learning\n\n"
                 "Usage: centra COMMAND [options] [arguments]\n");
    add_heading(to, "Commands:");
    for (size_t i = 0; command_table[i]; i++)
        text_addf(to, "  %-11s%s\n", command_table[i]->name, command_table[i]->title);
    text_add(to, "\ncentra help COMMAND says more; centra demo shows what it is about.\n");
}

status help_show(const struct command *command)
{
    text t = {0};
    if (command) add_command(&t, command);
    else help_overview(&t);
    return put(&t);
}

static status help_run(const struct call *c)
{
    const struct help *s = c->settings;
    const struct command *command = NULL;
    text t = {0};
    status st = OK;
    if (c->argument_count) st = command_find(c->arguments[0], &command);
    if (st == OK && s->man && s->completion >= 0) st = fail(ST_USAGE, "--man and --completion exclude each other");
    if (st != OK) return st;
    if (s->completion >= 0) {
        completion_script((enum shell)s->completion, &t);
    } else if (s->man) {
        man_page(command, &t);
    } else {
        return help_show(command);
    }
    return put(&t);
}

const char *const shell_names[] = {[SHELL_BASH] = "bash", [SHELL_FISH] = "fish", [SHELL_ZSH] = "zsh", NULL};

static const struct option help_options[] = {
    OPT_FLAG(struct help, man, "man", "write the manual page in roff instead"),
    OPT_NAME(struct help, completion, "completion", -1, shell_names, "write the completion script for a shell instead"),
    OPT_END};

const struct command help_command = {
    .name = "help",
    .title = "says what commands there are and what they take",
    .arguments = "COMMAND",
    .most = 1,
    .options = help_options,
    .settings_bytes = sizeof(struct help),
    .run = help_run,
    .examples = {{"centra help score", "the options of centra score"},
                 {"centra help --man score > centra-score.1", "its manual page"}},
};
