/* help.c - help, man pages, completions and lists: all made from the tables, so all must agree. */
#include "base/arena.h"
#include "base/json.h"
#include "base/text.h"
#include "tests/app/program.h"
#include "tests/test.h"

#define COMMON_OPTIONS \
    "Options of every command:\n" \
    "  --help                    show this help\n" \
    "  --json                    write the results as JSON\n" \
    "  --quiet                   write nothing but results and errors\n" \
    "  --verbose                 say on standard error what is being done\n" \
    "  --threads N               threads to use, 0 for all cores that the process may\n" \
    "                            use (between 0 and 256; default 0)\n" \
    "  --seed N                  seed of everything that is random (at least 0;\n" \
    "                            default 1)\n" \
    "  --isa NAME                instruction set to force; centra list kernels shows\n" \
    "                            them\n" \
    "  --device NAME             where to compute; centra list devices shows them\n" \
    "                            (default cpu)\n" \
    "  --maths f32|tf32|bf16     how a GPU multiplies in networks (bf16 when it\n" \
    "                            trains, else f32)\n"

#define HELP_OF_HELP \
    "centra help - says what commands there are and what they take\n\n" \
    "Usage: centra help [COMMAND] [options]\n\n" \
    "Options:\n" \
    "  --man                     write the manual page in roff instead\n" \
    "  --completion bash|fish|zsh\n" \
    "                            write the completion script for a shell instead\n\n" COMMON_OPTIONS "\n" \
    "Examples:\n" \
    "  centra help score\n" \
    "      the options of centra score\n" \
    "  centra help --man score > centra-score.1\n" \
    "      its manual page\n"

TEST(help_of_a_command_byte_for_byte)
{
    EXPECT_RUN(0, HELP_OF_HELP, "", "help", "help");
    EXPECT_RUN(0, HELP_OF_HELP, "", "help", "--help");
    EXPECT_RUN(0, HELP_OF_HELP, "", "help", "--threads", "nonsense", "-h");
}

static bool contains(const char *text_, const char *format, const char *word)
{
    text t = {0};
    text_addf(&t, "%s%s", format, word);
    bool found = strstr(text_, text_string(&t)) != NULL;
    text_free(&t);
    return found;
}

/* The man page writes '-' as "\-". */
static bool man_contains(const char *page, const char *word)
{
    text t = {0};
    text_add(&t, "\\fB\\-\\-");
    for (; *word; word++) {
        if (*word == '-') text_add(&t, "\\");
        text_add_bytes(&t, word, 1);
    }
    bool found = strstr(page, text_string(&t)) != NULL;
    text_free(&t);
    return found;
}

TEST(help_man_and_completion_know_every_option)
{
    static const char *const options[] = {"head",      "support", "support-labels", "query",      "query-labels",
                                          "precision", "out",     "gradients",      "centrality", "weights",
                                          "json",      "threads", "seed",           "isa",        "device"};
    struct ran help = program_run("", WORDS("help", "score")), man = program_run("", WORDS("help", "--man", "score"));
    struct ran bash = program_run("", WORDS("help", "--completion", "bash"));
    struct ran fish = program_run("", WORDS("help", "--completion", "fish"));
    EXPECT_INT(help.status + man.status + bash.status + fish.status, 0);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        EXPECT(contains(help.out, "\n  --", options[i]));
        EXPECT(man_contains(man.out, options[i]));
        EXPECT(contains(bash.out, "--", options[i]));
        EXPECT(contains(fish.out, "-l ", options[i]));
    }
    EXPECT(!strncmp(man.out, ".TH \"centra-score\" 1 ", strlen(".TH \"centra-score\" 1 ")));
    ran_free(&help);
    ran_free(&man);
    ran_free(&bash);
    ran_free(&fish);
}

static void expect_option(const char *name, const struct ran *listed, const struct ran *help, const struct ran *man,
                          const struct ran *bash)
{
    text t = {0};
    text_addf(&t, "head.%s", name);
    EXPECT(contains(listed->out, "\n  --", text_string(&t)));
    EXPECT(contains(help->out, "\n  --", text_string(&t)));
    EXPECT(man_contains(man->out, text_string(&t)));
    EXPECT(contains(bash->out, " --", text_string(&t)));
    text_free(&t);
}

TEST(list_heads_help_man_and_completion_agree)
{
    struct ran json = program_run("", WORDS("list", "heads", "--json")),
               listed = program_run("", WORDS("list", "heads"));
    struct ran help = program_run("", WORDS("help", "score")), man = program_run("", WORDS("help", "--man", "score"));
    struct ran bash = program_run("", WORDS("help", "--completion", "bash"));
    arena *memory = arena_new(4096);
    const struct json *heads = NULL;
    size_t options = 0;
    REQUIRE(memory);
    EXPECT_OK(json_parse("list heads", json.out, strlen(json.out), memory, &heads));
    REQUIRE(heads && heads->kind == JSON_ARRAY);
    EXPECT(heads->count >= 4);
    for (const struct json *h = heads->first; h; h = h->next) {
        const struct json *name = json_member(h, "name"), *list = json_member(h, "options");
        REQUIRE(name && list);
        EXPECT(contains(listed.out, "", name->string));
        EXPECT(contains(help.out, "Options of the head ", name->string));
        EXPECT(contains(bash.out, "", name->string));
        for (const struct json *o = list->first; o; o = o->next, options++)
            expect_option(json_member(o, "name")->string, &listed, &help, &man, &bash);
    }
    EXPECT(options > 4);
    arena_free(memory);
    ran_free(&json);
    ran_free(&listed);
    ran_free(&help);
    ran_free(&man);
    ran_free(&bash);
}

TEST(list_kernels_names_the_forced_variant)
{
    struct ran r = program_run("", WORDS("list", "kernels", "--isa", "portable"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "portable (in use)") != NULL);
    EXPECT(strstr(r.out, "\nkernel ") != NULL);
    EXPECT(strstr(r.out, " avx2\n") == NULL && strstr(r.out, " avx512\n") == NULL);
    ran_free(&r);
}

TEST(version_says_the_same_in_words_and_json)
{
    struct ran words = program_run("", WORDS("version", "--threads", "1")), flag = program_run("", WORDS("--version"));
    struct ran json = program_run("", WORDS("version", "--json", "--threads", "1"));
    arena *memory = arena_new(4096);
    const struct json *object = NULL;
    REQUIRE(memory);
    EXPECT_INT(words.status + flag.status + json.status, 0);
    EXPECT_OK(json_parse("version", json.out, strlen(json.out), memory, &object));
    REQUIRE(json_member(object, "version") && json_member(object, "threads"));
    EXPECT_INT(json_member(object, "threads")->integer, 1);
    EXPECT(contains(words.out, "centra ", json_member(object, "version")->string));
    EXPECT(contains(flag.out, "centra ", json_member(object, "version")->string));
    EXPECT(strstr(words.out, "\n  threads   1\n") != NULL);
    arena_free(memory);
    ran_free(&words);
    ran_free(&flag);
    ran_free(&json);
}

/* What may be left out stands in one pair of brackets. */
TEST(help_train_shows_its_usage)
{
    static const char *const usage[][2] = {{"train", "\nUsage: centra train [RECIPE] --out FILE [options]\n"},
                                           {"pretrain", "\nUsage: centra pretrain [RECIPE] --out FILE [options]\n"}};
    for (size_t i = 0; i < 2; i++) {
        struct ran r = program_run("", WORDS("help", usage[i][0]));
        EXPECT(strstr(r.out, usage[i][1]));
        ran_free(&r);
    }
}
