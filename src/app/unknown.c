/* unknown.c - which guesses are none of the known classes. */
#include "app/unknown.h"
#include "base/plain.h"
#include <math.h>

/* That part of known pictures is called so by mistake. */
static const double BELOW = 0.05;

status unknown_read(const char *asked, struct unknown *out)
{
    *out = (struct unknown){.below = BELOW, .given = asked != NULL};
    if (!asked || (number_parse(asked, &out->below) && out->below >= 0 && out->below <= 1)) return OK;
    return fail(ST_USAGE, "--unknown-below is '%.40s', but must be between 0 and 1 (default %g)", asked, BELOW);
}

/* Where nothing could be left out there is no familiarity; then only who asks hears "none of these", by the probability. */
bool unknown_is(const struct unknown *u, const centra_guess *g)
{
    if (!isnan(g->familiarity)) return g->familiarity < u->below;
    return u->given && g->probability < u->below;
}
