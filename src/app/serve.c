/* serve.c - centra serve: the page and the HTTP API, on this machine. */
#include "app/library.h"
#include "app/progress.h"
#include "app/terminal.h"
#include "base/json.h"
#include "serve/sandbox.h"
#include "serve/server.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct serve {
    const char *model, *support, *head, *host, *name;
    int sandbox; /* an index into sandbox_names */
    int64_t port, body, pixels, classes, pictures, sessions, connections, queue;
    double deadline, idle, unknown_below;
};

enum { SANDBOX_AUTO, SANDBOX_REQUIRE, SANDBOX_OFF };
static const char *const sandbox_names[] = {"auto", "require", "off", NULL};

#ifdef CENTRA_HAVE_SERVE

/* What the server needs and this command owns. */
struct backing {
    centra_session *session;
    centra_model *model;
    centra_classifier *classifier;
    unsigned char *pack; /* classes of --support */
    size_t pack_bytes;
};

static void backing_free(struct backing *b)
{
    centra_free(b->pack);
    centra_classifier_free(b->classifier);
    centra_model_close(b->model);
    centra_session_close(b->session);
}

/* A folder of class folders, or a pack, as a pack in memory: each new session begins with a copy. */
static status load_support(const struct call *c, struct backing *b)
{
    const struct serve *s = c->settings;
    struct progress p = progress_begin(c);
    const centra_data_watch watch = {.warning = progress_warning, .context = &p};
    centra_support *support = NULL;
    struct stat about;
    status st = OK;
    if (!stat(s->support, &about) && S_ISDIR(about.st_mode)) {
        TRY(library(centra_support_new(b->model, &support)));
        TRY(library(centra_support_add_folder(support, b->classifier, s->support, &watch, NULL)));
    } else {
        TRY(library(centra_support_open(b->model, s->support, &support)));
    }
    TRY(library(centra_support_write(support, &b->pack, &b->pack_bytes)));
    detail(c, "%zu classes from %s", centra_support_class_count(support), s->support);
done:
    progress_wipe(&p);
    centra_support_free(support);
    return st;
}

static status prepare(const struct call *c, struct backing *b)
{
    const struct serve *s = c->settings;
    status st = OK;
    const centra_classifier_options o = {
        .head = s->head, .head_options = c->head_options, .head_option_count = c->head_option_count};
    TRY(session_open(c, &b->session));
    TRY(library(centra_model_open(s->model, &b->model)));
    TRY(library(centra_classifier_new(b->session, b->model, &o, &b->classifier)));
    if (s->support) TRY(load_support(c, b));
done:
    return st;
}

static struct server_options options_of(const struct serve *s, const struct backing *b)
{
    return (struct server_options){.host = s->host,
                                   .port = (unsigned)s->port,
                                   .name = s->name,
                                   .limits = {.body_bytes = (size_t)s->body,
                                              .pixels = (size_t)s->pixels,
                                              .classes = (size_t)s->classes,
                                              .pictures = (size_t)s->pictures,
                                              .sessions = (size_t)s->sessions,
                                              .connections = (size_t)s->connections,
                                              .queue = (size_t)s->queue,
                                              .deadline = s->deadline,
                                              .idle = s->idle},
                                   .model = b->model,
                                   .classifier = b->classifier,
                                   .pack = b->pack,
                                   .pack_bytes = b->pack_bytes,
                                   .unknown_below = s->unknown_below};
}

static status say_address(const struct call *c, const char *address)
{
    struct json_writer w;
    text t = {0};
    if (c->common.json) {
        json_begin(&w, &t, false);
        json_object(&w);
        json_key(&w, "address"), json_string(&w, address);
        json_object_end(&w);
    } else {
        text_add(&t, address);
    }
    text_add(&t, "\n");
    const status st = put(&t);
    fflush(stdout);
    if (!c->common.quiet && !c->common.json)
        fprintf(stderr, "open this address in a browser; Ctrl-C ends the server\n");
    return st;
}

/* Any thread may get the signal, so that waiting for it would need all others to block it. */
static void wait_for_end(void)
{
    const struct timespec moment = {.tv_nsec = 100 * 1000 * 1000};
    while (!interrupt_pending()) nanosleep(&moment, NULL);
}

/* Tells, or refuses, that a part of the sandbox is missing. */
static status lacking(const struct call *c, const char *what, const char *why)
{
    const struct serve *s = c->settings;
    if (!why) return OK;
    if (s->sandbox == SANDBOX_REQUIRE) return fail(ST_UNSUPPORTED, "%s cannot be restricted: %s", what, why);
    if (!c->common.quiet) fprintf(stderr, "centra serve: warning: %s are not restricted: %s\n", what, why);
    return OK;
}

