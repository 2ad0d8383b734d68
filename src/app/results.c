/* results.c - gathering the records of each row, and writing the two files. */
#include "app/results.h"
#include "base/file.h"
#include <math.h>
#include <string.h>

static int compare(const struct record *a, const struct record *b) { return (a->seed > b->seed) - (a->seed < b->seed); }

static void add_seed(struct result *r, const struct record *record)
{
    size_t at = r->seeds;
    if (r->seeds == RESULTS_MOST_SEEDS) return;
    for (; at > 0 && compare(r->seed[at - 1], record) > 0; at--) r->seed[at] = r->seed[at - 1];
    r->seed[at] = record;
    r->seeds++;
}

static void summarise(struct result *r)
{
    double squares = 0;
    const double n = (double)r->seeds;
    r->accuracy = r->ci95 = r->spread = (double)NAN;
    if (!r->seeds) return;
    r->accuracy = r->ci95 = 0;
    for (size_t i = 0; i < r->seeds; i++) {
        r->accuracy += r->seed[i]->accuracy / n;
        r->ci95 += r->seed[i]->ci95 / n;
    }
    for (size_t i = 0; i < r->seeds; i++) squares += pow(r->seed[i]->accuracy - r->accuracy, 2);
    if (r->seeds > 1) r->spread = sqrt(squares / (n - 1));
}

static status gather(const struct record_list *records, arena *memory, struct results *out)
{
    void *taken = NULL;
    size_t n = 0;
    for (const struct block *b = blocks; b->name; b++)
        for (const struct row *r = b->rows; b->table && r->method; r++) n++;
    const status st = arena_take(memory, n, sizeof *out->row, &taken);
    if (st != OK) return st;
    out->row = memset(taken, 0, n * sizeof *out->row);
    for (const struct block *b = blocks; b->name; b++)
        for (const struct row *r = b->rows; b->table && r->method; r++) {
            struct result *to = &out->row[out->rows++];
            to->at = (struct row_at){b, r};
            for (size_t i = 0; i < records->count; i++)
                if (!*records->item[i].more && row_is(&to->at, records->item[i].row)) add_seed(to, &records->item[i]);
            summarise(to);
        }
    return OK;
}

/* Records of rows that are not of the paper stay out. */
static void keep_paper(struct record_list *l)
{
    size_t kept = 0;
    struct row_at at;
    for (size_t i = 0; i < l->count; i++)
        if (row_find(l->item[i].row, &at) == OK && at.block->table) l->item[kept++] = l->item[i];
    l->count = kept;
}

size_t results_block(const struct results *r, size_t first)
{
    size_t n = 0;
    while (first + n < r->rows && r->row[first + n].at.block == r->row[first].at.block) n++;
    return n;
}

static status write_file(const char *folder, const char *name, text *t)
{
    text path = {0};
    status st = OK;
    text_addf(&path, "%s/%s", folder, name);
    TRY(text_status(&path));
    TRY(text_status(t));
    TRY(file_write(text_string(&path), t->data, t->length));
done:
    text_free(&path);
    text_free(t);
    return st;
}

status results_write(const char *records, const char *folder, arena *memory)
{
    struct results r = {0};
    text page = {0}, json = {0};
    status st = OK;
    TRY(records_read(records, memory, &r.records));
    keep_paper(&r.records);
    TRY(gather(&r.records, memory, &r));
    TRY(results_speed(records, memory, &r));
    results_page(&r, memory, &page);
    results_json(&r, memory, &json);
    TRY(folder_make(folder));
    TRY(write_file(folder, "results.md", &page));
    TRY(write_file(folder, "results.json", &json));
done:
    text_free(&page);
    text_free(&json);
    return st;
}
