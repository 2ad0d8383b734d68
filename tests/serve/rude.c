/* rude.c - clients that send too much, too slowly, nonsense, or half of something; the server refuses and lives on. */
#include "base/plain.h"
#include "tests/app/program.h"
#include "tests/image/bomb.h"
#include "tests/serve/rig.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char ADD[] = "/api/sessions/%s/pictures?class=c&name=x.jpg";

TEST(serve_refuses_bodies_that_announce_too_much)
{
    struct rig r;
    if (!rig_start(&r, WORDS("--max-body", "20000"))) return;
    char *large = calloc(1, 30000);
    if (rig_session(&r) && large) {
        EXPECT_ANSWER(rig_ask(&r, "POST", ADD, large, 30000), 413, "20000 bytes are the most");
        /* far too much, or a client that waits for leave to send: told at once */
        EXPECT_ANSWER(rig_ask_with(&r, "Expect: 100-continue\r\n", "POST", ADD, large, 30000), 413, "20000 bytes");
        const int s = rig_connect(&r);
        text t = {0};
        text_addf(
            &t, "POST /api/sessions/%s/classify HTTP/1.1\r\nHost: localhost:%u\r\nContent-Length: 99999999999\r\n\r\n",
            r.session, r.port);
        EXPECT(rig_send(s, t.data, t.length));
        EXPECT_ANSWER(rig_receive(s), 413, "20000 bytes");
        text_free(&t);
        close(s);
        EXPECT_ANSWER(GET(&r, "/api/health"), 200, "\"ok\":true");
    }
    free(large);
    rig_stop(&r);
}

/* The head of a chunked upload. */
static int begin_chunked(const struct rig *r)
{
    const int s = rig_connect(r);
    text t = {0};
    text_addf(&t,
              "POST /api/sessions/%s/classify HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nTransfer-Encoding: chunked\r\n"
              "Connection: close\r\n\r\n",
              r->session, r->port);
    EXPECT(s >= 0 && rig_send(s, t.data, t.length));
    text_free(&t);
    return s;
}

static bool send_chunk(int s, const char *data, size_t n)
{
    char size[16];
    plain_snprintf(size, sizeof size, "%zx\r\n", n);
    return rig_send(s, size, strlen(size)) && rig_send(s, data, n) && rig_send(s, "\r\n", 2);
}

TEST(serve_refuses_chunked_bodies_that_become_too_large)
{
    struct rig r;
    if (!rig_start(&r, WORDS("--max-body", "20000"))) return;
    char *piece = calloc(1, 1 << 16);
    if (rig_session(&r) && piece) {
        int s = begin_chunked(&r);
        for (size_t i = 0; i < 3; i++) EXPECT(send_chunk(s, piece, 9000));
        EXPECT(rig_send(s, "0\r\n\r\n", 5));
        EXPECT_ANSWER(rig_receive(s), 413, "20000 bytes are the most");
        close(s);
        s = begin_chunked(&r); /* one that never ends is cut off */
        size_t sent = 0;
        while (sent < 4096 && send_chunk(s, piece, 1 << 16)) sent++;
        EXPECT(sent < 4096);
        close(s);
        EXPECT_ANSWER(GET(&r, "/api/health"), 200, "\"ok\":true");
    }
    free(piece);
    rig_stop(&r);
}

/* Sends a byte of `slowly` ten times a second; whether the server closed the connection before all had gone. */
static bool is_cut_off(const struct rig *r, const char *at_once, const char *slowly, size_t n)
{
    const struct timespec moment = {.tv_nsec = 100 * 1000 * 1000};
    const int s = rig_connect(r);
    bool open = rig_send(s, at_once, strlen(at_once));
    for (size_t i = 0; i < n && open; i++) {
        char any;
        nanosleep(&moment, NULL);
        open = rig_send(s, slowly + i % strlen(slowly), 1) && recv(s, &any, 1, MSG_DONTWAIT) != 0;
    }
    close(s);
    return !open;
}

TEST(serve_closes_connections_that_drip)
{
    struct rig r;
    if (!rig_start(&r, WORDS("--deadline", "1"))) return;
    if (rig_session(&r)) {
        text t = {0};
        text_addf(&t, "POST /api/sessions/%s/classify HTTP/1.1\r\nHost: localhost:%u\r\nContent-Length: 5000\r\n\r\n",
                  r.session, r.port);
        EXPECT(is_cut_off(&r, "GET /api/health HTTP/1.1\r\nX-Slow: ", "drip", 300)); /* headers that never end */
        EXPECT(is_cut_off(&r, text_string(&t), "drip", 300));
        EXPECT(is_cut_off(&r, "", "\n", 300));
        text_free(&t);
        EXPECT_ANSWER(GET(&r, "/api/health"), 200, "\"ok\":true");
    }
    rig_stop(&r);
}