/* A server on the CPU has read all that it needs. A GPU's driver opens files and devices when it likes. */
static status give_up_files(const struct call *c, bool cpu)
{
    static const char *const readable[] = {"/"}, *const writable[] = {"/dev", "/tmp"};
    if (((const struct serve *)c->settings)->sandbox == SANDBOX_OFF) return OK;
    return lacking(c, "files", sandbox_files(readable, cpu ? 0 : 1, writable, cpu ? 0 : 2));
}

static status give_up_calls(const struct call *c, bool cpu)
{
    if (((const struct serve *)c->settings)->sandbox == SANDBOX_OFF) return OK;
    return lacking(c, "system calls", sandbox_calls(cpu));
}

static status serve_run(const struct call *c)
{
    const struct serve *s = c->settings;
    struct backing b = {0};
    struct server *server = NULL;
    status st = OK;
    TRY(prepare(c, &b));
    interrupt_hold();
    const struct server_options o = options_of(s, &b);
    const bool cpu = !strcmp(centra_session_device(b.session), "cpu");
    TRY(give_up_files(c, cpu)); /* before the threads that talk, which inherit it */
    TRY(server_start(&o, &server));
    TRY(give_up_calls(c, cpu));
    TRY(say_address(c, server_address(server)));
    wait_for_end();
done:
    server_stop(server);
    backing_free(&b);
    interrupt_release(); /* ends with 130 after Ctrl-C or SIGTERM */
    return st;
}

#else

static status serve_run(const struct call *c)
{
    (void)c;
    return fail(ST_UNSUPPORTED, "this build has no server: libmicrohttpd was not there when it was made");
}

#endif

static const struct option serve_options[] = {
    OPT_TEXT(struct serve, model, "model", NULL, "NAME|FILE",
             "another model than the default; centra models list shows them"),
    OPT_FILE(struct serve, support, "support", NULL,
             "classes that every new session begins with: a folder of class folders, or a pack"),
    OPT_TEXT(struct serve, head, "head", NULL, "NAME", "another head than the model's; centra list heads shows them"),
    OPT_TEXT(struct serve, host, "host", "127.0.0.1", "ADDRESS",
             "the address to listen on; others than 127.0.0.1 and ::1 let other machines in"),
    OPT_INT(struct serve, port, "port", 8080, 0, 65535, "the port to listen on, 0 for any that is free"),
    OPT_TEXT(struct serve, name, "name", NULL, "NAME", "a name that other machines call this one by"),
    OPT_NAME(struct serve, sandbox, "sandbox", SANDBOX_AUTO, sandbox_names,
             "give up files, programs and new connections after the start: where the system can, or not at all"),
    OPT_FLOAT(struct serve, unknown_below, "unknown-below", 0.05, 0, 1,
              "familiarity below which a picture is none of the classes"),
    OPT_INT(struct serve, body, "max-body", 33554432, 1024, 268435456, "most bytes of a request"),
    OPT_INT(struct serve, pixels, "max-pixels", 50000000, 1, 67108864, "most pixels of a picture"),
    OPT_INT(struct serve, classes, "max-classes", 100, 2, 10000, "most classes of a session"),
    OPT_INT(struct serve, pictures, "max-pictures", 200, 1, 100000, "most pictures of a class"),
    OPT_INT(struct serve, sessions, "max-sessions", 32, 1, 10000, "most sessions; the least recently used goes first"),
    OPT_INT(struct serve, connections, "max-connections", 64, 2, 900, "most connections at the same time"),
    OPT_INT(struct serve, queue, "max-queue", 64, 1, 900, "most requests that wait for their turn"),
    OPT_FLOAT(struct serve, deadline, "deadline", 60, 1, 86400,
              "seconds in which a request must have come, and its answer have gone"),
    OPT_FLOAT(struct serve, idle, "idle", 7200, 1, 31536000,
              "seconds after which a session without requests is forgotten"),
    OPT_END};

static const char *const serve_details[] = {
    "Shows a page on which classes are made from pictures, and new pictures are classified: with probabilities, \"none "
    "of "
    "these\", and maps and lines that say why. The pictures stay on this machine and are kept in memory only.",
    "Only this machine can reach it, unless --host says otherwise; there is no password and no encryption. What other "
    "sites "
    "make a browser ask is refused. docs/http-api.md describes what programs can ask.",
    NULL};

const struct command serve_command = {
    .name = "serve",
    .title = "shows a page that classifies your pictures, with reasons",
    .options = serve_options,
    .settings_bytes = sizeof(struct serve),
    .head_options = true,
    .details = serve_details,
    .run = serve_run,
    .examples = {{"centra serve", "an empty page at http://127.0.0.1:8080/"},
                 {"centra serve --support birds --port 0", "begins with the classes of a folder, on any free port"}},
};
