/* start.c - centra serve from the command line: where it listens, and what it refuses. */
#include "tests/app/program.h"
#include "tests/serve/rig.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

/* For programs that are run without the rig: as it does. */
static const char *sandbox(void)
{
    return UNDER_ASAN || UNDER_TSAN || getenv("CENTRA_TEST_NO_SANDBOX") ? "off" : "auto";
}

TEST(serve_says_which_port_is_in_use)
{
    struct rig r;
    char port[16], sentence[160];
    if (!rig_start(&r, NULL)) return;
    snprintf(port, sizeof port, "%u", r.port);
    snprintf(sentence, sizeof sentence,
             "centra serve: port %u of 127.0.0.1 is in use; --port takes another, and 0 any that is free\n", r.port);
    EXPECT_RUN(1, "", sentence, "serve", "--sandbox", sandbox(), "--port", port);
    EXPECT_ANSWER(GET(&r, "/api/health"), 200, "\"ok\":true");
    rig_stop(&r);
}

TEST(serve_refuses_in_one_line)
{
#ifdef CENTRA_HAVE_SERVE
    EXPECT_REFUSED(2,
                   "centra serve: 'example.org' is no address to listen on; --host takes one such as 127.0.0.1 or ::1",
                   "serve", "--sandbox", sandbox(), "--host", "example.org", "--port", "0");
    EXPECT_REFUSED(2, "centra serve: --port is 99999, but must lie between 0 and 65535 (default 8080)", "serve",
                   "--port", "99999");
    struct ran r = program_run("", WORDS("serve", "--support", "nowhere", "--port", "0"));
    EXPECT(r.status == 1 && strstr(r.err, "'nowhere'") && !*r.out);
    ran_free(&r);
#else
    EXPECT_REFUSED(1, "centra serve: this build has no server: libmicrohttpd was not there when it was made", "serve");
#endif
}
