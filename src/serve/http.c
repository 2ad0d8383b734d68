/* http.c - between libmicrohttpd and the routes.
 *
 * The library calls `handle` for a request's headers, for each piece of its body, and at its end; all in one thread. A request for
 * the worker is suspended until its job is done, then `handle` is called once more and sends the answer. What is wrong
 * with a request is known early, but told at its end: a client that still sends does not listen. Only where it waits for
 * leave to send, or would send far too much, it is told at once. */
#include "serve/http.h"
#include "base/clock.h"
#include "base/option.h"
#include "base/plain.h"
#include "serve/routes.h"
#include <microhttpd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    DRAIN_BYTES = 16 << 20, /* of a body that is refused anyway, before the connection is closed */
    BODIES_AT_ONCE = 8,     /* bodies of the largest size that may be in memory */
    QUIET_SECONDS = 15,     /* after which a connection without any traffic is closed */
    CONNECTION_BYTES = 64 << 10
};

/* One request on its way. */
struct exchange {
    struct request r;
    struct job job;
    struct http *http;
    struct MHD_Connection *connection;
    struct slow_line *line;
    size_t received; /* bytes of the body, kept or not */
    bool done;       /* the worker has answered */
};

static struct slow_line *line_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* On every answer. The page uses nothing from elsewhere, nobody may frame it, and no other site may read anything. */
static const char *const fixed_headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; object-src 'none'; base-uri 'none'; "
     "form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Permissions-Policy", "camera=(self), microphone=(), geolocation=()"},
};

static void add_headers(struct MHD_Response *to, const struct reply *r)
{
    char attachment[128];
    for (size_t i = 0; i < sizeof fixed_headers / sizeof *fixed_headers; i++)
        MHD_add_response_header(to, fixed_headers[i][0], fixed_headers[i][1]);
    MHD_add_response_header(to, "Content-Type", r->type);
    MHD_add_response_header(to, "Cache-Control", r->fixed ? "no-cache" : "no-store");
    if (r->allow) MHD_add_response_header(to, "Allow", r->allow);
    if (r->code == HTTP_BUSY) MHD_add_response_header(to, "Retry-After", "1");
    if (!r->file) return;
    plain_snprintf(attachment, sizeof attachment, "attachment; filename=\"%s\"", r->file);
    MHD_add_response_header(to, "Content-Disposition", attachment);
}

static enum MHD_Result send_reply(struct exchange *x)
{
    struct reply *r = &x->r.reply;
    struct MHD_Response *response;
    if (r->fixed) {
        response = MHD_create_response_from_buffer(r->fixed_bytes, (void *)(uintptr_t)r->fixed, MHD_RESPMEM_PERSISTENT);
    } else {
        response = MHD_create_response_from_buffer(r->body.length, r->body.data, MHD_RESPMEM_MUST_FREE);
        if (response) r->body = (text){0}; /* the response owns it */
    }
    if (!response) return MHD_NO;
    add_headers(response, r);
    const enum MHD_Result sent = MHD_queue_response(x->connection, r->code, response);
    MHD_destroy_response(response);
    atomic_fetch_add(&x->http->service->answered, 1);
    slow_restart(x->http->slow, x->line);
    return sent;
}

static enum MHD_Result take_argument(void *to, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    return request_add_argument(to, name, value) ? MHD_YES : MHD_NO;
}

/* Whether other sites may be behind it, or it is malformed; then there is an answer. */
static bool refused(struct exchange *x, const char *path)
{
    struct MHD_Connection *c = x->connection;
    const char *host = header(c, "Host");
    struct reply *reply = &x->r.reply;
    const bool api = !strncmp(path, "/api", 4);
    if (!guard_host(&x->http->guard, host))
        reply_error(reply, HTTP_FORBIDDEN, "this server does not answer to the name '%.100s'; see centra serve --name",
                    host ? host : "");
    else if (!guard_origin(header(c, "Origin"), host) || (api && !guard_site(header(c, "Sec-Fetch-Site"))))
        reply_error(reply, HTTP_FORBIDDEN, "other sites may not use this server");
    else if (MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, NULL, NULL) > MOST_ARGUMENTS)
        reply_error(reply, HTTP_BAD_REQUEST, "a request has %d arguments at most", MOST_ARGUMENTS);
    else return false;
    return true;
}

/* The length that the headers announce; 0 where they do not, or none that makes sense. */
static size_t announced(struct MHD_Connection *c)
{
    const char *length = header(c, "Content-Length");
    int64_t n;
    return length && integer_parse(length, &n) && n > 0 ? (size_t)n : 0;
}

static void too_large(struct exchange *x)
{
    reply_error(&x->r.reply, HTTP_TOO_LARGE, "the request is too large; %zu bytes are the most",
                x->http->service->limits.body_bytes);
}

