/* reproduce_run.c - one row: its model, trained here or taken from elsewhere, the test, the record.
 *
 * Nothing is kept about how far a row is but what its run's folder and its record show: training goes on from its last
 * checkpoint, the test begins anew, and a row that has a record is finished. So it may be killed at any time. */
#include "app/build.h"
#include "app/library.h"
#include "app/recipes.h"
#include "app/record_log.h"
#include "app/reproduce.h"
#include "app/terminal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/plain.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char BEST[] = "best.safetensors", LOG[] = "metrics.jsonl";

/* Settings as words */

struct words {
    char *bytes; /* owned */
    char **word; /* owned: into `bytes` */
    size_t count;
};

static void words_free(struct words *w)
{
    free(w->bytes);
    free(w->word);
    *w = (struct words){0};
}

static status words_of(const char *settings, struct words *out)
{
    struct words w = {.bytes = strdup(settings), .word = calloc(strlen(settings) + 1, sizeof *w.word)};
    if (!w.bytes || !w.word) {
        words_free(&w);
        return fail(ST_MEMORY, "no memory for the settings of a row");
    }
    char *rest = NULL;
    for (char *s = strtok_r(w.bytes, " ", &rest); s; s = strtok_r(NULL, " ", &rest)) w.word[w.count++] = s;
    *out = w;
    return OK;
}

/* Training */

static status ensure_model(struct reproduction *p, const char *name, int64_t seed, text *folder);

/* Whether --set names other weights to begin with than those of the row's start. */
static bool sets_weights(const struct call *c)
{
    for (size_t i = 0; i < c->text_count; i++)
        if (!strncmp(c->texts[i], "net.weights=", 12)) return true;
    return false;
}

/* Trains the row, or goes on with it, in `folder`; one that is trained already is left as it is. */
static status run_training(struct reproduction *p, const char *const *overrides, size_t count, const char *recipe,
                           const char *data, const char *folder, bool force)
{
    text file = {0};
    centra_train_result result = {0};
    text_addf(&file, "%s/recipe.txt", folder);
    const bool goes_on = file_exists(text_string(&file)) && !force;
    const centra_train_options o = {.recipe = recipe,
                                    .overrides = overrides,
                                    .override_count = count,
                                    .data = data,
                                    .out = folder,
                                    .resume = goes_on,
                                    .force = force,
                                    .progress = progress_of_training,
                                    .warning = progress_warning,
                                    .context = &p->progress};
    text_free(&file);
    progress_say(&p->progress, "training %s in %s", goes_on ? "goes on" : "begins", folder);
    const status st = library(centra_train(p->session, &o, &result));
    progress_wipe(&p->progress);
    if (st == OK && result.stopped) progress_say(&p->progress, "stopped and saved; the same command goes on");
    interrupt_release(); /* ends with 130 after Ctrl-C or SIGTERM */
    return st;
}

static status train(struct reproduction *p, const struct row_at *at, int64_t seed, bool own, const char *folder)
{
    const struct call *c = p->call;
    struct words words = {0};
    text recipe = {0}, data = {0}, head = {0}, start = {0}, number = {0};
    const char **overrides = NULL;
    size_t n = 0;
    status st = OK;
    TRY(recipe_path(at->block->recipe, &recipe));
    TRY(reproduce_data(p, at->block->train, &data));
    TRY(words_of(at->row->settings, &words));
    overrides = calloc(words.count + c->text_count + 3, sizeof *overrides);
    if (!overrides) TRY(fail(ST_MEMORY, "no memory for the settings of a row"));
    if (at->block->start && !(own && sets_weights(c))) {
        text_add(&start, "net.weights=");
        TRY(ensure_model(p, at->block->start, 1, &start));
        overrides[n++] = text_string(&start);
    }
    text_addf(&head, "head.name=%s", at->row->head);
    text_addf(&number, "train.seed=%jd", (intmax_t)seed);
    overrides[n++] = text_string(&head);
    overrides[n++] = text_string(&number);
    for (size_t i = 0; i < words.count; i++) overrides[n++] = words.word[i];
    for (size_t i = 0; own && i < c->text_count; i++) overrides[n++] = c->texts[i];
    TRY(run_training(p, overrides, n, text_string(&recipe), text_string(&data), folder, own && p->settings->again));
done:
    free(overrides);
    words_free(&words);
    text_free(&recipe), text_free(&data), text_free(&head);
    text_free(&start), text_free(&number);
    return st;
}

/* The lock of a row, beside its folder. */
static status lock_row(struct reproduction *p, const char *folder, int *lock)
{
    status st = OK;
    text path = {0};
    text_add_bytes(&path, folder, (size_t)(strrchr(folder, '/') - folder));
    TRY(text_status(&path));
    TRY(folder_make(text_string(&path)));
    text_clear(&path);
    text_addf(&path, "%s.lock", folder);
    TRY(text_status(&path));
    TRY(reproduce_lock(p, text_string(&path), lock));
done:
    text_free(&path);
    return st;
}

