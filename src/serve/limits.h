/* limits.h - how much the server takes from its clients before it refuses. */
#ifndef SERVE_LIMITS_H
#define SERVE_LIMITS_H
#include <stddef.h>

struct limits {
    size_t body_bytes;  /* of one request, chunked or not */
    size_t pixels;      /* of one picture */
    size_t classes;     /* of a session */
    size_t pictures;    /* of a class */
    size_t sessions;    /* the least recently used one goes when there are more */
    size_t connections; /* at the same time */
    size_t queue;       /* requests that wait for the worker */
    double deadline;    /* seconds in which a request must have come, and again its answer have gone */
    double idle;        /* seconds after which a session without requests is forgotten */
};
#endif
