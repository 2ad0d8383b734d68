/* score_report.c - the results of centra score, as a table, as JSON lines, or as files. */
#include "app/library.h"
#include "app/score.h"
#include "app/table.h"
#include "app/terminal.h"
#include "base/file.h"
#include "base/json.h"
#include "base/plain.h"
#include <stdlib.h>
#include <string.h>

static double score_of(const struct inputs *in, const struct outputs *out, size_t query, size_t class)
{
    return real_at(out->result.scores, in->episode.precision, query * in->way + class);
}

/* From the best class down to the second best; false when there is only one class. */
static bool margin(const struct inputs *in, const struct outputs *out, size_t query, size_t best, double *to)
{
    size_t second = best == 0 ? 1 : 0;
    if (in->way < 2) return false;
    for (size_t k = 0; k < in->way; k++)
        if (k != best && score_of(in, out, query, k) > score_of(in, out, query, second)) second = k;
    *to = score_of(in, out, query, best) - score_of(in, out, query, second);
    return true;
}

static void add_score(struct table *t, double v, bool probability)
{
    if (probability) table_cell(t, "%.4f", v);
    else table_cell(t, "%.6g", v);
}

static void add_row(struct table *t, const struct inputs *in, const struct outputs *out, size_t i, bool probabilities)
{
    size_t best = best_class(in, out, i);
    const int64_t *truth = in->episode.query_labels;
    double m;
    table_cell(t, "%zu", i);
    table_cell(t, "%lld", (long long)in->classes[best]);
    add_score(t, score_of(in, out, i, best), probabilities);
    if (margin(in, out, i, best, &m)) add_score(t, m, probabilities);
    else table_cell(t, "-");
    if (truth) table_cell(t, "%lld%s", (long long)truth[i], truth[i] == in->classes[best] ? "" : " (wrong)");
}

static void add_json_line(text *to, const struct inputs *in, const struct outputs *out, size_t i, bool probabilities)
{
    struct json_writer w;
    size_t best = best_class(in, out, i);
    double m;
    json_begin(&w, to, false);
    json_object(&w);
    json_key(&w, "query");
    json_int(&w, (int64_t)i);
    json_key(&w, "label");
    json_int(&w, in->classes[best]);
    json_key(&w, probabilities ? "probability" : "score");
    json_real(&w, score_of(in, out, i, best));
    json_key(&w, "margin");
    if (margin(in, out, i, best, &m)) json_real(&w, m);
    else json_null(&w);
    if (in->episode.query_labels) {
        json_key(&w, "true");
        json_int(&w, in->episode.query_labels[i]);
    }
    json_object_end(&w);
    text_add(to, "\n");
}

static void json_measures(struct json_writer *w, const struct outputs *out)
{
    json_key(w, "accuracy");
    json_real(w, out->accuracy);
    json_key(w, "loss");
    json_real(w, out->loss);
}

static status report_json_lines(const struct inputs *in, const struct outputs *out, bool probabilities)
{
    text t = {0};
    for (size_t i = 0; i < in->episode.query_count; i++) add_json_line(&t, in, out, i, probabilities);
    if (in->episode.query_labels) {
        struct json_writer w;
        json_begin(&w, &t, false);
        json_object(&w);
        json_measures(&w, out);
        json_object_end(&w);
        text_add(&t, "\n");
    }
    return put(&t);
}

status report_table(const struct call *c, const struct inputs *in, const struct outputs *out, bool probabilities)
{
    bool truth = in->episode.query_labels != NULL;
    struct table table = {.align = truth ? "rrrrl" : "rrrr"};
    text t = {0};
    if (c->common.json) return report_json_lines(in, out, probabilities);
    table_cell(&table, "query");
    table_cell(&table, "label");
    table_cell(&table, probabilities ? "probability" : "score");
    table_cell(&table, "margin");
    if (truth) table_cell(&table, "true");
    for (size_t i = 0; i < in->episode.query_count; i++) add_row(&table, in, out, i, probabilities);
    table_write(&table, 0, &t);
    if (truth) text_addf(&t, "accuracy %.2f %%, loss %.6g\n", out->accuracy, out->loss);
    return put(&t);
}

/* One array on its way into the folder. */
struct result_file {
    char name[128];
    const void *data; /* NULL: not wanted */
    enum npy_type type;
    int rank;
    size_t dim[NPY_MAX_RANK];
};

static status make_param_folder(const char *folder)
{
    text path = {0};
    status st;
    text_addf(&path, "%s/grad_params", folder);
    st = text_status(&path);
    if (st == OK) st = folder_make(text_string(&path));
    text_free(&path);
    return st;
}

static status write_file(const char *folder, const struct result_file *f)
{
    text path = {0};
    status st;
    text_addf(&path, "%s/%s", folder, f->name);
    st = text_status(&path);
    if (st == OK) st = npy_write(text_string(&path), f->type, f->rank, f->dim, f->data);
    text_free(&path);
    return st;
}

