/* mirror.h - mirror images as further shots, for heads that need two shots of a class where there is one (dsn). */
#ifndef HEADS_MIRROR_H
#define HEADS_MIRROR_H
#include "heads/head.h"

/* Whether the head wants it in episodes of this many shots. */
bool mirror_wanted(const struct head *h, size_t shot);
/* Pictures [n, c, h, w] seen in a mirror, left and right exchanged. */
var *mirror_images(tape *t, var *x);
/* [n, c, h, w] to [2n, c, h, w]: each picture, then its mirror image. */
var *mirror_beside(tape *t, var *x);
#endif
