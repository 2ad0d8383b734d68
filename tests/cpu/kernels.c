/* kernels.c - runs the kernel check: every kernel in kernels.def, every variant of this machine, float and double.
 *
 * CENTRA_KERNEL_BENCH=1 prints times as well; they are never judged. */
#include "tests/cpu/check.h"
#include <stdlib.h>

static const size_t real_sizes[] = {sizeof(float), sizeof(double)};

TEST(every_kernel_has_a_check)
{
    for (size_t k = 0; kernel_names[k]; k++)
        for (size_t r = 0; r < 2; r++)
            if (!check_find(kernel_names[k], real_sizes[r]))
                test_failed(__FILE__, __LINE__, "kernel %s f%zu has no CHECK_KERNEL", kernel_names[k],
                            8 * real_sizes[r]);
}

static size_t check_variant(const struct kernels *variant, bool quiet, bool bench)
{
    size_t failures = 0;
    for (size_t k = 0; kernel_names[k]; k++)
        for (size_t r = 0; r < 2; r++) {
            const struct check_case *t = check_find(kernel_names[k], real_sizes[r]);
            if (t) failures += check_run(t, variant, quiet, bench);
        }
    return failures;
}

/* The portable kernels too: against themselves, which holds what a check says of its reference. */
TEST(kernel_variants_equal_portable)
{
    const char *asked = getenv("CENTRA_KERNEL_BENCH");
    const bool bench = asked && *asked && strcmp(asked, "0");
    size_t variants = 0;
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        const struct kernels *variant = kernels_of((enum isa)isa);
        if (!variant) continue;
        variants++;
        EXPECT_INT(check_variant(variant, false, bench && isa != ISA_PORTABLE), 0);
    }
    if (variants == 1) test_skip("this machine or build has the portable kernels only");
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define real float
#define KERNEL(name, params) \
    static void idle_f32_##name params {}
#include "cpu/kernels.def"
#undef KERNEL
#undef real
#define real double
#define KERNEL(name, params) \
    static void idle_f64_##name params {}
#include "cpu/kernels.def"
#undef KERNEL
#undef real
#pragma GCC diagnostic pop

TEST(kernel_check_sees_a_kernel_that_does_nothing)
{
    struct kernels idle = *kernels_of(ISA_PORTABLE);
#define KERNEL(name, params) \
    idle.f32.name = idle_f32_##name; \
    idle.f64.name = idle_f64_##name;
#include "cpu/kernels.def"
#undef KERNEL
    for (size_t k = 0; kernel_names[k]; k++)
        for (size_t r = 0; r < 2; r++) {
            const struct check_case *t = check_find(kernel_names[k], real_sizes[r]);
            if (t && !check_run(t, &idle, true, false))
                test_failed(__FILE__, __LINE__, "the check of %s f%zu passes an empty function", kernel_names[k],
                            8 * real_sizes[r]);
        }
}

/* Mistakes that vector loops make, planted in `add`, each small enough to pass a careless test. */
static void add_short(const float *a, const float *b, float *y, size_t n)
{
    for (size_t i = 0; i < (n == 1009 ? n - 1 : n); i++) y[i] = a[i] + b[i];
}

static void add_long(const float *a, const float *b, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    if (n == 33) y[n] = 0;
}

static void add_early(const float *a, const float *b, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    if (n == 33) y[-1] = 0;
}

static void add_one_ulp_off(const float *a, const float *b, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    if (n == 17) y[16] = nextafterf(y[16], 10);
}

/* volatile: a read whose value nobody uses is otherwise optimised away */
static void add_reads_ahead(const float *a, const float *b, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    for (size_t i = 0; i < 32; i++) (void)*(const volatile float *)(b + n + i);
}

TEST(kernel_check_sees_planted_errors)
{
    const struct {
        const char *what;
        void (*add)(const float *, const float *, float *, size_t);
    } planted[] = {{"an element left out", add_short},
                   {"an element written behind the end", add_long},
                   {"an element written before the beginning", add_early},
                   {"one unit in the last place", add_one_ulp_off},
                   {"a read behind the end", add_reads_ahead}};
    const struct check_case *t = check_find("add", sizeof(float));
    REQUIRE(t);
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        struct kernels wrong = *kernels_of(ISA_PORTABLE);
        EXPECT_INT(check_run(t, &wrong, true, false), 0);
        wrong.f32.add = planted[i].add;
        if (!check_run(t, &wrong, true, false))
            test_failed(__FILE__, __LINE__, "the check does not see %s", planted[i].what);
    }
}
