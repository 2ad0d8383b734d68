/* explain.c - centra explain: why pictures get their classes, as a page and as PNG files. */
#include "app/explain_page.h"
#include "app/gather.h"
#include "app/heatmap.h"
#include "app/known.h"
#include "app/library.h"
#include "app/progress.h"
#include "app/table.h"
#include "app/terminal.h"
#include "app/unknown.h"
#include "base/file.h"
#include "base/json.h"
#include "base/page.h"
#include <math.h>
#include <stdio.h>

struct explain {
    const char *support, *out, *model, *head;
    const char *unknown_below; /* a number; NULL: the default */
    int64_t top;
};

/* What one run works with. */
struct desk {
    const struct call *call;
    const struct explain *settings;
    struct known known;
    struct gathered files;
    struct unknown unknown;
    text page;
    struct table table; /* for people */
    text lines;         /* JSON */
    size_t unreadable;
};

static status desk_open(struct desk *d)
{
    const struct explain *s = d->settings;
    status st = OK;
    TRY(unknown_read(s->unknown_below, &d->unknown));
    TRY(gather(d->call->arguments, d->call->argument_count, &d->files));
    if (!d->files.count) TRY(fail(ST_VALUE, "there are no pictures in what was named"));
    TRY(known_open(d->call, s->model, s->head, s->support, &d->known));
    if (centra_support_class_count(d->known.support) > 1) TRY(known_ready(&d->known));
    TRY(folder_make(s->out));
    TRY(explain_page_begin(&d->page, d->known.model, s->head, d->known.support));
done:
    return st;
}

static void desk_close(struct desk *d)
{
    known_close(&d->known);
    gathered_free(&d->files);
    text_free(&d->page);
    text_free(&d->table.cells);
    text_free(&d->lines);
}

/* OUT/03-NAME-WHAT.png as a file; its name is added to the JSON where that is wanted. */
static status write_sheet(struct desk *d, const struct explained *x, size_t number, centra_sheet sheet, size_t rank,
                          struct json_writer *json)
{
    static const char *const what[] = {"query", "grad-cam", "known", "pairs"};
    text name = {0}, path = {0};
    status st = OK;
    text_addf(&name, "%02zu-", number);
    heatmap_name(&name, x->file);
    if (sheet == CENTRA_SHEET_KNOWN || sheet == CENTRA_SHEET_PAIRS) text_addf(&name, "-%zu", rank + 1);
    text_addf(&name, "-%s.png", what[sheet]);
    text_addf(&path, "%s/%s", d->settings->out, text_string(&name));
    TRY(text_status(&name));
    TRY(text_status(&path));
    TRY(heatmap_write(x->e, d->known.support, sheet, rank, text_string(&path)));
    json_string(json, text_string(&name));
done:
    text_free(&name);
    text_free(&path);
    return st;
}

static status write_sheets(struct desk *d, const struct explained *x, size_t number, size_t classes,
                           struct json_writer *json)
{
    status st = OK;
    json_key(json, "files");
    json_array(json);
    TRY(write_sheet(d, x, number, CENTRA_SHEET_QUERY, 0, json));
    TRY(write_sheet(d, x, number, CENTRA_SHEET_GRAD_CAM, 0, json));
    for (size_t rank = 0; rank < x->top && rank < classes; rank++) {
        TRY(write_sheet(d, x, number, CENTRA_SHEET_KNOWN, rank, json));
        TRY(write_sheet(d, x, number, CENTRA_SHEET_PAIRS, rank, json));
    }
    json_array_end(json);
done:
    return st;
}

static void json_map(struct json_writer *w, const char *key, const float *map, size_t cells)
{
    json_key(w, key);
    json_array(w);
    for (size_t i = 0; i < cells; i++) json_real(w, (double)map[i]);
    json_array_end(w);
}

