/* shim.c - loaded in front of the program by LD_PRELOAD: lets the system fail as the environment asks.
 *
 *     TORTURE=alloc:N      the N-th allocation, of the program and of every library, fails
 *     TORTURE=gone:N       the N-th file opened below the folder in/ is not there any more
 *     TORTURE=broken:N     the N-th call that reads or writes a file fails with EIO
 *     TORTURE=stop:N       SIGINT comes, as from Ctrl-C, when the N-th file or folder is flushed
 *     TORTURE=short:SEED   calls that read and write move a few bytes at a time, or are interrupted
 *     TORTURE=signals:US   a signal every so many microseconds, whose handler does not restart calls
 *     TORTURE_COUNTS=FILE  at the end, how often each could have happened is written there
 *
 * Calls inside the C library, such as those of fwrite, do not pass here, except for allocations; signals reach them all. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* The allocator itself, which needs no search through libraries that would allocate. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

enum kind { ALLOC, GONE, BROKEN, STOP, KINDS };
static const char *const names[KINDS] = {"alloc", "gone", "broken", "stop"};
static atomic_ulong seen[KINDS];
static unsigned long wanted[KINDS]; /* 0: never */
static bool shorten;
static atomic_uint_fast64_t state = 1;

/* Libraries prepare themselves before main() is reached and tidy up after exit() has called the program's own functions; that
 * is their affair. So is what a build with counters does then: its runtime writes them, and takes memory without looking. */
static atomic_bool armed;

/* Whether this one has to fail. */
static bool strikes(enum kind k) { return atomic_load(&armed) && atomic_fetch_add(&seen[k], 1) + 1 == wanted[k]; }

typedef int (*main_function)(int, char **, char **);
typedef int (*start_function)(main_function, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
static main_function real_main;

static void disarm(void) { atomic_store(&armed, false); }

/* What was registered first runs last, and before any library is told of the end. */
static int armed_main(int argc, char **argv, char **environment)
{
    if (atexit(disarm)) _exit(125);
    atomic_store(&armed, true);
    return real_main(argc, argv, environment);
}

int __libc_start_main(main_function main_of, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end);
int __libc_start_main(main_function main_of, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end)
{
    start_function start = NULL;
    *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = main_of;
    return start(armed_main, argc, argv, init, fini, loader_fini, stack_end);
}

static void ignore(int signal_number) { (void)signal_number; }

static void send_signals(long microseconds)
{
    struct sigaction action = {.sa_handler = ignore}; /* without SA_RESTART */
    const struct itimerval often = {{0, microseconds}, {0, microseconds}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

__attribute__((constructor)) static void begin(void)
{
    const char *asked = getenv("TORTURE"), *number = asked ? strchr(asked, ':') : NULL;
    if (!number) return;
    const unsigned long n = strtoul(number + 1, NULL, 10);
    for (int k = 0; k < KINDS; k++)
        if (!strncmp(asked, names[k], strlen(names[k]))) wanted[k] = n;
    if (!strncmp(asked, "short:", 6)) {
        shorten = true;
        atomic_store(&state, n * 2 + 1);
    }
    if (!strncmp(asked, "signals:", 8)) send_signals((long)n);
}

__attribute__((destructor)) static void end(void)
{
    char line[100];
    const char *path = getenv("TORTURE_COUNTS");
    if (!path) return;
    const int n = snprintf(line, sizeof line, "%lu %lu %lu %lu\n", atomic_load(&seen[ALLOC]), atomic_load(&seen[GONE]),
                           atomic_load(&seen[BROKEN]), atomic_load(&seen[STOP]));
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || syscall(SYS_write, fd, line, (size_t)n) != n) _exit(125);
    close(fd);
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t bytes) { return strikes(ALLOC) ? no_memory() : __libc_malloc(bytes); }
void *calloc(size_t count, size_t size) { return strikes(ALLOC) ? no_memory() : __libc_calloc(count, size); }
void *realloc(void *old, size_t bytes) { return strikes(ALLOC) ? no_memory() : __libc_realloc(old, bytes); }
void *aligned_alloc(size_t align, size_t bytes) { return strikes(ALLOC) ? no_memory() : __libc_memalign(align, bytes); }

int posix_memalign(void **out, size_t align, size_t bytes)
{
    void *block = strikes(ALLOC) ? NULL : __libc_memalign(align, bytes);
    if (!block) return ENOMEM;
    *out = block;
    return 0;
}

static bool is_file(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

/* True where the call has to end at once, with errno; else *n is what it may move. */
static bool disturbed(int fd, size_t *n)
{
    if (!is_file(fd)) return false;
    if (strikes(BROKEN)) {
        errno = EIO;
        return true;
    }
    if (!shorten || !*n) return false;
    const uint64_t draw = atomic_fetch_add(&state, 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u >> 40;
    if (draw % 5 == 0) {
        errno = EINTR;
        return true;
    }
    const size_t most = 1 + draw % 4093;
    if (*n > most) *n = most;
    return false;
}

ssize_t read(int fd, void *to, size_t n) { return disturbed(fd, &n) ? -1 : syscall(SYS_read, fd, to, n); }
ssize_t write(int fd, const void *from, size_t n) { return disturbed(fd, &n) ? -1 : syscall(SYS_write, fd, from, n); }

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    return disturbed(fd, &n) ? -1 : syscall(SYS_pread64, fd, to, n, at);
}

ssize_t __read_chk(int fd, void *to, size_t n, size_t room);
ssize_t __read_chk(int fd, void *to, size_t n, size_t room)
{
    if (n > room) abort();
    return read(fd, to, n);
}

static int open_file(const char *path, int flags, mode_t mode)
{
    if ((flags & O_ACCMODE) == O_RDONLY && strstr(path, "in/") && strikes(GONE)) {
        errno = ENOENT;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open_file(path, flags, mode);
}

int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags) { return open_file(path, flags, 0); }

int fsync(int fd)
{
    if (strikes(STOP)) raise(SIGINT);
    return (int)syscall(SYS_fsync, fd);
}
