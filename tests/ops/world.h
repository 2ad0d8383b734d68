/* world.h - the device under test and a tape for tests of ops, filled and read with doubles whatever the type. */
#ifndef TESTS_OPS_WORLD_H
#define TESTS_OPS_WORLD_H
#include "base/pool.h"
#include "ops/op.h"
#include "ops/ops.h"

struct world {
    pool *threads;
    struct device *dev;
    tape *t;
    dtype type;
};

/* False, with a failed expectation, when something could not be opened. */
bool world_open(struct world *w, size_t threads, dtype type, enum tape_mode mode);
/* The same with an instruction set of the CPU by name (NULL: as usual). */
bool world_open_isa(struct world *w, const char *isa, size_t threads, dtype type, enum tape_mode mode);
/* The same on the CPU, whichever device is under test. */
bool world_open_cpu(struct world *w, size_t threads, dtype type, enum tape_mode mode);
void world_close(struct world *w);

/* A leaf that wants a gradient, and a constant, from host numbers. */
var *world_leaf(struct world *w, int rank, const size_t *dim, const double *x);
var *world_constant(struct world *w, int rank, const size_t *dim, const double *x);
const tensor *world_index(struct world *w, size_t n, const int32_t *x);
/* The numbers of a tensor of any type. */
bool world_read(struct world *w, const tensor *x, double *out);
/* Goes back from `y` with the gradient dy. */
status world_back(struct world *w, var *y, const double *dy);
void world_expect(struct world *w, const char *file, int line, const char *what, const tensor *x, size_t n,
                  const double *wanted);

#define DIMS(...) \
    (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), (size_t[]) { __VA_ARGS__ }
#define NUMBERS(...) \
    (double[]) { __VA_ARGS__ }
#define EXPECT_NUMBERS(w, x, ...) \
    world_expect(w, __FILE__, __LINE__, #x, &(x), sizeof((double[]){__VA_ARGS__}) / sizeof(double), \
                 (double[]){__VA_ARGS__})
#define EXPECT_DIMS(x, ...) \
    do { \
        tensor want_ = {.rank = (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), .dim = {__VA_ARGS__}}; \
        char want_text_[SHAPE_TEXT], seen_text_[SHAPE_TEXT]; \
        EXPECT_TEXT(tensor_shape_text(&(x), seen_text_), tensor_shape_text(&want_, want_text_)); \
    } while (0)

/* A test whose body runs on a training world w of each type. */
void with_worlds(void (*body)(struct world *w));
#define VALUE_TEST(name) \
    static void name(struct world *w); \
    TEST(name) { with_worlds(name); } \
    static void name(struct world *w)
#endif
