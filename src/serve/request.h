/* request.h - what a client asked and what it is told, without any HTTP library: http.c fills the one and sends the other.
 *
 * A request belongs to one thread at a time: the one that receives it, then the worker, then again the one that sends. */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H
#include "base/text.h"
#include "centra.h"
#include <stdbool.h>
#include <stddef.h>

enum { SESSION_ID_BYTES = 32, MOST_ARGUMENTS = 8 };

enum { /* the statuses that are used */
       HTTP_OK = 200,
       HTTP_CREATED = 201,
       HTTP_BAD_REQUEST = 400,
       HTTP_FORBIDDEN = 403,
       HTTP_NOT_FOUND = 404,
       HTTP_WRONG_METHOD = 405,
       HTTP_CONFLICT = 409,
       HTTP_TOO_LARGE = 413,
       HTTP_WRONG_TYPE = 415,
       HTTP_UNPROCESSABLE = 422,
       HTTP_BROKEN = 500,
       HTTP_BUSY = 503
};

struct reply {
    unsigned code;
    const char *type;  /* "application/json" */
    text body;         /* owned */
    const void *fixed; /* in place of `body`: bytes that live as long as the program */
    size_t fixed_bytes;
    const char *file;  /* a browser is to save it under this name; NULL: to show it */
    const char *allow; /* with HTTP_WRONG_METHOD: what is allowed */
};

struct request {
    const struct route *route;
    char session[SESSION_ID_BYTES + 1]; /* from the path; "" where the path has none */
    struct {
        char *name, *value; /* owned; of the query string, decoded */
    } argument[MOST_ARGUMENTS];
    size_t argument_count;
    char *content_type; /* owned; NULL: not told */
    text body;
    struct reply reply;
};

/* NULL when there is none. */
const char *request_argument(const struct request *r, const char *name);
/* Copies; false without memory or with too many arguments. */
bool request_add_argument(struct request *r, const char *name, const char *value);
void request_free(struct request *r);

/* An answer of {"error": sentence}; what was written before is thrown away. */
void reply_error(struct reply *to, unsigned code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The library's last failure in this thread as an answer. */
void reply_failure(struct reply *to, centra_status st);
#endif
