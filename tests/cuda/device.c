/* device.c - tests of a GPU's memory and queue. The primitives have no tests of their own: the suites in tests/cpu,
 * tests/ops, tests/heads and tests/nets run on the GPU when CENTRA_TEST_DEVICE is cuda. */
#include "api/plugin.h"
#include "tests/test.h"
#include <stdlib.h>
#include <string.h>

static struct device *open_gpu(void)
{
    struct device *d = NULL;
    if (plugin_open("cuda", &d) == OK) return d;
    test_skip(error_text());
    return NULL;
}

/* Whether the plug-in is there does not depend on a GPU: without one it says so itself. */
static bool plugin_is_there(void)
{
    struct device *d = NULL;
    if (plugin_open("cuda", &d) == OK) d->close(d);
    else if (strstr(error_text(), "centra-cuda.so")) {
        test_skip(error_text());
        return false;
    }
    return true;
}

TEST(cuda_refuses_a_share_of_a_gpu)
{
    struct device *d = NULL;
    if (!plugin_is_there()) return;
    setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "20", 1);
    EXPECT_STATUS(plugin_open("cuda", &d), ST_UNSUPPORTED);
    EXPECT_TEXT(error_text(),
                "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is '20', but with a share of a GPU cuBLAS leaves parts of "
                "results unwritten; unset it, or use cpu");
    EXPECT(!d);
    setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100", 1);
    if (plugin_open("cuda", &d) == OK) d->close(d);
    else EXPECT(!strstr(error_text(), "CUDA_MPS"));
    unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
}

TEST(cuda_device_is_filled_in)
{
    struct device *d = open_gpu();
    if (!d) return;
    EXPECT_INT(d->abi, DEVICE_ABI);
    EXPECT_INT(d->bytes, sizeof *d);
    EXPECT_TEXT(d->name, "cuda:0");
    EXPECT(!d->on_host);
    EXPECT_OK(d->sync(d));
    d->close(d);
}

TEST(cuda_memory_comes_back_as_it_was_sent)
{
    static const size_t sizes[] = {0, 1, 5, 4096, (8 << 20) - 1, (8 << 20) + 1, (40 << 20) + 3}; /* around the stages */
    struct device *d = open_gpu();
    struct random r = test_random();
    for (size_t i = 0; d && i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i];
        unsigned char *sent = malloc(n + 1), *back = calloc(n + 1, 1);
        void *a = NULL, *b = NULL;
        REQUIRE(sent && back);
        for (size_t j = 0; j < n; j++) sent[j] = (unsigned char)(j * 31 + random_below(&r, 2));
        EXPECT_OK(d->alloc(d, n, &a));
        EXPECT_OK(d->alloc(d, n, &b));
        EXPECT_OK(d->upload(d, a, sent, n));
        memcpy(back, sent, n);
        memset(sent, 0, n); /* the caller's array is its own again */
        EXPECT_OK(d->copy(d, b, a, n));
        EXPECT_OK(d->zero(d, a, n));
        EXPECT_OK(d->download(d, sent, b, n));
        EXPECT(!memcmp(sent, back, n));
        EXPECT_OK(d->download(d, sent, a, n));
        for (size_t j = 0; j < n; j++) back[j] = 0;
        EXPECT(!memcmp(sent, back, n));
        d->release(d, a);
        d->release(d, b);
        free(sent);
        free(back);
    }
    if (d) d->close(d);
}

TEST(cuda_two_devices_are_two_queues)
{
    struct device *a = open_gpu(), *b = a ? open_gpu() : NULL;
    void *memory = NULL;
    const double seven = 7;
    double seen = 0;
    if (!a || !b) return;
    EXPECT_OK(b->alloc(b, sizeof seven, &memory));
    EXPECT_OK(b->upload(b, memory, &seven, sizeof seven));
    EXPECT_OK(a->sync(a));
    a->close(a);
    EXPECT_OK(b->download(b, &seen, memory, sizeof seen));
    EXPECT_NEAR(seen, 7, 0);
    b->release(b, memory);
    b->close(b);
}

TEST(cuda_no_memory_is_an_error_that_can_be_got_over)
{
    struct device *d = open_gpu();
    void *memory = NULL;
    if (!d) return;
    EXPECT_STATUS(d->alloc(d, (size_t)1 << 46, &memory), ST_MEMORY);
    EXPECT_OK(d->alloc(d, 64, &memory));
    EXPECT_OK(d->zero(d, memory, 64));
    EXPECT_OK(d->sync(d));
    d->release(d, memory);
    d->close(d);
}

/* Each step uploads its own numbers and copies them, in so many parts, to a place of its own; some are disturbed on the way. */
static void check_steps(size_t parts)
{
    enum { STEPS = 16, BYTES = 4096, WAITS = 7, TAKES = 9, SENDS_MUCH = 11, LARGE = 3 << 20 };
    struct device *d = open_gpu();
    if (!d) return;
    static unsigned char sent[BYTES], back[BYTES], large[LARGE];
    void *a = NULL, *all = NULL, *more = NULL, *much = NULL;
    REQUIRE(d->alloc(d, BYTES, &a) == OK && d->alloc(d, STEPS * BYTES, &all) == OK && d->alloc(d, LARGE, &much) == OK);
    for (size_t s = 0; s < STEPS; s++) {
        status st = device_together_begin(d);
        memset(sent, (int)s + 1, sizeof sent);
        if (st == OK) st = d->upload(d, a, sent, sizeof sent);
        memset(sent, 0xee, sizeof sent);
        if (s == WAITS) {
            EXPECT_OK(d->download(d, back, a, sizeof back));
            EXPECT_INT(back[BYTES - 1], s + 1);
        }
        if (s == TAKES) EXPECT_OK(d->alloc(d, BYTES, &more));
        if (s == SENDS_MUCH) EXPECT_OK(d->upload(d, much, large, sizeof large));
        for (size_t i = 0; i < parts && st == OK; i++) {
            const size_t from = i * (BYTES / parts), bytes = i + 1 < parts ? BYTES / parts : BYTES - from;
            st = d->copy(d, (char *)all + s * BYTES + from, (char *)a + from, bytes);
        }
        EXPECT_OK(device_together_end(d, st));
    }
    for (size_t s = 0; s < STEPS; s++) {
        EXPECT_OK(d->download(d, back, (char *)all + s * BYTES, BYTES));
        EXPECT_INT(back[0], s + 1);
        EXPECT_INT(back[BYTES - 1], s + 1);
    }
    d->release(d, a);
    d->release(d, all);
    d->release(d, more);
    d->release(d, much);
    d->close(d);
}

TEST(cuda_steps_taken_together_do_what_was_called) { check_steps(20); }
TEST(cuda_steps_of_few_calls_do_what_was_called) { check_steps(1); }
