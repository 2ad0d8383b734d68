/* tensorboard.c - event files byte for byte, and the checksum against its published values. */
#include "train/tensorboard.h"
#include "base/file.h"
#include "tests/test.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

TEST(crc32c_gives_the_published_values)
{
    unsigned char zeros[32] = {0}, rising[32];
    for (unsigned i = 0; i < 32; i++) rising[i] = (unsigned char)i;
    EXPECT_INT(crc32c("123456789", 9), 0xe3069283);
    EXPECT_INT(crc32c(zeros, 32), 0x8a9136aa); /* RFC 3720, B.4 */
    EXPECT_INT(crc32c(rising, 32), 0x46dd794e);
    EXPECT_INT(crc32c("", 0), 0);
    EXPECT_INT(crc32c_masked("", 0), 0xa282ead8);
}

static bool read_only_file(const char *folder, char **bytes, size_t *n)
{
    char path[800] = "";
    DIR *d = opendir(folder);
    if (!d) return false;
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, "events.out.tfevents.0000001000."))
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    closedir(d);
    return *path && file_read(path, 1 << 20, bytes, n) == OK;
}

/* Checks a record's frame and compares its message; gives where the next record begins. */
static size_t expect_record(const unsigned char *b, size_t n, size_t at, const char *message, size_t length)
{
    if (at + 16 + length > n) {
        test_failed(__FILE__, __LINE__, "the file ends at %zu, inside a record", n);
        return n;
    }
    const unsigned char *tail = b + at + 12 + length;
    const uint32_t head_crc = (uint32_t)b[at + 8] | (uint32_t)b[at + 9] << 8 | (uint32_t)b[at + 10] << 16 |
                              (uint32_t)b[at + 11] << 24;
    const uint32_t crc = (uint32_t)tail[0] | (uint32_t)tail[1] << 8 | (uint32_t)tail[2] << 16 | (uint32_t)tail[3] << 24;
    EXPECT_INT(b[at], length);
    EXPECT(!memcmp(b + at + 1, "\0\0\0\0\0\0", 7));
    EXPECT_INT(head_crc, crc32c_masked(b + at, 8));
    EXPECT(!memcmp(b + at + 12, message, length));
    EXPECT_INT(crc, crc32c_masked(message, length));
    return at + 16 + length;
}

TEST(tensorboard_files_hold_version_and_scalars)
{
    static const char version[] = "\x09\0\0\0\0\0\x40\x8f\x40\x1a\x0d"
                                  "brain.Event:2";
    static const char scalar[] = "\x09\0\0\0\0\0\x44\x8f\x40\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\xc0\x3f";
    struct tensorboard *t = NULL;
    char *bytes = NULL;
    size_t n = 0;
    REQUIRE(tensorboard_open(test_folder(), 1000, &t) == OK);
    EXPECT_OK(tensorboard_add(t, "loss", 300, 1000.5, 1.5));
    EXPECT_OK(tensorboard_add(t, "loss", 301, 1000.5, (double)NAN));
    tensorboard_close(t);
    REQUIRE(read_only_file(test_folder(), &bytes, &n));
    size_t at = expect_record((unsigned char *)bytes, n, 0, version, sizeof version - 1);
    at = expect_record((unsigned char *)bytes, n, at, scalar, sizeof scalar - 1);
    EXPECT_INT(n, at);
    free(bytes);
}

TEST(tensorboard_survives_every_failed_allocation)
{
    const char *folder = test_folder();
    const size_t live = alloc_live();
    for (size_t n = 1;; n++) {
        struct tensorboard *t = NULL;
        alloc_fail_at(n);
        status st = tensorboard_open(folder, 5, &t);
        if (st == OK) st = tensorboard_add(t, "validation/accuracy", 1, 5, 0.5);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        tensorboard_close(t);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
    }
}

TEST(tensorboard_names_a_folder_that_cannot_be)
{
    struct tensorboard *t = NULL;
    EXPECT_STATUS(tensorboard_open("/dev/null/x", 5, &t), ST_IO);
    EXPECT(t == NULL);
}
