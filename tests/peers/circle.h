/* circle.h - several processes of a run played by threads of one: every rank on a thread of its own, and the calls of
 * peers/peers.h among them in memory. Whoever calls out of turn, or with other sizes than the others, fails the test. */
#ifndef TESTS_PEERS_CIRCLE_H
#define TESTS_PEERS_CIRCLE_H
#include "peers/peers.h"

enum { CIRCLE_MOST = 8 };

struct circle_end { /* of a rank */
    status st;
    char text[ERROR_BYTES];
};

/* Runs `body` once for every rank at the same time. When one fails, the calls of the others fail as well. True when all
 * were OK. */
bool circle_run(int size, status (*body)(void *context, struct peers *p), void *context,
                struct circle_end end[CIRCLE_MOST]);
/* Sums that this rank had begun, but not waited for, when it last called `finish`. */
size_t circle_waiting(const struct peers *p);
#endif
