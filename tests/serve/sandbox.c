/* sandbox.c - what a server has given up: seen from outside in a running one, and tried from inside in child processes. */
#include "serve/sandbox.h"
#include "tests/serve/rig.h"
#include "tests/test.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && !UNDER_ASAN && !UNDER_TSAN
enum { CAN_TRY = 1 };
#else
enum { CAN_TRY = 0 };
#endif

enum { MISSING = 99, ENDED = 1000 };

static bool can_try(void)
{
    if (!CAN_TRY) test_skip("a sanitizer, or a system without seccomp: the sandbox cannot be tried");
    return CAN_TRY;
}

/* The rig of a run that counts lines, or looks for leaks, starts all servers without. */
static bool can_try_server(void)
{
    const bool off = getenv("CENTRA_TEST_NO_SANDBOX") != NULL;
    if (off) test_skip("CENTRA_TEST_NO_SANDBOX is set");
    return !off && can_try();
}

/* Runs it in a child: its exit status, or ENDED and the signal that ended it. */
static int in_child(int (*body)(void))
{
    int how = 0;
    const pid_t child = fork();
    if (child == 0) _exit(body());
    if (child < 0 || waitpid(child, &how, 0) != child) return -1;
    return WIFEXITED(how) ? WEXITSTATUS(how) : ENDED + WTERMSIG(how);
}

static int start_program(void)
{
    char *const argv[] = {(char *)"true", NULL}, *const environment[] = {NULL};
    if (sandbox_calls(true)) return MISSING;
    execve("/bin/true", argv, environment);
    return 1;
}

static int trace(void)
{
    if (sandbox_calls(true)) return MISSING;
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 2;
}

static int start_program_wide(void)
{
    char *const argv[] = {(char *)"true", NULL}, *const environment[] = {NULL};
    if (sandbox_calls(false)) return MISSING;
    execve("/bin/true", argv, environment);
    return 1;
}

TEST(sandbox_ends_a_process_that_starts_a_program)
{
    if (!can_try()) return;
    EXPECT_INT(in_child(start_program), ENDED + SIGSYS);
    EXPECT_INT(in_child(start_program_wide), ENDED + SIGSYS);
    EXPECT_INT(in_child(trace), ENDED + SIGSYS);
}

static bool denied(long result, int error) { return result == -1 && errno == error; }

/* The number of the first that was possible, or 0. */
static int ask_for_the_forbidden(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sandbox_calls(true)) return MISSING;
    if (!denied(socket(AF_INET, SOCK_STREAM, 0), EPERM)) return 1;
    if (!denied(open("/etc/passwd", O_RDONLY), EPERM)) return 2;
    if (!denied(open("new", O_WRONLY | O_CREAT, 0600), EPERM)) return 3;
    if (!denied(fork(), EPERM)) return 4;
    if (!denied(kill(getppid(), 0), EPERM)) return 5;
    if (!denied(mprotect(page, 4096, PROT_READ | PROT_EXEC), EPERM)) return 6;
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) return 7;
    if (!denied(unlink("/nowhere"), EPERM)) return 8;
    if (mprotect(page, 4096, PROT_READ)) return 9; /* what is not forbidden goes on */
    return write(STDERR_FILENO, "", 0) == 0 ? 0 : 10;
}

/* A GPU's driver keeps its files, and still gets no connections and no processes. */
static int ask_for_the_forbidden_wide(void)
{
    if (sandbox_calls(false)) return MISSING;
    if (!denied(socket(AF_INET, SOCK_STREAM, 0), EPERM)) return 1;
    if (!denied(fork(), EPERM)) return 2;
    return open("/", O_RDONLY) >= 0 ? 0 : 3;
}

TEST(sandbox_refuses_files_connections_and_processes)
{
    if (!can_try()) return;
    EXPECT_INT(in_child(ask_for_the_forbidden), 0);
    EXPECT_INT(in_child(ask_for_the_forbidden_wide), 0);
}

static void *try_file(void *found)
{
    *(bool *)found = denied(open("/", O_RDONLY), EPERM);
    return found;
}

static pthread_barrier_t confined;

static void *try_file_later(void *found)
{
    pthread_barrier_wait(&confined);
    return try_file(found);
}

