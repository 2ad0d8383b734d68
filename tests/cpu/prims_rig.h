/* prims_rig.h - for tests of a device's primitives: one body is run on every instruction set, for float and double, with
 * 1, 2 and 3 threads; on another device than the CPU for float and double, three times.
 *
 * A body makes tensors from the rig, calls primitives, and compares with doubles that it computes by plain loops. Every
 * tensor that is compared is also kept from the first run; the other runs must give the same bits. */
#ifndef TESTS_CPU_PRIMS_RIG_H
#define TESTS_CPU_PRIMS_RIG_H
#include "base/arena.h"
#include "cpu/cpu.h"
#include "tests/device.h"
#include "tests/test.h"

/* For loops straight from a definition, which the test's own thread alone runs over numbers of its own: the thread sanitizer
 * has nothing to see there, and would take minutes. */
#define DEFINITION __attribute__((no_sanitize("thread")))

struct rig {
    struct device *dev;
    dtype type;
    double epsilon; /* of the type */
    const char *isa;
    size_t threads;
    struct random random; /* the same for all numbers of threads */
    arena *memory;
    unsigned char *trace; /* owned: results with one thread */
    size_t trace_bytes, trace_at;
};

void rig_each(void (*body)(struct rig *r));

/* Tensors of the rig's type: all NaN, all `value`, random in [low, high), or given numbers; and i32. */
tensor rig_blank(struct rig *r, int rank, const size_t *dim);
tensor rig_filled(struct rig *r, double value, int rank, const size_t *dim);
tensor rig_random(struct rig *r, double low, double high, int rank, const size_t *dim);
tensor rig_given(struct rig *r, const double *x, int rank, const size_t *dim);
tensor rig_ints(struct rig *r, size_t n);
/* The numbers of a real or i32 tensor, in memory of the rig; and zeros. */
double *rig_numbers(struct rig *r, const tensor *x);
double *rig_zeros(struct rig *r, size_t n);

/* The status of a primitive after it was carried out. */
status rig_waited(struct rig *r, status st);

/* Each element within factor * epsilon * (1 + |wanted|); NaN equals NaN only. */
void rig_near(struct rig *r, const char *file, int line, const char *what, const tensor *x, const double *wanted,
              double factor);

#define DIMS(...) \
    (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), (size_t[]) { __VA_ARGS__ }
#define NUMBERS(...) \
    (double[]) { __VA_ARGS__ }
#define PRIM(r, name, ...) rig_waited(r, PRIM_CALL((r)->dev, (r)->type, name, ((r)->dev, __VA_ARGS__)))
#define EXPECT_TENSOR(r, x, wanted, factor) rig_near(r, __FILE__, __LINE__, #x, &(x), wanted, factor)
#endif
