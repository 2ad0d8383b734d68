/* help.h - what the program says about itself; all of it is made from the command tables. */
#ifndef APP_HELP_H
#define APP_HELP_H
#include "app/command.h"

void help_overview(text *to);
/* Writes the help of a command, or the overview for NULL, to standard output. */
status help_show(const struct command *command);
/* "centra score --support FILE --query FILE [options]" */
void help_usage(const struct command *command, text *to);

/* man.c: the manual page of a command, or of the program for NULL, in roff. */
void man_page(const struct command *command, text *to);
/* completion.c: the completion script for a shell. */
enum shell { SHELL_BASH, SHELL_FISH, SHELL_ZSH };
extern const char *const shell_names[];
void completion_script(enum shell shell, text *to);
#endif