static status json_class(struct json_writer *w, const struct explained *x, size_t rank, size_t cells)
{
    centra_why_class k;
    const char *name, *file;
    status st = OK;
    TRY(library(centra_explanation_class(x->e, rank, &k)));
    TRY(library(centra_support_class(x->support, k.index, &name, NULL)));
    TRY(library(centra_support_picture(x->support, k.index, k.picture, &file, NULL)));
    json_object(w);
    json_key(w, "label");
    json_string(w, name);
    json_key(w, "probability");
    json_real(w, k.probability);
    json_key(w, "picture");
    json_string(w, file);
    json_map(w, "centrality", k.centrality, cells);
    json_key(w, "pairs");
    json_array(w);
    for (size_t i = 0; i < k.pair_count; i++) {
        json_object(w);
        json_key(w, "query");
        json_int(w, (int64_t)k.pairs[i].query);
        json_key(w, "known");
        json_int(w, (int64_t)k.pairs[i].known);
        json_key(w, "weight");
        json_real(w, k.pairs[i].weight);
        json_object_end(w);
    }
    json_array_end(w);
    json_object_end(w);
done:
    return st;
}

static status json_why(struct json_writer *w, const struct explained *x, const centra_why *why, const char *best)
{
    const size_t cells = why->height * why->width;
    json_object(w);
    json_key(w, "file");
    json_string(w, x->file);
    json_key(w, "label");
    json_string(w, best);
    json_key(w, "probability");
    json_real(w, why->guess.probability);
    json_key(w, "familiarity");
    json_real(w, why->guess.familiarity);
    json_key(w, "unknown");
    json_bool(w, x->unknown);
    json_key(w, "height");
    json_int(w, (int64_t)why->height);
    json_key(w, "width");
    json_int(w, (int64_t)why->width);
    json_map(w, "centrality", why->centrality, cells);
    json_map(w, "grad_cam", why->grad_cam, cells);
    json_key(w, "classes");
    json_array(w);
    for (size_t rank = 0; rank < x->top && rank < why->classes; rank++) {
        const status st = json_class(w, x, rank, cells);
        if (st != OK) return st;
    }
    json_array_end(w);
    return OK;
}

static void add_row(struct desk *d, const struct explained *x, const centra_why *why, const char *best)
{
    if (!d->table.count) {
        table_cell(&d->table, "file");
        table_cell(&d->table, "class");
        table_cell(&d->table, "probability");
        table_cell(&d->table, "familiarity");
    }
    table_cell(&d->table, "%s", x->file);
    table_cell(&d->table, "%s", x->unknown ? NONE_OF_THESE : best);
    if (x->unknown) table_cell(&d->table, "-");
    else table_cell(&d->table, "%.1f %%", 100 * why->guess.probability);
    if (isnan(why->guess.familiarity)) table_cell(&d->table, "-");
    else table_cell(&d->table, "%.2f", why->guess.familiarity);
}

static status tell(struct desk *d, const char *file, const centra_explanation *e, size_t number)
{
    struct json_writer json;
    centra_why why;
    const char *best;
    status st = OK;
    centra_explanation_why(e, &why);
    const struct explained x = {file, e, d->known.support, (size_t)d->settings->top,
                                unknown_is(&d->unknown, &why.guess)};
    TRY(library(centra_support_class(d->known.support, why.guess.best, &best, NULL)));
    json_begin(&json, &d->lines, false);
    TRY(json_why(&json, &x, &why, best));
    TRY(write_sheets(d, &x, number, why.classes, &json));
    json_object_end(&json);
    text_add(&d->lines, "\n");
    TRY(explain_page_add(&d->page, &x));
    add_row(d, &x, &why, best);
done:
    return st;
}

/* A file that cannot be explained for what it is; other failures concern all of them. */
static bool is_of_file(status st) { return st == ST_IO || st == ST_FORMAT || st == ST_VALUE || st == ST_UNSUPPORTED; }

