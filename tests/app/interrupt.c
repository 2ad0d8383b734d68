/* interrupt.c - Ctrl-C and SIGTERM end the program with 130. */
#include "tests/app/program.h"
#include "tests/test.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* The thread sanitizer holds a signal back until the program calls something that it watches, which a program that waits
 * for input never does. */
enum { SIGNALS_ARE_HELD_BACK = UNDER_TSAN };

static void expect_end(int signal_number)
{
    if (SIGNALS_ARE_HELD_BACK) {
        test_skip("the thread sanitizer holds signals back while a program waits for input");
        return;
    }
    char answer[16];
    int to = -1, from = -1, how = 0;
    int child = program_start(&to, &from, WORDS("bench", "heads", "--channels", "8", "--map", "2", "--wait"));
    REQUIRE(child > 0);
    EXPECT(write(to, "\n", 1) == 1);
    EXPECT(read(from, answer, sizeof answer) > 0); /* it answers: it runs, and is waiting for the next line */
    EXPECT(kill(child, signal_number) == 0);
    EXPECT(waitpid(child, &how, 0) == child);
    EXPECT(WIFEXITED(how));
    EXPECT_INT(WEXITSTATUS(how), 130);
    close(to);
    close(from);
}

TEST(app_ends_with_130_after_an_interrupt) { expect_end(SIGINT); }

TEST(app_ends_with_130_after_sigterm) { expect_end(SIGTERM); }
