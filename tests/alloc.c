/* alloc.c - counts the allocations of everything linked into the test program, and makes one fail, or several wait for each
 * other, on request. Bytes are counted as the allocator gives them.
 *
 * The linker sends malloc and its family here (-Wl,--wrap=malloc and so on); calls inside the C library do not pass,
 * so blocks that the library allocates and the caller frees (getline, realpath) must not be used where alloc_live is
 * compared. The sanitizers' own allocators stay underneath. */
#include "tests/test.h"
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *block);
void *__real_aligned_alloc(size_t align, size_t bytes);
int __real_posix_memalign(void **out, size_t align, size_t bytes);
char *__real_strdup(const char *s);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *block);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
int __wrap_posix_memalign(void **out, size_t align, size_t bytes);
char *__wrap_strdup(const char *s);

static atomic_size_t allocations, live, countdown, bytes_held, bytes_peak;
static atomic_bool failed;
static atomic_size_t meeting_bytes;
static atomic_int meeting_missing;

size_t alloc_count(void) { return atomic_load(&allocations); }
size_t alloc_live(void) { return atomic_load(&live); }
size_t alloc_bytes(void) { return atomic_load(&bytes_held); }
size_t alloc_peak(void) { return atomic_exchange(&bytes_peak, alloc_bytes()); }
bool alloc_did_fail(void) { return atomic_load(&failed); }

void alloc_fail_at(size_t n)
{
    atomic_store(&failed, false);
    atomic_store(&countdown, n);
}

/* Counts one allocation; true when it is the one that has to fail. */
static bool must_fail(void)
{
    atomic_fetch_add(&allocations, 1);
    size_t left = atomic_load(&countdown);
    while (left > 0) {
        if (!atomic_compare_exchange_weak(&countdown, &left, left - 1)) continue;
        if (left > 1) return false;
        atomic_store(&failed, true);
        errno = ENOMEM;
        return true;
    }
    return false;
}

void alloc_meet_at(size_t bytes, int threads)
{
    atomic_store(&meeting_missing, threads);
    atomic_store(&meeting_bytes, bytes);
}

bool alloc_did_meet(void) { return atomic_load(&meeting_missing) <= 0; }

static void meet(size_t bytes)
{
    enum { TIMES = 10000 };
    const struct timespec one_ms = {.tv_nsec = 1000000};
    if (bytes != atomic_load(&meeting_bytes) || !bytes) return;
    atomic_fetch_sub(&meeting_missing, 1);
    for (int i = 0; i < TIMES && !alloc_did_meet(); i++) nanosleep(&one_ms, NULL);
}

static void gain(void *block)
{
    const size_t bytes = malloc_usable_size(block);
    const size_t now = atomic_fetch_add(&bytes_held, bytes) + bytes;
    size_t peak = atomic_load(&bytes_peak);
    while (peak < now && !atomic_compare_exchange_weak(&bytes_peak, &peak, now)) continue;
}

static void lose(void *block) { atomic_fetch_sub(&bytes_held, malloc_usable_size(block)); }

static void *counted(void *block)
{
    if (!block) return NULL;
    atomic_fetch_add(&live, 1);
    gain(block);
    return block;
}

void *__wrap_malloc(size_t bytes)
{
    meet(bytes);
    return must_fail() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t size) { return must_fail() ? NULL : counted(__real_calloc(count, size)); }
char *__wrap_strdup(const char *s) { return must_fail() ? NULL : counted(__real_strdup(s)); }

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    return must_fail() ? NULL : counted(__real_aligned_alloc(align, bytes));
}

int __wrap_posix_memalign(void **out, size_t align, size_t bytes)
{
    if (must_fail()) return ENOMEM;
    int error = __real_posix_memalign(out, align, bytes);
    if (!error) counted(*out);
    return error;
}

void *__wrap_realloc(void *old, size_t bytes)
{
    if (must_fail()) return NULL;
    if (!old) return counted(__real_realloc(NULL, bytes));
    const size_t before = malloc_usable_size(old);
    void *block = __real_realloc(old, bytes);
    if (!block && bytes == 0) atomic_fetch_sub(&live, 1); /* glibc has freed it */
    if (block || bytes == 0) atomic_fetch_sub(&bytes_held, before);
    if (block) gain(block);
    return block;
}

void __wrap_free(void *block)
{
    if (block) {
        atomic_fetch_sub(&live, 1);
        lose(block);
    }
    __real_free(block);
}
