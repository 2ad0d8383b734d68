/* routes.c - every route of the server, asked well and badly. */
#include "serve/routes.h"
#include "base/file.h"
#include "tests/app/program.h"
#include "tests/serve/rig.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

TEST(serve_answers_without_a_session)
{
    struct rig r;
    if (!rig_start(&r, NULL)) return;
    EXPECT_ANSWER(GET(&r, "/"), 200, "<title>Centra</title>");
    EXPECT_ANSWER(GET(&r, "/app.js"), 200, "Content-Type: text/javascript; charset=utf-8");
    EXPECT_ANSWER(GET(&r, "/style.css"), 200, "prefers-color-scheme: dark");
    EXPECT_ANSWER(GET(&r, "/icon.svg"), 200, "<svg");
    EXPECT_ANSWER(GET(&r, "/api"), 200, "\"path\":\"/api/sessions/{id}/classify\"");
    EXPECT_ANSWER(GET(&r, "/api/health"), 200, "{\"ok\":true,\"sessions\":0,");
    EXPECT_ANSWER(GET(&r, "/api/model"), 200, "\"name\":\"conv4-synth\"");
    EXPECT_ANSWER(rig_ask(&r, "HEAD", "/api/health", NULL, 0), 200, "application/json");
    rig_stop(&r);
}

TEST(serve_sends_headers_that_keep_others_out)
{
    struct rig r;
    if (!rig_start(&r, NULL)) return;
    static const char *const headers[] = {"Content-Security-Policy: default-src 'self';",
                                          "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY",
                                          "Referrer-Policy: no-referrer", "Cross-Origin-Resource-Policy: same-origin"};
    struct got page = GET(&r, "/"), refusal = GET(&r, "/nothing");
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        EXPECT(strstr(page.head, headers[i]) && strstr(refusal.head, headers[i]));
    EXPECT(!strstr(page.head, "Access-Control-") && !strstr(refusal.head, "Access-Control-"));
    reply_drop(&page);
    reply_drop(&refusal);
    rig_stop(&r);
}

TEST(serve_refuses_paths_and_methods_that_do_not_exist)
{
    struct rig r;
    if (!rig_start(&r, NULL)) return;
    EXPECT_ANSWER(GET(&r, "/nothing"), 404,
                  "{\"error\":\"there is nothing at '/nothing'; GET /api lists what there is\"}");
    EXPECT_ANSWER(GET(&r, "/../etc/passwd"), 404, "there is nothing");
    EXPECT_ANSWER(POST(&r, "/api/health"), 405, "Allow: GET, HEAD");
    EXPECT_ANSWER(rig_ask(&r, "OPTIONS", "/api/sessions", NULL, 0), 405, "Allow: POST");
    EXPECT_ANSWER(GET(&r, "/api/sessions/0123"), 404, "there is nothing");
    EXPECT_ANSWER(GET(&r, "/api/sessions/00000000000000000000000000000000"), 404, "there is no such session");
    EXPECT_ANSWER(GET(&r, "/api/health?a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9"), 400, "8 arguments at most");
    rig_stop(&r);
}

TEST(serve_makes_renames_and_removes_classes)
{
    struct rig r;
    if (!rig_start(&r, NULL)) return;
    if (rig_session(&r) && rig_fill(&r, 2, 2)) {
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s"), 200,
                      "\"classes\":[{\"name\":\"kind 0\",\"pictures\":[\"0.png\",\"1.png\"]},{\"name\":\"kind 1\"");
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s/picture?class=kind+0&picture=1"), 200, "image/png");
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s/picture?class=kind+0&picture=2"), 404, "the class has 2");
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s/picture?class=kind+0&picture=-1"), 400, "number of a picture");
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s/picture?class=kind+9&picture=0"), 404, "there is no class 'kind 9'");
        EXPECT_ANSWER(POST(&r, "/api/sessions/%s/class?class=kind+0&to=kind+1"), 409,
                      "there is a class 'kind 1' already");
        EXPECT_ANSWER(POST(&r, "/api/sessions/%s/class?class=kind+0&to="), 400, "'to' is no name");
        EXPECT_ANSWER(POST(&r, "/api/sessions/%s/class?class=kind+0&to=a%2Fb"), 400, "'to' is no name");
        EXPECT_ANSWER(POST(&r, "/api/sessions/%s/class?class=kind+0&to=%ff"), 400, "'to' is no name");
        EXPECT_ANSWER(POST(&r, "/api/sessions/%s/class?class=kind+0"), 400, "the argument 'to' is missing");
        EXPECT_ANSWER(POST(&r, "/api/sessions/%s/class?class=kind+0&to=zebra"), 200,
                      "{\"name\":\"zebra\",\"pictures\":[\"0.png\"");
        EXPECT_ANSWER(rig_ask(&r, "DELETE", "/api/sessions/%s/picture?class=zebra&picture=0", NULL, 0), 200,
                      "{\"name\":\"zebra\",\"pictures\":[\"1.png\"]}");
        EXPECT_ANSWER(rig_ask(&r, "DELETE", "/api/sessions/%s/class?class=zebra", NULL, 0), 200,
                      "\"classes\":[{\"name\":\"kind 1\"");
        EXPECT_ANSWER(rig_ask(&r, "DELETE", "/api/sessions/%s", NULL, 0), 200, "{}");
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s"), 404, "there is no such session");
    }
    rig_stop(&r);
}

