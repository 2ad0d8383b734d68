/* Tests of base/text.h and base/utf8.h. */
#include "tests/test.h"
#include <pthread.h>
#include "base/text.h"
#include "base/utf8.h"

TEST(text_grows_and_stays_terminated)
{
    text t = {0};
    EXPECT_TEXT(text_string(&t), "");
    for (int i = 0; i < 1000; i++) text_addf(&t, "%d,", i);
    text_add(&t, "end");
    text_add_bytes(&t, "\0x", 2);
    EXPECT_OK(text_status(&t));
    EXPECT_INT(t.length, 10 * 2 + 90 * 3 + 900 * 4 + 5);
    EXPECT_INT(t.data[t.length], 0);
    EXPECT(!memcmp(t.data, "0,1,2,", 6));
    size_t capacity = t.capacity;
    text_clear(&t);
    EXPECT_TEXT(text_string(&t), "");
    EXPECT_INT(t.capacity, capacity);
    text_free(&t);
    EXPECT(t.data == NULL);
}

TEST(text_wraps_words)
{
    static const struct {
        const char *s;
        size_t column, indent, width;
        const char *wanted;
    } cases[] = {
        {"one two three", 0, 0, 80, "one two three"},
        {"one two three", 0, 2, 7, "one two\n  three"},
        {"one two three", 0, 2, 6, "one\n  two\n  three"},
        {"  one \n two  ", 0, 2, 80, "one two"},
        {"one two", 8, 4, 10, "\n    one\n    two"},
        {"one two", 7, 4, 10, "one\n    two"},
        {"incomprehensible to me", 4, 4, 10, "incomprehensible\n    to me"},
        {"caf\xc3\xa9 two", 0, 0, 8, "caf\xc3\xa9 two"},
        {"", 0, 4, 10, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        text t = {0};
        text_add_wrapped(&t, cases[i].s, cases[i].column, cases[i].indent, cases[i].width);
        EXPECT_TEXT(text_string(&t), cases[i].wanted);
        text_free(&t);
    }
}

TEST(text_failure_is_kept_until_cleared)
{
    size_t live = alloc_live();
    text t = {0};
    text_add(&t, "first");
    char longer[200];
    memset(longer, 'x', sizeof longer);
    alloc_fail_at(1);
    text_add_bytes(&t, longer, sizeof longer);
    EXPECT(alloc_did_fail());
    alloc_fail_at(0);
    text_add(&t, "!");
    text_addf(&t, "%d", 1);
    text_add_wrapped(&t, "a b", 0, 0, 1);
    EXPECT_TEXT(text_string(&t), "first");
    EXPECT_STATUS(text_status(&t), ST_MEMORY);
    text_clear(&t);
    text_add(&t, "again");
    EXPECT_OK(text_status(&t));
    EXPECT_TEXT(text_string(&t), "again");
    text_free(&t);
    text huge = {0};
    text_add_bytes(&huge, "", SIZE_MAX);
    EXPECT_STATUS(text_status(&huge), ST_MEMORY);
    EXPECT_INT(alloc_live(), live);
}

static void *lose_a_text(void *told)
{
    text t = {0};
    bool *lost = told;
    lost[0] = text_any_lost();
    text_add_bytes(&t, "", SIZE_MAX); /* nobody asks for its status */
    text_free(&t);
    lost[1] = text_any_lost();
    return NULL;
}

TEST(text_remembers_that_one_lost_something_in_this_thread)
{
    pthread_t thread;
    bool lost[2] = {true, false};
    REQUIRE(pthread_create(&thread, NULL, lose_a_text, lost) == 0 && pthread_join(thread, NULL) == 0);
    EXPECT(!lost[0] && lost[1]);
}

TEST(utf8_accepts_exactly_the_well_formed_characters)
{
    static const struct {
        const char *s;
        size_t wanted;
    } cases[] = {
        {"a", 1},
        {"\x7f", 1},
        {"\x80", 0},
        {"\xc1\xbf", 0},
        {"\xc2\x80", 2},
        {"\xc2\x7f", 0},
        {"\xdf\xbf", 2},
        {"\xdf", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xed\xa0\x80", 0},
        {"\xef\xbf\xbf", 3},
        {"\xe1\x80", 0},
        {"\xe1\x80\xc0", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xff", 0},
        {"\xf1\x80\x80", 0},
        {"\xf1\x80\x80\x7f", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        EXPECT_INT(utf8_length(cases[i].s, strlen(cases[i].s)), cases[i].wanted);
    EXPECT_INT(utf8_length("x", 0), 0);
}
