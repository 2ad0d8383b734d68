/* dispatch.c - the only place that asks the processor what it can do, or reads CENTRA_ISA.
 *
 * The build defines CENTRA_HAVE_AVX2 and CENTRA_HAVE_AVX512 when it has compiled cpu/simd for them. All tables are
 * constant, so there is nothing to initialise and nothing to lock. */
#include "cpu/kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const kernel_names[] = {
#define KERNEL(name, params) #name,
#include "cpu/kernels.def"
#undef KERNEL
    NULL};

#define KERNEL(name, params) \
    void KERNEL_NAME(name, portable) params; \
    void KERNEL_NAME(name, avx2) params; \
    void KERNEL_NAME(name, avx512) params;
#define real float
#define KERNEL_NAME(name, isa) name##_##isa##_f32
#include "cpu/kernels.def"
#undef real
#undef KERNEL_NAME
#define real double
#define KERNEL_NAME(name, isa) name##_##isa##_f64
#include "cpu/kernels.def"
#undef real
#undef KERNEL_NAME
#undef KERNEL

static const struct kernels portable = {
    ISA_PORTABLE,
#define KERNEL(name, params) .name = name##_portable_f32,
    .f32 =
        {
            .gemm_width = 8,
#include "cpu/kernels.def"
#undef KERNEL
        },
#define KERNEL(name, params) .name = name##_portable_f64,
    .f64 =
        {
            .gemm_width = 8,
#include "cpu/kernels.def"
#undef KERNEL
        },
};

#if defined(CENTRA_HAVE_AVX2)
static const struct kernels avx2 = {
    ISA_AVX2,
#define KERNEL(name, params) .name = name##_avx2_f32,
    .f32 =
        {
            .gemm_width = 16,
#include "cpu/kernels.def"
#undef KERNEL
        },
#define KERNEL(name, params) .name = name##_avx2_f64,
    .f64 =
        {
            .gemm_width = 8,
#include "cpu/kernels.def"
#undef KERNEL
        },
};

static const struct kernels *avx2_table(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2 : NULL;
}
#else
static const struct kernels *avx2_table(void) { return NULL; }
#endif

#if defined(CENTRA_HAVE_AVX512)
static const struct kernels avx512 = {
    ISA_AVX512,
#define KERNEL(name, params) .name = name##_avx512_f32,
    .f32 =
        {
            .gemm_width = 32,
#include "cpu/kernels.def"
#undef KERNEL
        },
#define KERNEL(name, params) .name = name##_avx512_f64,
    .f64 =
        {
            .gemm_width = 16,
#include "cpu/kernels.def"
#undef KERNEL
        },
};

static const struct kernels *avx512_table(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
               ? &avx512
               : NULL;
}
#else
static const struct kernels *avx512_table(void) { return NULL; }
#endif

const struct kernels *kernels_of(enum isa isa)
{
    switch (isa) {
    case ISA_PORTABLE: return &portable;
    case ISA_AVX2: return avx2_table();
    case ISA_AVX512: return avx512_table();
    case ISA_COUNT: break;
    }
    return NULL;
}

const char *isa_name(enum isa isa)
{
    static const char *const names[ISA_COUNT] = {"portable", "avx2", "avx512"};
    return (unsigned)isa < ISA_COUNT ? names[isa] : "unknown";
}

/* "portable, avx2, avx512": all of them, or those that this processor has. */
static const char *isa_list(bool all, char *buffer, size_t bytes)
{
    size_t used = 0;
    for (int i = 0; i < ISA_COUNT; i++) {
        if (!all && !kernels_of((enum isa)i)) continue;
        const int n = snprintf(buffer + used, bytes - used, "%s%s", used ? ", " : "", isa_name((enum isa)i));
        if (n < 0 || (size_t)n >= bytes - used) break;
        used += (size_t)n;
    }
    return buffer;
}

static const struct kernels *best(void)
{
    for (int i = ISA_COUNT - 1; i > ISA_PORTABLE; i--)
        if (kernels_of((enum isa)i)) return kernels_of((enum isa)i);
    return &portable;
}

status kernels_choose(const char *name, const struct kernels **out)
{
    char list[64];
    const char *asker = "";
    if (!name || !*name) {
        name = getenv("CENTRA_ISA");
        asker = " (asked for by CENTRA_ISA)";
    }
    if (!name || !*name) {
        *out = best();
        return OK;
    }
    for (int i = 0; i < ISA_COUNT; i++) {
        if (strcmp(name, isa_name((enum isa)i))) continue;
        const struct kernels *k = kernels_of((enum isa)i);
        if (!k)
            return fail(ST_UNSUPPORTED, "this processor or build lacks the instruction set '%s'%s; choose one of %s",
                        name, asker, isa_list(false, list, sizeof list));
        *out = k;
        return OK;
    }
    return fail(ST_USAGE, "there is no instruction set '%s'%s; choose one of %s", name, asker,
                isa_list(true, list, sizeof list));
}
