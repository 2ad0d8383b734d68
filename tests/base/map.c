/* Tests of base/map.h. */
#include "base/map.h"
#include "tests/data/sample.h"
#include "tests/test.h"
#include <sys/stat.h>

TEST(a_map_shows_the_bytes_of_a_file)
{
    struct file_map m;
    sample_file("a", "bytes", 5);
    REQUIRE(file_map(sample_path("a"), &m) == OK);
    EXPECT_INT(m.n, 5);
    EXPECT(!memcmp(m.bytes, "bytes", 5));
    file_unmap(&m);
    EXPECT(!m.bytes);
    sample_file("a", "", 0);
    REQUIRE(file_map(sample_path("a"), &m) == OK);
    EXPECT(!m.bytes && m.n == 0);
    file_unmap(&m);
}

TEST(a_map_of_what_is_no_file_is_refused)
{
    struct file_map m;
    EXPECT_STATUS(file_map(sample_path("none"), &m), ST_IO);
    EXPECT_STATUS(file_map(test_folder(), &m), ST_IO);
    EXPECT(strstr(error_text(), "is not a regular file"));
    REQUIRE(mkfifo(sample_path("pipe"), 0600) == 0);
    EXPECT_STATUS(file_map(sample_path("pipe"), &m), ST_IO);
    file_unmap(&m);
}
