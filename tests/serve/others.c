/* others.c - other sites cannot use the server: the rules, and that the server applies them. */
#include "serve/guard.h"
#include "tests/app/program.h"
#include "tests/serve/rig.h"
#include "tests/test.h"
#include <stdio.h>

TEST(guard_knows_its_own_names)
{
    const struct guard g = {.bound = "127.0.0.1", .port = 8080},
                       named = {.bound = "192.168.1.5", .name = "box.lan", .port = 8080};
    const struct guard everywhere = {.bound = "0.0.0.0", .port = 80};
    EXPECT(guard_host(&g, "127.0.0.1:8080") && guard_host(&g, "localhost:8080") && guard_host(&g, "[::1]:8080"));
    EXPECT(guard_host(&g, "LOCALHOST:8080") && guard_host(&g, "127.1.2.3:8080"));
    EXPECT(!guard_host(&g, NULL) && !guard_host(&g, "") && !guard_host(&g, ":8080"));
    EXPECT(!guard_host(&g, "127.0.0.1") && !guard_host(&g, "127.0.0.1:8081") && !guard_host(&g, "127.0.0.1:8080x"));
    EXPECT(!guard_host(&g, "evil.example:8080") && !guard_host(&g, "localhost.evil.example:8080"));
    EXPECT(!guard_host(&g, "127.0.0.1.evil.example:8080") && !guard_host(&g, "192.168.1.5:8080"));
    EXPECT(!guard_host(&g, "[::1:8080") && !guard_host(&g, "127.0.0.1:"));
    EXPECT(guard_host(&named, "192.168.1.5:8080") && guard_host(&named, "box.lan:8080"));
    EXPECT(!guard_host(&named, "192.168.1.6:8080"));
    EXPECT(guard_host(&everywhere, "192.168.1.6") && guard_host(&everywhere, "[fe80::1]:80"));
    EXPECT(!guard_host(&everywhere, "evil.example"));
}

TEST(guard_knows_its_own_origin)
{
    EXPECT(guard_origin(NULL, "localhost:8080") && guard_origin("http://localhost:8080", "localhost:8080"));
    EXPECT(!guard_origin("http://127.0.0.1:8080", "localhost:8080") && !guard_origin("null", "localhost:8080"));
    EXPECT(!guard_origin("https://localhost:8080", "localhost:8080"));
    EXPECT(!guard_origin("http://localhost:80801", "localhost:8080") && !guard_origin("", "localhost:8080"));
    EXPECT(guard_site(NULL) && guard_site("same-origin") && guard_site("none"));
    EXPECT(!guard_site("cross-site") && !guard_site("same-site"));
}

TEST(serve_refuses_other_sites)
{
    struct rig r;
    char own[64], fake[96];
    if (!rig_start(&r, NULL)) return;
    snprintf(own, sizeof own, "Origin: http://127.0.0.1:%u\r\n", r.port);
    snprintf(fake, sizeof fake, "Host: evil.example:%u\r\n", r.port);
    EXPECT_ANSWER(rig_ask_with(&r, own, "POST", "/api/sessions", NULL, 0), 201, "session");
    EXPECT_ANSWER(rig_ask_with(&r, fake, "GET", "/", NULL, 0), 403, "does not answer to the name");
    EXPECT_ANSWER(rig_ask_with(&r, "Origin: http://evil.example\r\n", "POST", "/api/sessions", NULL, 0), 403,
                  "other sites");
    EXPECT_ANSWER(rig_ask_with(&r, "Origin: null\r\n", "POST", "/api/sessions", NULL, 0), 403, "other sites");
    EXPECT_ANSWER(rig_ask_with(&r, "Sec-Fetch-Site: cross-site\r\n", "GET", "/api/model", NULL, 0), 403, "other sites");
    EXPECT_ANSWER(rig_ask_with(&r, "Sec-Fetch-Site: cross-site\r\n", "GET", "/", NULL, 0), 200, "Centra"); /* a link */
    EXPECT_ANSWER(GET(&r, "/api/health"), 200, "\"sessions\":1");
    rig_stop(&r);
}
