/* csv.c - lists of file names and labels, line by line. */
#include "data/csv.h"
#include "base/text.h"
#include <stdbool.h>
#include <string.h>

enum { COLUMNS_MOST = 32 };

struct csv {
    const char *name, *at, *end;
    size_t line;             /* that is being read, from 1 */
    text cell[COLUMNS_MOST]; /* of this line */
    size_t cells;
};

static status bad(const struct csv *c, const char *what)
{
    return fail(ST_FORMAT, "'%s', line %zu: %s", c->name, c->line, what);
}

static bool at_line_end(const struct csv *c)
{
    if (c->at == c->end || *c->at == '\n') return true;
    return *c->at == '\r' && c->end - c->at > 1 && c->at[1] == '\n';
}

/* A cell that begins with a quote, up to the quote that ends it. */
static status quoted(struct csv *c, text *to)
{
    for (c->at++;; c->at++) {
        if (c->at == c->end || *c->at == '\n') return bad(c, "a quote is not closed on its line");
        if (*c->at == '"') {
            if (c->end - c->at < 2 || c->at[1] != '"') break;
            c->at++;
        }
        text_add_bytes(to, c->at, 1);
    }
    c->at++;
    if (!at_line_end(c) && *c->at != ',') return bad(c, "something stands behind a closing quote");
    return OK;
}

static status plain(struct csv *c, text *to)
{
    const char *from = c->at;
    while (!at_line_end(c) && *c->at != ',') {
        if (*c->at == '"') return bad(c, "a quote stands within a word; put the whole word in quotes");
        if (*c->at == '\r') return bad(c, "a carriage return stands within the line");
        c->at++;
    }
    text_add_bytes(to, from, (size_t)(c->at - from));
    return OK;
}

/* Reads one line into c->cell and steps behind its end. */
static status read_line(struct csv *c)
{
    status st = OK;
    c->line++;
    c->cells = 0;
    for (;;) {
        if (c->cells == COLUMNS_MOST) return bad(c, "it has more than 32 columns");
        text *cell = &c->cell[c->cells++];
        text_clear(cell);
        TRY(c->at < c->end && *c->at == '"' ? quoted(c, cell) : plain(c, cell));
        TRY(text_status(cell));
        if (cell->length != strlen(text_string(cell))) return bad(c, "it has a NUL");
        if (c->at == c->end || *c->at != ',') break;
        c->at++;
    }
    if (c->at < c->end) c->at += *c->at == '\r' ? 2 : 1;
done:
    return st;
}

/* Which columns are the two; both names once. */
static status read_header(struct csv *c, size_t *filename, size_t *label)
{
    size_t found[2] = {0, 0};
    status st = read_line(c);
    if (st != OK) return st;
    for (size_t i = 0; i < c->cells; i++) {
        const bool is_file = !strcmp(text_string(&c->cell[i]), "filename");
        if (!is_file && strcmp(text_string(&c->cell[i]), "label")) continue;
        *(is_file ? filename : label) = i;
        found[is_file]++;
    }
    if (found[0] == 1 && found[1] == 1) return OK;
    return bad(c, "the first line must name the columns: filename,label");
}

static status read_lines(struct csv *c, csv_visit visit, void *context)
{
    size_t filename = 0, label = 0, columns;
    status st = OK;
    TRY(read_header(c, &filename, &label));
    columns = c->cells;
    while (c->at < c->end) {
        TRY(read_line(c));
        if (c->cells != columns)
            return fail(ST_FORMAT, "'%s', line %zu: it has %zu columns, the first line %zu", c->name, c->line, c->cells,
                        columns);
        const char *file = text_string(&c->cell[filename]), *name = text_string(&c->cell[label]);
        if (!*file || !*name) return bad(c, "the filename or the label is empty");
        TRY(visit(context, file, name));
    }
done:
    return st;
}

status csv_read(const char *name, const char *bytes, size_t n, csv_visit visit, void *context)
{
    struct csv c = {.name = name, .at = bytes, .end = bytes + n};
    if (n >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3)) c.at += 3;
    status st = read_lines(&c, visit, context);
    for (size_t i = 0; i < COLUMNS_MOST; i++) text_free(&c.cell[i]);
    return st;
}
