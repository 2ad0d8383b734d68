/* eval_report.c - the results of centra eval, as tables or as JSON. */
#include "app/eval.h"
#include "app/library.h"
#include "app/table.h"
#include "app/terminal.h"
#include "base/file.h"
#include "base/json.h"
#include <string.h>

/* Of the queries of a class; below 0 when none was played. */
static double class_accuracy(const centra_eval *e, size_t head, size_t class, const char **name)
{
    size_t asked = 0, right = 0;
    *name = NULL;
    if (centra_eval_head_class(e, head, class, name, &asked, &right) != CENTRA_OK || !asked) return -1;
    return 100.0 * (double)right / (double)asked;
}

static void add_heading(text *to, const centra_eval_summary *s)
{
    const bool plain = !strcmp(s->extractor, "map");
    text_addf(to, "%s%s%s on %s%s%s%s: %zu classes, %zu pictures\n", s->backbone, plain ? "" : " with ",
              plain ? "" : s->extractor, s->data, s->split ? " (" : "", s->split ? s->split : "", s->split ? ")" : "",
              s->classes - s->classes_left_out, s->pictures - s->unreadable);
    text_addf(to, "%zu episodes, %zu-way %zu-shot, %zu queries of each class\n\n", s->episodes, s->way, s->shot,
              s->query);
}

/* Whether a head of the same name has another value there. */
static bool tells_apart(const centra_eval *e, const char *head, size_t option, const char *value)
{
    centra_eval_row r;
    centra_option o;
    for (size_t h = 0; library_has(centra_eval_head_row(e, h, &r)); h++)
        if (!strcmp(r.head, head) && library_has(centra_eval_head_option(e, h, option, &o)) && strcmp(o.value, value))
            return true;
    return false;
}

void eval_label(const centra_eval *e, size_t head, text *to)
{
    centra_eval_row r;
    centra_option o;
    if (!library_has(centra_eval_head_row(e, head, &r))) return;
    text_add(to, r.head);
    for (size_t i = 0; library_has(centra_eval_head_option(e, head, i, &o)); i++)
        if (tells_apart(e, r.head, i, o.value)) text_addf(to, ":%s=%s", o.name, o.value);
}

static void label_cell(struct table *t, const centra_eval *e, size_t head)
{
    text label = {0};
    eval_label(e, head, &label);
    table_cell(t, "%s", text_string(&label));
    text_free(&label);
}

static void add_rows(text *to, const centra_eval *e, const centra_eval_summary *s)
{
    struct table t = {.align = "lrrr"};
    centra_eval_row r;
    table_cell(&t, "head");
    table_cell(&t, "accuracy");
    table_cell(&t, "difference");
    table_cell(&t, "seconds");
    for (size_t h = 0; library_has(centra_eval_head_row(e, h, &r)); h++) {
        label_cell(&t, e, h);
        if (s->episodes > 1) table_cell(&t, "%.2f +- %.2f", r.accuracy, r.ci95);
        else table_cell(&t, "%.2f", r.accuracy);
        if (h == 0) table_cell(&t, "-");
        else if (s->episodes > 1) table_cell(&t, "%+.2f +- %.2f", r.difference, r.difference_ci95);
        else table_cell(&t, "%+.2f", r.difference);
        table_cell(&t, "%.1f", r.seconds);
    }
    table_write(&t, 0, to);
}

static void add_classes(text *to, const centra_eval *e, const centra_eval_summary *s)
{
    char align[64] = "l";
    struct table t = {.align = align};
    const size_t heads = s->heads < sizeof align - 2 ? s->heads : sizeof align - 2;
    const char *name;
    memset(align + 1, 'r', heads);
    align[1 + heads] = '\0';
    table_cell(&t, "class");
    for (size_t h = 0; h < heads; h++) label_cell(&t, e, h);
    for (size_t c = 0; c < s->classes; c++) {
        if (class_accuracy(e, 0, c, &name) < 0) continue;
        table_cell(&t, "%s", name);
        for (size_t h = 0; h < heads; h++) table_cell(&t, "%.2f", class_accuracy(e, h, c, &name));
    }
    text_add(to, "\n");
    table_write(&t, 0, to);
}

status eval_table(const struct call *c, const centra_eval *e)
{
    const struct eval *settings = c->settings;
    centra_eval_summary s;
    text t = {0};
    centra_eval_summarise(e, &s);
    if (!c->common.quiet) add_heading(&t, &s);
    add_rows(&t, e, &s);
    if (settings->per_class) add_classes(&t, e, &s);
    detail(c, "pictures encoded in %.1f s", s.encode_seconds);
    return put(&t);
}

