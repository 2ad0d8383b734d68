/* answer_why.c - where a picture and the known ones found each other, as numbers: maps and pairs of cells. */
#include "serve/service.h"

enum { MOST_EXPLAINED = 5 }; /* classes whose maps and pairs are told, the likeliest first */

static void write_map(struct json_writer *w, const float *map, size_t n)
{
    if (!map) {
        json_null(w);
        return;
    }
    json_array(w);
    for (size_t i = 0; i < n; i++) reply_number(w, (double)map[i]);
    json_array_end(w);
}

static void write_pairs(struct json_writer *w, const centra_why_class *c)
{
    json_array(w);
    for (size_t i = 0; i < c->pair_count; i++) {
        json_array(w);
        json_int(w, (int64_t)c->pairs[i].query);
        json_int(w, (int64_t)c->pairs[i].known);
        reply_number(w, c->pairs[i].weight);
        json_array_end(w);
    }
    json_array_end(w);
}

static void write_why_class(struct json_writer *w, const struct tab *t, const centra_why_class *c, size_t cells)
{
    json_object(w);
    json_key(w, "class"), json_string(w, tab_class(t, c->index));
    json_key(w, "probability"), reply_number(w, c->probability);
    json_key(w, "picture"), json_int(w, (int64_t)c->picture);
    json_key(w, "centrality"), write_map(w, c->centrality, cells);
    json_key(w, "pairs"), write_pairs(w, c);
    json_object_end(w);
}

static void write_why(struct json_writer *w, const struct tab *t, const centra_explanation *e)
{
    centra_why why;
    centra_why_class c;
    centra_explanation_why(e, &why);
    const size_t cells = why.height * why.width;
    json_object(w);
    json_key(w, "height"), json_int(w, (int64_t)why.height);
    json_key(w, "width"), json_int(w, (int64_t)why.width);
    json_key(w, "centrality"), write_map(w, why.centrality, cells);
    json_key(w, "gradCam"), write_map(w, why.grad_cam, cells);
    json_key(w, "classes"), json_array(w);
    for (size_t i = 0; i < MOST_EXPLAINED && centra_explanation_class(e, i, &c) == CENTRA_OK; i++)
        write_why_class(w, t, &c, cells);
    json_array_end(w);
    json_object_end(w);
}

void write_explanation(struct json_writer *w, const struct service *s, const struct tab *t, const centra_picture *p)
{
    centra_explanation *e = NULL;
    json_key(w, "explanation");
    if (centra_explain(s->classifier, t->support, p, &e) == CENTRA_OK) {
        write_why(w, t, e);
    } else {
        json_null(w);
        json_key(w, "explanationError"), json_string(w, centra_message());
    }
    centra_explanation_free(e);
}
