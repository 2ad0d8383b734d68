/* slow.h - closes connections whose request or answer takes too long.
 *
 * The HTTP library closes connections on which nothing happens. A client that sends a byte now and then would hold its place for
 * ever: so each connection has a time by which its request must have come, and then one by which its answer must have
 * gone. While the worker has the request nothing is due. */
#ifndef SERVE_SLOW_H
#define SERVE_SLOW_H
#include "base/status.h"

struct slow;
struct slow_line; /* one connection */

status slow_start(double deadline_seconds, struct slow **out);
void slow_stop(struct slow *s);
/* A new connection with this socket; NULL without memory. */
struct slow_line *slow_add(struct slow *s, int socket);
/* Before the socket is closed. */
void slow_remove(struct slow *s, struct slow_line *line);
/* Something new begins: a request, or the sending of an answer. */
void slow_restart(struct slow *s, struct slow_line *line);
/* The server itself is at work: nothing is due. */
void slow_pause(struct slow *s, struct slow_line *line);
#endif
