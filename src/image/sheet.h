/* sheet.h - pictures of pictures: what was seen beside what a map says of it, and lines between the places of two
 * pictures. */
#ifndef IMAGE_SHEET_H
#define IMAGE_SHEET_H
#include "image/picture.h"

/* The picture, enlarged, beside itself under the map, with a legend. The map is [height, width] and sums to 1: the
 * legend's numbers are multiples of the share that every cell would have if all had the same. */
struct sheet_map {
    const struct picture *seen;
    const float *map;
    size_t height, width;
    const char *title; /* above all, cut where it is too long */
    const char *means; /* above the overlay: "where it was found" */
};
status sheet_map(const struct sheet_map *s, struct picture *out);

struct sheet_line { /* between cells, row * width + column */
    size_t left, right;
    double weight; /* 0 to 1 */
};

/* Two pictures side by side, their maps' cells of `height` x `width` joined by lines: the stronger, the lighter and
 * thicker. */
struct sheet_pairs {
    const struct picture *left, *right;
    size_t height, width;
    const struct sheet_line *lines; /* the strongest first */
    size_t count;
    const char *title, *left_name, *right_name;
};
status sheet_pairs(const struct sheet_pairs *s, struct picture *out);

/* How often a picture of that size is enlarged on sheets, so that small ones can be looked at. */
size_t sheet_enlargement(size_t width, size_t height);
#endif
