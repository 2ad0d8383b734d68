/* draw.h - simple figures on pictures: boxes, lines, dots, small letters, other pictures. Smooth at the edges; what
 * lies outside of the picture is cut off. Places are in pixels; (0, 0) is the upper left corner of the upper left
 * pixel. */
#ifndef IMAGE_DRAW_H
#define IMAGE_DRAW_H
#include "image/picture.h"

struct ink {
    uint8_t rgb[3];
    float opacity; /* 0 to 1 */
};

struct spot {
    float x, y;
};

void draw_box(struct picture *to, size_t left, size_t top, size_t width, size_t height, const uint8_t rgb[3]);
void draw_picture(struct picture *to, const struct picture *from, size_t left, size_t top);
void draw_line(struct picture *to, struct spot from, struct spot end, float thickness, struct ink ink);
/* A filled circle. */
void draw_disc(struct picture *to, struct spot centre, float radius, struct ink ink);
/* A line of text in an own font of 5 x 8 dots, `scale` pixels each, with its upper left corner there. The text is
 * UTF-8; what is not ASCII becomes a box. Gives the column behind it. */
size_t draw_text(struct picture *to, size_t left, size_t top, size_t scale, const char *s, const uint8_t rgb[3]);
/* The columns that draw_text takes; the rows are TEXT_ROWS times the scale. */
size_t draw_text_width(size_t scale, const char *s);
enum { TEXT_ROWS = 8, TEXT_COLUMNS = 6 }; /* of a letter; the last column is the gap */
#endif
