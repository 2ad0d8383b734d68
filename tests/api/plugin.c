/* plugin.c - tests of finding and refusing the shared object of a device. */
#include "api/plugin.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

TEST(plugin_serves_gpus_by_name_and_number)
{
    EXPECT(plugin_serves("cuda") && plugin_serves("cuda:0") && plugin_serves("cuda:x"));
    EXPECT(!plugin_serves("cpu") && !plugin_serves("cudas") && !plugin_serves(""));
}

TEST(plugin_refuses_a_number_that_is_none)
{
    static const char *const names[] = {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:1000", "cuda: 1"};
    struct device *d = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EXPECT_STATUS(plugin_open(names[i], &d), ST_USAGE);
        EXPECT(strstr(error_text(), names[i]) && strstr(error_text(), "cuda:1"));
    }
    EXPECT(!d);
}

TEST(plugin_that_is_no_shared_object_is_refused_in_words)
{
    struct device *d = NULL;
    char path[600];
    snprintf(path, sizeof path, "%s/centra-cuda.so", test_folder());
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    fputs("no shared object", f);
    REQUIRE(fclose(f) == 0);
    setenv("CENTRA_PLUGINS", test_folder(), 1);
    EXPECT_STATUS(plugin_open("cuda:7", &d), ST_UNSUPPORTED);
    unsetenv("CENTRA_PLUGINS");
    EXPECT(!strncmp(error_text(), "device 'cuda:7' is not there: ", 30));
    EXPECT(strstr(error_text(), path));
    EXPECT(!d);
}
