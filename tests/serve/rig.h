/* rig.h - a server that a test started, and a client of plain sockets that can also be rude. */
#ifndef TESTS_SERVE_RIG_H
#define TESTS_SERVE_RIG_H
#include "base/text.h"
#include "centra.h"
#include <stdbool.h>
#include <stddef.h>

struct rig {
    int process, to, from;
    unsigned port;
    char session[33];
};

struct got {
    int code;   /* 0: the connection ended without an answer */
    char *head; /* owned; never NULL */
    char *body; /* owned; never NULL; NUL behind the last byte */
    size_t bytes;
};

/* Starts centra serve on a free port with these further NULL-terminated words. False, the test being skipped, where the build
 * has no server. */
bool rig_start(struct rig *r, const char *const *words);
/* Ends it by SIGTERM, which must give 130. */
void rig_stop(struct rig *r);
/* A session; its id stands in r->session. */
bool rig_session(struct rig *r);

/* A connection to the server, or -1. */
int rig_connect(const struct rig *r);
bool rig_send(int socket, const void *bytes, size_t n);
/* Everything up to the end of the connection. */
struct got rig_receive(int socket);
/* A whole request, each time on a new connection. `path` may have %s for the session. `headers` are whole lines or "". */
struct got rig_ask_with(const struct rig *r, const char *headers, const char *method, const char *path,
                        const void *body, size_t bytes);
struct got rig_ask(const struct rig *r, const char *method, const char *path, const void *body, size_t bytes);
void reply_drop(struct got *a);
/* The status of an answer, whose text must hold `words`; frees it. */
void rig_expect(const char *file, int line, struct got a, int code, const char *words);

#define GET(r, path) rig_ask(r, "GET", path, NULL, 0)
#define POST(r, path) rig_ask(r, "POST", path, NULL, 0)
#define EXPECT_ANSWER(a, code, words) rig_expect(__FILE__, __LINE__, a, code, words)

/* A PNG of the kind (tests/api/own.h), to be freed with text_free. */
text rig_png(size_t kind, unsigned long seed);
/* Adds `each` pictures of each of `kinds` classes called "kind 0" and so on to the session. */
bool rig_fill(const struct rig *r, size_t kinds, size_t each);
#endif