/* JSON */

static void key_text(struct json_writer *w, const char *key, const char *value)
{
    json_key(w, key);
    if (value) json_string(w, value);
    else json_null(w);
}

static void key_int(struct json_writer *w, const char *key, size_t value)
{
    json_key(w, key);
    json_int(w, (int64_t)value);
}

static void key_real(struct json_writer *w, const char *key, double value)
{
    json_key(w, key);
    json_real(w, value);
}

static void json_options(struct json_writer *w, const centra_eval *e, size_t head)
{
    centra_option o;
    double number;
    json_key(w, "options");
    json_object(w);
    for (size_t i = 0; library_has(centra_eval_head_option(e, head, i, &o)); i++) {
        json_key(w, o.name);
        if (number_parse(o.value, &number)) json_real(w, number);
        else if (!strcmp(o.value, "yes") || !strcmp(o.value, "no")) json_bool(w, o.value[0] == 'y');
        else json_string(w, o.value);
    }
    json_object_end(w);
}

static void json_classes(struct json_writer *w, const centra_eval *e, size_t head, size_t classes)
{
    const char *name;
    json_key(w, "per_class");
    json_object(w);
    for (size_t c = 0; c < classes; c++) {
        const double accuracy = class_accuracy(e, head, c, &name);
        if (accuracy >= 0) key_real(w, name, accuracy);
    }
    json_object_end(w);
}

static void json_paired(struct json_writer *w, const struct eval_paired *p)
{
    json_key(w, "paired");
    if (!p) {
        json_null(w);
        return;
    }
    json_object(w);
    key_text(w, "against", p->against);
    key_real(w, "difference", p->difference);
    key_real(w, "ci95", p->ci95);
    json_object_end(w);
}

void eval_json_row(struct json_writer *w, const centra_session *session, const centra_eval *e, size_t head,
                   const struct eval_paired *paired)
{
    centra_eval_summary s;
    centra_eval_row r;
    centra_eval_summarise(e, &s);
    if (centra_eval_head_row(e, head, &r) != CENTRA_OK) return;
    json_object(w);
    key_text(w, "head", r.head);
    json_options(w, e, head);
    key_text(w, "backbone", s.backbone);
    key_text(w, "extractor", s.extractor);
    key_text(w, "weights", s.weights);
    key_text(w, "data", s.data);
    key_text(w, "split", s.split);
    key_int(w, "way", s.way);
    key_int(w, "shot", s.shot);
    key_int(w, "query", s.query);
    key_int(w, "episodes", s.episodes);
    key_int(w, "seed", s.seed);
    key_real(w, "accuracy", r.accuracy);
    key_real(w, "ci95", r.ci95);
    json_classes(w, e, head, s.classes);
    json_paired(w, paired);
    key_real(w, "encode_seconds", s.encode_seconds);
    key_real(w, "head_seconds", r.seconds);
    key_text(w, "device", centra_session_device(session));
    key_text(w, "maths", centra_session_maths(session));
    key_int(w, "threads", centra_session_threads(session));
    key_text(w, "data_fingerprint", s.data_fingerprint);
    key_text(w, "version", centra_version());
    json_object_end(w);
}

status eval_json(const struct call *c, const centra_session *session, const centra_eval *e)
{
    struct json_writer w;
    centra_eval_row r, first;
    text t = {0};
    (void)c;
    json_begin(&w, &t, true);
    json_array(&w);
    for (size_t h = 0; library_has(centra_eval_head_row(e, h, &r)); h++) {
        if (h == 0) first = r;
        const struct eval_paired paired = {first.head, r.difference, r.difference_ci95};
        eval_json_row(&w, session, e, h, h ? &paired : NULL);
    }
    json_array_end(&w);
    text_add(&t, "\n");
    return put(&t);
}

status eval_save_accuracies(const centra_eval *e, const char *path)
{
    centra_eval_summary s;
    centra_eval_row r;
    status st = OK;
    text t = {0};
    centra_eval_summarise(e, &s);
    for (size_t h = 0; library_has(centra_eval_head_row(e, h, &r)); h++) {
        struct json_writer w;
        json_begin(&w, &t, false);
        json_object(&w);
        key_text(&w, "head", r.head);
        json_options(&w, e, h);
        json_key(&w, "accuracy");
        json_array(&w);
        for (size_t i = 0; i < s.episodes; i++) json_real(&w, r.episodes[i]);
        json_array_end(&w);
        json_object_end(&w);
        text_add(&t, "\n");
    }
    TRY(text_status(&t));
    TRY(file_write(path, t.data, t.length));
done:
    text_free(&t);
    return st;
}
