/* shares.h - the pieces of a run, dealt out to threads in order; who has done his share helps the others.
 *
 * Pieces mostly belong to pictures or to rows of them, and one run reads what the one before wrote. A thread that takes the
 * same part of every run finds its numbers in its own caches, and threads do not meet at a common counter. */
#ifndef BASE_SHARES_H
#define BASE_SHARES_H
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { SHARE_ALIGN = 128 }; /* processors fetch lines of 64 bytes in pairs */

struct share {
    alignas(SHARE_ALIGN) atomic_size_t next; /* the first piece that nobody has taken */
    size_t end;
};

/* For free(). NULL: no memory. */
struct share *shares_new(size_t threads);
/* While nobody takes any. The first threads get one more when it does not come out even, so few pieces are the caller's. */
void shares_deal(struct share *shares, size_t threads, size_t pieces);
/* A piece for the thread: of its own share, else of one of the next. *whose begins at 0. False: all are taken. */
bool shares_take(struct share *shares, size_t threads, size_t thread, size_t *whose, size_t *piece);
#endif
