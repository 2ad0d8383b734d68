/* run.c - runs the tests that the command line asks for.
 *
 *   run [--seed N] [--list] [--verbose] [words...]
 *
 * A test is selected when one of the words is part of its file's path below tests/ or of its name; without words all
 * are. Passing tests are quiet. The last line counts; the exit status is 1 when a test failed, 77 when all selected
 * tests were skipped, 2 when no test was selected. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "base/clock.h"
#include "tests/device.h"
#include "tests/test.h"
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef CENTRA_SOURCE_DIR
#define CENTRA_SOURCE_DIR "."
#endif

static struct test *tests; /* sorted by file, then by name */
static struct test *running;
static uint64_t seed = 20210627;
static atomic_size_t failures; /* of the running test; pieces on other threads may fail too */
static const char *skipped;    /* the reason, when the running test has skipped itself */
static char folder[PATH_MAX];  /* of the running test, "" before it has asked */

static int test_order(const struct test *a, const struct test *b)
{
    int order = strcmp(a->file, b->file);
    return order ? order : strcmp(a->name, b->name);
}

void test_register(struct test *t) /* by constructors, in whatever order the linker has put them */
{
    struct test **at = &tests;
    while (*at && test_order(*at, t) < 0) at = &(*at)->next;
    t->next = *at;
    *at = t;
}

void test_failed(const char *file, int line, const char *format, ...)
{
    char sentence[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    atomic_fetch_add(&failures, 1);
    printf("%s:%d: %s: %s\n", file, line, running->name, sentence);
}

void test_skip(const char *reason) { skipped = reason; }

bool test_is_about_figures(void)
{
    const bool slow = UNDER_SANITIZER || UNDER_COVERAGE;
    if (slow) test_skip("it compares figures, which the usual build does");
    return slow;
}

uint64_t test_seed(void) { return seed; }

bool test_brief(void)
{
    const char *asked = getenv("CENTRA_TEST_BRIEF");
    return asked && *asked && strcmp(asked, "0") != 0;
}

struct random test_random(void)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = running->name; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return (struct random){.seed = seed, .stream = hash};
}

const char *test_golden_dir(void)
{
    static const char beside[] = CENTRA_SOURCE_DIR "/../shared/golden";
    const char *given = getenv("CENTRA_GOLDEN");
    if (given && *given) return given;
    struct stat about;
    return stat(beside, &about) == 0 && S_ISDIR(about.st_mode) ? beside : NULL;
}

const char *test_folder(void)
{
    if (folder[0]) return folder;
    const char *parent = getenv("TMPDIR");
    if (!parent || !*parent) parent = "/tmp";
    int n = snprintf(folder, sizeof folder, "%s/centra-test-XXXXXX", parent);
    if (n < 0 || (size_t)n >= sizeof folder || !mkdtemp(folder)) {
        fprintf(stderr, "run: cannot make a folder in %s: %s\n", parent, strerror(errno));
        exit(1);
    }
    return folder;
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

static void folder_remove(void)
{
    if (folder[0] && nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS))
        test_failed(running->file, 0, "its folder %s could not be removed: %s", folder, strerror(errno));
    folder[0] = 0;
}

/* Says which test has died, then lets the signal do its work. */
static void crashed(int signal_number)
{
    static const char word[] = "CRASH ";
    ssize_t ignored = write(STDOUT_FILENO, word, sizeof word - 1);
    if (running) ignored = write(STDOUT_FILENO, running->name, strlen(running->name));
    ignored = write(STDOUT_FILENO, "\n", 1);
    (void)ignored;
    raise(signal_number);
}

static void watch_for_crashes(void)
{
    static const int fatal[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) {
        struct sigaction now;
        if (sigaction(fatal[i], NULL, &now) || now.sa_handler != SIG_DFL) continue; /* a sanitizer knows better */
        struct sigaction ours = {.sa_handler = crashed, .sa_flags = (int)SA_RESETHAND};
        sigaction(fatal[i], &ours, NULL);
    }
}

static bool selected(const struct test *t, char **words, int n)
{
    const char *path = t->file;
    for (const char *below; (below = strstr(path, "tests/"));) path = below + strlen("tests/");
    for (int i = 0; i < n; i++)
        if (strstr(path, words[i]) || strstr(t->name, words[i])) return true;
    return n == 0;
}

struct tally {
    size_t passed, failed, skipped;
};

static void run_one(struct test *t, bool verbose, struct tally *sum)
{
    running = t;
    skipped = NULL;
    atomic_store(&failures, 0);
    setenv("XDG_DATA_HOME", "/nonexistent", 1); /* no test sees the models of who runs it */
    const uint64_t began = clock_ns();
    t->run();
    alloc_fail_at(0);
    folder_remove();
    size_t bad = atomic_load(&failures);
    if (bad) {
        printf("FAIL %s: %zu expectations not met (%s, --seed %" PRIu64 ")\n", t->name, bad, t->file, seed);
        sum->failed++;
    } else if (skipped) {
        printf("SKIP %s: %s\n", t->name, skipped);
        sum->skipped++;
    } else {
        if (verbose) printf("ok   %s (%.2f s)\n", t->name, (double)(clock_ns() - began) / 1e9);
        sum->passed++;
    }
}

static void usage(void)
{
    fputs("usage: run [--seed N] [--list] [--verbose] [--first] [part of a path or name]...\n", stderr);
    exit(2);
}

static uint64_t seed_parse(const char *s)
{
    char *end;
    if (!s || *s < '0' || *s > '9') usage();
    errno = 0;
    uint64_t n = strtoull(s, &end, 10);
    if (*end || errno) usage();
    return n;
}

/* Tests that were asked to run on another device are all skipped, loudly, when it is not there. */
static bool device_is_there(void)
{
    struct device *d = NULL;
    if (!test_device()) return true;
    if (test_device_open(NULL, NULL, &d) != OK) {
        printf("SKIP everything: %s\n", error_text());
        return false;
    }
    d->close(d);
    return true;
}

int main(int argc, char **argv)
{
    bool list = false, verbose = false, first = false;
    int n = 0; /* the words move to the front of argv */
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--seed")) seed = seed_parse(argv[++i]);
        else if (!strcmp(argv[i], "--list")) list = true;
        else if (!strcmp(argv[i], "--verbose")) verbose = true;
        else if (!strcmp(argv[i], "--first")) first = true; /* failure, and no further */
        else if (argv[i][0] == '-') usage();
        else argv[n++] = argv[i];
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a test that forks must not print twice */
    watch_for_crashes();
    if (!list && !device_is_there()) return 77;
    struct tally sum = {0, 0, 0};
    size_t found = 0;
    for (struct test *t = tests; t; t = t->next) {
        if (!selected(t, argv, n)) continue;
        found++;
        if (list) printf("%s %s\n", t->file, t->name);
        else run_one(t, verbose, &sum);
        if (first && sum.failed) break;
    }
    if (!found) fputs("run: no test matches\n", stderr);
    if (list) return found ? 0 : 2;
    printf("%zu passed, %zu failed, %zu skipped\n", sum.passed, sum.failed, sum.skipped);
    if (sum.failed) return 1;
    if (!found) return 2;
    return sum.passed ? 0 : 77;
}
