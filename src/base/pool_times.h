/* pool_times.h - where the threads of a pool waited: for each kind of run, how long its pieces took and how long the whole.
 *
 * Kept only where CENTRA_WAITS names a file, to which a table is added when the pool is freed (docs/scaling.md). */
#ifndef BASE_POOL_TIMES_H
#define BASE_POOL_TIMES_H
#include <stddef.h>
#include <stdint.h>

struct pool_times;

/* NULL where nobody asked, or there is no memory for it. */
struct pool_times *pool_times_new(size_t threads);
/* A run begins, a piece of it took so long (from any thread), the run is over. */
void pool_times_begin(struct pool_times *t);
void pool_times_piece(struct pool_times *t, uint64_t ns);
void pool_times_end(struct pool_times *t, const char *name, size_t pieces);
/* Adds the table to the file, and frees. */
void pool_times_free(struct pool_times *t);
#endif
