/* chart.h - line charts as inline SVG: axes with round numbers, one line, an optional band around it. */
#ifndef BASE_CHART_H
#define BASE_CHART_H
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>

struct chart_point {
    double x, y, half; /* a y that is not finite is left out, and the line breaks there; half: of the band, 0: none */
    bool marked;       /* a dot with its value */
};

struct chart {
    const char *title, *x_name;
    const char *class_name; /* colours come from the page's style sheet: line, band and dot of this class */
    bool percent;           /* y is written in percent */
    bool logarithmic;       /* y by powers of ten; points at or below 0 are left out */
    bool steps;             /* y holds until the next point */
    const struct chart_point *point;
    size_t count;
};

/* Adds one <figure>. */
void chart_add(text *to, const struct chart *c);
/* A round step (1, 2 or 5 times a power of ten) that cuts `span` into at most `most` parts; 1 for a span that is not
 * above 0. */
double chart_step(double span, int most);
#endif
