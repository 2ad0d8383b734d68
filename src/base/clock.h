/* clock.h - time for benchmarks and progress. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
#include <stdint.h>
/* Nanoseconds on a clock that never goes back. */
uint64_t clock_ns(void);
/* Nanoseconds that the calling thread had a core for itself. */
uint64_t clock_thread_ns(void);
#endif
