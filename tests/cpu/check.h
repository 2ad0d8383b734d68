/* check.h - the kernel check: one CHECK_KERNEL for each kernel, run for every variant that this machine has.
 *
 * A check calls the reference (cpu/portable) and the variant on the same numbers and compares within a stated bound.
 * Its memory lies at random misalignments, ends at or shortly before a page that cannot be touched, and is surrounded
 * by guard words, so that reading and writing outside are seen; outputs begin as NaN, so that an element left
 * unwritten is seen. Checks stand once for `real`, in kernels_*.h; kernels_f32.c and kernels_f64.c include them. */
#ifndef TESTS_CPU_CHECK_H
#define TESTS_CPU_CHECK_H
#include "base/clock.h"
#include "cpu/kernels.h"
#include "tests/test.h"

struct check { /* one kernel in one variant */
    const char *kernel;
    size_t real_bytes;     /* 4 or 8 */
    enum isa isa;          /* of the variant, for messages */
    const void *ref, *alt; /* struct kernels_f32 or _f64 */
    struct random random;
    bool quiet; /* count failures without reporting them: for planted errors */
    bool bench;
    size_t failures;
    struct check_block *blocks; /* memory given to the check */
};

struct check_case {
    const char *kernel;
    size_t real_bytes;
    void (*run)(struct check *c);
    struct check_case *next;
};
void check_register(struct check_case *t);
const struct check_case *check_find(const char *kernel, size_t real_bytes); /* NULL: there is none */
/* Runs a case for a variant and returns its failures; a crash counts as one and ends the case. */
size_t check_run(const struct check_case *t, const struct kernels *variant, bool quiet, bool bench);

/* Lengths that meet every edge of a vector loop. */
enum { CHECK_SIZES = 12 };
extern const size_t check_sizes[CHECK_SIZES];

/* Memory of n reals, filled with random numbers from [low, high), with NaN, or with a copy. */
void *check_random(struct check *c, size_t n, double low, double high);
void *check_blank(struct check *c, size_t n);
void *check_copy(struct check *c, const void *from, size_t n);
/* Gives all of it back, after a look at the guard words. */
void check_release(struct check *c);

/* Counts and reports a failure; only the first of a case is reported. */
void check_failed(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* got and want are the same bits, or both NaN. */
void check_exact(struct check *c, const void *got, const void *want, size_t n);
/* Within `ulps` units in the last place of want; results below the normal numbers may be any such, or 0. */
void check_ulps(struct check *c, const void *got, const void *want, size_t n, double ulps);
/* Within bound[i] of want; not finite numbers must be equal or both NaN. */
void check_bound(struct check *c, const void *got, const void *want, const double *bound, size_t n);

/* One line of the timing mode: nanoseconds of reference and variant. */
void check_report(const struct check *c, size_t n, double ref_ns, double alt_ns);

#if defined(CENTRA_REAL)
#include "cpu/real.h"
typedef struct R(kernels) check_table;

#define CHECK_KERNEL(name) \
    static void check_##name(struct check *c, const check_table *ref, const check_table *alt); \
    static void check_run_##name(struct check *c) { check_##name(c, c->ref, c->alt); } \
    __attribute__((constructor)) static void check_register_##name(void) \
    { \
        static struct check_case t = {#name, sizeof(real), check_run_##name, NULL}; \
        check_register(&t); \
    } \
    static void check_##name(struct check *c, const check_table *ref, const check_table *alt)

/* Nanoseconds of one call: the best of five runs of at least 100 microseconds. */
#define CHECK_TIME(ns, call) \
    do { \
        (ns) = 1e300; \
        for (int run_ = 0; run_ < 5; run_++) { \
            size_t calls_ = 0; \
            const uint64_t begin_ = clock_ns(); \
            uint64_t end_ = begin_; \
            for (; end_ - begin_ < 100000; end_ = clock_ns()) \
                for (int i_ = 0; i_ < 16; i_++, calls_++) call; \
            (ns) = fmin((ns), (double)(end_ - begin_) / (double)calls_); \
        } \
    } while (0)

/* In timing mode: BENCH(n, sum, (x, n, y)). */
#define BENCH(n, name, args) BENCH_PAIR(n, ref->name args, alt->name args)
#define BENCH_PAIR(n, ref_call, alt_call) \
    do { \
        if (c->bench) { \
            double ref_ns_, alt_ns_; \
            CHECK_TIME(ref_ns_, ref_call); \
            CHECK_TIME(alt_ns_, alt_call); \
            check_report(c, (n), ref_ns_, alt_ns_); \
        } \
    } while (0)
#endif
#endif
