/* results_json.c - results.json: what results.md shows, for programs. */
#include "app/results.h"
#include "base/json.h"
#include <math.h>

static void key_text(struct json_writer *w, const char *key, const char *value)
{
    json_key(w, key);
    if (value) json_string(w, value);
    else json_null(w);
}

static void key_real(struct json_writer *w, const char *key, double v)
{
    json_key(w, key);
    json_real(w, v);
}

/* A figure of the table: 0 is none. */
static void key_figure(struct json_writer *w, const char *key, double v) { key_real(w, key, v > 0 ? v : (double)NAN); }

static void add_record(struct json_writer *w, const struct record *v)
{
    json_object(w);
    json_key(w, "seed"), json_int(w, v->seed);
    key_real(w, "accuracy", v->accuracy);
    key_real(w, "ci95", v->ci95);
    key_real(w, "validation", v->validation);
    key_real(w, "train_seconds", v->train_seconds);
    key_real(w, "pictures_per_second", v->pictures_per_second);
    key_text(w, "more", v->more);
    key_text(w, "commit", v->commit);
    key_text(w, "machine", v->machine);
    key_text(w, "device", v->device);
    key_text(w, "weights", v->weights);
    key_text(w, "date", v->date);
    json_object_end(w);
}

static void add_row(struct json_writer *w, const struct result *r, const struct record_list *records)
{
    const struct row *row = r->at.row;
    json_object(w);
    key_text(w, "method", row->method);
    key_figure(w, "paper", row->paper);
    key_figure(w, "reference", row->reference);
    key_real(w, "accuracy", r->accuracy);
    key_real(w, "ci95", r->ci95);
    key_real(w, "spread", r->spread);
    key_real(w, "to_paper", row->paper > 0 ? r->accuracy - row->paper : (double)NAN);
    key_real(w, "to_reference", row->reference > 0 ? r->accuracy - row->reference : (double)NAN);
    json_key(w, "runs");
    json_array(w);
    for (size_t i = 0; i < records->count; i++)
        if (row_is(&r->at, records->item[i].row)) add_record(w, &records->item[i]);
    json_array_end(w);
    json_object_end(w);
}

static void add_pairs(struct json_writer *w, const struct result *first, size_t rows, arena *memory)
{
    struct pair *pairs = NULL;
    size_t count = 0;
    if (results_pairs(first, rows, memory, &pairs, &count) != OK) count = 0;
    json_key(w, "order");
    json_array(w);
    for (size_t i = 0; i < count; i++) {
        json_object(w);
        key_text(w, "higher", pairs[i].higher->at.row->method);
        key_text(w, "lower", pairs[i].lower->at.row->method);
        key_real(w, "paper", pairs[i].paper);
        key_real(w, "ours", pairs[i].ours);
        key_real(w, "interval", pairs[i].interval);
        key_text(w, "verdict", verdict_names[pairs[i].verdict]);
        json_object_end(w);
    }
    json_array_end(w);
}

static void add_speed(struct json_writer *w, const struct speed *s)
{
    json_object(w);
    key_text(w, "whose", s->name);
    key_text(w, "head", s->head);
    json_key(w, "ms");
    json_array(w);
    for (int i = 0; i < SPEED_SIDES; i++) json_real(w, s->ms[i]);
    json_array_end(w);
    json_object_end(w);
}

void results_json(const struct results *r, arena *memory, text *to)
{
    struct json_writer w;
    json_begin(&w, to, true);
    json_object(&w);
    json_key(&w, "schema"), json_int(&w, RECORD_SCHEMA);
    json_key(&w, "blocks");
    json_array(&w);
    for (size_t i = 0, n; i < r->rows; i += n) {
        const struct block *b = r->row[i].at.block;
        n = results_block(r, i);
        json_object(&w);
        key_text(&w, "block", b->name);
        key_text(&w, "title", b->title);
        key_text(&w, "table", b->table);
        json_key(&w, "shot"), json_int(&w, (int64_t)b->shot);
        json_key(&w, "episodes"), json_int(&w, (int64_t)b->episodes);
        json_key(&w, "rows");
        json_array(&w);
        for (size_t k = 0; k < n; k++) add_row(&w, &r->row[i + k], &r->records);
        json_array_end(&w);
        add_pairs(&w, &r->row[i], n, memory);
        json_object_end(&w);
    }
    json_array_end(&w);
    json_key(&w, "speed");
    json_array(&w);
    for (const struct speed *p = speed_paper; p->head; p++) add_speed(&w, p);
    for (size_t i = 0; i < r->speeds; i++) add_speed(&w, &r->speed[i]);
    json_array_end(&w);
    json_object_end(&w);
    text_add(to, "\n");
}
