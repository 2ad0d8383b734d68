/* main.c - the program: finds the command, runs it, says why it failed.
 *
 * Exit status: 0 done, 1 the work failed, 2 wrong usage, 130 after Ctrl-C or SIGTERM. Read commands.def next, then the
 * file of the command you came for. */
#include "app/command.h"
#include "app/help.h"
#include "app/library.h"
#include "app/terminal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* One line whatever the message quotes: a file name may hold anything. */
static void complain(const char *command, const char *message)
{
    char line[ERROR_BYTES];
    snprintf(line, sizeof line, "%s", message);
    terminal_tame(line);
    fprintf(stderr, "centra%s%s: %s\n", command ? " " : "", command ? command : "", line);
}

static int finish(status st, const char *command)
{
    if (st == OK) st = library_lost();
    if (st == OK && text_any_lost()) st = fail(ST_MEMORY, "no memory for all of the output: parts of it are missing");
    if (st != OK) complain(command, error_text());
    errno = 0;
    if (fflush(stdout) || ferror(stdout)) {
        if (st != OK) return EXIT_FAILED;
        fail(ST_IO, "cannot write to standard output: %s", errno ? strerror(errno) : "an earlier write failed");
        complain(command, error_text());
        return EXIT_FAILED;
    }
    return st == OK ? EXIT_DONE : st == ST_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

static int run_command(const struct command *command, int count, char **words)
{
    struct call c;
    status st = args_parse(command, count, words, &c);
    if (st == OK) st = c.common.help ? help_show(command) : command->run(&c);
    call_free(&c);
    return finish(st, command->name);
}

int main(int argc, char **argv)
{
    const struct command *command;
    interrupt_watch();
    if (argc < 2) {
        text overview = {0};
        help_overview(&overview);
        fputs(text_string(&overview), stderr);
        text_free(&overview);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) return finish(help_show(NULL), NULL);
    if (!strcmp(argv[1], "--version")) argv[1] += 2;
    if (argv[1][0] == '-')
        return finish(fail(ST_USAGE, "'%.60s' stands before the command; write centra COMMAND [options]", argv[1]),
                      NULL);
    if (command_find(argv[1], &command) != OK) return finish(ST_USAGE, NULL);
    return run_command(command, argc - 2, argv + 2);
}
