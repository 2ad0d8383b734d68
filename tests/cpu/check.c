/* check.c - memory, comparisons and crash handling of the kernel check. */
#include "tests/cpu/check.h"
#include "base/size.h"
#include <float.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

const size_t check_sizes[CHECK_SIZES] = {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 1000, 1009};

enum { GUARD_BYTES = 128, GUARD = 0xA5 };

struct check_block { /* [guard bytes][the numbers][0 to 16 reals of guard][a page that cannot be touched] */
    struct check_block *next;
    unsigned char *map, *data, *end; /* end: of what may be touched */
    size_t data_bytes, map_bytes;
};

static struct check_case *cases;

void check_register(struct check_case *t)
{
    t->next = cases;
    cases = t;
}

const struct check_case *check_find(const char *kernel, size_t real_bytes)
{
    for (const struct check_case *t = cases; t; t = t->next)
        if (t->real_bytes == real_bytes && !strcmp(t->kernel, kernel)) return t;
    return NULL;
}

void check_failed(struct check *c, const char *format, ...)
{
    if (c->failures++ || c->quiet) return;
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    test_failed(__FILE__, __LINE__, "%s %s f%zu: %s", c->kernel, isa_name(c->isa), 8 * c->real_bytes, text);
}

/* For timing, blocks begin at a cache line and at different offsets within a page: at equal ones a load waits for a
 * store to another block, which measures the layout and not the kernel. */
static size_t behind_for_timing(const struct check *c, size_t page, size_t data_bytes)
{
    size_t offset = 0;
    for (const struct check_block *b = c->blocks; b; b = b->next) offset += 10 * 64;
    return 2 * page - data_bytes % page - offset % page;
}

static void *take(struct check *c, size_t n)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), data_bytes = n * c->real_bytes;
    const size_t behind = c->bench ? behind_for_timing(c, page, data_bytes)
                                   : random_below(&c->random, 2) * random_below(&c->random, 17) * c->real_bytes;
    const size_t usable = size_round_up(GUARD_BYTES + data_bytes + behind, page);
    struct check_block *b = malloc(sizeof *b);
    void *map = mmap(NULL, usable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!b || map == MAP_FAILED || mprotect((char *)map + usable, page, PROT_NONE)) {
        fprintf(stderr, "the kernel check has no memory\n");
        exit(1);
    }
    memset(map, GUARD, usable);
    *b = (struct check_block){.next = c->blocks, .map = map, .data_bytes = data_bytes, .map_bytes = usable + page};
    b->end = b->map + usable;
    b->data = b->end - behind - data_bytes;
    c->blocks = b;
    return b->data;
}

static bool is_guard(const unsigned char *from, const unsigned char *to)
{
    for (; from < to; from++)
        if (*from != GUARD) return false;
    return true;
}

void check_release(struct check *c)
{
    while (c->blocks) {
        struct check_block *b = c->blocks;
        const unsigned char *behind = b->data + b->data_bytes;
        if (!is_guard(b->map, b->data)) check_failed(c, "wrote before the first of %zu bytes", b->data_bytes);
        if (!is_guard(behind, b->end)) check_failed(c, "wrote behind the last of %zu bytes", b->data_bytes);
        c->blocks = b->next;
        munmap(b->map, b->map_bytes);
        free(b);
    }
}

static double get(const struct check *c, const void *p, size_t i)
{
    return c->real_bytes == sizeof(float) ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static void put(const struct check *c, void *p, size_t i, double x)
{
    if (c->real_bytes == sizeof(float)) ((float *)p)[i] = (float)x;
    else ((double *)p)[i] = x;
}

void *check_random(struct check *c, size_t n, double low, double high)
{
    void *p = take(c, n);
    for (size_t i = 0; i < n; i++) put(c, p, i, low + (high - low) * random_unit(&c->random));
    return p;
}

void *check_blank(struct check *c, size_t n)
{
    void *p = take(c, n);
    for (size_t i = 0; i < n; i++) put(c, p, i, (double)NAN);
    return p;
}

void *check_copy(struct check *c, const void *from, size_t n)
{
    void *p = take(c, n);
    memcpy(p, from, n * c->real_bytes);
    return p;
}

void check_exact(struct check *c, const void *got, const void *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double g = get(c, got, i), w = get(c, want, i);
        if (isnan(g) && isnan(w)) continue;
        if (memcmp(&g, &w, sizeof g)) check_failed(c, "element %zu of %zu is %.17g, wanted exactly %.17g", i, n, g, w);
    }
}

void check_ulps(struct check *c, const void *got, const void *want, size_t n, double ulps)
{
    const bool single = c->real_bytes == sizeof(float);
    const double least = single ? FLT_MIN : DBL_MIN;
    for (size_t i = 0; i < n; i++) {
        const double g = get(c, got, i), w = get(c, want, i);
        int exponent;
        frexp(fmax(fabs(w), least), &exponent);
        const double ulp = ldexp(1, exponent - (single ? FLT_MANT_DIG : DBL_MANT_DIG));
        if ((isnan(g) && isnan(w)) || g == w) continue;
        if (fabs(w) < least && fabs(g) <= least) continue;
        if (!(isfinite(w) && fabs(g - w) <= ulps * ulp))
            check_failed(c, "element %zu of %zu is %.17g, wanted %.17g within %g ulp (off by %g)", i, n, g, w, ulps,
                         fabs(g - w) / ulp);
    }
}

void check_bound(struct check *c, const void *got, const void *want, const double *bound, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double g = get(c, got, i), w = get(c, want, i);
        if ((isnan(g) && isnan(w)) || g == w) continue;
        if (!(isfinite(w) && fabs(g - w) <= bound[i]))
            check_failed(c, "element %zu of %zu is %.17g, wanted %.17g within %g", i, n, g, w, bound[i]);
    }
}

void check_report(const struct check *c, size_t n, double ref_ns, double alt_ns)
{
    printf("  %-14s f%zu n=%-6zu %-8s %10.1f ns  portable %10.1f ns  %6.2f times\n", c->kernel, 8 * c->real_bytes, n,
           isa_name(c->isa), alt_ns, ref_ns, ref_ns / alt_ns);
}

static sigjmp_buf after_crash;

static void crashed(int signal_number) { siglongjmp(after_crash, signal_number); }

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
enum { CRASH_SIGNALS = sizeof crash_signals / sizeof *crash_signals };

static void run_guarded(const struct check_case *t, struct check *c)
{
    struct sigaction before[CRASH_SIGNALS], ours = {.sa_handler = crashed};
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < CRASH_SIGNALS; i++) sigaction(crash_signals[i], &ours, &before[i]);
    const int crash = sigsetjmp(after_crash, 1);
    if (crash == 0) t->run(c);
    else check_failed(c, "crashed with signal %d, so it left its arguments or is not for this machine", crash);
    for (size_t i = 0; i < CRASH_SIGNALS; i++) sigaction(crash_signals[i], &before[i], NULL);
}

size_t check_run(const struct check_case *t, const struct kernels *variant, bool quiet, bool bench)
{
    const struct kernels *portable = kernels_of(ISA_PORTABLE);
    const bool single = t->real_bytes == sizeof(float);
    struct check c = {.kernel = t->kernel, .real_bytes = t->real_bytes, .isa = variant->isa, .random = test_random()};
    c.quiet = quiet;
    c.bench = bench;
    c.ref = single ? (const void *)&portable->f32 : &portable->f64;
    c.alt = single ? (const void *)&variant->f32 : &variant->f64;
    run_guarded(t, &c);
    check_release(&c);
    return c.failures;
}
