/* extract.h - dense feature extractors: from a network's last map to the vectors that heads compare (methods 4).
 *
 * "map" takes the map as it is (VanillaFCN), "pyramid-5,3" averages it to several sizes (PyramidFCN), "grid-3,2" cuts the
 * picture into overlapping cells, each of which the network sees as a picture of its own (PyramidGrid). */
#ifndef NETS_EXTRACT_H
#define NETS_EXTRACT_H
#include "base/text.h"
#include "ops/ops.h"

enum extract_kind { EXTRACT_MAP, EXTRACT_PYRAMID, EXTRACT_GRID, EXTRACT_KINDS };
enum { EXTRACT_MOST_SIZES = 8, EXTRACT_MOST_SIZE = 16 };

struct extractor {
    enum extract_kind kind;
    size_t count, sizes[EXTRACT_MOST_SIZES]; /* in the given order; none for a map */
};

/* The kinds, in their order, with an example of a name. */
struct extract_about {
    const char *kind, *name, *title, *paper;
};
extern const struct extract_about extract_table[EXTRACT_KINDS];

/* "map", "pyramid-5,3", "grid-3,2". ST_USAGE says what is wrong. */
status extractor_parse(const char *name, struct extractor *out);
/* Its name, as extractor_parse reads it. */
void extractor_add_name(const struct extractor *e, text *to);
/* Pictures that the network sees for one picture: the cells of a grid, else 1. */
size_t extractor_cells(const struct extractor *e);
/* Maps [n * cells, C, h, w], a picture's cells side by side, to [n, C, h', w']. */
var *extract(tape *t, const struct extractor *e, var *maps);

/* PyramidFCN: x [n, C, h, w] averaged to s x s for each size s in turn, side by side: [n, C, 1, sum of s*s]. Without sizes
 * the map itself, [n, C, 1, h*w]. */
var *extract_pyramid(tape *t, var *x, size_t count, const size_t *sizes);
/* PyramidGrid: one vector a cell, [n * cells, C, h, w] to [n, C, cells, 1]. */
var *extract_grid(tape *t, var *x, size_t cells);
#endif
