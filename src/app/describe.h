/* describe.h - an option in words, the same in help, lists and man pages: "--lr X", "(between 0 and 10; default 0.05)". */
#ifndef APP_DESCRIBE_H
#define APP_DESCRIBE_H
#include "app/family.h"

/* Without the dashes: "lr X", "head.solver auto|full". */
void option_left(const struct option *o, text *to);
void member_option_left(const struct family *f, const centra_option_info *o, text *to);
/* Without the parentheses: "between 0 and 10; default 0.05"; "" when there is nothing to say. */
void option_note(const struct option *o, text *to);
void member_option_note(const centra_option_info *o, text *to);
#endif