static const char FORM[] = "Content-Type: multipart/form-data; boundary=XX\r\n";

static text two_parts(const text *a, const char *second, size_t bytes)
{
    text t = {0};
    text_add(&t, "--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.png\"\r\n\r\n");
    text_add_bytes(&t, a->data, a->length);
    text_add(&t, "\r\n--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"b.png\"\r\n\r\n");
    text_add_bytes(&t, second, bytes);
    text_add(&t, "\r\n--XX--\r\n");
    return t;
}

TEST(serve_takes_several_pictures_in_a_form_and_all_or_none)
{
    struct rig r;
    if (!rig_start(&r, NULL)) return;
    text a = rig_png(0, 1), b = rig_png(0, 2), good = two_parts(&a, b.data, b.length), bad = two_parts(&a, "no", 2);
    const char *path = "/api/sessions/%s/pictures?class=c";
    if (rig_session(&r)) {
        EXPECT_ANSWER(rig_ask_with(&r, FORM, "POST", path, bad.data, bad.length), 422, "'b.png' is no picture");
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s"), 200, "\"classes\":[]");
        EXPECT_ANSWER(rig_ask_with(&r, FORM, "POST", path, good.data, good.length), 200, "[\"a.png\",\"b.png\"]");
        EXPECT_ANSWER(rig_ask_with(&r, FORM, "POST", path, bad.data, bad.length), 422, "'b.png' is no picture");
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s"), 200, "\"pictures\":[\"a.png\",\"b.png\"]}]");
        EXPECT_ANSWER(rig_ask_with(&r, FORM, "POST", path, good.data, good.length - 20), 400,
                      "multipart body is broken");
        EXPECT_ANSWER(rig_ask_with(&r, FORM, "POST", path, "--XX--", 6), 400, "the body has no picture");
    }
    text_free(&a), text_free(&b), text_free(&good), text_free(&bad);
    rig_stop(&r);
}

TEST(serve_classifies_and_keeps_the_results)
{
    struct rig r;
    if (!rig_start(&r, NULL)) return;
    text q = rig_png(1, 50);
    if (rig_session(&r)) {
        EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/classify", q.data, q.length), 422, "there are no classes");
        EXPECT(rig_fill(&r, 1, 3));
        EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/classify", q.data, q.length), 422, "there is one class");
        EXPECT(rig_fill(&r, 3, 3));
        struct got a = rig_ask(&r, "POST", "/api/sessions/%s/classify?name=q.png", q.data, q.length);
        EXPECT_INT(a.code, 200);
        EXPECT(strstr(a.body, "{\"name\":\"q.png\",\"class\":\"kind 1\",\"probability\":0.") != NULL);
        EXPECT(strstr(a.body, "\"probabilities\":[{\"class\":\"kind 1\",") != NULL);
        EXPECT(strstr(a.body, "\"familiarity\":") != NULL && strstr(a.body, "\"familiarity\":null") == NULL);
        EXPECT(strstr(a.body, "\"explanation\":{\"height\":") != NULL && strstr(a.body, "\"pairs\":[[") != NULL);
        reply_drop(&a);
        a = rig_ask(&r, "POST", "/api/sessions/%s/classify?name=%3Dcmd&explain=0", q.data, q.length);
        EXPECT(a.code == 200 && strstr(a.body, "explanation") == NULL);
        reply_drop(&a);
        a = GET(&r, "/api/sessions/%s/results.csv");
        EXPECT(strstr(a.head, "attachment; filename=\"centra-results.csv\"") != NULL);
        EXPECT(!strncmp(a.body, "file,label,probability,familiarity,unknown\r\n\"q.png\",\"kind 1\",0.", 62));
        EXPECT(strstr(a.body, "\r\n\"'=cmd\",\"kind 1\",") != NULL); /* no table program takes it for a formula */
        reply_drop(&a);
    }
    text_free(&q);
    rig_stop(&r);
}

