/* data_report.c - a checked data set for readers and for programs. */
#include "app/data_report.h"
#include "app/library.h"
#include "app/table.h"
#include "app/terminal.h"
#include "base/json.h"
#include <stdio.h>

enum { LINES_MOST = 20 }; /* of a list; JSON has all */

size_t data_report_unreadable(const centra_data_report *r)
{
    size_t n = 0;
    while (centra_data_unreadable_at(r, n)) n++;
    return n;
}

size_t data_report_across(const centra_data_report *r)
{
    size_t n = 0;
    centra_twins_info t;
    for (size_t i = 0; library_has(centra_data_twins_at(r, i, &t)); i++) n += t.across != 0;
    return n;
}

static void add_splits(const centra_data_report *r, text *to)
{
    static const char *const heads[] = {"split", "classes", "pictures", "a class", "unreadable", "fingerprint"};
    struct table table = {.align = "lrrrrl"};
    centra_split_info s;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) table_cell(&table, "%s", heads[i]);
    for (size_t i = 0; library_has(centra_data_split_at(r, i, &s)); i++) {
        table_cell(&table, "%s", s.name ? s.name : "-");
        table_cell(&table, "%zu", s.classes);
        table_cell(&table, "%zu", s.pictures);
        if (s.smallest == s.largest) table_cell(&table, "%zu", s.smallest);
        else table_cell(&table, "%zu-%zu", s.smallest, s.largest);
        table_cell(&table, "%zu", s.unreadable);
        table_cell(&table, "%s", s.fingerprint);
    }
    table_write(&table, 0, to);
}

static void add_more(text *to, size_t all)
{
    if (all > LINES_MOST) text_addf(to, "  and %zu more\n", all - LINES_MOST);
}

static void add_sizes(const centra_data_report *r, text *to)
{
    struct table table = {.align = "lr"};
    centra_size_info s;
    size_t i = 0;
    text_add(to, "\nsizes\n");
    for (; library_has(centra_data_size_at(r, i, &s)); i++) {
        if (i >= LINES_MOST) continue;
        table_cell(&table, "%zux%zu", s.width, s.height);
        table_cell(&table, "%zu", s.pictures);
    }
    table_write(&table, 2, to);
    add_more(to, i);
}

static void add_twins(const centra_data_report *r, text *to)
{
    struct table table = {.align = "ll"};
    centra_twins_info t;
    size_t i = 0;
    if (centra_data_twins_at(r, 0, &t) != CENTRA_OK) return;
    text_addf(to, "\nidentical pictures (%zu pairs across splits)\n", data_report_across(r));
    for (; library_has(centra_data_twins_at(r, i, &t)); i++) {
        if (i >= LINES_MOST) continue;
        table_cell(&table, "%s", t.first);
        table_cell(&table, "%s", t.second);
    }
    table_write(&table, 2, to);
    add_more(to, i);
}

void data_report_table(const centra_data_report *r, text *to)
{
    const size_t unreadable = data_report_unreadable(r);
    add_splits(r, to);
    add_sizes(r, to);
    add_twins(r, to);
    if (!unreadable) return;
    text_add(to, "\ncannot be read\n");
    for (size_t i = 0; i < unreadable && i < LINES_MOST; i++) {
        char why[ERROR_BYTES];
        snprintf(why, sizeof why, "%s", centra_data_unreadable_at(r, i));
        terminal_tame(why);
        text_addf(to, "  %s\n", why);
    }
    add_more(to, unreadable);
}

static void json_number(struct json_writer *j, const char *key, size_t v)
{
    json_key(j, key);
    json_int(j, (int64_t)v);
}

static void json_splits(struct json_writer *j, const centra_data_report *r)
{
    centra_split_info s;
    json_key(j, "splits");
    json_array(j);
    for (size_t i = 0; library_has(centra_data_split_at(r, i, &s)); i++) {
        json_object(j);
        json_key(j, "name");
        if (s.name) json_string(j, s.name);
        else json_null(j);
        json_number(j, "classes", s.classes);
        json_number(j, "pictures", s.pictures);
        json_number(j, "smallest_class", s.smallest);
        json_number(j, "largest_class", s.largest);
        json_number(j, "unreadable", s.unreadable);
        json_key(j, "fingerprint");
        json_string(j, s.fingerprint);
        json_object_end(j);
    }
    json_array_end(j);
}

static void json_sizes(struct json_writer *j, const centra_data_report *r)
{
    centra_size_info s;
    json_key(j, "sizes");
    json_array(j);
    for (size_t i = 0; library_has(centra_data_size_at(r, i, &s)); i++) {
        json_object(j);
        json_number(j, "width", s.width);
        json_number(j, "height", s.height);
        json_number(j, "pictures", s.pictures);
        json_object_end(j);
    }
    json_array_end(j);
}

static void json_twins(struct json_writer *j, const centra_data_report *r)
{
    centra_twins_info t;
    json_key(j, "identical");
    json_array(j);
    for (size_t i = 0; library_has(centra_data_twins_at(r, i, &t)); i++) {
        json_object(j);
        json_key(j, "first");
        json_string(j, t.first);
        json_key(j, "second");
        json_string(j, t.second);
        json_key(j, "across_splits");
        json_bool(j, t.across != 0);
        json_object_end(j);
    }
    json_array_end(j);
}

void data_report_json(const centra_data_report *r, text *to)
{
    struct json_writer j;
    json_begin(&j, to, true);
    json_object(&j);
    json_splits(&j, r);
    json_sizes(&j, r);
    json_twins(&j, r);
    json_key(&j, "unreadable");
    json_array(&j);
    for (size_t i = 0; centra_data_unreadable_at(r, i); i++) json_string(&j, centra_data_unreadable_at(r, i));
    json_array_end(&j);
    json_object_end(&j);
    text_add(to, "\n");
}
