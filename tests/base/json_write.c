/* Tests of the writer of base/json.h. */
#include "tests/test.h"
#include "base/json.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_sample(struct json_writer *w)
{
    json_object(w);
    json_key(w, "text");
    json_string(w, "q\"\\\n\x01\x7f\xc3\xa9");
    json_key(w, "list");
    json_array(w);
    json_int(w, INT64_MIN);
    json_real(w, 0.1);
    json_bool(w, true);
    json_null(w);
    json_array(w);
    json_array_end(w);
    json_array_end(w);
    json_key(w, "empty");
    json_object(w);
    json_object_end(w);
    json_object_end(w);
}

TEST(json_writes_compact_and_pretty)
{
    text t = {0};
    struct json_writer w;
    json_begin(&w, &t, false);
    write_sample(&w);
    EXPECT_TEXT(text_string(&t), "{\"text\":\"q\\\"\\\\\\n\\u0001\\u007f\xc3\xa9\",\"list\":[-9223372036854775808,0.1,"
                                 "true,null,[]],\"empty\":{}}");
    text_clear(&t);
    json_begin(&w, &t, true);
    write_sample(&w);
    EXPECT_TEXT(
        text_string(&t),
        "{\n  \"text\": \"q\\\"\\\\\\n\\u0001\\u007f\xc3\xa9\",\n  \"list\": [\n    -9223372036854775808,\n    0.1,\n"
        "    true,\n    null,\n    []\n  ],\n  \"empty\": {}\n}");
    arena *memory = arena_new(0);
    const struct json *v;
    REQUIRE(memory && json_parse("t", t.data, t.length, memory, &v) == OK);
    EXPECT_TEXT(json_member(v, "text")->string, "q\"\\\n\x01\x7f\xc3\xa9");
    arena_free(memory);
    text_free(&t);
}

static void expect_real(double v, const char *wanted)
{
    text t = {0};
    struct json_writer w;
    json_begin(&w, &t, false);
    json_real(&w, v);
    EXPECT_TEXT(text_string(&t), wanted);
    text_free(&t);
}

TEST(json_writes_short_numbers)
{
    expect_real(0.1, "0.1");
    expect_real(1, "1");
    expect_real(-0.0, "-0");
    expect_real(1e300, "1e+300");
    expect_real(1.0 / 3, "0.3333333333333333");
    expect_real(0.1 + 0.2, "0.30000000000000004");
    expect_real(5e-324, "4.94065645841247e-324");
    expect_real(NAN, "null");
    expect_real(-INFINITY, "null");
}

TEST(json_numbers_read_back_the_same)
{
    struct random r = test_random();
    arena *memory = arena_new(4096);
    text t = {0};
    REQUIRE(memory);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_u64(&r);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (i % 2) x = floor(ldexp(x - floor(x), (int)random_below(&r, 62))); /* whole numbers too */
        if (!isfinite(x)) continue;
        struct json_writer w;
        const struct json *v = NULL;
        text_clear(&t);
        arena_reset(memory);
        json_begin(&w, &t, false);
        json_real(&w, x);
        EXPECT_OK(json_parse("t", t.data, t.length, memory, &v));
        EXPECT(v && v->real == x && signbit(v->real) == signbit(x));
    }
    text_free(&t);
    arena_free(memory);
}

/* Ways to write what is not JSON. */
static void break_writer(struct json_writer *w, int way)
{
    if (way != 0) way % 2 ? json_object(w) : json_array(w);
    switch (way) {
    case 0: json_int(w, 1), json_int(w, 2); break;       /* two values */
    case 1: json_int(w, 1); break;                       /* no key */
    case 2: json_key(w, "a"); break;                     /* a key in an array */
    case 3: json_key(w, "a"), json_object_end(w); break; /* no value */
    case 4: json_object_end(w); break;                   /* the wrong bracket */
    case 5: json_key(w, "a"), json_key(w, "b"); break;   /* two keys */
    case 6: json_array_end(w), json_array_end(w); break; /* one bracket too many */
    default:
        for (int i = 0; i <= JSON_MAX_DEPTH; i++) json_key(w, "a"), json_object(w);
    }
}

TEST(json_writer_stops_at_our_mistakes)
{
#ifdef NDEBUG
    test_skip("this build has no asserts");
    return;
#endif
    for (int way = 0; way < 8; way++) {
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            signal(SIGABRT, SIG_DFL);
            close(STDERR_FILENO); /* the assert's line is not news */
            text t = {0};
            struct json_writer w;
            json_begin(&w, &t, false);
            break_writer(&w, way);
            _exit(0);
        }
        int result = 0;
        REQUIRE(waitpid(child, &result, 0) == child);
        if (!WIFSIGNALED(result) || WTERMSIG(result) != SIGABRT)
            test_failed(__FILE__, __LINE__, "way %d was not stopped", way);
    }
}

TEST(json_writes_invalid_utf8_as_replacement)
{
    text t = {0};
    struct json_writer w;
    json_begin(&w, &t, false);
    json_string(&w, "a\xff"
                    "b\xe2\x82");
    EXPECT_TEXT(text_string(&t), "\"a\xef\xbf\xbd"
                                 "b\xef\xbf\xbd\xef\xbf\xbd\"");
    text_free(&t);
}

TEST(json_writer_survives_each_failing_allocation)
{
    for (size_t n = 1;; n++) {
        size_t live = alloc_live();
        text t = {0};
        struct json_writer w;
        alloc_fail_at(n);
        json_begin(&w, &t, true);
        write_sample(&w);
        bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(text_status(&t), failed ? ST_MEMORY : OK);
        text_free(&t);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
        REQUIRE(n < 50);
    }
}
