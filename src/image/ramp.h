/* ramp.h - colours for numbers from 0 to 1: from a dark violet over red and orange to a light yellow. */
#ifndef IMAGE_RAMP_H
#define IMAGE_RAMP_H
#include <stdint.h>

/* The colour of a value; what lies outside 0 to 1 gets the colour of the nearer end. */
void ramp_colour(double value, uint8_t rgb[3]);

enum { RAMP_STEPS = 256 };
struct ramp { /* the same as a table: step i is the value i / 255 */
    uint8_t rgb[RAMP_STEPS][3];
};
void ramp_fill(struct ramp *out);
#endif
