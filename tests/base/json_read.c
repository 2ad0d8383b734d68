/* Tests of the reader of base/json.h. */
#include "tests/test.h"
#include "base/json.h"
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

static status parse_bytes(const char *s, size_t n, arena *memory, const struct json **out)
{
    char *exact = malloc(n + !n); /* so that a sanitizer sees a read beyond the end */
    if (!exact) return fail(ST_MEMORY, "test");
    memcpy(exact, s, n);
    status st = json_parse("t.json", exact, n, memory, out);
    free(exact);
    return st;
}

static status parse(const char *s, arena *memory, const struct json **out)
{
    return parse_bytes(s, strlen(s), memory, out);
}

TEST(json_accepts)
{
    static const struct {
        const char *s;
        enum json_kind kind;
        double real; /* or the count */
        const char *string;
    } cases[] = {
        {"null", JSON_NULL, 0, NULL},
        {"true", JSON_BOOL, 1, NULL},
        {"false", JSON_BOOL, 0, NULL},
        {" \t\r\n0 \n", JSON_INT, 0, NULL},
        {"-1", JSON_INT, -1, NULL},
        {"9223372036854775807", JSON_INT, 9223372036854775807.0, NULL},
        {"-9223372036854775808", JSON_INT, -9223372036854775808.0, NULL},
        {"1.5", JSON_REAL, 1.5, NULL},
        {"-0", JSON_REAL, -0.0, NULL},
        {"0e0", JSON_REAL, 0, NULL},
        {"1E+2", JSON_REAL, 100, NULL},
        {"12.5e-1", JSON_REAL, 1.25, NULL},
        {"1e-999", JSON_REAL, 0, NULL},
        {"0.1", JSON_REAL, 0.1, NULL},
        {"5e-324", JSON_REAL, 5e-324, NULL},
        {"1.7976931348623157e308", JSON_REAL, DBL_MAX, NULL},
        {"\"\"", JSON_STRING, 0, ""},
        {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", JSON_STRING, 0, "a\"\\/\b\f\n\r\tz"},
        {"\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00!\"", JSON_STRING, 0, "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80!"},
        {"\"\xc3\xa9\xf0\x9f\x98\x80\x7f\"", JSON_STRING, 0, "\xc3\xa9\xf0\x9f\x98\x80\x7f"},
        {"[]", JSON_ARRAY, 0, NULL},
        {"[ ]", JSON_ARRAY, 0, NULL},
        {"{ }", JSON_OBJECT, 0, NULL},
        {"[1,[2],{}]", JSON_ARRAY, 3, NULL},
        {"[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]",
         JSON_ARRAY, 34, NULL},
        {"{\"\":1,\"a\":{\"a\":2}}", JSON_OBJECT, 2, NULL},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", JSON_ARRAY, 1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        arena *memory = arena_new(0);
        const struct json *v = NULL;
        REQUIRE(memory);
        EXPECT_OK(parse(cases[i].s, memory, &v));
        REQUIRE(v);
        EXPECT_INT(v->kind, cases[i].kind);
        EXPECT(v->key == NULL && v->next == NULL);
        if (v->kind == JSON_STRING) EXPECT_TEXT(v->string, cases[i].string);
        else if (v->kind == JSON_BOOL) EXPECT_INT(v->boolean, cases[i].real);
        else if (v->kind >= JSON_ARRAY) EXPECT_INT(v->count, cases[i].real);
        else EXPECT(v->real == cases[i].real && signbit(v->real) == signbit(cases[i].real));
        if (v->kind == JSON_INT) EXPECT((double)v->integer == v->real);
        arena_free(memory);
    }
}

static const struct {
    const char *s, *part;
} refused[] = {
    {"", "column 1: a value is expected, but the text ends"},
    {" ", "column 2: a value is expected, but the text ends"},
    {"nul", "a value is expected here"},
    {"True", "a value is expected here"},
    {"nullx", "column 5: something stands behind"},
    {"1 2", "line 1, column 3: something stands behind"},
    {"\n\n  x", "line 3, column 3: a value"},
    {"\xef\xbb\xbf"
     "1",
     "a value is expected here"},
    {"01", "may not begin with 0"},
    {"-01", "may not begin with 0"},
    {"-", "a digit is missing"},
    {"+1", "a value is expected here"},
    {".5", "a value is expected here"},
    {"1.", "missing behind the point"},
    {"1.e3", "missing behind the point"},
    {"1e", "missing in the exponent"},
    {"1e+", "missing in the exponent"},
    {"0x10", "column 2: something stands behind"},
    {"NaN", "a value is expected here"},
    {"-Infinity", "a digit is missing"},
    {"1e400", "too large"},
    {"-1e400", "too large"},
    {"9223372036854775808", "needs more than 64 bits"},
    {"-9223372036854775809", "needs more than 64 bits"},
    {"\"a", "no closing quote"},
    {"\"a\\\"", "no closing quote"},
    {"\"\t\"", "control characters"},
    {"\"\\x\"", "no such escape"},
    {"\"\\", "no such escape"},
    {"\"\\u12\"", "four hexadecimal digits"},
    {"\"\\u12g4\"", "four hexadecimal digits"},
    {"\"\\u0000\"", "may not contain \\u0000"},
    {"\"\\ud800\"", "surrogate pair"},
    {"\"\\udc00\"", "surrogate pair"},
    {"\"\\ud800\\u0041\"", "surrogate pair"},
    {"\"\\ud800\\udc0", "surrogate pair"},
    {"\"\xff\"", "column 2: this is not UTF-8"},
    {"\"\xc3\xa9\xed\xa0\x80\"", "column 3: this is not UTF-8"},
    {"\"\xc3", "not UTF-8"},
    {"[", "a value is expected, but"},
    {"[1", "a comma or ] is expected"},
    {"[1,]", "a value is expected here"},
    {"[,1]", "a value is expected here"},
    {"[1 2]", "a comma or ] is expected"},
    {"[1}", "a comma or ] is expected"},
    {"]", "a value is expected here"},
    {"{", "a key in quotes"},
    {"{a:1}", "a key in quotes"},
    {"{\"a\" 1}", "a colon is expected"},
    {"{\"a\":}", "a value is expected here"},
    {"{\"a\":1,}", "a key in quotes"},
    {"{\"a\":1]", "a comma or } is expected"},
    {"{1:1}", "a key in quotes"},
    {"{\"a\":1, \"b\":2,\n \"a\":3}", "line 2, column 2: this key stands here for the second"},
    {"{\"a\":1,\"\\u0061\":2}", "for the second time"},
    {"[1]// no", "something stands behind"},
    {"'a'", "a value is expected here"},
    {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "column 33: this is nested too deeply"},
};

