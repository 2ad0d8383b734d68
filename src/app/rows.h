/* rows.h - the rows of the paper's tables that the program can make again: a table, rows.def, and finding a row in it.
 *
 * A row is named BLOCK/METHOD, such as cub-conv4-1shot/mcl-katz. A block is what is compared with each other in the
 * paper: the same pictures, network and number of shots. Who runs a row: app/reproduce.h. */
#ifndef APP_ROWS_H
#define APP_ROWS_H
#include "base/status.h"
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>

struct row {
    const char *method;
    const char *head;     /* NULL: the one that the model was trained with */
    const char *settings; /* of the recipe, "key=value" between blanks; of a row that is only tested, head.* alone */
    const char *from;     /* the row whose model is tested instead of training one; NULL: none */
    double paper;         /* what the paper prints, percent; 0: nothing */
    double reference;     /* of a PyTorch program on the same pictures, percent; 0: none */
};

struct block {
    const char *name, *title;
    const char *table;        /* of the paper; NULL: not of the paper, and not on the page */
    const char *recipe;       /* NULL: nothing is trained, the model of `start` is tested */
    const char *start;        /* the row whose model training begins with; NULL: a random start */
    const char *train, *test; /* sets of pictures: a name of app/reproduce_data.c, or what --data takes */
    size_t shot, episodes;    /* of the test */
    const char *note;         /* said on the page; NULL: nothing */
    const struct row *rows;   /* ends with a NULL method */
};

/* Ends with a NULL name. */
extern const struct block blocks[];

/* A row in its block. */
struct row_at {
    const struct block *block;
    const struct row *row;
};
void row_name(const struct row_at *at, text *to);
/* ST_USAGE with near names when there is none. */
status row_find(const char *name, struct row_at *out);
status block_find(const char *name, const struct block **out);
/* Whether the name is that of the row. */
bool row_is(const struct row_at *at, const char *name);
#endif