/* One line, also with --quiet: the result lacks it. */
static void report_file(struct progress *p)
{
    progress_wipe(p);
    fputs("centra explain: ", stderr);
    for (const char *s = error_text(); *s; s++) fputc((unsigned char)*s < ' ' || *s == 0x7f ? '?' : *s, stderr);
    fputc('\n', stderr);
}

/* Each file; one that cannot be read is reported, and the others go on. */
static status explain_files(struct desk *d)
{
    struct progress progress = progress_begin(d->call);
    const size_t all = d->files.count;
    status st = OK;
    for (size_t i = 0; i < all && st == OK; i++) {
        const char *file = d->files.path[i];
        centra_explanation *e = NULL;
        st = library(centra_explain_file(d->known.classifier, d->known.support, file, &e));
        if (is_of_file(st)) {
            report_file(&progress);
            d->unreadable++;
            st = OK;
            continue;
        }
        if (st == OK) st = tell(d, file, e, i + 1);
        centra_explanation_free(e);
        progress_count(&progress, "pictures explained", i + 1, all);
    }
    progress_wipe(&progress);
    return st;
}

static status finish(struct desk *d)
{
    text path = {0}, told = {0};
    status st = OK;
    page_end(&d->page);
    text_addf(&path, "%s/index.html", d->settings->out);
    TRY(text_status(&path));
    interrupt_hold();
    st = page_write(&d->page, text_string(&path));
    interrupt_release();
    if (st != OK) goto done;
    if (d->call->common.json) {
        TRY(put(&d->lines));
    } else {
        table_write(&d->table, 0, &told);
        if (!d->call->common.quiet) text_addf(&told, "written to %s\n", text_string(&path));
        TRY(put(&told));
    }
    if (d->unreadable)
        st = fail(ST_FORMAT, "%zu of %zu pictures could not be read; the others are done", d->unreadable,
                  d->files.count);
done:
    text_free(&path);
    text_free(&told);
    return st;
}

static status explain_run(const struct call *c)
{
    struct desk d = {.call = c, .settings = c->settings, .table = {.align = "llrr"}};
    status st = OK;
    TRY(desk_open(&d));
    TRY(explain_files(&d));
    TRY(finish(&d));
done:
    desk_close(&d);
    return st;
}

static const struct option explain_options[] = {
    {.type = OPTION_FILE,
     .offset = offsetof(struct explain, support),
     .name = "support",
     .help = "the known pictures: a folder with a folder for each class, or a pack",
     .value = "DIR|PACK",
     .required = true},
    OPT_FILE_REQUIRED(struct explain, out, "out", "the folder for the page and the pictures; made where it is missing"),
    OPT_TEXT(struct explain, model, "model", NULL, "NAME|FILE",
             "another model than the default; centra models list shows those that there are"),
    OPT_TEXT(struct explain, head, "head", NULL, "NAME", "another head than the model's"),
    OPT_INT(struct explain, top, "top", 3, 1, 100, "classes to show for each picture, the likeliest first"),
    OPT_UNKNOWN_BELOW(struct explain, unknown_below),
    OPT_END};

static const char *const explain_details[] = {
    "Writes one page, index.html, that needs nothing else, and beside it PNG files. For each picture they show what in "
    "it speaks for its class, where that leads in the known pictures, lines between the places that lead to each "
    "other, and Grad-CAM of the network's last layer. docs/explain.md says how to read them.",
    "Folders among the pictures are walked. A file that cannot be read is named on standard error, the others go on, "
    "and the exit status is 1.",
    NULL};

const struct command explain_command = {
    .name = "explain",
    .title = "shows why pictures get their classes",
    .arguments = "PICTURE...",
    .least = 1,
    .most = SIZE_MAX,
    .options = explain_options,
    .settings_bytes = sizeof(struct explain),
    .head_options = true,
    .details = explain_details,
    .run = explain_run,
    .examples = {{"centra explain --support birds --out why photo.jpg", "a page about one photo, why/index.html"},
                 {"centra explain --support birds.pack --top 2 --json --out why new/*.jpg",
                  "many photos, the maps as JSON as well"}},
};
