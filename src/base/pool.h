/* pool.h - the threads that share a device's work.
 *
 * Work is a number of pieces, cut by the size of the problem and never by the number of threads; pieces write to
 * separate places and sums are added in piece order afterwards, so results do not depend on who ran what. A call from
 * inside a piece runs inline. After fork() the child starts its threads anew. A library user may hand in its own
 * parallel-for instead of our threads. */
#ifndef BASE_POOL_H
#define BASE_POOL_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct pool pool;

/* `worker` is below pool_threads() and names the scratch memory that this call may use; no two pieces that run at
 * the same time get the same worker. It must not influence the result. */
typedef status (*pool_piece)(void *context, size_t piece, size_t worker);

/* A host's own threads: must call body(arg, i, worker) once for each i < count, worker < threads, and return after all. */
typedef void (*pool_for)(void *host, size_t count, void (*body)(void *arg, size_t i, size_t worker), void *arg);

/* threads = 0: as many as the process may use (its CPU affinity), at most 256. */
status pool_new(size_t threads, pool **out);
status pool_new_hosted(pool_for host_for, void *host, size_t threads, pool **out);
void pool_free(pool *p);
size_t pool_threads(const pool *p);
/* Runs all pieces and waits. When pieces fail, the failure of the lowest-numbered failed piece is returned, with its
 * sentence, whatever the order they ran in; the other pieces still run. Allocates nothing. */
status pool_run_as(pool *p, const char *name, size_t pieces, pool_piece piece, void *context);
/* The same by the name of its place in the sources, for base/pool_times.h. */
#define pool_run(p, pieces, piece, context) pool_run_as(p, __FILE_NAME__ " " #piece, pieces, piece, context)
#ifndef __FILE_NAME__
#define __FILE_NAME__ ""
#endif
/* Whether the calling thread is inside a piece of this pool, and then as which worker. */
bool pool_inside(const pool *p, size_t *worker);
/* Cores this process may use, at least 1. */
size_t pool_cores(void);
#endif
