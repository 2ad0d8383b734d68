/* data_synth.c - transcripts of centra data synth. */
#include "base/file.h"
#include "base/plain.h"
#include "image/picture.h"
#include "data/synth.h"
#include "tests/app/program.h"
#include "tests/test.h"
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(data_synth_writes_the_pictures_of_the_seed)
{
    char path[4096];
    struct picture seen = {0}, wanted = {0};
    EXPECT_RUN(0, "", "", "data", "synth", "--out", "set", "--classes", "2,1,1", "--pictures", "2", "--side", "20",
               "--seed", "9");
    plain_snprintf(path, sizeof path, "%s/set/test/pattern-00003/00001.png", test_folder());
    EXPECT_OK(picture_read(path, false, &seen));
    EXPECT_OK(synth_picture(9, 3, 1, 20, &wanted));
    REQUIRE(seen.rgb && wanted.rgb && seen.width == 20);
    EXPECT(!memcmp(seen.rgb, wanted.rgb, 20 * 20 * 3));
    picture_free(&seen);
    picture_free(&wanted);
    EXPECT_REFUSED(1, "centra data: 'set' exists already; name a folder that does not", "data", "synth", "--out",
                   "set");
}

TEST(data_synth_refuses_what_is_missing_or_wrong)
{
    EXPECT_REFUSED(2, "centra data: --out is missing: the folder to write to", "data", "synth");
    static const char *const wrong[] = {"1,2", "1,2,3,4", "1,,2", "a,b,c", "1;2;3", "1,2,-3", "1,2,3,"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char says[200];
        plain_snprintf(says, sizeof says,
                       "centra data: --classes takes three numbers, of train, val and test, like 64,16,20, not '%s'\n",
                       wrong[i]);
        EXPECT_RUN(2, "", says, "data", "synth", "--out", "x", "--classes", wrong[i]);
    }
    EXPECT_REFUSED(1, "centra data: a data set without classes cannot be written", "data", "synth", "--out", "x",
                   "--classes", "0,0,0");
}

static size_t entries(const char *folder)
{
    DIR *d = opendir(folder);
    size_t n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n < 2 ? 0 : n - 2; /* . and .. */
}

TEST(data_synth_leaves_nothing_behind_after_an_interrupt)
{
    int to = -1, from = -1, how = 0;
    char path[4096];
    plain_snprintf(path, sizeof path, "%s/set", test_folder());
    const int child = program_start(&to, &from, WORDS("data", "synth", "--out", path, "--pictures", "500"));
    REQUIRE(child > 0);
    while (entries(test_folder()) == 0 && waitpid(child, &how, WNOHANG) == 0) usleep(1000);
    EXPECT(kill(child, SIGINT) == 0);
    EXPECT(waitpid(child, &how, 0) == child);
    EXPECT(WIFEXITED(how));
    EXPECT_INT(WEXITSTATUS(how), 130);
    EXPECT_INT(entries(test_folder()), 0);
    close(to);
    close(from);
}
