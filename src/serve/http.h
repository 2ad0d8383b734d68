/* http.h - between libmicrohttpd and the routes: receives requests within the limits, leaves them with the worker, sends answers. */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H
#include "serve/guard.h"
#include "serve/service.h"
#include "serve/slow.h"

struct http {
    struct service *service;
    struct guard guard;
    struct slow *slow;
    size_t held; /* bytes of bodies in memory now, of all connections */
};

struct MHD_Daemon;
/* Listens on the socket, which it takes over. `h` must live until http_stop. */
status http_start(struct http *h, int socket, size_t connections, struct MHD_Daemon **out);
void http_stop(struct MHD_Daemon *daemon);
#endif
