/* parts.c - the server's parts by themselves: bodies of several files, sizes by first bytes, the queue, the sessions. */
#include "serve/measure.h"
#include "serve/multipart.h"
#include "serve/service.h"
#include "tests/test.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static const char TYPE[] = "multipart/form-data; boundary=\"a b\"";

static status parse(const char *body, struct part *parts, size_t most, size_t *count)
{
    return multipart_parse(TYPE, body, strlen(body), parts, most, count);
}

TEST(multipart_finds_every_file)
{
    struct part parts[3];
    size_t count = 0;
    EXPECT_OK(parse("--a b\r\nContent-Disposition: form-data; name=\"x\"; "
                    "filename=\"C:\\dir/cat.png\"\r\n\r\none\r\n--b\r\n--a b\r\n"
                    "Content-Type: image/png\r\n\r\n\r\n--a b--\r\n",
                    parts, 3, &count));
    REQUIRE(count == 2);
    EXPECT_TEXT(parts[0].name, "cat.png");
    EXPECT(parts[0].bytes == 8 && !memcmp(parts[0].data, "one\r\n--b", 8)); /* nearly a boundary is none */
    EXPECT(parts[1].bytes == 0 && parts[1].name[0] == '\0');
    EXPECT_OK(parse("--a b\r\nA: b\r\n\r\n--a b--", parts, 3, &count)); /* the headers' end is the boundary's start */
    EXPECT(count == 1 && parts[0].bytes == 0);
    EXPECT_OK(parse("--a b--", parts, 3, &count));
    EXPECT_INT(count, 0);
}

TEST(multipart_refuses_what_is_broken)
{
    static const char *const broken[] = {
        "",
        "--a",
        "--a c\r\n\r\n\r\n--a b--",
        "--a b",
        "--a b\r\n",
        "--a b\r\nX: y\r\n",
        "--a b\r\nX: y\r\n\r\ndata",
        "--a b\r\nX: y\r\n\r\ndata\r\n--a b",
        "--a b\r\nX: y\r\n\r\ndata\r\n--a bX",
    };
    struct part parts[2];
    size_t count;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        EXPECT_STATUS(parse(broken[i], parts, 2, &count), ST_FORMAT);
    EXPECT_STATUS(parse("--a b\r\n\r\n\r\n\r\n--a b\r\n\r\n\r\n\r\n--a b--", parts, 1, &count), ST_VALUE);
    EXPECT_STATUS(multipart_parse("multipart/form-data", "--", 2, parts, 2, &count), ST_FORMAT);
    EXPECT_STATUS(multipart_parse("multipart/form-data; boundary=", "--", 2, parts, 2, &count), ST_FORMAT);
}

static bool measures(const char *bytes, size_t n, uint64_t width, uint64_t height)
{
    uint64_t w, h;
    return measure_picture((const uint8_t *)bytes, n, &w, &h) && w == width && h == height;
}

TEST(measure_knows_every_format)
{
    static const char jpeg[] = "\xff\xd8\xff\xe0\0\x04xx\xff\xff\xc2\0\x11\x08\x01\x02\x03\x04\x03";
    static const char lossy[] = "RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x40\x01\x20\x01";
    static const char extended[] = "RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\x01\0\xff\0\0";
    uint64_t w, h;
    EXPECT(measures(jpeg, sizeof jpeg - 1, 0x304, 0x102));
    EXPECT(measures(lossy, sizeof lossy - 1, 320, 288));
    EXPECT(measures(extended, sizeof extended - 1, 512, 256));
    EXPECT(measures("P5 7 9 255 ", 11, 7, 9));
    for (size_t n = 0; n < sizeof jpeg - 3; n++) EXPECT(!measure_picture((const uint8_t *)jpeg, n, &w, &h));
    EXPECT(!measures("P6 99999999999 1 255", 20, 99999999999, 1));
}

/* A job that waits until it may end. */
struct waiting {
    struct job job;
    pthread_mutex_t *lock; /* held by the test for as long as the job must not end */
    bool accepted, ran, ending;
};

static void accept_waiting(struct job *j) { ((struct waiting *)j)->accepted = true; }

static void run_waiting(struct job *j, bool ending)
{
    struct waiting *w = (struct waiting *)j;
    pthread_mutex_lock(w->lock);
    w->ran = true;
    w->ending = ending;
    pthread_mutex_unlock(w->lock);
}

TEST(worker_refuses_what_the_queue_cannot_hold)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct worker *w = NULL;
    struct waiting job[4];
    EXPECT_OK(worker_start(2, &w));
    REQUIRE(w);
    for (size_t i = 0; i < 4; i++)
        job[i] = (struct waiting){.job = {.accepted = accept_waiting, .run = run_waiting}, .lock = &lock};
    pthread_mutex_lock(&lock);
    EXPECT(worker_push(w, &job[0].job));
    while (worker_waiting(w) > 0) sched_yield(); /* it is at work on the first */
    EXPECT(worker_push(w, &job[1].job) && worker_push(w, &job[2].job));
    EXPECT(!worker_push(w, &job[3].job) && !job[3].accepted);
    EXPECT_INT(worker_waiting(w), 2);
    pthread_mutex_unlock(&lock);
    worker_end(w);
    EXPECT(job[0].ran && job[1].ran && job[2].ran && !job[3].ran); /* nobody is left waiting */
    EXPECT(!worker_push(w, &job[3].job));
    worker_free(w);
}

TEST(tabs_keep_the_most_recent_results)
{
    struct tab t = {0};
    for (size_t i = 0; i < MOST_RESULTS + 2; i++) {
        char line[32];
        snprintf(line, sizeof line, "%zu\r\n", i);
        tab_keep_result(&t, line);
    }
    EXPECT_INT(t.result_count, MOST_RESULTS);
    EXPECT(!strncmp(text_string(&t.results), "2\r\n3\r\n", 6));
    text_free(&t.results);
}

TEST(names_are_text_without_slashes)
{
    EXPECT(name_is_fine("cat") && name_is_fine("gr\xc3\xbc\xc3\x9f"
                                               "e 2"));
    EXPECT(!name_is_fine("") && !name_is_fine("  ") && !name_is_fine("a/b") && !name_is_fine("a\\b"));
    EXPECT(!name_is_fine("a\nb") && !name_is_fine("\xff") && !name_is_fine("..") && !name_is_fine("\xc3"));
    char longest[102];
    memset(longest, 'x', sizeof longest - 1);
    longest[101] = '\0';
    EXPECT(!name_is_fine(longest) && name_is_fine(longest + 1));
}
