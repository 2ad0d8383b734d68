/* table.h - aligned columns. Cells are added row by row; widths are found when the table is written. */
#ifndef APP_TABLE_H
#define APP_TABLE_H
#include "base/text.h"

struct table {
    const char *align; /* a letter a column: 'l' or 'r' */
    text cells;        /* NUL behind each */
    size_t count;
};

/* Control characters become '?'. */
void table_cell(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the rows to `to`, each indented by `indent`, and frees the cells. */
void table_write(struct table *t, size_t indent, text *to);
#endif
