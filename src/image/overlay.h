/* overlay.h - where a head looked: a small map of weights laid over the picture that it belongs to. */
#ifndef IMAGE_OVERLAY_H
#define IMAGE_OVERLAY_H
#include "image/picture.h"

/* The picture under the `height` x `width` map in the colours of image/ramp.h: light yellow where the map is largest,
 * dark violet where it is smallest. A map that is the same everywhere gets the colour of the middle. */
status picture_overlay(const struct picture *p, const float *map, size_t height, size_t width, struct picture *out);
#endif
