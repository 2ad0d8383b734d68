/* rows.c - the table of rows, made from rows.def, and finding a row by its name. */
#include "app/rows.h"
#include "base/option.h"
#include <string.h>

#define NONE 0
#define ROW(...) {__VA_ARGS__},
#define BLOCK(name, title, table, recipe, start, train, test, shot, episodes, note, rows) \
    {name, title, table, recipe, start, train, test, shot, episodes, note, (const struct row[]){rows{0}}},
const struct block blocks[] = {
#include "app/rows.def"
    {0}};
#undef BLOCK
#undef ROW
#undef NONE

void row_name(const struct row_at *at, text *to) { text_addf(to, "%s/%s", at->block->name, at->row->method); }

bool row_is(const struct row_at *at, const char *name)
{
    const size_t n = strlen(at->block->name);
    return !strncmp(name, at->block->name, n) && name[n] == '/' && !strcmp(name + n + 1, at->row->method);
}

static status refuse_block(const char *name)
{
    const char *names[256] = {0}, *meant;
    for (size_t i = 0; blocks[i].name && i + 1 < sizeof names / sizeof *names; i++) names[i] = blocks[i].name;
    meant = nearest_name(name, names);
    if (meant) return fail(ST_USAGE, "there is no block '%.100s', did you mean %s?", name, meant);
    return fail(ST_USAGE, "there is no block '%.100s'; centra reproduce --list shows them", name);
}

status block_find(const char *name, const struct block **out)
{
    for (const struct block *b = blocks; b->name; b++) {
        if (strcmp(b->name, name)) continue;
        *out = b;
        return OK;
    }
    return refuse_block(name);
}

static status refuse_row(const char *name)
{
    enum { MOST = 1024 };
    const char *names[MOST + 1] = {0}, *meant = NULL;
    size_t at[MOST], n = 0;
    text all = {0};
    for (const struct block *b = blocks; b->name; b++)
        for (const struct row *r = b->rows; r->method && n < MOST; r++) {
            at[n++] = all.length;
            row_name(&(struct row_at){b, r}, &all);
            text_add_bytes(&all, "", 1);
        }
    if (text_status(&all) == OK) {
        for (size_t i = 0; i < n; i++) names[i] = all.data + at[i];
        meant = nearest_name(name, names);
    }
    const status st = meant ? fail(ST_USAGE, "there is no row '%.100s', did you mean %s?", name, meant)
                            : fail(ST_USAGE, "there is no row '%.100s'; centra reproduce --list shows them", name);
    text_free(&all);
    return st;
}

status row_find(const char *name, struct row_at *out)
{
    for (const struct block *b = blocks; b->name; b++)
        for (const struct row *r = b->rows; r->method; r++) {
            const struct row_at at = {b, r};
            if (!row_is(&at, name)) continue;
            *out = at;
            return OK;
        }
    return refuse_row(name);
}
