/* explain.c - centra explain: why pictures get their classes, as a page and as PNG files. */
#include "app/explain_page.h"
#include "app/heatmap.h"
#include "app/library.h"
#include "app/progress.h"
#include "app/table.h"
#include "app/terminal.h"
#include "base/file.h"
#include "base/json.h"
#include "base/page.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>

struct explain {
    const char *support, *out, *model, *head;
    int64_t top;
};

/* What one run works with. */
struct desk {
    const struct call *call;
    const struct explain *settings;
    centra_model *model;
    centra_session *session;
    centra_classifier *classifier;
    centra_support *support;
    text page;
    struct table table; /* for people */
    text lines;         /* JSON */
    size_t unreadable;
};

static int added(void *context, size_t done, size_t all)
{
    progress_count(context, "known pictures read", done, all);
    return interrupt_pending();
}

/* A folder of class folders, or a pack. */
static status open_support(struct desk *d)
{
    const char *path = d->settings->support;
    struct stat about;
    status st = OK;
    if (stat(path, &about) || !S_ISDIR(about.st_mode)) return library(centra_support_open(d->model, path, &d->support));
    struct progress progress = progress_begin(d->call);
    const centra_data_watch watch = {added, progress_warning, &progress, (size_t)d->call->common.threads};
    TRY(library(centra_support_new(d->model, &d->support)));
    TRY(library(centra_support_add_folder(d->support, d->classifier, path, &watch, NULL)));
    progress_wipe(&progress);
    TRY(library(centra_support_calibrate(d->support, d->classifier)));
done:
    progress_wipe(&progress);
    return st;
}

static status desk_open(struct desk *d)
{
    const centra_classifier_options o = {d->settings->head, d->call->head_options, d->call->head_option_count};
    status st = OK;
    TRY(library(centra_model_open(d->settings->model, &d->model)));
    TRY(session_open(d->call, &d->session));
    TRY(library(centra_classifier_new(d->session, d->model, &o, &d->classifier)));
    TRY(open_support(d));
    TRY(folder_make(d->settings->out));
    TRY(explain_page_begin(&d->page, d->model, d->settings->head, d->support));
done:
    return st;
}

static void desk_close(struct desk *d)
{
    centra_support_free(d->support);
    centra_classifier_free(d->classifier);
    centra_session_close(d->session);
    centra_model_close(d->model);
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
    TRY(heatmap_write(x->e, d->support, sheet, rank, text_string(&path)));
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
        table_cell(&d->table, "PICTURE");
        table_cell(&d->table, "CLASS");
        table_cell(&d->table, "PROBABILITY");
        table_cell(&d->table, "FAMILIARITY");
    }
    table_cell(&d->table, "%s", x->file);
    table_cell(&d->table, "%s", best);
    table_cell(&d->table, "%.3f", why->guess.probability);
    if (isnan(why->guess.familiarity)) table_cell(&d->table, "-");
    else table_cell(&d->table, "%.2f", why->guess.familiarity);
}

static status explain_picture(struct desk *d, const char *file, const centra_picture *p, size_t number)
{
    centra_explanation *e = NULL;
    struct json_writer json;
    centra_why why;
    const char *best;
    status st = OK;
    TRY(library(centra_explain(d->classifier, d->support, p, &e)));
    const struct explained x = {file, e, d->support, (size_t)d->settings->top};
    centra_explanation_why(e, &why);
    TRY(library(centra_support_class(d->support, why.guess.best, &best, NULL)));
    json_begin(&json, &d->lines, false);
    TRY(json_why(&json, &x, &why, best));
    TRY(write_sheets(d, &x, number, why.classes, &json));
    json_object_end(&json);
    text_add(&d->lines, "\n");
    TRY(explain_page_add(&d->page, &x));
    add_row(d, &x, &why, best);
done:
    centra_explanation_free(e);
    return st;
}

/* Each file; one that cannot be read is reported, and the others go on. */
static status explain_files(struct desk *d)
{
    struct progress progress = progress_begin(d->call);
    const size_t all = d->call->argument_count;
    status st = OK;
    for (size_t i = 0; i < all && st == OK && !interrupt_pending(); i++) {
        centra_picture p = {0};
        if (library(centra_picture_read(d->call->arguments[i], &p)) != OK) {
            progress_warning(&progress, error_text());
            d->unreadable++;
            continue;
        }
        st = explain_picture(d, d->call->arguments[i], &p, i + 1);
        centra_picture_free(&p);
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
    TRY(page_write(&d->page, text_string(&path)));
    if (d->call->common.json) {
        TRY(put(&d->lines));
    } else {
        table_write(&d->table, 0, &told);
        if (!d->call->common.quiet) text_addf(&told, "written to %s\n", text_string(&path));
        TRY(put(&told));
    }
    if (d->unreadable)
        st = fail(ST_FORMAT, "%zu of %zu pictures could not be read", d->unreadable, d->call->argument_count);
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
    OPT_FILE_REQUIRED(struct explain, support, "support",
                      "known pictures: a folder with a folder for each class, or a pack"),
    OPT_FILE_REQUIRED(struct explain, out, "out", "the folder for the page and the pictures; made where it is missing"),
    OPT_FILE(struct explain, model, "model", NULL,
             "another model than the standard one; centra list models shows those that are there"),
    OPT_TEXT(struct explain, head, "head", NULL, "NAME", "another head than the model's; centra list heads shows them"),
    OPT_INT(struct explain, top, "top", 3, 1, 100, "classes to show for each picture, the likeliest first"),
    OPT_END};

static const char *const explain_details[] = {
    "Writes one page, index.html, that needs nothing else, and beside it PNG files. For each picture they show what in "
    "it speaks for its class, where that leads in the known pictures, lines between the places that lead to each "
    "other, "
    "and Grad-CAM of the network's last layer. docs/explain.md says how to read them.",
    "A picture that cannot be read is reported, the others are explained, and the status is 1.", NULL};

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