/* Adds the file of weights of another row, which is trained first where it is not yet. */
static status ensure_model(struct reproduction *p, const char *name, int64_t seed, text *to)
{
    status st = OK;
    int lock = -1;
    struct row_at at = {0};
    text folder = {0};
    TRY(row_find(name, &at));
    reproduce_folder(p, &at, seed, false, &folder);
    TRY(text_status(&folder));
    TRY(lock_row(p, text_string(&folder), &lock));
    TRY(train(p, &at, seed, false, text_string(&folder)));
    text_addf(to, "%s/%s", text_string(&folder), BEST);
    TRY(text_status(to));
done:
    if (lock >= 0) close(lock);
    text_free(&folder);
    return st;
}

/* The model of a row: a file of weights, where it came from (NULL: this row), its log (empty: none), and its place among
 * the runs. */
struct model {
    text weights, log, shown;
    const char *from;
    bool trained; /* by this row */
};

static void model_free(struct model *m) { text_free(&m->weights), text_free(&m->log), text_free(&m->shown); }

static void given_model(const char *given, struct model *m)
{
    const char *slash = strrchr(given, '/');
    text_addf(&m->weights, "%s/%s", given, BEST);
    text_addf(&m->log, "%s/%s", given, LOG);
    if (!file_exists(text_string(&m->log))) text_clear(&m->log);
    if (!file_exists(text_string(&m->weights))) {
        text_clear(&m->weights);
        text_add(&m->weights, given);
    }
    m->from = slash && slash[1] ? slash + 1 : given;
}

static status find_model(struct reproduction *p, const struct row_at *at, const char *folder, struct model *m)
{
    const int64_t seed = p->call->common.seed;
    const struct row *r = at->row;
    status st = OK;
    if (p->settings->weights) given_model(p->settings->weights, m);
    else if (r->from) TRY(ensure_model(p, m->from = r->from, seed, &m->weights));
    else if (!at->block->recipe) TRY(ensure_model(p, m->from = at->block->start, 1, &m->weights));
    else {
        m->trained = true;
        TRY(train(p, at, seed, true, folder));
        text_addf(&m->weights, "%s/%s", folder, BEST);
        text_addf(&m->log, "%s/%s", folder, LOG);
        text_addf(&m->shown, "%s/%s", folder + strlen(p->settings->out) + 1, LOG);
    }
    TRY(text_status(&m->weights));
done:
    return st;
}

/* The test */

/* A setting of the head as an option, cut in place; others are passed over. */
static void take_head_option(char *setting, centra_option *out, size_t *count)
{
    char *equals = strchr(setting, '=');
    if (strncmp(setting, "head.", 5) || !equals || !strncmp(setting, "head.name=", 10)) return;
    *equals = '\0';
    out[(*count)++] = (centra_option){setting + 5, equals + 1};
}

static status test(struct reproduction *p, const struct row_at *at, const struct model *m, centra_eval **out)
{
    const struct call *c = p->call;
    struct words words = {0};
    text data = {0}, settings = {0};
    centra_option *options = NULL;
    size_t n = 0;
    status st = OK;
    text_add(&settings, at->row->settings);
    text_add(&settings, " ");
    reproduce_more(c, &settings);
    TRY(text_status(&settings));
    TRY(reproduce_data(p, at->block->test, &data));
    TRY(words_of(text_string(&settings), &words));
    options = calloc(words.count + 1, sizeof *options);
    if (!options) TRY(fail(ST_MEMORY, "no memory for the settings of a head"));
    for (size_t i = 0; i < words.count; i++) take_head_option(words.word[i], options, &n);
    const centra_eval_head head = {at->row->head, options, n};
    const bool own = m->trained || !at->row->head; /* as the weights say */
    const centra_eval_options o = {.weights = text_string(&m->weights),
                                   .heads = own ? NULL : &head,
                                   .head_count = own ? 0 : 1,
                                   .data = text_string(&data),
                                   .split = "test",
                                   .way = REPRODUCE_WAY,
                                   .shot = at->block->shot,
                                   .query = REPRODUCE_QUERY,
                                   .episodes = at->block->episodes,
                                   .seed = REPRODUCE_TEST_SEED,
                                   .strict = 1,
                                   .warn = progress_warning,
                                   .progress = progress_of_evaluation,
                                   .context = &p->progress};
    st = library(centra_eval_run(p->session, &o, out));
    progress_wipe(&p->progress);
done:
    free(options);
    words_free(&words);
    text_free(&data);
    text_free(&settings);
    return st;
}

/* The record */

static status keep(struct reproduction *p, const char *s, const char **out)
{
    void *kept = NULL;
    const size_t bytes = strlen(s) + 1;
    const status st = arena_take(p->memory, bytes, 1, &kept);
    if (st == OK) *out = memcpy(kept, s, bytes);
    return st;
}

