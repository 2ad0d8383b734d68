/* Tests of base/status.h, base/plain.h, base/log.h and base/clock.h. */
#include "tests/test.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/plain.h"
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

TEST(status_fail_stores_the_sentence_and_returns_the_code)
{
    EXPECT_INT(fail(ST_VALUE, "--%s is %d", "lr", 12), ST_VALUE);
    EXPECT_TEXT(error_text(), "--lr is 12");
}

TEST(status_fail_may_quote_the_sentence_before)
{
    fail(ST_IO, "inner");
    fail(ST_IO, "outer: %s", error_text());
    EXPECT_TEXT(error_text(), "outer: inner");
}

TEST(status_long_sentences_are_cut)
{
    char longer[2 * ERROR_BYTES];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    fail(ST_IO, "%s", longer);
    EXPECT_INT(strlen(error_text()), ERROR_BYTES - 1);
}

TEST(status_long_sentences_are_cut_between_characters)
{
    for (int shift = 0; shift < 4; shift++) {
        char longer[2 * ERROR_BYTES] = "";
        for (int i = 0; i < 200; i++) strcat(longer, "\xf0\x9f\x98\x80");
        fail(ST_IO, "%.*s%s", shift, "abc", longer);
        EXPECT_INT((strlen(error_text()) - (size_t)shift) % 4, 0);
        EXPECT(strlen(error_text()) > ERROR_BYTES - 5);
    }
}

TEST(status_take_and_put_move_the_sentence)
{
    struct error e;
    error_take(fail(ST_SHAPE, "three"), &e);
    EXPECT_TEXT(error_text(), "");
    EXPECT_INT(e.st, ST_SHAPE);
    fail(ST_IO, "other");
    EXPECT_INT(error_put(&e), ST_SHAPE);
    EXPECT_TEXT(error_text(), "three");
}

static void *fail_elsewhere(void *arg)
{
    (void)arg;
    fail(ST_IO, "elsewhere");
    return NULL;
}

TEST(status_each_thread_has_its_own_sentence)
{
    fail(ST_IO, "here");
    pthread_t t;
    REQUIRE(pthread_create(&t, NULL, fail_elsewhere, NULL) == 0);
    pthread_join(t, NULL);
    EXPECT_TEXT(error_text(), "here");
}

TEST(status_every_code_has_a_name)
{
    for (int i = 0; i < ST_COUNT; i++) {
        REQUIRE(status_name((status)i));
        EXPECT(strlen(status_name((status)i)) > 3);
    }
    EXPECT_TEXT(status_name(ST_MEMORY), "no memory");
    EXPECT_TEXT(status_name((status)99), "unknown status");
}

/* A locale with a decimal comma, if this machine has one. */
static bool comma_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "es_ES.UTF-8", "de_DE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (setlocale(LC_ALL, names[i])) return true;
    return false;
}

TEST(plain_ignores_the_locale)
{
    if (!comma_locale()) {
        test_skip("no locale with a decimal comma is installed");
        return;
    }
    char digits[32];
    plain_snprintf(digits, sizeof digits, "%g", 0.5);
    double v = plain_strtod("0.5", NULL);
    fail(ST_VALUE, "%.2f", 1.25);
    setlocale(LC_ALL, "C");
    EXPECT_TEXT(digits, "0.5");
    EXPECT_NEAR(v, 0.5, 0);
    EXPECT_TEXT(error_text(), "1.25");
}

TEST(plain_calls_allocate_nothing)
{
    size_t before = alloc_count();
    char digits[32];
    EXPECT_INT(plain_snprintf(digits, sizeof digits, "%.3f", 2.0), 5);
    EXPECT_NEAR(plain_strtod("2.5", NULL), 2.5, 0);
    EXPECT_TEXT(plain_strerror(ENOENT), "No such file or directory");
    EXPECT_INT(alloc_count(), before);
}

static void keep_line(void *context, enum log_level level, const char *line)
{
    (void)level;
    strcpy(context, line);
}

TEST(log_hands_on_only_wanted_levels)
{
    char seen[1200] = "none";
    struct log_sink sink = {keep_line, seen, LOG_WARN};
    log_line(&sink, LOG_INFO, "too quiet");
    EXPECT_TEXT(seen, "none");
    log_line(&sink, LOG_WARN, "step %d", 7);
    EXPECT_TEXT(seen, "step 7");
    log_line(NULL, LOG_ERROR, "nobody");
    sink.line = NULL;
    log_line(&sink, LOG_ERROR, "nobody");
    EXPECT_TEXT(seen, "step 7");
}

TEST(clock_never_goes_back)
{
    uint64_t last = clock_ns();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = clock_ns();
        EXPECT(now >= last);
        last = now;
    }
}
