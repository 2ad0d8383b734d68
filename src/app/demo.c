/* demo.c - centra demo: the whole story on built-in pictures, in minutes.
 *
 * A Conv-4 is trained twice on the synthetic set, with proto, which averages a picture's features, and with mcl-katz, which
 * compares them one by one. Both are tested on classes that they have never seen, four heads on the same episodes. */
#include "app/demo.h"
#include "app/eval.h"
#include "app/library.h"
#include "app/progress.h"
#include "app/recipes.h"
#include "app/table.h"
#include "app/terminal.h"
#include "base/json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const run_heads[DEMO_RUNS] = {"proto", "mcl-katz"};
/* Heads that each network is tested with; the first of all is what the others are compared with. */
static const centra_eval_head tested[DEMO_RUNS][3] = {
    {{.name = "proto"}}, {{.name = "unidirectional"}, {.name = "mcl"}, {.name = "mcl-katz"}}};
static const size_t tested_count[DEMO_RUNS] = {1, 3};

/* Training */

struct training {
    struct progress line;
    struct demo_run *run;
};

static int on_step(void *context, const centra_train_progress *p)
{
    struct training *t = context;
    struct demo_run *r = t->run;
    if (p->phase == CENTRA_TRAIN_EPOCH && r->epochs < r->room) {
        r->loss[r->epochs] = (struct chart_point){(double)p->epoch, p->loss, 0, false};
        for (size_t i = 0; p->best && i < r->epochs; i++) r->validation[i].marked = false;
        r->validation[r->epochs] = (struct chart_point){(double)p->epoch, p->validated ? p->validation : NAN,
                                                        p->validation_ci95, p->best != 0};
        r->epochs++;
        r->seconds = p->seconds;
    }
    return progress_of_training(&t->line, p);
}

static void on_warning(void *context, const char *line) { progress_warning(&((struct training *)context)->line, line); }

static status train(struct demo *d, struct demo_run *r, const char *recipe)
{
    const struct demo_settings *s = d->call->settings;
    struct training t = {progress_begin(d->call), r};
    centra_train_result result;
    char head[64], epochs[64], seed[64];
    const char *overrides[DEMO_MOST_SETTINGS + 3] = {head, epochs, seed};
    const size_t more = d->call->text_count < DEMO_MOST_SETTINGS ? d->call->text_count : DEMO_MOST_SETTINGS;
    snprintf(head, sizeof head, "head.name=%s", r->head);
    snprintf(epochs, sizeof epochs, "train.epochs=%jd", (intmax_t)s->epochs);
    snprintf(seed, sizeof seed, "train.seed=%jd", (intmax_t)d->call->common.seed);
    for (size_t i = 0; i < more; i++) overrides[3 + i] = d->call->texts[i];
    const centra_train_options o = {.recipe = recipe,
                                    .stage = "episodic",
                                    .overrides = overrides,
                                    .override_count = 3 + more,
                                    .data = text_string(&d->data),
                                    .out = text_string(&r->folder),
                                    .force = 1,
                                    .progress = on_step,
                                    .warning = on_warning,
                                    .context = &t};
    progress_say(&t.line, "training a Conv-4 with %s", r->head);
    const status st = library(centra_train(d->session, &o, &result));
    progress_wipe(&t.line);
    interrupt_release(); /* ends with 130 after Ctrl-C */
    return st;
}

static status run_begin(struct demo *d, struct demo_run *r, const char *head)
{
    const struct demo_settings *s = d->call->settings;
    r->head = head;
    r->room = (size_t)s->epochs;
    r->loss = calloc(r->room, sizeof *r->loss);
    r->validation = calloc(r->room, sizeof *r->validation);
    text_addf(&r->folder, "%s/%s", s->out, head);
    if (r->loss && r->validation && text_status(&r->folder) == OK) return OK;
    return fail(ST_MEMORY, "no memory for the demonstration");
}

/* Testing */

static status test(struct demo *d, size_t run)
{
    const struct demo_settings *s = d->call->settings;
    struct progress line = progress_begin(d->call);
    const centra_eval_options o = {.weights = text_string(&d->run[run].folder),
                                   .heads = tested[run],
                                   .head_count = tested_count[run],
                                   .data = text_string(&d->data),
                                   .split = "test",
                                   .way = DEMO_WAY,
                                   .shot = DEMO_SHOT,
                                   .query = DEMO_QUERY,
                                   .episodes = (size_t)s->episodes,
                                   .seed = (uint64_t)d->call->common.seed,
                                   .warn = progress_warning,
                                   .progress = progress_of_evaluation,
                                   .context = &line};
    const status st = library(centra_eval_run(d->session, &o, &d->run[run].eval));
    progress_wipe(&line);
    return st;
}

/* Both networks play the same episodes, so differences are taken episode by episode. */
static status compare(struct demo *d)
{
    const struct demo_settings *s = d->call->settings;
    size_t n = 0;
    centra_eval_row first = {0}, row;
    for (size_t i = 0; i < DEMO_RUNS; i++)
        for (size_t h = 0; h < tested_count[i]; h++, n++) {
            struct demo_row *r = &d->row[n];
            const status st = library(centra_eval_head_row(d->run[i].eval, h, &row));
            if (st != OK) return st;
            if (n == 0) first = row;
            *r = (struct demo_row){.run = &d->run[i], .head = h};
            centra_eval_paired(row.episodes, first.episodes, (size_t)s->episodes, &r->difference, &r->difference_ci95);
        }
    return OK;
}

