/* answer_classify.c - a picture's class, and how sure that is. */
#include "base/option.h"
#include "serve/routes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct found {
    centra_guess guess;
    double *probability;  /* owned, [classes] */
    size_t *order, count; /* owned: classes, the likeliest first */
};

/* Learns what familiar means, where classes changed. Should that fail, guesses have no familiarity. */
static void prepare(const struct service *s, struct tab *t)
{
    if (!centra_support_calibrated(t->support, s->classifier)) centra_support_calibrate(t->support, s->classifier);
}

static void sort(struct found *f)
{
    for (size_t i = 0; i < f->count; i++) {
        size_t at = i;
        for (; at > 0 && f->probability[f->order[at - 1]] < f->probability[i]; at--) f->order[at] = f->order[at - 1];
        f->order[at] = i;
    }
}

static bool guess(struct service *s, struct request *r, struct tab *t, const centra_picture *p, struct found *f)
{
    f->count = centra_support_class_count(t->support);
    if (f->count < 2) {
        reply_error(&r->reply, HTTP_UNPROCESSABLE, "there %s: a picture can be told apart only among two or more",
                    f->count ? "is one class" : "are no classes");
        return false;
    }
    f->probability = calloc(f->count, sizeof *f->probability);
    f->order = calloc(f->count, sizeof *f->order);
    if (!f->probability || !f->order) {
        reply_error(&r->reply, HTTP_BUSY, "no memory for the answer");
        return false;
    }
    prepare(s, t);
    const centra_status st = centra_classify(s->classifier, t->support, p, 1, f->probability, &f->guess);
    if (st != CENTRA_OK) {
        reply_failure(&r->reply, st);
        return false;
    }
    sort(f);
    return true;
}

static bool is_unknown(const struct service *s, const centra_guess *g)
{
    return !isnan(g->familiarity) && g->familiarity < s->unknown_below;
}

static void write_guess(struct json_writer *w, const struct service *s, const struct tab *t, const char *name,
                        const struct found *f)
{
    json_key(w, "name"), json_string(w, name);
    json_key(w, "class"), json_string(w, tab_class(t, f->guess.best));
    json_key(w, "probability"), reply_number(w, f->guess.probability);
    json_key(w, "familiarity"), reply_number(w, f->guess.familiarity); /* null: it is not known */
    json_key(w, "unknown"), json_bool(w, is_unknown(s, &f->guess));
    json_key(w, "probabilities"), json_array(w);
    for (size_t i = 0; i < f->count; i++) {
        json_object(w);
        json_key(w, "class"), json_string(w, tab_class(t, f->order[i]));
        json_key(w, "probability"), reply_number(w, f->probability[f->order[i]]);
        json_object_end(w);
    }
    json_array_end(w);
}

/* A cell of CSV. Programs for tables take what begins like a formula for one, and a pack's names may be a stranger's. */
static void add_cell(text *to, const char *s)
{
    text_add(to, "\"");
    if (strchr("=+-@", *s) && *s) text_add(to, "'");
    for (; *s; s++) {
        if (*s == '"') text_add(to, "\"");
        text_add_bytes(to, s, 1);
    }
    text_add(to, "\"");
}

static void keep(const struct service *s, struct tab *t, const char *name, const struct found *f)
{
    text line = {0};
    add_cell(&line, name);
    text_add(&line, ",");
    add_cell(&line, tab_class(t, f->guess.best));
    text_addf(&line, ",%.6f,", f->guess.probability);
    if (!isnan(f->guess.familiarity)) text_addf(&line, "%.6f", f->guess.familiarity);
    text_addf(&line, ",%s\r\n", is_unknown(s, &f->guess) ? "yes" : "no");
    if (line.st == OK) tab_keep_result(t, text_string(&line));
    text_free(&line);
}

static void reply_found(struct service *s, struct request *r, const struct tab *t, const char *name,
                        const struct found *f, const centra_picture *p)
{
    const char *asked = request_argument(r, "explain");
    struct json_writer w;
    reply_json(r, HTTP_OK, &w);
    json_object(&w);
    write_guess(&w, s, t, name, f);
    if (!asked || strcmp(asked, "0")) write_explanation(&w, s, t, p);
    json_object_end(&w);
    reply_json_end(r);
}

void route_classify(struct service *s, struct request *r)
{
    struct tab *t = service_tab(s, r);
    const char *name = request_argument(r, "name");
    centra_picture p = {0};
    struct found f = {0};
    if (!t) return;
    if (name && *name) name = service_name(r, "name");
    else name = "picture";
    if (name && service_picture(s, r, name, text_string(&r->body), r->body.length, &p) && guess(s, r, t, &p, &f)) {
        keep(s, t, name, &f);
        reply_found(s, r, t, name, &f, &p);
    }
    free(f.probability);
    free(f.order);
    centra_picture_free(&p);
}

void route_results(struct service *s, struct request *r)
{
    const struct tab *t = service_tab(s, r);
    if (!t) return;
    r->reply.code = HTTP_OK;
    r->reply.type = "text/csv; charset=utf-8";
    r->reply.file = "centra-results.csv";
    text_add(&r->reply.body, "file,label,probability,familiarity,unknown\r\n");
    text_add_bytes(&r->reply.body, text_string(&t->results), t->results.length);
}
