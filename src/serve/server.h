/* server.h - a server on one address, from start to stop.
 *
 * One thread talks to the connections (http.c), one computes (worker.c), one closes connections that are too slow (slow.c).
 * Read routes.def for what is answered. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H
#include "base/status.h"
#include "centra.h"
#include "serve/limits.h"
#include <stddef.h>

struct server_options {
    const char *host; /* the address to listen on: "127.0.0.1" */
    unsigned port;    /* 0: any that is free */
    const char *name; /* a name that clients may call this machine by, besides its address; NULL: none */
    struct limits limits;
    const centra_model *model;
    centra_classifier *classifier; /* the server's alone until it has stopped */
    const unsigned char *pack;     /* classes of new sessions; NULL: none. Must live as long as the server */
    size_t pack_bytes;
    double unknown_below;
};

struct server;
/* Texts of the options must live as long as the server. */
status server_start(const struct server_options *o, struct server **out);
const char *server_address(const struct server *s); /* "http://127.0.0.1:8080/" */
void server_stop(struct server *s);                 /* waits for the picture at work, then closes; accepts NULL */
#endif
