/* sandbox_files.c - files that stay reachable, by Landlock. */
#include "serve/sandbox.h"

#if defined(__linux__) && __has_include(<linux/landlock.h>)
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As linux/landlock.h has it by now; a kernel takes the part that it knows. */
struct rules {
    uint64_t files, net, scope;
};

enum {
    READING = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    TRUNCATING = 1 << 14,     /* since version 3 */
    DEVICE_CONTROL = 1 << 15, /* ioctl of a device file, since version 5 */
    FILE_RIGHTS = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                  TRUNCATING | DEVICE_CONTROL,
    CONNECTING = 2,              /* TCP, since version 4 */
    SOCKETS_AND_SIGNALS = 1 | 2, /* of other processes, since version 6 */
};

/* What a kernel of that version can forbid. All of it is, so that only rules allow anything. */
static struct rules rules_of(int version, size_t *bytes)
{
    static const unsigned bits[] = {0, 13, 14, 15, 15, 16};
    const unsigned known = version < 5 ? bits[version] : bits[5];
    *bytes = version < 4 ? 8 : version < 6 ? 16 : 24;
    return (struct rules){.files = (UINT64_C(1) << known) - 1,
                          .net = version < 4 ? 0 : CONNECTING,
                          .scope = version < 6 ? 0 : SOCKETS_AND_SIGNALS};
}

static bool allow(int rules, const char *path, uint64_t rights)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return true; /* whoever needs it says that better */
    if (fstat(fd, &about) == 0 && !S_ISDIR(about.st_mode)) rights &= FILE_RIGHTS;
    const struct landlock_path_beneath_attr below = {.allowed_access = rights, .parent_fd = fd};
    const bool good = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) == 0;
    close(fd);
    return good;
}

const char *sandbox_files(const char *const *readable, size_t readable_count, const char *const *writable,
                          size_t writable_count)
{
    const long version = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return errno == EOPNOTSUPP ? "Landlock is switched off" : "this kernel has no Landlock";
    size_t bytes;
    const struct rules wanted = rules_of((int)version, &bytes);
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &wanted, bytes, 0);
    if (rules < 0) return "Landlock takes no rules";
    bool good = true;
    for (size_t i = 0; i < readable_count && good; i++) good = allow(rules, readable[i], READING & wanted.files);
    for (size_t i = 0; i < writable_count && good; i++) good = allow(rules, writable[i], wanted.files);
    good = good && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
    return good ? NULL : "Landlock refuses its rules";
}

#else

const char *sandbox_files(const char *const *readable, size_t readable_count, const char *const *writable,
                          size_t writable_count)
{
    (void)readable, (void)readable_count, (void)writable, (void)writable_count;
    return "this system has no Landlock";
}

#endif
