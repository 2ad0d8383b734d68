/* reproduce.c - centra reproduce: rows of the paper's tables, from recipe to test, and the page of what came out. */
#include "app/reproduce.h"
#include "app/results.h"
#include "app/table.h"
#include "app/terminal.h"
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

/* "79.61", or "-" for nothing. */
static void figure_cell(struct table *t, double figure)
{
    if (figure > 0) table_cell(t, "%.2f", figure);
    else table_cell(t, "-");
}

/* The list */

/* The record of a row with that seed and no other settings; NULL: none. */
static const struct record *find_record(const struct record_list *l, const struct row_at *at, int64_t seed)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->item[i].seed == seed && !*l->item[i].more && row_is(at, l->item[i].row)) return &l->item[i];
    return NULL;
}

static void json_figure(struct json_writer *w, const char *key, double v)
{
    json_key(w, key);
    if (v > 0) json_real(w, v);
    else json_null(w);
}

static void list_json(const struct record_list *l, int64_t seed, text *to)
{
    struct json_writer w;
    text name = {0};
    json_begin(&w, to, true);
    json_array(&w);
    for (const struct block *b = blocks; b->name; b++)
        for (const struct row *r = b->rows; r->method; r++) {
            const struct row_at at = {b, r};
            const struct record *done = find_record(l, &at, seed);
            text_clear(&name);
            row_name(&at, &name);
            json_object(&w);
            json_key(&w, "row"), json_string(&w, text_string(&name));
            json_key(&w, "block"), json_string(&w, b->name);
            json_figure(&w, "paper", r->paper);
            json_figure(&w, "reference", r->reference);
            json_figure(&w, "ours", done ? done->accuracy : 0);
            json_object_end(&w);
        }
    json_array_end(&w);
    text_add(to, "\n");
    text_free(&name);
}

static void list_table(const struct record_list *l, int64_t seed, text *to)
{
    for (const struct block *b = blocks; b->name; b++) {
        struct table t = {.align = "lrrr"};
        text_addf(to, "%s%s%s%s\n", b == blocks ? "" : "\n", b->title, b->table ? ", " : "", b->table ? b->table : "");
        table_cell(&t, "row"), table_cell(&t, "paper"), table_cell(&t, "reference"), table_cell(&t, "ours");
        for (const struct row *r = b->rows; r->method; r++) {
            const struct row_at at = {b, r};
            const struct record *done = find_record(l, &at, seed);
            table_cell(&t, "%s/%s", b->name, r->method);
            figure_cell(&t, r->paper);
            figure_cell(&t, r->reference);
            figure_cell(&t, done ? done->accuracy : 0);
        }
        table_write(&t, 2, to);
    }
}

static status show_list(struct reproduction *p)
{
    text t = {0};
    struct record_list l;
    const status st = records_read(text_string(&p->records), p->memory, &l);
    if (st != OK) return st;
    (p->call->common.json ? list_json : list_table)(&l, p->call->common.seed, &t);
    return put(&t);
}

/* Running */

static void add_done(struct table *t, const struct row_at *at, const struct record *r)
{
    table_cell(t, "%s", r->row);
    figure_cell(t, at->row->paper);
    figure_cell(t, at->row->reference);
    table_cell(t, "%.2f +- %.2f", r->accuracy, r->ci95);
    if (at->row->paper > 0) table_cell(t, "%+.2f", r->accuracy - at->row->paper);
    else table_cell(t, "-");
}

static void json_done(struct json_writer *w, const struct row_at *at, const struct record *r)
{
    json_object(w);
    json_key(w, "row"), json_string(w, r->row);
    json_key(w, "seed"), json_int(w, r->seed);
    json_figure(w, "paper", at->row->paper);
    json_figure(w, "reference", at->row->reference);
    json_key(w, "accuracy"), json_real(w, r->accuracy);
    json_key(w, "ci95"), json_real(w, r->ci95);
    json_key(w, "difference");
    if (at->row->paper > 0) json_real(w, r->accuracy - at->row->paper);
    else json_null(w);
    json_object_end(w);
}

/* What there is to run: the rows that are named, then those of the block. */
static status find_rows(const struct reproduction *p, struct row_at **out, size_t *count)
{
    status st = OK;
    const struct block *b = NULL;
    const struct call *c = p->call;
    size_t n = c->argument_count;
    if (p->settings->all_of) TRY(block_find(p->settings->all_of, &b));
    for (const struct row *r = b ? b->rows : NULL; r && r->method; r++) n++;
    if (!n) return fail(ST_USAGE, "a row is missing: centra reproduce ROW; centra reproduce --list shows them");
    *out = calloc(n, sizeof **out);
    if (!*out) return fail(ST_MEMORY, "no memory for %zu rows", n);
    for (*count = 0; *count < c->argument_count; ++*count) TRY(row_find(c->arguments[*count], &(*out)[*count]));
    for (const struct row *r = b ? b->rows : NULL; r && r->method; r++) (*out)[(*count)++] = (struct row_at){b, r};
done:
    return st;
}

