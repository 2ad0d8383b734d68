/* guard.c - requests of other sites are refused by what their browsers say about them. */
#include "serve/guard.h"
#include "base/option.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 256, USUAL_PORT = 80 };

/* Cuts "name:port" or "[address]:port"; false when it is neither. Without a port it is the usual one. */
static bool cut(const char *host, char name[NAME_BYTES], int64_t *port)
{
    const char *start = host, *end;
    if (*host == '[') {
        start = host + 1;
        end = strchr(start, ']');
        if (!end) return false;
        host = end + 1;
    } else {
        end = host = start + strcspn(start, ":");
    }
    const size_t n = (size_t)(end - start);
    if (n == 0 || n >= NAME_BYTES) return false;
    memcpy(name, start, n);
    name[n] = '\0';
    *port = USUAL_PORT;
    if (!*host) return true;
    return *host == ':' && host[1] >= '0' && host[1] <= '9' && integer_parse(host + 1, port);
}

static bool is_address(const char *name)
{
    struct in6_addr any;
    return inet_pton(AF_INET, name, &any) == 1 || inet_pton(AF_INET6, name, &any) == 1;
}

static bool is_loopback(const char *name)
{
    struct in_addr four;
    if (!strcasecmp(name, "localhost") || !strcmp(name, "::1")) return true;
    return inet_pton(AF_INET, name, &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}

bool guard_host(const struct guard *g, const char *host)
{
    char name[NAME_BYTES];
    int64_t port;
    if (!host || !cut(host, name, &port) || port != (int64_t)g->port) return false;
    if (is_loopback(name) || !strcasecmp(name, g->bound)) return true;
    if (g->name && !strcasecmp(name, g->name)) return true;
    /* Listening everywhere, every address of this machine is one; a name that was made to point here is not. */
    return (!strcmp(g->bound, "0.0.0.0") || !strcmp(g->bound, "::")) && is_address(name);
}

bool guard_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    const size_t n = sizeof scheme - 1;
    if (!origin) return true;
    return host && !strncasecmp(origin, scheme, n) && !strcasecmp(origin + n, host);
}

bool guard_site(const char *site) { return !site || !strcmp(site, "same-origin") || !strcmp(site, "none"); }