/* The start of a PNG of 50,000 x 50,000 pixels, as far as its header. */
static const char HUGE_PNG[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xc3\x50\0\0\xc3\x50\x08\x02\0\0\0\0\0\0\0";
static const char BOMB_PPM[] = "P6\n# large\n40000 40000 255\n";

TEST(serve_refuses_what_is_no_picture_or_too_many_pixels)
{
    struct rig r;
    if (!rig_start(&r, NULL)) return;
    struct sample_file bomb = bomb_webp(16383, 16383, 10 << 10), small = bomb_webp(60, 40, 10 << 10);
    if (rig_session(&r)) {
        EXPECT_ANSWER(rig_ask(&r, "POST", ADD, "hello", 5), 422, "'x.jpg' is no picture that can be read");
        EXPECT_ANSWER(rig_ask(&r, "POST", ADD, "", 0), 400, "'x.jpg' is empty");
        EXPECT_ANSWER(rig_ask(&r, "POST", ADD, HUGE_PNG, sizeof HUGE_PNG), 413, "50000 x 50000 pixels");
        EXPECT_ANSWER(rig_ask(&r, "POST", ADD, bomb.bytes, bomb.n), 413, "16383 x 16383 pixels");
        EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/classify", bomb.bytes, bomb.n), 413, "pixels");
        EXPECT_ANSWER(rig_ask(&r, "POST", ADD, BOMB_PPM, sizeof BOMB_PPM - 1), 413, "40000 x 40000 pixels");
        EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/classify", HUGE_PNG, sizeof HUGE_PNG), 413, "pixels");
        EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/pictures?name=x.jpg", "hello", 5), 400,
                      "'class' is missing");
        text half = rig_png(0, 1);
        EXPECT_ANSWER(rig_ask(&r, "POST", ADD, half.data, half.length / 2), 422, "x.jpg");
        text_free(&half);
        EXPECT_ANSWER(GET(&r, "/api/sessions/%s"), 200, "\"classes\":[]");
        EXPECT_ANSWER(rig_ask(&r, "POST", ADD, small.bytes, small.n), 200,
                      ""); /* it lives, and reads the bomb's kind */
    }
    rig_stop(&r);
    free(bomb.bytes);
    free(small.bytes);
}

TEST(serve_survives_clients_that_hang_up)
{
    struct rig r;
    if (!rig_start(&r, NULL)) return;
    static const char *const starts[] = {"", "G", "GET / HTTP/1.1\r\n",
                                         "POST /api/sessions HTTP/1.1\r\nHost: localhost\r\n",
                                         "\x16\x03\x01 not HTTP at all \xff\xff\r\n\r\n"};
    if (rig_session(&r) && rig_fill(&r, 2, 1)) {
        text q = rig_png(0, 9), t = {0};
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
            const int s = rig_connect(&r);
            rig_send(s, starts[i], strlen(starts[i]));
            close(s);
        }
        text_addf(&t, "POST /api/sessions/%s/classify HTTP/1.1\r\nHost: localhost:%u\r\nContent-Length: %zu\r\n\r\n",
                  r.session, r.port, q.length);
        text_add_bytes(&t, q.data, q.length);
        for (size_t i = 0; i < 8; i++) { /* gone before the answer */
            const int s = rig_connect(&r);
            rig_send(s, t.data, t.length);
            close(s);
        }
        EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/classify", q.data, q.length), 200, "kind 0");
        text_free(&q);
        text_free(&t);
    }
    rig_stop(&r);
}

TEST(serve_holds_the_limits_of_classes_and_pictures)
{
    struct rig r;
    if (!rig_start(&r, WORDS("--max-classes", "2", "--max-pictures", "2"))) return;
    text png = rig_png(0, 1);
    if (rig_session(&r) && rig_fill(&r, 2, 2)) {
        EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/pictures?class=third", png.data, png.length), 409,
                      "there are 2 classes; no more are allowed");
        EXPECT_ANSWER(rig_ask(&r, "POST", "/api/sessions/%s/pictures?class=kind+1", png.data, png.length), 409,
                      "'kind 1' has 2 pictures and would get 1 more; 2 are the most");
    }
    text_free(&png);
    rig_stop(&r);
}