/* Showing */

static void add_table(const struct demo *d, text *to)
{
    struct table t = {.align = "llrr"};
    table_cell(&t, "head");
    table_cell(&t, "network trained with");
    table_cell(&t, "accuracy");
    table_cell(&t, "against proto");
    for (size_t i = 0; i < DEMO_ROWS; i++) {
        const struct demo_row *r = &d->row[i];
        centra_eval_row row;
        if (centra_eval_head_row(r->run->eval, r->head, &row) != CENTRA_OK) continue;
        table_cell(&t, "%s", row.head);
        table_cell(&t, "%s", r->run->head);
        table_cell(&t, "%.2f +- %.2f", row.accuracy, row.ci95);
        if (i == 0) table_cell(&t, "-");
        else table_cell(&t, "%+.2f +- %.2f", r->difference, r->difference_ci95);
    }
    table_write(&t, 2, to);
}

static status show_words(const struct demo *d)
{
    const struct demo_settings *s = d->call->settings;
    text t = {0};
    text_addf(&t,
              "%jd episodes on classes that no network has seen: %d classes, %d known picture of each, %d to be told\n"
              "apart; chance is %d %%. Accuracies in percent, with 95 %% intervals:\n\n",
              (intmax_t)s->episodes, DEMO_WAY, DEMO_SHOT, DEMO_QUERY, 100 / DEMO_WAY);
    add_table(d, &t);
    text_addf(&t, "\n%s/report.html shows the curves, sample episodes and where the mutual head looks.\n", s->out);
    return put(&t);
}

static status show_json(const struct demo *d)
{
    struct json_writer w;
    text t = {0};
    json_begin(&w, &t, true);
    json_array(&w);
    for (size_t i = 0; i < DEMO_ROWS; i++) {
        const struct eval_paired paired = {run_heads[0], d->row[i].difference, d->row[i].difference_ci95};
        eval_json_row(&w, d->session, d->row[i].run->eval, d->row[i].head, i ? &paired : NULL);
    }
    json_array_end(&w);
    text_add(&t, "\n");
    return put(&t);
}

static void demo_free(struct demo *d)
{
    for (size_t i = 0; i < DEMO_RUNS; i++) {
        centra_eval_free(d->run[i].eval);
        free(d->run[i].loss);
        free(d->run[i].validation);
        text_free(&d->run[i].folder);
    }
    text_free(&d->data);
    centra_session_close(d->session);
}

static status demo_run(const struct call *c)
{
    const struct demo_settings *s = c->settings;
    struct demo d = {.call = c};
    text recipe = {0}, page = {0};
    status st = OK;
    TRY(recipe_path("demo-conv4", &recipe));
    TRY(session_open(c, &d.session));
    if (c->text_count > DEMO_MOST_SETTINGS) TRY(fail(ST_USAGE, "--set can be given %d times", DEMO_MOST_SETTINGS));
    if (s->data) text_add(&d.data, s->data);
    else text_addf(&d.data, "synth:%jd", (intmax_t)c->common.seed);
    text_addf(&page, "%s/report.html", s->out);
    for (size_t i = 0; i < DEMO_RUNS; i++) TRY(run_begin(&d, &d.run[i], run_heads[i]));
    for (size_t i = 0; i < DEMO_RUNS; i++) TRY(train(&d, &d.run[i], text_string(&recipe)));
    for (size_t i = 0; i < DEMO_RUNS; i++) TRY(test(&d, i));
    TRY(compare(&d));
    TRY(demo_report(&d, text_string(&page)));
    TRY(c->common.json ? show_json(&d) : show_words(&d));
done:
    demo_free(&d);
    text_free(&recipe);
    text_free(&page);
    return st;
}

static const struct option demo_options[] = {
    OPT_FILE(struct demo_settings, out, "out", "centra-demo", "the folder for both runs and report.html; replaced"),
    OPT_FILE(struct demo_settings, data, "data", NULL,
             "other pictures to learn and to test on (default: those made from the seed, synth:SEED)"),
    OPT_TEXTS(struct demo_settings, set, "set", "KEY=VALUE", "another value for a key of the recipe demo-conv4"),
    OPT_INT(struct demo_settings, episodes, "episodes", 2000, 2, 1000000, "episodes to test on"),
    OPT_INT(struct demo_settings, epochs, "epochs", 12, 1, 1000, "epochs to train for, each about five seconds"),
    OPT_END};

static const char *const demo_details[] = {
    "Makes pictures in which a class is a small pattern among clutter, trains a Conv-4 on them with proto, which "
    "averages "
    "a picture's features, and with mcl-katz, which compares them one by one in both directions, and tests both on "
    "classes that they have not seen.",
    "Everything follows from --seed. With --json the result is an array with one object a head, like that of centra "
    "eval.",
    NULL};

const struct command demo_command = {
    .name = "demo",
    .title = "shows what it is about: trains and compares heads on built-in pictures",
    .options = demo_options,
    .settings_bytes = sizeof(struct demo_settings),
    .details = demo_details,
    .run = demo_run,
    .examples = {{"centra demo", "trains twice, compares four heads, writes a page"},
                 {"centra demo --seed 7 --json", "other pictures, the result as JSON"}},
};