TEST(json_refuses_and_says_where)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        arena *memory = arena_new(0);
        const struct json *v = NULL;
        REQUIRE(memory);
        EXPECT_STATUS(parse(refused[i].s, memory, &v), ST_FORMAT);
        EXPECT(v == NULL);
        EXPECT(!strncmp(error_text(), "'t.json', line ", 15));
        if (!strstr(error_text(), refused[i].part))
            test_failed(__FILE__, __LINE__, "%s: \"%s\" does not contain \"%s\"", refused[i].s, error_text(),
                        refused[i].part);
        arena_free(memory);
    }
}

TEST(json_refuses_nul_bytes_everywhere)
{
    static const struct {
        const char *s;
        size_t n;
    } cases[] = {{"\0", 1},    {"1\0", 2},  {"\0001", 2}, {"\"a\0b\"", 5},
                 {"[1\0]", 4}, {"[\0]", 3}, {"{\0}", 3},  {"tru\0", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        arena *memory = arena_new(0);
        const struct json *v;
        REQUIRE(memory);
        EXPECT_STATUS(parse_bytes(cases[i].s, cases[i].n, memory, &v), ST_FORMAT);
        arena_free(memory);
    }
}

TEST(json_tree_keeps_order_and_finds_members)
{
    arena *memory = arena_new(1000);
    const struct json *v;
    REQUIRE(memory && parse("{\"b\": [1, 2.5, \"x\"], \"a\": {\"deep\": true}, \"c\": null}", memory, &v) == OK);
    EXPECT_INT(v->count, 3);
    EXPECT_TEXT(v->first->key, "b");
    EXPECT_TEXT(v->first->next->key, "a");
    EXPECT(v->first->next->next->next == NULL);
    const struct json *b = json_member(v, "b");
    REQUIRE(b && b->count == 3);
    EXPECT_INT(b->first->integer, 1);
    EXPECT_NEAR(b->first->next->real, 2.5, 0);
    EXPECT_TEXT(b->first->next->next->string, "x");
    const struct json *deep = json_member(json_member(v, "a"), "deep");
    EXPECT(deep && deep->boolean);
    EXPECT(json_member(v, "d") == NULL);
    EXPECT(json_member(b, "d") == NULL);
    EXPECT(json_member(NULL, "d") == NULL);
    arena_free(memory);
}

/* An object of `n` members k0, k1, ... and then `last`. */
static void many_members(text *t, int n, const char *last)
{
    text_add(t, "{");
    for (int i = 0; i < n; i++) text_addf(t, "\"k%d\":0,", i);
    text_addf(t, "\"%s\":1}", last);
}

TEST(json_finds_repeated_keys_among_many)
{
    static const int sizes[] = {63, 64, 65,
                                100000}; /* the last one would take minutes if each were compared with each */
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        text t = {0};
        arena *memory = arena_new(0);
        const struct json *v = NULL;
        REQUIRE(memory);
        many_members(&t, sizes[i], "k");
        EXPECT_OK(json_parse("t", t.data, t.length, memory, &v));
        EXPECT(v && v->count == (size_t)sizes[i] + 1);
        text_clear(&t);
        many_members(&t, sizes[i], "k7");
        size_t column = t.length - strlen("\"k7\":1}") + 1;
        char wanted[100];
        snprintf(wanted, sizeof wanted, "line 1, column %zu: this key stands here for the second time", column);
        EXPECT_STATUS(json_parse("t", t.data, t.length, memory, &v), ST_FORMAT);
        EXPECT(strstr(error_text(), wanted));
        arena_free(memory);
        text_free(&t);
    }
}

TEST(json_parse_survives_each_failing_allocation)
{
    text source = {0};
    many_members(&source, 300, "end");
    for (size_t n = 1;; n++) {
        size_t live = alloc_live();
        arena *memory = arena_new(64);
        REQUIRE(memory);
        const struct json *v = NULL;
        alloc_fail_at(n);
        status st = json_parse("t", source.data, source.length, memory, &v);
        bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        EXPECT(failed ? v == NULL : v && v->count == 301);
        arena_free(memory);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
        REQUIRE(n < 200);
    }
    text_free(&source);
}
