/* rig.c - a server that a test started, and a client of plain sockets. */
#include "tests/serve/rig.h"
#include "tests/api/own.h"
#include "tests/app/program.h"
#include "tests/test.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef CENTRA_HAVE_SERVE
enum { HAVE_SERVER = 1 };
#else
enum { HAVE_SERVER = 0 };
#endif

enum { MOST_WORDS = 24, PATIENCE_SECONDS = 120 };

static bool read_address(struct rig *r)
{
    char line[128] = "";
    size_t n = 0;
    while (n + 1 < sizeof line && read(r->from, line + n, 1) == 1 && line[n] != '\n') n++;
    line[n] = '\0';
    return sscanf(line, "http://127.0.0.1:%u/", &r->port) == 1;
}

bool rig_start(struct rig *r, const char *const *words)
{
    const char *all[MOST_WORDS + 1] = {"serve",     "--port", "0",       "--quiet",
                                       "--threads", "1",      "--model", own_model_path()};
    size_t n = 8;
    *r = (struct rig){.process = -1};
    if (!HAVE_SERVER) {
        test_skip("this build has no server: libmicrohttpd was not there");
        return false;
    }
    /* a sanitizer looks into the process at its end, and counts of lines run are written to files then */
    if (UNDER_ASAN || UNDER_TSAN || getenv("CENTRA_TEST_NO_SANDBOX")) all[n++] = "--sandbox", all[n++] = "off";
    while (words && *words && n < MOST_WORDS) all[n++] = *words++;
    setenv("TSAN_OPTIONS", "halt_on_error=1", 0); /* a race in the server ends it, which rig_stop notices */
    signal(SIGPIPE, SIG_IGN);                     /* a server that hangs up is an answer too */
    r->process = program_start(&r->to, &r->from, all);
    if (r->process > 0 && read_address(r)) return true;
    test_failed(__FILE__, __LINE__, "the server did not start");
    return false;
}

void rig_stop(struct rig *r)
{
    int how = 0;
    if (r->process <= 0) return;
    EXPECT(kill(r->process, SIGTERM) == 0);
    EXPECT(waitpid(r->process, &how, 0) == r->process);
    EXPECT(WIFEXITED(how));
    EXPECT_INT(WEXITSTATUS(how), 130);
    close(r->to);
    close(r->from);
}

bool rig_session(struct rig *r)
{
    struct got a = POST(r, "/api/sessions");
    const char *id = strstr(a.body, "\"session\":\"");
    const bool good = a.code == 201 && id && sscanf(id + 11, "%32[0-9a-f]", r->session) == 1;
    if (!good) test_failed(__FILE__, __LINE__, "no session, but %d: %s", a.code, a.body);
    reply_drop(&a);
    return good;
}

int rig_connect(const struct rig *r)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)r->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0) return -1;
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(s, (const struct sockaddr *)&to, sizeof to) == 0) return s;
    close(s);
    return -1;
}

bool rig_send(int socket, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n > 0) {
        const ssize_t sent = send(socket, at, n, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

struct got rig_receive(int socket)
{
    struct got a = {0};
    text all = {0};
    char piece[4096];
    ssize_t n;
    while ((n = recv(socket, piece, sizeof piece, 0)) > 0) text_add_bytes(&all, piece, (size_t)n);
    const char *end = strstr(text_string(&all), "\r\n\r\n");
    if (end && sscanf(all.data, "HTTP/1.1 %d", &a.code) == 1) {
        const size_t head = (size_t)(end - all.data) + 4;
        a.bytes = all.length - head;
        a.head = strndup(all.data, head);
        a.body = malloc(a.bytes + 1);
        if (a.body) memcpy(a.body, all.data + head, a.bytes + 1);
    }
    if (!a.head) a.head = calloc(1, 1);
    if (!a.body) a.body = calloc(1, 1);
    text_free(&all);
    return a;
}

static void add_path(text *to, const struct rig *r, const char *path)
{
    const char *hole = strstr(path, "%s");
    if (!hole) {
        text_add(to, path);
        return;
    }
    text_add_bytes(to, path, (size_t)(hole - path));
    text_add(to, r->session);
    text_add(to, hole + 2);
}

struct got rig_ask_with(const struct rig *r, const char *headers, const char *method, const char *path,
                        const void *body, size_t bytes)
{
    text t = {0};
    text_addf(&t, "%s ", method);
    add_path(&t, r, path);
    text_add(&t, " HTTP/1.1\r\n");
    if (!strstr(headers, "Host:")) text_addf(&t, "Host: 127.0.0.1:%u\r\n", r->port);
    text_addf(&t, "%sConnection: close\r\n", headers);
    if (body || strcmp(method, "GET")) text_addf(&t, "Content-Length: %zu\r\n", bytes);
    text_add(&t, "\r\n");
    const int s = rig_connect(r);
    if (s >= 0 && rig_send(s, t.data, t.length) && bytes) rig_send(s, body, bytes);
    text_free(&t);
    const struct got a = rig_receive(s);
    if (s >= 0) close(s);
    return a;
}

struct got rig_ask(const struct rig *r, const char *method, const char *path, const void *body, size_t bytes)
{
    return rig_ask_with(r, "", method, path, body, bytes);
}

void reply_drop(struct got *a)
{
    free(a->head);
    free(a->body);
    *a = (struct got){0};
}

void rig_expect(const char *file, int line, struct got a, int code, const char *words)
{
    if (a.code != code) test_failed(file, line, "the answer is %d, wanted %d: %s", a.code, code, a.body);
    if (!strstr(a.body, words) && !strstr(a.head, words))
        test_failed(file, line, "the answer has no '%s': %s%s", words, a.head, a.body);
    reply_drop(&a);
}

text rig_png(size_t kind, unsigned long seed)
{
    text t = {0};
    unsigned char *png = NULL;
    size_t bytes = 0;
    centra_picture p = own_picture(kind, seed, 120, 90);
    if (centra_picture_png(&p, &png, &bytes) == CENTRA_OK) text_add_bytes(&t, png, bytes);
    centra_free(png);
    centra_picture_free(&p);
    return t;
}

bool rig_fill(const struct rig *r, size_t kinds, size_t each)
{
    bool good = true;
    for (size_t i = 0; i < kinds * each && good; i++) {
        char path[160];
        text png = rig_png(i / each, 1 + i % each);
        snprintf(path, sizeof path, "/api/sessions/%s/pictures?class=kind%%20%zu&name=%zu.png", r->session, i / each,
                 i % each);
        struct got a = rig_ask(r, "POST", path, png.data, png.length);
        good = a.code == 200;
        if (!good) test_failed(__FILE__, __LINE__, "a picture was refused with %d: %s", a.code, a.body);
        reply_drop(&a);
        text_free(&png);
    }
    return good;
}
