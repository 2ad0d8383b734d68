/* test.h - the test harness: TEST(name) { ... } registers itself; tests/run.c runs what the command line asks for.
 *
 * A test names the promise it holds. A failed expectation prints seen, wanted and the place, and the test goes on. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H
#include "base/random.h"
#include "base/status.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Which sanitizer the tests were built with. gcc has a macro for each, clang asks. */
#if defined(__has_feature)
#define UNDER_ASAN __has_feature(address_sanitizer)
#define UNDER_TSAN __has_feature(thread_sanitizer)
#else
#ifdef __SANITIZE_ADDRESS__
#define UNDER_ASAN 1
#else
#define UNDER_ASAN 0
#endif
#ifdef __SANITIZE_THREAD__
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif
#endif
#define UNDER_SANITIZER (UNDER_ASAN || UNDER_TSAN)
#ifdef CENTRA_COVERAGE /* tools/coverage.sh */
#define UNDER_COVERAGE 1
#else
#define UNDER_COVERAGE 0
#endif

struct test {
    const char *name, *file;
    void (*run)(void);
    struct test *next;
};
void test_register(struct test *t);
void test_failed(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
void test_skip(const char *reason); /* marks the running test as skipped, loudly; return from it afterwards */
/* CENTRA_TEST_BRIEF: under tools that slow a device down a thousandfold, the fewest cases that reach every kernel. */
bool test_brief(void);
/* For tests that compare figures and run no code that others do not: true, and the test is marked as skipped, under a
 * sanitizer or counters of coverage, where computing the figures takes minutes. The usual build compares them. */
bool test_is_about_figures(void);
uint64_t test_seed(void); /* --seed N, else fixed; printed when something fails */
/* A random stream for this test, from the seed and the test's name. */
struct random test_random(void);
/* The folder of the golden vectors (CENTRA_GOLDEN, else ../shared/golden from the source folder), or NULL. */
const char *test_golden_dir(void);
/* An empty folder for this test's files, removed after it. */
const char *test_folder(void);

/* tests/alloc.c: malloc, calloc, realloc, aligned_alloc, posix_memalign and strdup of everything linked in are counted and
 * can be made to fail. */
size_t alloc_count(void);     /* allocations so far */
size_t alloc_bytes(void);     /* held now */
size_t alloc_peak(void);      /* most bytes held at once since the last call of this */
size_t alloc_live(void);      /* blocks not yet freed */
void alloc_fail_at(size_t n); /* the n-th allocation from now (1 = the next) fails, once; 0: never */
bool alloc_did_fail(void);    /* whether it came to that */
/* Threads that ask malloc for exactly so many bytes wait until `threads` of them have, once; 0: nobody waits. */
void alloc_meet_at(size_t bytes, int threads);
bool alloc_did_meet(void); /* whether all came, within ten seconds */

#define TEST(id) \
    static void test_##id(void); \
    __attribute__((constructor)) static void test_register_##id(void) \
    { \
        static struct test t = {#id, __FILE__, test_##id, NULL}; \
        test_register(&t); \
    } \
    static void test_##id(void)

#define EXPECT(cond) \
    do { \
        if (!(cond)) test_failed(__FILE__, __LINE__, "expected %s", #cond); \
    } while (0)
#define EXPECT_INT(seen, wanted) \
    do { \
        long long s_ = (long long)(seen), w_ = (long long)(wanted); \
        if (s_ != w_) test_failed(__FILE__, __LINE__, "%s is %lld, wanted %lld", #seen, s_, w_); \
    } while (0)
#define EXPECT_NEAR(seen, wanted, tolerance) /* NaN never passes */ \
    do { \
        double s_ = (double)(seen), w_ = (double)(wanted), t_ = (double)(tolerance); \
        if (!(fabs(s_ - w_) <= t_)) \
            test_failed(__FILE__, __LINE__, "%s is %.17g, wanted %.17g within %g", #seen, s_, w_, t_); \
    } while (0)
#define EXPECT_TEXT(seen, wanted) \
    do { \
        const char *s_ = (seen), *w_ = (wanted); \
        if (!s_ || strcmp(s_, w_)) \
            test_failed(__FILE__, __LINE__, "%s is \"%s\", wanted \"%s\"", #seen, s_ ? s_ : "(null)", w_); \
    } while (0)
#define EXPECT_STATUS(seen, wanted) \
    do { \
        status s_ = (seen); \
        if (s_ != (wanted)) \
            test_failed(__FILE__, __LINE__, "%s gives %s (%s), wanted %s", #seen, status_name(s_), error_text(), \
                        status_name(wanted)); \
    } while (0)
#define EXPECT_OK(seen) EXPECT_STATUS(seen, OK)
/* For conditions without which the rest of the test makes no sense. */
#define REQUIRE(cond) \
    do { \
        if (!(cond)) { \
            test_failed(__FILE__, __LINE__, "required %s", #cond); \
            return; \
        } \
    } while (0)
#endif
