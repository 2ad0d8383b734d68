/* unknown.h - pictures that are none of the known classes, for the commands that say so. */
#ifndef APP_UNKNOWN_H
#define APP_UNKNOWN_H
#include "base/option.h"
#include "base/status.h"
#include "centra.h"
#include <stdbool.h>

#define NONE_OF_THESE "none of these"

#define OPT_UNKNOWN_BELOW(type, field) \
    OPT_TEXT(type, field, "unknown-below", NULL, "X", \
             "familiarity, between 0 and 1, below which a picture is none of these; 0: never (default 0.05)")

struct unknown {
    double below;
    bool given; /* somebody asked for it */
};

/* `asked` is what --unknown-below says; NULL: the default. */
status unknown_read(const char *asked, struct unknown *out);
bool unknown_is(const struct unknown *u, const centra_guess *g);
#endif
