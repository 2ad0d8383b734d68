/* results.h - the page of results: every row of the paper beside its records, as Markdown and as JSON.
 *
 * Everything on it is computed from the table of rows and the records, so that the same records give the same bytes and no
 * figure is typed by hand. results.c gathers, results_order.c compares the order of methods, results_speed.c reads times of
 * heads, results_page.c and results_json.c write. */
#ifndef APP_RESULTS_H
#define APP_RESULTS_H
#include "app/record.h"
#include "app/rows.h"

enum { RESULTS_MOST_SEEDS = 16 };

/* A row with its records that have no other settings, one a seed. */
struct result {
    struct row_at at;
    const struct record *seed[RESULTS_MOST_SEEDS]; /* sorted by seed */
    size_t seeds;                                  /* 0: not yet run */
    double accuracy, ci95; /* means over the seeds: percent, and half of the interval over test episodes */
    double spread;         /* standard deviation over the seeds; NaN for fewer than two */
};

/* Milliseconds of an episode of a head by the side of its maps; NaN: not measured. */
enum { SPEED_SIDES = 4 };
extern const int speed_sides[SPEED_SIDES];
struct speed {
    const char *name; /* of the machine: that of its file */
    const char *head;
    double ms[SPEED_SIDES];
};

struct results {
    struct result *row; /* in the order of the table, those of the paper alone */
    size_t rows;
    struct record_list records; /* of rows of the paper alone */
    struct speed *speed;
    size_t speeds;
};

/* Writes FOLDER/results.md and FOLDER/results.json. */
status results_write(const char *records, const char *folder, arena *memory);

/* results_order.c: two methods of a block that both have a figure of the paper and a record. */
enum verdict { ORDER_SAME, ORDER_OPEN, ORDER_OTHER }; /* as in the paper; within the interval; the other way */
extern const char *const verdict_names[];
struct pair {
    const struct result *higher, *lower; /* in the paper */
    double paper, ours;                  /* how far the first lies above the second */
    double interval;                     /* of ours: the root of the sum of squares of both intervals */
    enum verdict verdict;
};
/* The pairs of the block whose first row is `first`; *out is in `memory`. */
status results_pairs(const struct result *first, size_t rows, arena *memory, struct pair **out, size_t *count);
/* How many results from `first` on are of its block. */
size_t results_block(const struct results *r, size_t first);

/* results_speed.c: RECORDS/speed/NAME.jsonl, lines of centra bench heads --json. */
status results_speed(const char *records, arena *memory, struct results *out);
/* The same of the paper. */
extern const struct speed speed_paper[]; /* ends with a NULL head */

void results_page(const struct results *r, arena *memory, text *to);
void results_json(const struct results *r, arena *memory, text *to);
#endif
