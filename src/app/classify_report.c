/* classify_report.c - what centra classify says about pictures: a table, JSON lines, or CSV. */
#include "app/classify.h"
#include "app/terminal.h"
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

static const char *label_of(const struct report *r, size_t class_index)
{
    const char *name = "";
    centra_support_class(r->support, class_index, &name, NULL);
    return name;
}

/* The classes of a row, likeliest first; classes as likely as each other stay in the order of their names. */
static void sort_classes(struct report *r, const double *p)
{
    for (size_t i = 0; i < r->top; i++) {
        size_t best = SIZE_MAX;
        for (size_t c = 0; c < r->classes; c++) {
            bool taken = false;
            for (size_t k = 0; k < i && !taken; k++) taken = r->order[k] == c;
            if (!taken && (best == SIZE_MAX || p[c] > p[best])) best = c;
        }
        r->order[i] = best;
    }
}

/* CSV as in RFC 4180: quotes where they are needed. */
static void add_field(text *to, const char *s)
{
    if (!strpbrk(s, ",\"\r\n")) {
        text_add(to, s);
        return;
    }
    text_add(to, "\"");
    for (; *s; s++) text_addf(to, *s == '"' ? "\"\"" : "%c", *s);
    text_add(to, "\"");
}

static void csv_head(struct report *r)
{
    text_add(&r->out, "file,label,probability,familiarity,unknown");
    for (size_t i = 1; i < r->top; i++) text_addf(&r->out, ",label%zu,probability%zu", i + 1, i + 1);
    text_add(&r->out, "\n");
}

static void csv_row(struct report *r, const struct verdict *v)
{
    add_field(&r->out, v->path);
    text_add(&r->out, ",");
    add_field(&r->out, label_of(r, v->guess->best));
    text_addf(&r->out, ",%.6f,", v->guess->probability);
    if (!isnan(v->guess->familiarity)) text_addf(&r->out, "%.4f", v->guess->familiarity);
    text_addf(&r->out, ",%s", v->unknown ? "yes" : "no");
    for (size_t i = 1; i < r->top; i++) {
        text_add(&r->out, ",");
        add_field(&r->out, label_of(r, r->order[i]));
        text_addf(&r->out, ",%.6f", v->probabilities[r->order[i]]);
    }
    text_add(&r->out, "\n");
}

static void json_row(struct report *r, const struct verdict *v)
{
    struct json_writer w;
    json_begin(&w, &r->out, false);
    json_object(&w);
    json_key(&w, "file");
    json_string(&w, v->path);
    json_key(&w, "label");
    json_string(&w, label_of(r, v->guess->best));
    json_key(&w, "probability");
    json_real(&w, v->guess->probability);
    json_key(&w, "familiarity");
    json_real(&w, v->guess->familiarity); /* null where there is none */
    json_key(&w, "unknown");
    json_bool(&w, v->unknown);
    json_key(&w, "top");
    json_array(&w);
    for (size_t i = 0; i < r->top; i++) {
        json_object(&w);
        json_key(&w, "label");
        json_string(&w, label_of(r, r->order[i]));
        json_key(&w, "probability");
        json_real(&w, v->probabilities[r->order[i]]);
        json_object_end(&w);
    }
    json_array_end(&w);
    json_object_end(&w);
    text_add(&r->out, "\n");
}

static void table_row(struct report *r, const struct verdict *v)
{
    text more = {0};
    for (size_t i = 1; i < r->top; i++)
        text_addf(&more, "%s%s %.1f %%", i > 1 ? ", " : "", label_of(r, r->order[i]),
                  100 * v->probabilities[r->order[i]]);
    table_cell(&r->table, "%s", v->path);
    table_cell(&r->table, "%s", v->unknown ? NONE_OF_THESE : label_of(r, v->guess->best));
    if (v->unknown) table_cell(&r->table, "-");
    else table_cell(&r->table, "%.1f %%", 100 * v->guess->probability);
    if (isnan(v->guess->familiarity)) table_cell(&r->table, "-");
    else table_cell(&r->table, "%.2f", v->guess->familiarity);
    if (r->top > 1) table_cell(&r->table, "%s", text_string(&more));
    text_free(&more);
}

static bool in_lines(const struct report *r)
{
    return r->call->common.json || ((const struct classify *)r->call->settings)->csv;
}

status report_begin(const struct call *c, const centra_support *s, struct report *r)
{
    const struct classify *o = c->settings;
    *r = (struct report){.call = c, .support = s, .classes = centra_support_class_count(s)};
    r->top = (size_t)o->top < r->classes ? (size_t)o->top : r->classes;
    r->order = calloc(r->classes + 1, sizeof *r->order);
    if (!r->order) return fail(ST_MEMORY, "no memory for %zu classes", r->classes);
    r->table.align = r->top > 1 ? "llrrl" : "llrr";
    if (o->csv) csv_head(r);
    if (in_lines(r)) return OK;
    table_cell(&r->table, "file");
    table_cell(&r->table, "class");
    table_cell(&r->table, "probability");
    table_cell(&r->table, "familiarity");
    if (r->top > 1) table_cell(&r->table, "then");
    return OK;
}

status report_row(struct report *r, const struct verdict *v)
{
    sort_classes(r, v->probabilities);
    r->rows++;
    if (r->call->common.json) json_row(r, v);
    else if (((const struct classify *)r->call->settings)->csv) csv_row(r, v);
    else table_row(r, v);
    return text_status(in_lines(r) ? &r->out : &r->table.cells);
}

status report_flush(struct report *r, bool end)
{
    if (!in_lines(r) && !end) return OK;
    if (!in_lines(r) && r->rows) table_write(&r->table, 0, &r->out);
    return put(&r->out);
}

void report_free(struct report *r)
{
    free(r->order);
    text_free(&r->out);
    text_free(&r->table.cells);
}
