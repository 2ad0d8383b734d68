/* dispatch.c - tests of choosing the instruction set. */
#include "cpu/kernels.h"
#include "tests/test.h"
#include <stdlib.h>

/* CENTRA_ISA as it stood before the test, since the whole suite may run under one. */
struct environment {
    char value[64];
    bool set;
};

static struct environment environment_begin(const char *isa)
{
    struct environment before = {.set = getenv("CENTRA_ISA") != NULL};
    if (before.set) strncpy(before.value, getenv("CENTRA_ISA"), sizeof before.value - 1);
    if (isa) setenv("CENTRA_ISA", isa, 1);
    else unsetenv("CENTRA_ISA");
    return before;
}

static void environment_end(const struct environment *before)
{
    if (before->set) setenv("CENTRA_ISA", before->value, 1);
    else unsetenv("CENTRA_ISA");
}

TEST(dispatch_tables_are_complete)
{
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        const struct kernels *k = kernels_of((enum isa)isa);
        if (!k) continue;
        EXPECT_INT(k->isa, isa);
        EXPECT(k->f32.gemm_width > 0 && k->f32.gemm_width <= GEMM_MAX_WIDTH);
        EXPECT(k->f64.gemm_width > 0 && k->f64.gemm_width <= GEMM_MAX_WIDTH);
#define KERNEL(name, params) EXPECT(k->f32.name && k->f64.name);
#include "cpu/kernels.def"
#undef KERNEL
    }
    EXPECT(kernels_of(ISA_PORTABLE));
    EXPECT(!kernels_of(ISA_COUNT));
}

TEST(dispatch_chooses_the_best_unless_told)
{
    struct environment before = environment_begin(NULL);
    const struct kernels *chosen = NULL, *empty = NULL;
    EXPECT_OK(kernels_choose(NULL, &chosen));
    EXPECT_OK(kernels_choose("", &empty));
    environment_end(&before);
    REQUIRE(chosen);
    EXPECT(chosen == empty);
    for (int isa = (int)chosen->isa + 1; isa < ISA_COUNT; isa++) EXPECT(!kernels_of((enum isa)isa));
}

TEST(dispatch_takes_each_name)
{
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        const struct kernels *k = NULL;
        const status st = kernels_choose(isa_name((enum isa)isa), &k);
        if (kernels_of((enum isa)isa)) {
            EXPECT_INT(st, OK);
            EXPECT(k == kernels_of((enum isa)isa));
        } else {
            EXPECT_INT(st, ST_UNSUPPORTED);
            EXPECT(!k);
            EXPECT(strstr(error_text(), isa_name((enum isa)isa)));
        }
    }
}

TEST(dispatch_obeys_the_environment_but_a_name_goes_first)
{
    struct environment before = environment_begin("portable");
    const struct kernels *forced = NULL, *named = NULL, *wrong = NULL;
    EXPECT_OK(kernels_choose(NULL, &forced));
    EXPECT(forced == kernels_of(ISA_PORTABLE));
    setenv("CENTRA_ISA", "sse9", 1);
    EXPECT_OK(kernels_choose("portable", &named));
    EXPECT_STATUS(kernels_choose(NULL, &wrong), ST_USAGE);
    EXPECT(!wrong);
    EXPECT(strstr(error_text(), "CENTRA_ISA"));
    environment_end(&before);
}

TEST(dispatch_refuses_unknown_names_with_the_list)
{
    const struct kernels *k = NULL;
    EXPECT_STATUS(kernels_choose("avx3", &k), ST_USAGE);
    EXPECT(!k);
    EXPECT_TEXT(error_text(), "there is no instruction set 'avx3'; choose one of portable, avx2, avx512");
}
