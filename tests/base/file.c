/* Tests of base/file.h. */
#include "tests/test.h"
#include "base/file.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

/* A path below the test's folder; two may be held at a time. */
static const char *in_folder(const char *name)
{
    static char paths[2][4096];
    static int turn;
    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", test_folder(), name);
    return paths[turn];
}

static size_t folder_entries(void)
{
    size_t n = 0;
    DIR *d = opendir(test_folder());
    if (!d) return 0;
    while (readdir(d)) n++;
    closedir(d);
    return n - 2; /* . and .. */
}

static status write_text(const char *path, const char *s) { return file_write(path, s, strlen(s)); }

static void expect_content(const char *path, const char *wanted)
{
    char *data = NULL;
    size_t bytes = 0;
    EXPECT_OK(file_read(path, 1000, &data, &bytes));
    REQUIRE(data);
    EXPECT_INT(bytes, strlen(wanted));
    EXPECT_TEXT(data, wanted); /* also: there is a NUL behind it */
    free(data);
}

TEST(file_reads_what_was_written)
{
    const char *path = in_folder("a.txt");
    EXPECT(!file_exists(path));
    EXPECT_OK(write_text(path, "one\n"));
    EXPECT(file_exists(path));
    expect_content(path, "one\n");
    EXPECT_OK(write_text(path, ""));
    expect_content(path, "");
    EXPECT_INT(folder_entries(), 1);
}

TEST(file_read_refuses_with_a_reason)
{
    char *data;
    size_t bytes;
    const char *path = in_folder("large");
    EXPECT_OK(write_text(path, "12345"));
    EXPECT_STATUS(file_read(path, 4, &data, &bytes), ST_VALUE);
    EXPECT(strstr(error_text(), "has 5 bytes; at most 4"));
    EXPECT_STATUS(file_read(in_folder("missing"), 4, &data, &bytes), ST_IO);
    EXPECT(strstr(error_text(), "No such file or directory"));
    EXPECT_STATUS(file_read(test_folder(), 4, &data, &bytes), ST_IO);
    EXPECT(strstr(error_text(), "is a folder, not a regular file"));
    REQUIRE(mkfifo(in_folder("pipe"), 0600) == 0);
    EXPECT_STATUS(file_read(in_folder("pipe"), 4, &data, &bytes), ST_IO); /* and does not wait for a writer */
    EXPECT(strstr(error_text(), "is a pipe"));
    EXPECT_STATUS(file_read("/dev/null", 4, &data, &bytes), ST_IO);
    EXPECT(strstr(error_text(), "is a character device"));
}

TEST(file_read_notices_fewer_bytes_than_promised)
{
    static const char path[] = "/sys/devices/system/cpu/online"; /* the system says 4096 bytes; there are some */
    if (!file_exists(path)) {
        test_skip("no file of the system with a wrong size");
        return;
    }
    size_t live = alloc_live(), bytes;
    char *data;
    EXPECT_STATUS(file_read(path, 10000, &data, &bytes), ST_IO);
    EXPECT(strstr(error_text(), "it was cut while being read"));
    EXPECT_INT(alloc_live(), live);
}

TEST(file_old_content_stays_until_commit)
{
    const char *path = in_folder("kept");
    EXPECT_OK(write_text(path, "old"));
    struct file_writer w;
    REQUIRE(file_begin(path, &w) == OK);
    file_put(&w, "new", 3);
    fflush(w.stream);
    expect_content(path, "old");
    EXPECT_INT(folder_entries(), 2);
    file_abandon(&w);
    expect_content(path, "old");
    EXPECT_INT(folder_entries(), 1);
    REQUIRE(file_begin(path, &w) == OK);
    fputs("newer", w.stream);
    EXPECT_OK(file_commit(&w));
    file_abandon(&w); /* does nothing */
    expect_content(path, "newer");
}

TEST(file_two_writers_do_not_meet)
{
    const char *path = in_folder("both");
    struct file_writer a, b;
    REQUIRE(file_begin(path, &a) == OK);
    REQUIRE(file_begin(path, &b) == OK);
    file_put(&a, "a", 1);
    file_put(&b, "b", 1);
    EXPECT_OK(file_commit(&a));
    expect_content(path, "a");
    EXPECT_OK(file_commit(&b));
    expect_content(path, "b");
}

TEST(file_commit_new_overwrites_nothing)
{
    const char *path = in_folder("mine");
    struct file_writer a, b;
    bool taken = true;
    REQUIRE(file_begin(path, &a) == OK);
    REQUIRE(file_begin(path, &b) == OK);
    file_put(&a, "a", 1);
    file_put(&b, "b", 1);
    EXPECT_OK(file_commit_new(&a, &taken));
    EXPECT(!taken);
    expect_content(path, "a");
    EXPECT_OK(file_commit_new(&b, &taken));
    EXPECT(taken);
    expect_content(path, "a");
    EXPECT_INT(folder_entries(), 1);
}

