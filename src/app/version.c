/* version.c - centra version: what was built, and what it found on this machine. */
#include "app/library.h"
#include "app/table.h"
#include "app/terminal.h"
#include "base/json.h"

#ifndef CENTRA_BUILD_TYPE /* given by the build */
#ifdef __OPTIMIZE__
#define CENTRA_BUILD_TYPE "optimised"
#else
#define CENTRA_BUILD_TYPE "unoptimised"
#endif
#endif

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* The devices that a session can be opened on, separated by blanks. One that is not there is no failure; too little memory is. */
static status find_devices(const struct call *c, text *to)
{
    for (const char *const *name = device_names; *name; name++) {
        struct call asked = *c;
        centra_session *session = NULL;
        asked.common.device = *name;
        const status st = session_open(&asked, &session);
        if (st == ST_MEMORY) return st;
        if (st != OK) continue;
        text_addf(to, "%s%s", to->length ? " " : "", centra_session_device(session));
        centra_session_close(session);
    }
    return OK;
}

static void add_json(text *to, const char *const (*facts)[2], size_t count, size_t threads)
{
    struct json_writer w;
    json_begin(&w, to, true);
    json_object(&w);
    for (size_t i = 0; i < count; i++) {
        json_key(&w, facts[i][0]);
        json_string(&w, facts[i][1]);
    }
    json_key(&w, "threads");
    json_int(&w, (int64_t)threads);
    json_object_end(&w);
    text_add(to, "\n");
}

static void add_table(text *to, const char *const (*facts)[2], size_t count, size_t threads)
{
    struct table table = {.align = "ll"};
    text_addf(to, "centra %s\n", facts[0][1]);
    for (size_t i = 1; i < count; i++) {
        table_cell(&table, "%s", facts[i][0]);
        table_cell(&table, "%s", facts[i][1]);
    }
    table_cell(&table, "threads");
    table_cell(&table, "%zu", threads);
    table_write(&table, 2, to);
}

static status version_run(const struct call *c)
{
    centra_session *session = NULL;
    text t = {0}, devices = {0};
    status st = session_open(c, &session);
    if (st != OK) return st;
    st = find_devices(c, &devices);
    const char *const facts[][2] = {
        {"version", centra_version()},      {"compiler", COMPILER},
        {"build", CENTRA_BUILD_TYPE},       {"isa", centra_session_isa(session)},
        {"devices", text_string(&devices)},
    };
    (c->common.json ? add_json : add_table)(&t, facts, sizeof facts / sizeof *facts, centra_session_threads(session));
    text_free(&devices);
    centra_session_close(session);
    const status told = put(&t);
    return st != OK ? st : told;
}

const struct command version_command = {
    .name = "version",
    .title = "says what was built and what it found on this machine",
    .run = version_run,
    .examples = {{"centra version", "version, compiler, instruction set, threads, devices"},
                 {"centra version --json", "the same as one JSON object"}},
};
