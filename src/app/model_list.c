/* model_list.c - the models that there are. */
#include "app/model_list.h"
#include "app/library.h"
#include "app/table.h"
#include "app/terminal.h"
#include <stdio.h>
#include <string.h>

enum { WORDS_MOST = 300 };

const char *model_note(const centra_model *m, const char *key)
{
    const char *k, *value;
    for (size_t i = 0; centra_model_note(m, i, &k, &value) == CENTRA_OK; i++)
        if (!strcmp(k, key)) return value;
    return "";
}

const char *model_licence(const centra_model *m)
{
    const char *said = model_note(m, "licence");
    return *said ? said : model_note(m, "license");
}

void add_words(text *to, const char *from)
{
    size_t n = 0;
    for (; from[n] && n < WORDS_MOST; n++) {
        const char c = (unsigned char)from[n] < ' ' || from[n] == 0x7f ? '?' : from[n];
        text_add_bytes(to, &c, 1);
    }
    if (from[n]) text_add(to, "...");
}

static void pair(struct json_writer *w, const char *key, const char *value)
{
    json_key(w, key);
    json_string(w, value);
}

void model_json(struct json_writer *w, const centra_model *m, const centra_model_place *place)
{
    centra_model_info i;
    centra_model_describe(m, &i);
    pair(w, "name", i.name);
    pair(w, "backbone", i.backbone);
    pair(w, "head", i.head);
    pair(w, "extractor", i.extractor);
    json_key(w, "side");
    json_int(w, (int64_t)i.side);
    pair(w, "data", i.data);
    pair(w, "accuracy", i.accuracy);
    pair(w, "fingerprint", i.fingerprint);
    pair(w, "path", i.path);
    json_key(w, "bytes");
    json_int(w, (int64_t)place->bytes);
    pair(w, "from", place->own ? "own" : "shipped");
    json_key(w, "default");
    json_bool(w, place->standard);
    pair(w, "source", model_note(m, "source"));
    pair(w, "licence", model_licence(m));
}

static void words_cell(struct table *table, const char *s)
{
    text t = {0};
    add_words(&t, s);
    if (table->cells.st == OK) table->cells.st = t.st;
    table_cell(table, "%s", text_string(&t));
    text_free(&t);
}

static void cells(struct table *table, const centra_model *m, const centra_model_place *place)
{
    centra_model_info i;
    double accuracy;
    centra_model_describe(m, &i);
    table_cell(table, "%s", i.name);
    table_cell(table, "%s", i.backbone);
    table_cell(table, "%s", i.head);
    table_cell(table, "%zu", i.side);
    table_cell(table, "%.1f MB", (double)place->bytes / 1e6);
    table_cell(table, "%s", place->own ? "own" : "shipped");
    table_cell(table, "%s", place->standard ? "yes" : "");
    words_cell(table, i.data);
    if (number_parse(i.accuracy, &accuracy)) table_cell(table, "%.1f %%", accuracy);
    else words_cell(table, i.accuracy);
}

/* Whether it was there. A model that cannot be read is named and counted. */
static bool one(const struct call *c, size_t index, struct table *table, struct json_writer *w, size_t *unreadable,
                status *st)
{
    centra_model_place place;
    centra_model *m = NULL;
    const centra_status found = centra_model_at(index, &place);
    if (found != CENTRA_OK) {
        *st = found == CENTRA_USAGE ? OK : library(found); /* behind the last */
        return false;
    }
    if (centra_model_open(place.path, &m) != CENTRA_OK) {
        char why[ERROR_BYTES];
        snprintf(why, sizeof why, "%s", centra_message());
        terminal_tame(why);
        fprintf(stderr, "centra %s: %s\n", c->command->name, why);
        ++*unreadable;
        return true;
    }
    if (c->common.json) {
        json_object(w);
        model_json(w, m, &place);
        json_object_end(w);
    } else {
        cells(table, m, &place);
    }
    centra_model_close(m);
    return true;
}

status model_list(const struct call *c)
{
    static const char *const titles[] = {"model", "network", "head",       "side",    "size",
                                         "from",  "default", "trained on", "accuracy"};
    struct table table = {.align = "lllrrlllr"};
    struct json_writer w;
    status st = OK;
    size_t count = 0, unreadable = 0;
    text t = {0};
    json_begin(&w, &t, true);
    if (c->common.json) json_array(&w);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) table_cell(&table, "%s", titles[i]);
    while (one(c, count, &table, &w, &unreadable, &st)) count++;
    if (c->common.json) {
        json_array_end(&w);
        text_add(&t, "\n");
        text_free(&table.cells);
    } else {
        table_write(&table, 0, &t);
    }
    if (st == OK) st = put(&t);
    else text_free(&t);
    if (st != OK || !unreadable) return st;
    return fail(ST_IO, "%zu of %zu models could not be read", unreadable, count);
}

status model_names(void)
{
    centra_model_place place;
    centra_status st;
    text t = {0};
    for (size_t i = 0; (st = centra_model_at(i, &place)) == CENTRA_OK; i++) text_addf(&t, "%s\n", place.name);
    if (st == CENTRA_USAGE) return put(&t);
    text_free(&t);
    return library(st);
}
