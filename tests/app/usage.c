/* usage.c - the command line: what is refused, in which words, with which exit status. */
#include "tests/app/program.h"
#include "tests/test.h"
#include <sys/stat.h>

#define OVERVIEW \
    "centra - few-shot image classification by mutual centralized learning\n\n" \
    "Usage: centra COMMAND [options] [arguments]\n\n" \
    "Commands:\n" \
    "  bench      times a head or a network on given shapes\n" \
    "  classify   tells pictures apart by a few known ones of each class\n" \
    "  data       checks, packs, splits and makes sets of pictures\n" \
    "  demo       shows what it is about: trains and compares heads on built-in pictures\n" \
    "  encode     turns pictures into feature maps with a network\n" \
    "  eval       measures the accuracy of heads on few-shot episodes\n" \
    "  explain    shows why pictures get their classes\n" \
    "  help       says what commands there are and what they take\n" \
    "  list       lists the heads, backbones, extractors, kernels, devices, models or recipes that there are\n" \
    "  models     adds models of your own, shows, chooses and removes them\n" \
    "  pretrain   trains a network on all classes at once, as a recipe says\n" \
    "  reproduce  makes rows of the paper's tables again, from training to test\n" \
    "  score      scores given dense features with a head\n" \
    "  serve      shows a page that classifies your pictures, with reasons\n" \
    "  train      trains a network with a head on episodes, as a recipe says\n" \
    "  version    says what was built and what it found on this machine\n" \
    "  weights    shows what a file of weights holds, or converts it\n\n" \
    "centra help COMMAND says more; centra demo shows what it is about.\n"

TEST(app_without_words_shows_the_overview_as_an_error)
{
    static const char *const nothing[] = {NULL};
    expect_run(__FILE__, __LINE__, 2, "", OVERVIEW, nothing);
}

TEST(app_help_shows_the_overview)
{
    EXPECT_RUN(0, OVERVIEW, "", "help");
    EXPECT_RUN(0, OVERVIEW, "", "--help");
    EXPECT_RUN(0, OVERVIEW, "", "-h");
}

TEST(app_unknown_commands_are_refused)
{
    EXPECT_REFUSED(2, "centra: there is no command 'scoer', did you mean score?", "scoer");
    EXPECT_REFUSED(2, "centra: there is no command 'qqqqqq'; centra help lists them", "qqqqqq");
    EXPECT_REFUSED(2, "centra: '--json' stands before the command; write centra COMMAND [options]", "--json",
                   "version");
    EXPECT_REFUSED(2, "centra help: there is no command 'lsit', did you mean list?", "help", "lsit");
}

TEST(app_unknown_options_are_refused)
{
    EXPECT_REFUSED(2, "centra score: unknown option --haed, did you mean --head?", "score", "--haed", "mcl");
    EXPECT_REFUSED(2, "centra score: unknown option --suport, did you mean --support?", "score", "--suport=x");
    EXPECT_REFUSED(2, "centra list: unknown option --head.gamma; centra help list lists them", "list", "--head.gamma",
                   "1");
    EXPECT_REFUSED(2, "centra score: unknown option --hd.gamma; options of a head are written --head.KEY VALUE",
                   "score", "--hd.gamma", "1");
    EXPECT_REFUSED(2, "centra version: unknown option -j; options are written --name", "version", "-j");
    EXPECT_REFUSED(2, "centra version: unknown option --no-threads, did you mean --threads?", "version",
                   "--no-threads");
}

TEST(app_bad_values_are_refused)
{
    EXPECT_REFUSED(2, "centra version: --threads is 1000, but must lie between 0 and 256 (default 0)", "version",
                   "--threads", "1000");
    EXPECT_REFUSED(2, "centra version: --threads is 'two', but must be a whole number between 0 and 256 (default 0)",
                   "version", "--threads=two");
    EXPECT_REFUSED(2, "centra version: --json is 'maybe', but must be yes or no (default no)", "version",
                   "--json=maybe");
    EXPECT_REFUSED(2, "centra version: --seed is -1, but must be at least 0 (default 1)", "version", "--seed", "-1");
    EXPECT_REFUSED(2,
                   "centra version: --seed is 99999999999999999999, but must be at least 0 and at most "
                   "9223372036854775807 (default 1)",
                   "version", "--seed", "99999999999999999999");
    EXPECT_REFUSED(2, "centra version: --threads needs a value", "version", "--threads");
    EXPECT_REFUSED(2, "centra version: --threads needs a value", "version", "--threads", "--json");
    EXPECT_REFUSED(2, "centra help: --completion is 'bsh', but must be one of bash, fish, zsh; did you mean bash?",
                   "help", "--completion", "bsh");
    EXPECT_REFUSED(2, "centra bench: --map is '5y', but must be a side or HxW, each between 1 and 10000 (default 5)",
                   "bench", "heads", "--map", "5y");
}

TEST(app_wrong_arguments_are_refused)
{
    EXPECT_REFUSED(
        2, "centra list: an argument is missing: centra list backbones|devices|extractors|heads|kernels|models|recipes",
        "list");
    EXPECT_REFUSED(2, "centra list: unknown argument 'haeds', did you mean heads?", "list", "haeds");
    EXPECT_REFUSED(
        2,
        "centra list: unknown argument 'colours'; it must be backbones|devices|extractors|heads|kernels|models|recipes",
        "list", "colours");
    EXPECT_REFUSED(2, "centra list: unexpected argument 'x'; centra help list says what it takes", "list", "heads",
                   "x");
    EXPECT_REFUSED(
        2,
        "centra list: unknown argument '--json'; it must be backbones|devices|extractors|heads|kernels|models|recipes",
        "list", "--", "--json");
    EXPECT_REFUSED(2, "centra help: --man and --completion exclude each other", "help", "--man", "--completion", "zsh");
}

TEST(app_a_device_that_is_not_there_is_a_failure)
{
    struct ran r = program_run("", WORDS("version", "--device", "cuda:77")); /* no machine has so many */
    EXPECT_INT(r.status, 1);
    EXPECT_TEXT(r.out, "");
    EXPECT(strstr(r.err, "device 'cuda:77'") != NULL);
    EXPECT(strchr(r.err, '\n') == r.err + strlen(r.err) - 1);
    ran_free(&r);
}

TEST(app_an_instruction_set_that_is_not_there_is_wrong_usage)
{
    struct ran r = program_run("", WORDS("version", "--isa", "mmx"));
    EXPECT_INT(r.status, 2);
    EXPECT(strstr(r.err, "mmx") != NULL);
    ran_free(&r);
}

TEST(app_messages_are_one_line_whatever_they_quote)
{
    EXPECT_REFUSED(2, "centra: there is no command 'a?b'; centra help lists them", "a\nb");
}

TEST(app_a_full_standard_output_is_a_failure)
{
    struct stat about;
    if (stat("/dev/full", &about)) {
        test_skip("there is no /dev/full");
        return;
    }
    struct ran r = program_run_into("/dev/full", WORDS("help"));
    EXPECT_INT(r.status, 1);
    EXPECT_TEXT(r.err, "centra help: cannot write to standard output: No space left on device\n");
    ran_free(&r);
}