TEST(file_has_the_rights_that_the_umask_leaves)
{
    const char *path = in_folder("rights");
    mode_t before = umask(027);
    EXPECT_OK(write_text(path, "x"));
    umask(before);
    struct stat about;
    REQUIRE(stat(path, &about) == 0);
    EXPECT_INT(about.st_mode & 0777, 0640);
}

TEST(file_begin_refuses_with_a_reason)
{
    struct file_writer w;
    EXPECT_STATUS(file_begin(in_folder("no/such"), &w), ST_IO);
    EXPECT(strstr(error_text(), "No such file"));
    file_abandon(&w); /* harmless after a failed begin */
    EXPECT_STATUS(file_begin(test_folder(), &w), ST_IO);
    EXPECT(strstr(error_text(), "it is a folder"));
    EXPECT_STATUS(file_begin("/dev/null", &w), ST_IO); /* must not be replaced by a file, even for root */
    EXPECT(strstr(error_text(), "it is a character device"));
    EXPECT_INT(folder_entries(), 0);
}

TEST(file_name_may_be_as_long_as_the_system_allows)
{
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    EXPECT_OK(write_text(in_folder(name), "x"));
    expect_content(in_folder(name), "x");
}

/* Writes more than a limited process may; 0: it was refused as promised. */
static int write_beyond_limit(const char *path, size_t chunk)
{
    struct rlimit small = {4096, 4096};
    struct file_writer w;
    static char block[100000];
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &small) || file_begin(path, &w)) return 1;
    for (size_t at = 0; at < sizeof block; at += chunk) file_put(&w, block + at, chunk);
    if (file_commit(&w) != ST_IO) return 2;
    return strstr(error_text(), "File too large") ? 0 : 3;
}

TEST(file_commit_reports_a_write_that_failed)
{
    static const size_t chunks[] = {100000, 5000, 100}; /* within file_put, and only when flushed */
    const char *path = in_folder("full");
    EXPECT_OK(write_text(path, "old"));
    for (size_t i = 0; i < 3; i++) {
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) _exit(write_beyond_limit(path, chunks[i]));
        int result = -1;
        REQUIRE(waitpid(child, &result, 0) == child);
        EXPECT_INT(WIFEXITED(result) ? WEXITSTATUS(result) : -1, 0);
        expect_content(path, "old");
        EXPECT_INT(folder_entries(), 1);
    }
}

TEST(file_works_in_the_current_folder)
{
    char before[4096];
    REQUIRE(getcwd(before, sizeof before));
    REQUIRE(chdir(test_folder()) == 0);
    EXPECT_OK(write_text("bare", "x"));
    expect_content("bare", "x");
    REQUIRE(chdir(before) == 0);
}

TEST(folder_make_makes_parents_and_accepts_what_is_there)
{
    EXPECT_OK(folder_make(in_folder("a/b//c/")));
    EXPECT(file_exists(in_folder("a/b/c")));
    EXPECT_OK(folder_make(in_folder("a/b")));
    EXPECT_OK(folder_make("/"));
    EXPECT_OK(write_text(in_folder("a/file"), "x"));
    EXPECT_STATUS(folder_make(in_folder("a/file")), ST_IO);
    EXPECT(strstr(error_text(), "a file has that name"));
    EXPECT_STATUS(folder_make(in_folder("a/file/below")), ST_IO);
    EXPECT_STATUS(folder_make(""), ST_IO);
}

TEST(file_calls_survive_each_failing_allocation)
{
    const char *path = in_folder("memory");
    EXPECT_OK(write_text(path, "old"));
    for (size_t n = 1, more = 3; more; n++) {
        size_t live = alloc_live();
        char *data = NULL;
        size_t bytes;
        more = 0;
        alloc_fail_at(n);
        status st = write_text(path, "new");
        EXPECT_STATUS(st, alloc_did_fail() ? ST_MEMORY : OK);
        more += alloc_did_fail();
        alloc_fail_at(n);
        st = file_read(path, 100, &data, &bytes);
        EXPECT_STATUS(st, alloc_did_fail() ? ST_MEMORY : OK);
        more += alloc_did_fail();
        if (st == OK) free(data);
        alloc_fail_at(n);
        st = folder_make(test_folder());
        EXPECT_STATUS(st, alloc_did_fail() ? ST_MEMORY : OK);
        more += alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_INT(alloc_live(), live);
        EXPECT_INT(folder_entries(), 1);
        REQUIRE(n < 20);
    }
    expect_content(path, "new");
}
