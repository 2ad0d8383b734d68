/* size.h - sizes that come from files and users are multiplied and added here, so that none wraps around. */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H
#include <stdbool.h>
#include <stddef.h>

/* False when the result does not fit; *out is then untouched. */
static inline bool size_mul(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}

static inline bool size_add(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_add_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}

/* The next multiple of `unit` (a power of two); `n` must be at most SIZE_MAX - unit. */
static inline size_t size_round_up(size_t n, size_t unit) { return (n + unit - 1) & ~(unit - 1); }

static inline size_t size_min(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t size_max(size_t a, size_t b) { return a > b ? a : b; }
static inline size_t size_div_up(size_t n, size_t by) { return n / by + (n % by != 0); }
#endif
