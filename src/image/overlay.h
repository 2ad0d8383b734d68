/* overlay.h - where a head looked: a small map of weights laid over the picture that it belongs to. */
#ifndef IMAGE_OVERLAY_H
#define IMAGE_OVERLAY_H
#include "image/picture.h"

/* The picture with the `height` x `width` map stretched over it: colours glow where the map is largest and fade to a dark grey
 * where it is smallest. A map that is the same everywhere leaves the picture halfway. */
status picture_overlay(const struct picture *p, const float *map, size_t height, size_t width, struct picture *out);
#endif