static enum MHD_Result begin(struct http *h, struct MHD_Connection *c, const char *path, const char *method,
                             void **state)
{
    struct exchange *x = calloc(1, sizeof *x);
    if (!x) return MHD_NO;
    *state = x;
    x->http = h;
    x->connection = c;
    x->line = line_of(c);
    slow_restart(h->slow, x->line);
    const size_t most = h->service->limits.body_bytes, length = announced(c);
    if (!refused(x, path) && route_find(method, path, &x->r)) {
        const char *type = header(c, "Content-Type");
        MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, take_argument, &x->r);
        if (type && !(x->r.content_type = strdup(type))) return MHD_NO;
        if (length > most) too_large(x);
    }
    const bool waits = header(c, "Expect") != NULL;
    if (x->r.reply.code && (waits || length > most + DRAIN_BYTES)) return send_reply(x);
    return MHD_YES;
}

/* MHD_NO closes the connection. */
static enum MHD_Result take_body(struct exchange *x, const char *data, size_t bytes)
{
    struct http *h = x->http;
    const size_t most = h->service->limits.body_bytes;
    x->received += bytes;
    if (x->received > most + DRAIN_BYTES) return MHD_NO;
    if (x->r.reply.code || x->r.route->body == NO_BODY) return MHD_YES;
    if (x->received > most) {
        too_large(x);
    } else if (h->held + bytes > most * BODIES_AT_ONCE) {
        reply_error(&x->r.reply, HTTP_BUSY, "too many uploads at once; please try again");
    } else {
        text_add_bytes(&x->r.body, data, bytes);
        h->held += bytes;
        if (x->r.body.st != OK) reply_error(&x->r.reply, HTTP_BUSY, "no memory for the request");
    }
    if (x->r.reply.code) {
        h->held -= x->r.body.length;
        text_free(&x->r.body);
    }
    return MHD_YES;
}

static struct exchange *exchange_of(struct job *j)
{
    return (struct exchange *)((char *)j - offsetof(struct exchange, job));
}

static void job_accepted(struct job *j)
{
    struct exchange *x = exchange_of(j);
    slow_pause(x->http->slow, x->line);
    MHD_suspend_connection(x->connection);
}

static void job_run(struct job *j, bool ending)
{
    struct exchange *x = exchange_of(j);
    struct service *s = x->http->service;
    if (ending) {
        reply_error(&x->r.reply, HTTP_BUSY, "the server is ending");
    } else {
        tabs_sweep(&s->tabs, clock_ns());
        x->r.route->handler(s, &x->r);
        atomic_store(&s->sessions, s->tabs.count);
    }
    x->done = true;
    MHD_resume_connection(x->connection); /* from here on x belongs to the other thread */
}

static enum MHD_Result finish(struct exchange *x)
{
    if (x->done || x->r.reply.code) return send_reply(x);
    if (x->r.route->when == NOW) {
        x->r.route->handler(x->http->service, &x->r);
        return send_reply(x);
    }
    x->job = (struct job){.accepted = job_accepted, .run = job_run};
    if (worker_push(x->http->service->worker, &x->job)) return MHD_YES;
    reply_error(&x->r.reply, HTTP_BUSY, "the server is busy; please try again");
    return send_reply(x);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *c, const char *path, const char *method,
                              const char *version, const char *data, size_t *bytes, void **state)
{
    (void)version;
    if (!*state) return begin(context, c, path, method, state);
    if (!*bytes) return finish(*state);
    const enum MHD_Result taken = take_body(*state, data, *bytes);
    *bytes = 0;
    return taken;
}

static void completed(void *context, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode how)
{
    struct exchange *x = *state;
    (void)context, (void)c, (void)how;
    if (!x) return;
    slow_restart(x->http->slow, x->line);
    x->http->held -= x->r.body.length;
    request_free(&x->r);
    free(x);
    *state = NULL;
}

static void connected(void *context, struct MHD_Connection *c, void **line, enum MHD_ConnectionNotificationCode what)
{
    struct http *h = context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        slow_remove(h->slow, *line);
        *line = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    *line = info ? slow_add(h->slow, info->connect_fd) : NULL;
}

status http_start(struct http *h, int socket, size_t connections, struct MHD_Daemon **out)
{
    const unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | MHD_ALLOW_SUSPEND_RESUME;
    *out = MHD_start_daemon(flags, 0, NULL, NULL, handle, h, MHD_OPTION_LISTEN_SOCKET, socket,
                            MHD_OPTION_CONNECTION_LIMIT, (unsigned)connections, MHD_OPTION_CONNECTION_TIMEOUT,
                            (unsigned)QUIET_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                            MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, completed, h,
                            MHD_OPTION_NOTIFY_CONNECTION, connected, h, MHD_OPTION_END);
    return *out ? OK : fail(ST_IO, "the HTTP server could not be started");
}

void http_stop(struct MHD_Daemon *daemon) { MHD_stop_daemon(daemon); }