TEST(serve_exports_a_pack_that_another_session_takes)
{
    struct rig r;
    if (!rig_start(&r, NULL)) return;
    if (rig_session(&r)) {
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s/pack"), 422, "there are no classes to save");
        EXPECT(rig_fill(&r, 2, 2));
        struct got pack = GET(&r, "/api/sessions/%s/pack");
        EXPECT_INT(pack.code, 200);
        EXPECT(rig_session(&r));
        EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/pack", pack.body, pack.bytes / 2), 422, "the pack");
        EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/pack", "", 0), 422, "the pack");
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s"), 200, "\"classes\":[]");
        EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/pack", pack.body, pack.bytes), 200, "\"name\":\"kind 1\"");
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s/picture?class=kind+1&picture=1"), 200, "image/png");
        reply_drop(&pack);
    }
    rig_stop(&r);
}

static bool save_as(const char *name, const char *data, size_t bytes)
{
    text path = {0};
    struct file_writer w;
    text_addf(&path, "%s/%s", test_folder(), name);
    bool good = file_begin(text_string(&path), &w) == OK;
    if (good) {
        file_put(&w, data, bytes);
        good = file_commit(&w) == OK;
    }
    text_free(&path);
    return good;
}

TEST(serve_begins_with_the_classes_of_a_pack)
{
    struct rig r;
    char path[512];
    if (!rig_start(&r, NULL)) return;
    if (!rig_session(&r) || !rig_fill(&r, 2, 1)) return;
    struct got pack = GET(&r, "/api/sessions/%s/pack");
    EXPECT(save_as("two.pack", pack.body, pack.bytes));
    reply_drop(&pack);
    rig_stop(&r);
    snprintf(path, sizeof path, "%s/two.pack", test_folder());
    if (!rig_start(&r, (const char *[]){"--support", path, NULL})) return;
    EXPECT_ANSWER(POST(&r, "/api/sessions"), 201, "{\"name\":\"kind 1\",\"pictures\":[\"0.png\"]}");
    rig_stop(&r);
}

TEST(serve_begins_with_the_classes_of_a_folder)
{
    struct rig r;
    char path[512];
    static const char *const classes[] = {"known/ant", "known/bee"};
    for (size_t i = 0; i < 2; i++) {
        text png = rig_png(i, 1);
        snprintf(path, sizeof path, "%s/%s", test_folder(), classes[i]);
        EXPECT_OK(folder_make(path));
        snprintf(path, sizeof path, "%s/1.png", classes[i]);
        EXPECT(save_as(path, png.data, png.length));
        text_free(&png);
    }
    snprintf(path, sizeof path, "%s/known", test_folder());
    if (!rig_start(&r, (const char *[]){"--support", path, NULL})) return;
    EXPECT_ANSWER(POST(&r, "/api/sessions"), 201,
                  "\"classes\":[{\"name\":\"ant\",\"pictures\":[\"ant/1.png\"]},{\"name\":\"bee\"");
    rig_stop(&r);
}

/* docs/http-api.md has a line for each route, with its sentence and its arguments. */
TEST(serve_documents_every_route)
{
    char *docs = NULL;
    size_t bytes;
    EXPECT_OK(file_read(CENTRA_SOURCE_DIR "/docs/http-api.md", 1 << 20, &docs, &bytes));
    REQUIRE(docs);
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        text t = {0};
        text_addf(&t, "\n| `%s` | `%s` | %s | %s |\n", route->method, route->path, route->arguments, route->title);
        if (!strstr(docs, text_string(&t)))
            test_failed(__FILE__, __LINE__, "docs/http-api.md has no line%s", text_string(&t));
        text_free(&t);
    }
    free(docs);
}
