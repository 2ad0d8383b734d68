/* table.c - aligned columns. */
#include "app/table.h"
#include "app/terminal.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 16, CELL_BYTES = 4500 }; /* the longest path fits */

/* Columns on the screen: bytes that do not continue a UTF-8 character. */
static size_t shown(const char *s)
{
    size_t n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

void table_cell(struct table *t, const char *format, ...)
{
    char cell[CELL_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(cell, sizeof cell, format, args); /* a longer cell is cut */
    va_end(args);
    terminal_tame(cell);
    text_add_bytes(&t->cells, cell, strlen(cell) + 1);
    t->count++;
}

static void add_blanks(text *to, size_t n) { text_addf(to, "%*s", (int)n, ""); }

void table_write(struct table *t, size_t indent, text *to)
{
    size_t columns = strlen(t->align), widest[MOST_COLUMNS] = {0};
    const char *cell = text_string(&t->cells);
    if (text_status(&t->cells) != OK) t->count = 0;
    for (size_t i = 0; i < t->count; i++, cell += strlen(cell) + 1) {
        size_t n = shown(cell);
        if (n > widest[i % columns]) widest[i % columns] = n;
    }
    cell = text_string(&t->cells);
    for (size_t i = 0, due = 0; i < t->count; i++, cell += strlen(cell) + 1) {
        size_t c = i % columns, blanks = widest[c] - shown(cell);
        due = c == 0 ? indent : due + 2; /* blanks before the next cell that is not empty: no line ends in them */
        if (t->align[c] == 'r') due += blanks;
        if (*cell) {
            add_blanks(to, due);
            text_add(to, cell);
            due = 0;
        }
        if (t->align[c] == 'l') due += blanks;
        if (c + 1 == columns) text_add(to, "\n");
    }
    if (to->st == OK) to->st = text_status(&t->cells);
    text_free(&t->cells);
    t->count = 0;
}
