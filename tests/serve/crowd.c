/* crowd.c - many clients at once: answers stay right, health stays quick to ask, sessions stay apart. */
#include "tests/app/program.h"
#include "tests/serve/rig.h"
#include "tests/test.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { CLIENTS = 16, EACH = UNDER_TSAN ? 1 : 6 }; /* a sanitizer makes each take long */

struct client {
    struct rig rig; /* its own session */
    size_t kind;
    size_t right, busy, wrong;
};

static void *use(void *arg)
{
    struct client *c = arg;
    char wanted[32];
    snprintf(wanted, sizeof wanted, "\"class\":\"kind %zu\"", c->kind);
    for (size_t i = 0; i < EACH; i++) {
        text q = rig_png(c->kind, 100 + i);
        struct got a = rig_ask(&c->rig, "POST", "/api/sessions/%s/classify", q.data, q.length);
        if (a.code == 200 && strstr(a.body, wanted)) c->right++;
        else if (a.code == 503 && strstr(a.head, "Retry-After: ")) c->busy++;
        else c->wrong++;
        reply_drop(&a);
        text_free(&q);
    }
    return NULL;
}

/* Asks for the server's health as long as the others are there. */
struct looker {
    struct rig rig;
    size_t seen;
    atomic_bool enough;
};

static void *look(void *arg)
{
    struct looker *l = arg;
    do {
        struct got a = GET(&l->rig, "/api/health");
        l->seen += a.code == 200;
        reply_drop(&a);
    } while (!atomic_load(&l->enough));
    return NULL;
}

/* Sums what happened to all clients. */
static struct client run_crowd(struct client *client, const struct rig *r)
{
    struct client sum = {0};
    struct looker health = {.rig = *r};
    pthread_t thread[CLIENTS], looking;
    EXPECT(pthread_create(&looking, NULL, look, &health) == 0);
    for (size_t i = 0; i < CLIENTS; i++) EXPECT(pthread_create(&thread[i], NULL, use, &client[i]) == 0);
    for (size_t i = 0; i < CLIENTS; i++) {
        pthread_join(thread[i], NULL);
        sum.right += client[i].right;
        sum.busy += client[i].busy;
        sum.wrong += client[i].wrong;
    }
    atomic_store(&health.enough, true);
    pthread_join(looking, NULL);
    EXPECT(health.seen > 0);
    return sum;
}

TEST(serve_answers_sixteen_clients_at_once)
{
    struct rig r;
    struct client client[CLIENTS] = {0};
    if (!rig_start(&r, NULL)) return;
    bool good = true;
    for (size_t i = 0; i < CLIENTS && good; i++) {
        good = i % 4 ? true : rig_session(&r) && rig_fill(&r, 4, 2); /* four share a session */
        client[i] = (struct client){.rig = r, .kind = i % 4};
    }
    if (good) {
        const struct client sum = run_crowd(client, &r);
        EXPECT_INT(sum.right, CLIENTS * EACH);
        EXPECT_INT(sum.busy + sum.wrong, 0);
    }
    rig_stop(&r);
}

TEST(serve_says_busy_when_the_queue_is_full)
{
    struct rig r;
    struct client client[CLIENTS] = {0};
    if (!rig_start(&r, WORDS("--max-queue", "1"))) return;
    if (rig_session(&r) && rig_fill(&r, 4, 2)) {
        for (size_t i = 0; i < CLIENTS; i++) client[i] = (struct client){.rig = r, .kind = i % 4};
        const struct client sum = run_crowd(client, &r);
        EXPECT_INT(sum.right + sum.busy, CLIENTS * EACH); /* tests/serve/worker.c sees it fill up for certain */
        EXPECT_INT(sum.wrong, 0);
        EXPECT(sum.right > 0);
    }
    rig_stop(&r);
}

TEST(serve_keeps_sessions_apart_and_forgets_the_least_recently_used)
{
    struct rig r;
    if (!rig_start(&r, WORDS("--max-sessions", "2"))) return;
    if (rig_session(&r) && rig_fill(&r, 2, 1)) {
        struct rig second = r, third = r;
        EXPECT(rig_session(&second));
        EXPECT_ANSWER(GET(&second, "/api/sessions/%s"), 200, "\"classes\":[]");
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s"), 200, "kind 1"); /* now the second is the older one */
        EXPECT(rig_session(&third));
        EXPECT_ANSWER(GET(&second, "/api/sessions/%s"), 404, "there is no such session");
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s"), 200, "kind 1");
        EXPECT_ANSWER(GET(&r, "/api/health"), 200, "\"sessions\":2");
    }
    rig_stop(&r);
}

TEST(serve_forgets_sessions_that_are_idle)
{
    struct rig r;
    if (!rig_start(&r, WORDS("--idle", "1"))) return;
    if (rig_session(&r)) {
        const struct timespec more = {.tv_sec = 1, .tv_nsec = 200 * 1000 * 1000};
        nanosleep(&more, NULL);
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s"), 404, "there is no such session");
    }
    rig_stop(&r);
}
