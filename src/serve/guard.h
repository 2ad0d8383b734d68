/* guard.h - which requests may be answered at all: those of the server's own page and of programs, not of other sites.
 *
 * A browser lets any site send requests to this machine. Two things give such a request away. Its Host is a name of that
 * site's, made to point here (DNS rebinding): only addresses and names that are known are answered. Or its Origin, or
 * Sec-Fetch-Site, tells of another site. */
#ifndef SERVE_GUARD_H
#define SERVE_GUARD_H
#include <stdbool.h>

struct guard {
    const char *bound; /* the address that is listened on: "127.0.0.1", "0.0.0.0", "::1" */
    const char *name;  /* a name that clients may use besides; NULL: none */
    unsigned port;
};

/* Whether a Host header ("localhost:8080", "[::1]:8080") means this server. NULL: it was not sent. */
bool guard_host(const struct guard *g, const char *host);
/* Whether an Origin header is that of the page which `host` serves; NULL (not sent) is fine. */
bool guard_origin(const char *origin, const char *host);
/* Whether Sec-Fetch-Site tells of no other site; NULL is fine. */
bool guard_site(const char *site);
#endif