static status run_rows(struct reproduction *p)
{
    struct row_at *rows = NULL;
    size_t count = 0;
    struct table t = {.align = "lrrrr"};
    struct json_writer w;
    struct record r;
    text out = {0};
    status st = OK;
    TRY(find_rows(p, &rows, &count));
    if (p->settings->weights && count > 1) TRY(fail(ST_USAGE, "--weights is the model of one row, not of %zu", count));
    json_begin(&w, &out, true);
    if (p->call->common.json) json_array(&w);
    table_cell(&t, "row"), table_cell(&t, "paper"), table_cell(&t, "reference"), table_cell(&t, "ours");
    table_cell(&t, "difference");
    for (size_t i = 0; i < count; i++) {
        TRY(reproduce_row(p, &rows[i], &r));
        if (p->call->common.json) json_done(&w, &rows[i], &r);
        else add_done(&t, &rows[i], &r);
    }
    if (p->call->common.json) {
        json_array_end(&w);
        text_add(&out, "\n");
    } else {
        table_write(&t, 0, &out);
    }
    st = put(&out);
done:
    text_free(&t.cells);
    text_free(&out);
    free(rows);
    return st;
}

static status reproduce_run(const struct call *c)
{
    const struct reproduce *s = c->settings;
    struct reproduction p = {.call = c, .settings = s, .progress = progress_begin(c), .memory = arena_new(1 << 14)};
    status st = OK;
    if (!p.memory) return fail(ST_MEMORY, "no memory for records");
    if (s->records) text_add(&p.records, s->records);
    else text_addf(&p.records, "%s/records", s->out);
    TRY(text_status(&p.records));
    if (s->list) st = show_list(&p);
    else if (s->page) st = results_write(text_string(&p.records), s->page, p.memory);
    else st = run_rows(&p);
done:
    centra_session_close(p.session);
    arena_free(p.memory);
    text_free(&p.records);
    return st;
}

static const struct option reproduce_options[] = {
    OPT_FLAG(struct reproduce, list, "list", "show the rows that there are, with what is known of them"),
    OPT_TEXT(struct reproduce, all_of, "all-of", NULL, "BLOCK", "run every row of a block, such as cub-conv4-1shot"),
    OPT_FILE(struct reproduce, data, "data", NULL,
             "the folder with the sets of pictures, or the set itself (default: CENTRA_DATA)"),
    OPT_FILE(struct reproduce, out, "out", "runs", "the folder of the runs"),
    OPT_FILE(struct reproduce, records, "records", NULL,
             "the folder of the records (default: records in that of --out)"),
    OPT_TEXTS(struct reproduce, set, "set", "KEY=VALUE",
              "another value for a key of the recipe; such a run has a record of its own"),
    OPT_FILE(struct reproduce, weights, "weights", NULL,
             "test this model, a file of weights or a run's folder, instead of training one"),
    OPT_FLAG(struct reproduce, again, "again", "begin anew where a row is finished or on its way"),
    OPT_TEXT(struct reproduce, machine, "machine", NULL, "NAME",
             "the machine as it shall stand in the record (default: what the system says)"),
    OPT_FILE(struct reproduce, page, "page", NULL,
             "write results.md and results.json into this folder, from the records"),
    OPT_END};

static const char *const reproduce_details[] = {
    "A row is trained by its recipe, tested on 10,000 5-way episodes with 15 queries a class, and set beside what the "
    "paper prints. Killed at any time, the same command goes on: training from its last checkpoint, then the test. A "
    "row that begins with another one's model, or only tests it, runs that one first. A row that is finished says so.",
    "--seed is that of the training; the test plays the same episodes for every row, and pre-trained networks are "
    "those "
    "of seed 1. Any number of processes may share --data, --out and --records: who comes second to a row waits.",
    "Below --data, pictures are cub.pack, cub or cub.tar and mini.pack, mini or mini.tar; archives that are named as "
    "in "
    "docs/reproduce.md are decoded once into --out.",
    NULL};

const struct command reproduce_command = {
    .name = "reproduce",
    .title = "makes rows of the paper's tables again, from training to test",
    .arguments = "ROW...",
    .most = 256,
    .options = reproduce_options,
    .settings_bytes = sizeof(struct reproduce),
    .details = reproduce_details,
    .run = reproduce_run,
    .examples = {{"centra reproduce cub-conv4-1shot/mcl-katz --data pictures --device cuda",
                  "the paper's best Conv-4 on CUB"},
                 {"centra reproduce --list", "all rows, with the paper's figures and ours"}},
};
