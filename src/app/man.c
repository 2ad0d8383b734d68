/* man.c - manual pages in roff, made from the same tables as the help. */
#include "app/describe.h"
#include "app/help.h"

/* Text as roff takes it: no escape, no hyphen that turns into a dash, no control line. */
static void add_plain(text *to, const char *s)
{
    if (*s == '.' || *s == '\'') text_add(to, "\\&");
    for (; *s; s++) {
        if (*s == '\\') text_add(to, "\\e");
        else if (*s == '-') text_add(to, "\\-");
        else text_add_bytes(to, s, 1);
    }
}

static void add_line(text *to, const char *before, const char *s)
{
    text_add(to, before);
    add_plain(to, s);
    text_add(to, "\n");
}

static void add_option(text *to, const text *left, const char *help, const text *remark)
{
    text_add(to, ".TP\n\\fB\\-\\-");
    add_plain(to, text_string(left));
    text_add(to, "\\fR\n");
    add_plain(to, help);
    if (remark->length) {
        text_add(to, " (");
        add_plain(to, text_string(remark));
        text_add(to, ")");
    }
    text_add(to, "\n");
}

static void add_options(text *to, const struct option *table)
{
    for (const struct option *o = table; o->type != OPTION_END; o++) {
        text left = {0}, remark = {0};
        option_left(o, &left);
        option_note(o, &remark);
        add_option(to, &left, o->help, &remark);
        text_free(&left);
        text_free(&remark);
    }
}

static void add_family(text *to, const struct family *f)
{
    struct member m;
    centra_option_info o;
    for (size_t i = 0; f->describe(i, &m); i++) {
        text_addf(to, ".SS The %s %s\n", f->noun, m.name);
        add_line(to, "", m.title);
        for (size_t k = 0; k < m.option_count && f->option(i, k, &o); k++) {
            text left = {0}, remark = {0};
            member_option_left(f, &o, &left);
            member_option_note(&o, &remark);
            add_option(to, &left, o.help, &remark);
            text_free(&left);
            text_free(&remark);
        }
    }
}

static void add_families(text *to, const struct command *command)
{
    const struct family *families[3];
    command_families(command, families);
    for (size_t i = 0; families[i]; i++) add_family(to, families[i]);
}

static void add_title(text *to, const char *page, const char *title)
{
    text_addf(to, ".TH \"%s\" 1 \"\" \"centra %s\" \"Centra\"\n.SH NAME\n", page, centra_version());
    add_plain(to, page);
    add_line(to, " \\- ", title);
    text_add(to, ".SH SYNOPSIS\n");
}

static void add_status(text *to)
{
    text_add(
        to,
        ".SH EXIT STATUS\n0 when done, 1 when the work failed, 2 after wrong usage, 130 after Ctrl\\-C or SIGTERM.\n");
}

static void add_command_page(const struct command *command, text *to)
{
    text page = {0}, usage = {0};
    text_addf(&page, "centra-%s", command->name);
    add_title(to, text_string(&page), command->title);
    help_usage(command, &usage);
    add_line(to, ".B ", text_string(&usage));
    text_free(&page);
    text_free(&usage);
    if (command->details) text_add(to, ".SH DESCRIPTION\n");
    for (const char *const *p = command->details; p && *p; p++) add_line(to, ".PP\n", *p);
    text_add(to, ".SH OPTIONS\n");
    if (command->options) add_options(to, command->options);
    add_options(to, common_options);
    add_families(to, command);
    add_status(to);
    text_add(to, ".SH EXAMPLES\n");
    for (size_t i = 0; i < sizeof command->examples / sizeof *command->examples; i++) {
        add_line(to, ".TP\n.B ", command->examples[i].line);
        add_line(to, "", command->examples[i].does);
    }
    text_add(to, ".SH SEE ALSO\n.BR centra (1)\n");
}

static void add_program_page(text *to)
{
    add_title(to, "centra", "few-shot image classification by mutual centralized learning");
    text_add(to, ".B centra\n.I COMMAND\n[options] [arguments]\n.SH DESCRIPTION\n"
                 "Results go to standard output, progress and errors to standard error.\n.SH COMMANDS\n");
    for (size_t i = 0; command_table[i]; i++) {
        text_addf(to, ".TP\n.BR centra\\-%s (1)\n", command_table[i]->name);
        add_line(to, "", command_table[i]->title);
    }
    text_add(to, ".SH OPTIONS OF EVERY COMMAND\n");
    add_options(to, common_options);
    add_status(to);
    text_add(to, ".SH ENVIRONMENT\n.TP\n.B CENTRA_ISA\nthe instruction set to use, as \\-\\-isa\n"
                 ".TP\n.B NO_COLOR\nno colour on terminals, when not empty\n");
}

void man_page(const struct command *command, text *to)
{
    if (command) add_command_page(command, to);
    else add_program_page(to);
}
