/* server.c - a server on one address, from start to stop. */
#include "serve/server.h"
#include "base/plain.h"
#include "serve/http.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct server {
    struct service service;
    struct http http;
    struct MHD_Daemon *daemon;
    char address[128];
};

static status refuse_address(const struct server_options *o, int error)
{
    if (error == EADDRINUSE)
        return fail(ST_IO, "port %u of %s is in use; --port takes another, and 0 any that is free", o->port, o->host);
    return fail(ST_IO, "cannot listen on port %u of %s: %s", o->port, o->host, plain_strerror(error));
}

static status resolve(const struct server_options *o, struct addrinfo **out)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    const char *host = strcmp(o->host, "localhost") ? o->host : "127.0.0.1";
    char port[16];
    plain_snprintf(port, sizeof port, "%u", o->port);
    if (getaddrinfo(host, port, &wanted, out) == 0) return OK;
    return fail(ST_USAGE, "'%.60s' is no address to listen on; --host takes one such as 127.0.0.1 or ::1", o->host);
}

static status listen_on(const struct server_options *o, int *out)
{
    struct addrinfo *a = NULL;
    const int yes = 1;
    status st = resolve(o, &a);
    if (st != OK) return st;
    const int s = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s >= 0) setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (s < 0 || bind(s, a->ai_addr, a->ai_addrlen) || listen(s, SOMAXCONN)) {
        st = refuse_address(o, errno);
        if (s >= 0) close(s);
    } else {
        *out = s;
    }
    freeaddrinfo(a);
    return st;
}

/* The port that the system chose, or that was asked for. */
static unsigned port_of(int s)
{
    struct sockaddr_storage bound;
    socklen_t n = sizeof bound;
    if (getsockname(s, (struct sockaddr *)&bound, &n)) return 0;
    return ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                             : ((struct sockaddr_in *)&bound)->sin_port);
}

static void describe(struct server *s, const struct server_options *o, unsigned port)
{
    const char *host = o->name ? o->name : o->host;
    const bool six = strchr(host, ':') != NULL;
    s->http.guard = (struct guard){.bound = o->host, .name = o->name, .port = port};
    plain_snprintf(s->address, sizeof s->address, "http://%s%s%s:%u/", six ? "[" : "", host, six ? "]" : "", port);
}

status server_start(const struct server_options *o, struct server **out)
{
    status st = OK;
    int listening = -1;
    struct server *s = calloc(1, sizeof *s);
    if (!s) return fail(ST_MEMORY, "no memory for the server");
    s->service = (struct service){.model = o->model,
                                  .classifier = o->classifier,
                                  .limits = o->limits,
                                  .unknown_below = o->unknown_below,
                                  .pack = o->pack,
                                  .pack_bytes = o->pack_bytes};
    s->http.service = &s->service;
    TRY(listen_on(o, &listening));
    describe(s, o, port_of(listening));
    TRY(tabs_init(&s->service.tabs, o->limits.sessions, o->limits.idle));
    TRY(slow_start(o->limits.deadline, &s->http.slow));
    TRY(worker_start(o->limits.queue, &s->service.worker));
    TRY(http_start(&s->http, listening, o->limits.connections, &s->daemon));
    *out = s;
    return OK;
done:
    if (listening >= 0) close(listening);
    server_stop(s);
    return st;
}

const char *server_address(const struct server *s) { return s->address; }

void server_stop(struct server *s)
{
    if (!s) return;
    if (s->service.worker) worker_end(s->service.worker); /* first: it resumes what is suspended */
    if (s->daemon) http_stop(s->daemon);
    worker_free(s->service.worker);
    slow_stop(s->http.slow);
    tabs_clear(&s->service.tabs);
    free(s);
}