enum { FIXED_FILES = 7 };

static void list_params(const struct outputs *out, enum npy_type real, struct result_file *files)
{
    for (size_t i = 0; out->grad_params && i < out->param_count; i++) {
        const centra_param_info *p = &out->params[i];
        plain_snprintf(files[i].name, sizeof files[i].name, "grad_params/%s.npy", p->name);
        files[i].data = out->grad_params[i];
        files[i].type = real;
        files[i].rank = (int)p->rank;
        for (size_t axis = 0; axis < p->rank; axis++) files[i].dim[axis] = p->dim[axis];
    }
}

struct result_files {
    struct result_file *file; /* owned; those without data are not written */
    size_t count;
};

static status list_files(const struct inputs *in, const struct outputs *out, const double *loss,
                         struct result_files *list)
{
    const centra_episode *e = &in->episode;
    const centra_result *r = &out->result;
    enum npy_type real = e->precision == CENTRA_F64 ? NPY_F64 : NPY_F32;
    const struct result_file fixed[FIXED_FILES] = {
        {"scores.npy", r->scores, real, 2, {e->query_count, in->way}},
        {"labels.npy", in->classes, NPY_I64, 1, {in->way}},
        {"loss.npy", loss, NPY_F64, 0, {0}},
        {"grad_support.npy", r->grad_support, real, in->support.rank, {0}},
        {"grad_query.npy", r->grad_query, real, in->query.rank, {0}},
        {"centrality_support.npy", r->centrality_support, real, 2, {e->query_count, in->way * e->support_locations}},
        {"centrality_query.npy", r->centrality_query, real, 2, {e->query_count, e->query_locations}},
    };
    list->count = FIXED_FILES + out->param_count;
    list->file = calloc(list->count, sizeof *list->file);
    if (!list->file) return fail(ST_MEMORY, "no memory for a list of %zu files", list->count);
    memcpy(list->file, fixed, sizeof fixed);
    list_params(out, real, list->file + FIXED_FILES);
    memcpy(list->file[3].dim, in->support.dim, sizeof in->support.dim);
    memcpy(list->file[4].dim, in->query.dim, sizeof in->query.dim);
    return OK;
}

static void add_summary(text *t, const struct call *c, const struct inputs *in, const struct outputs *out,
                        const struct result_files *list)
{
    const struct score *s = c->settings;
    const char *between = "";
    text_addf(t, "%zu queries of %zu classes scored with %s", in->episode.query_count, in->way, s->head);
    if (in->episode.query_labels) text_addf(t, ", accuracy %.2f %%, loss %.6g", out->accuracy, out->loss);
    text_addf(t, "; %s/ has ", s->out);
    for (size_t i = 0; i < list->count; i++) {
        if (!list->file[i].data) continue;
        text_addf(t, "%s%s", between, list->file[i].name);
        between = ", ";
    }
    text_add(t, "\n");
}

static void add_json_summary(text *t, const struct call *c, const struct inputs *in, const struct outputs *out,
                             const struct result_files *list, bool probabilities)
{
    const struct score *s = c->settings;
    struct json_writer w;
    json_begin(&w, t, false);
    json_object(&w);
    json_key(&w, "head");
    json_string(&w, s->head);
    json_key(&w, "scores");
    json_string(&w, probabilities ? "probabilities" : "logits");
    json_key(&w, "queries");
    json_int(&w, (int64_t)in->episode.query_count);
    json_key(&w, "way");
    json_int(&w, (int64_t)in->way);
    if (in->episode.query_labels) json_measures(&w, out);
    json_key(&w, "out");
    json_string(&w, s->out);
    json_key(&w, "files");
    json_array(&w);
    for (size_t i = 0; i < list->count; i++)
        if (list->file[i].data) json_string(&w, list->file[i].name);
    json_array_end(&w);
    json_object_end(&w);
    text_add(t, "\n");
}

status report_files(const struct call *c, const struct inputs *in, const struct outputs *out, bool probabilities)
{
    const struct score *s = c->settings;
    struct result_files list = {0};
    text t = {0};
    status st = OK;
    TRY(list_files(in, out, in->episode.query_labels ? &out->loss : NULL, &list));
    if (out->grad_params) TRY(make_param_folder(s->out));
    interrupt_hold();
    for (size_t i = 0; st == OK && i < list.count; i++)
        if (list.file[i].data) st = write_file(s->out, &list.file[i]);
    interrupt_release();
    if (st != OK) goto done;
    if (c->common.json) add_json_summary(&t, c, in, out, &list, probabilities);
    else if (!c->common.quiet) add_summary(&t, c, in, out, &list);
    st = put(&t);
done:
    free(list.file);
    return st;
}