/* Threads of before are bound too, and new ones can be made. */
static int use_threads(void)
{
    pthread_t old, new;
    bool old_denied = false, new_denied = false;
    pthread_barrier_init(&confined, NULL, 2);
    if (pthread_create(&old, NULL, try_file_later, &old_denied)) return 1;
    if (sandbox_calls(true)) return MISSING;
    pthread_barrier_wait(&confined);
    if (pthread_join(old, NULL) || !old_denied) return 2;
    if (pthread_create(&new, NULL, try_file, &new_denied) || pthread_join(new, NULL)) return 3;
    return new_denied ? 0 : 4;
}

TEST(sandbox_binds_all_threads)
{
    if (!can_try()) return;
    EXPECT_INT(in_child(use_threads), 0);
}

/* In the test's folder: "open/file", "closed/file". */
static int use_files(void)
{
    static const char *const readable[] = {"open", "not there"}, *const writable[] = {"changed"};
    if (sandbox_files(readable, 2, writable, 1)) return MISSING;
    if (open("open/file", O_RDONLY) < 0) return 1;
    if (!denied(open("open/file", O_WRONLY), EACCES)) return 2;
    if (!denied(open("open/new", O_WRONLY | O_CREAT, 0600), EACCES)) return 3;
    if (!denied(open("closed/file", O_RDONLY), EACCES)) return 4;
    if (!denied(open("/etc/passwd", O_RDONLY), EACCES)) return 5;
    if (!denied(mkdir("folder", 0700), EACCES)) return 6;
    if (open("changed/new", O_WRONLY | O_CREAT, 0600) < 0) return 7;
    return denied(unlink("open/file"), EACCES) ? 0 : 8;
}

TEST(sandbox_leaves_the_files_that_were_named)
{
    char before[4096];
    if (!can_try()) return;
    REQUIRE(getcwd(before, sizeof before) && chdir(test_folder()) == 0);
    EXPECT(mkdir("open", 0700) == 0 && mkdir("closed", 0700) == 0 && mkdir("changed", 0700) == 0);
    close(creat("open/file", 0600));
    close(creat("closed/file", 0600));
    const int seen = in_child(use_files);
    if (seen == MISSING) test_skip("this kernel has no Landlock");
    else EXPECT_INT(seen, 0);
    EXPECT(chdir(before) == 0);
}

static long value_in_status(const char *path, const char *key)
{
    char line[256];
    long value = -1;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) value = strtol(line + strlen(key), NULL, 10);
    if (f) fclose(f);
    return value;
}

/* The number behind "Seccomp:" or so must be this in the status of every thread of the process. */
static void expect_in_status(int process, const char *key, long wanted)
{
    char tasks[64], path[512];
    size_t threads = 0;
    snprintf(tasks, sizeof tasks, "/proc/%d/task", process);
    DIR *d = opendir(tasks);
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (*e->d_name == '.') continue;
        snprintf(path, sizeof path, "%s/%s/status", tasks, e->d_name);
        const long value = value_in_status(path, key);
        if (value != wanted) test_failed(__FILE__, __LINE__, "%s %ld in %s, wanted %ld", key, value, path, wanted);
        threads++;
    }
    if (d) closedir(d);
    EXPECT(threads >= 4); /* the main one, connections, worker, deadlines */
}

TEST(a_running_server_has_given_up_what_it_does_not_need)
{
    struct rig r;
    if (!can_try_server() || !rig_start(&r, (const char *const[]){"--sandbox", "require", NULL})) return;
    expect_in_status(r.process, "Seccomp:", 2);
    expect_in_status(r.process, "NoNewPrivs:", 1);
    EXPECT(rig_session(&r) && rig_fill(&r, 2, 1));
    text png = rig_png(1, 77);
    EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/classify?name=x.png", png.data, png.length), 200, "kind 1");
    text_free(&png);
    rig_stop(&r);
}

TEST(a_server_without_a_sandbox_is_one_that_was_asked_for)
{
    struct rig r;
    if (!can_try_server() || !rig_start(&r, (const char *const[]){"--sandbox", "off", NULL})) return;
    expect_in_status(r.process, "Seccomp:", 0);
    expect_in_status(r.process, "NoNewPrivs:", 0);
    rig_stop(&r);
}