static status keep_text(struct reproduction *p, text *t, const char **out)
{
    status st = text_status(t);
    if (st == OK) st = keep(p, text_string(t), out);
    text_free(t);
    return st;
}

static status fill_names(struct reproduction *p, const struct row_at *at, const struct model *m, struct record *r)
{
    status st = OK;
    char day[32] = "";
    const time_t now = time(NULL);
    struct tm date;
    text name = {0}, settings = {0}, more = {0}, machine = {0};
    row_name(at, &name);
    if (m->trained) text_addf(&settings, "head.name=%s%s", at->row->head, *at->row->settings ? " " : "");
    text_add(&settings, at->row->settings);
    reproduce_more(p->call, &more);
    if (p->settings->machine) text_add(&machine, p->settings->machine);
    else reproduce_machine(centra_session_device(p->session), &machine);
    if (gmtime_r(&now, &date)) strftime(day, sizeof day, "%Y-%m-%d", &date);
    st = keep_text(p, &name, &r->row);
    if (keep_text(p, &settings, &r->settings) != OK || keep_text(p, &more, &r->more) != OK ||
        keep_text(p, &machine, &r->machine) != OK)
        st = ST_MEMORY;
    if (st != OK) return st;
    TRY(keep(p, day, &r->date));
    TRY(keep(p, centra_session_device(p->session), &r->device));
    TRY(keep(p, centra_session_maths(p->session), &r->maths));
    if (m->from) TRY(keep(p, m->from, &r->weights_from));
    if (m->shown.length) TRY(keep(p, text_string(&m->shown), &r->log));
    r->recipe = m->trained ? at->block->recipe : NULL;
    r->commit = build_commit;
    r->version = centra_version();
done:
    return st;
}

static status fill_test(struct reproduction *p, const centra_eval *e, struct record *r)
{
    centra_eval_summary s;
    centra_eval_row row = {0};
    status st = OK;
    centra_eval_summarise(e, &s);
    TRY(library(centra_eval_head_row(e, 0, &row)));
    TRY(keep(p, s.data_fingerprint, &r->test_data));
    r->way = (int64_t)s.way;
    r->shot = (int64_t)s.shot;
    r->query = (int64_t)s.query;
    r->episodes = (int64_t)s.episodes;
    r->test_seed = (int64_t)s.seed;
    r->accuracy = row.accuracy;
    r->ci95 = row.ci95;
done:
    return st;
}

static status run(struct reproduction *p, const struct row_at *at, const char *folder, struct record *r)
{
    struct model m = {0};
    centra_eval *e = NULL;
    status st = OK;
    if (!p->session) TRY(session_open(p->call, &p->session));
    *r = (struct record){.schema = RECORD_SCHEMA, .seed = p->call->common.seed};
    TRY(find_model(p, at, folder, &m));
    TRY(record_training(text_string(&m.weights), m.log.length ? text_string(&m.log) : NULL, p->memory, r));
    const uint64_t start = clock_ns();
    TRY(test(p, at, &m, &e));
    r->test_seconds = (double)(clock_ns() - start) / 1e9;
    TRY(fill_test(p, e, r));
    TRY(fill_names(p, at, &m, r));
done:
    centra_eval_free(e);
    model_free(&m);
    return st;
}

/* What a row that trains nothing cannot be told. */
static status check_settings(const struct reproduction *p, const struct row_at *at)
{
    const struct call *c = p->call;
    const bool trains = at->block->recipe && !at->row->from && !p->settings->weights;
    for (size_t i = 0; i < c->text_count && !trains; i++)
        if (strncmp(c->texts[i], "head.", 5))
            return fail(ST_USAGE, "--set %.60s: nothing is trained in %s/%s, so that only head.* can be set",
                        c->texts[i], at->block->name, at->row->method);
    return OK;
}

status reproduce_row(struct reproduction *p, const struct row_at *at, struct record *out)
{
    status st = OK;
    int lock = -1;
    text folder = {0}, path = {0};
    const int64_t seed = p->call->common.seed;
    TRY(check_settings(p, at));
    reproduce_folder(p, at, seed, true, &folder);
    reproduce_record_path(p, at, seed, &path);
    TRY(text_status(&folder));
    TRY(text_status(&path));
    TRY(lock_row(p, text_string(&folder), &lock));
    if (file_exists(text_string(&path)) && !p->settings->again) {
        TRY(record_read(text_string(&path), p->memory, out));
        progress_say(&p->progress, "%s is finished; --again makes it anew", out->row);
        goto done;
    }
    TRY(folder_make(text_string(&p->records)));
    /* The old record goes first, so that a row that is begun anew and killed goes on without --again. */
    if (unlink(text_string(&path)) && errno != ENOENT)
        TRY(fail(ST_IO, "cannot remove '%s': %s", text_string(&path), plain_strerror(errno)));
    TRY(run(p, at, text_string(&folder), out));
    TRY(record_write(text_string(&path), out));
done:
    if (lock >= 0) close(lock);
    text_free(&folder);
    text_free(&path);
    return st;
}
