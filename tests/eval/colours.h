/* colours.h - a data set of pictures that differ by colour, as files below the test's folder. */
#ifndef TESTS_EVAL_COLOURS_H
#define TESTS_EVAL_COLOURS_H

enum { COLOUR_CLASSES = 4, COLOUR_EACH = 6 };

/* "set/test/c0" to "c3" with six pictures each, and "c4" with two: too few for most episodes. */
void colour_set(void);
#endif
