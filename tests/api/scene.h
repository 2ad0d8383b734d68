/* scene.h - pictures of an object at a known place on a textured ground, for the tests of explanations. */
#ifndef TESTS_API_SCENE_H
#define TESTS_API_SCENE_H
#include "centra.h"
#include "tests/api/own.h"

enum { SCENE_SIDE = 92 }; /* shown as 84: the network's view is the middle of it */

/* The object's upper left corner and its sides, in parts of what the network sees. */
struct scene_box {
    double left, top, side;
};

/* Object of class `kind` (own_picture's) in the box, on a ground that differs for each seed. */
centra_picture scene_make(size_t kind, uint64_t seed, struct scene_box box);
/* A box of the usual size at a place that the seed draws. */
struct scene_box scene_box(uint64_t seed);
/* `each` scenes of each of `kinds` classes into the support; picture i of kind k has scene_box(scene_seed(k, i)). */
bool scene_fill(struct own *o, size_t kinds, size_t each);
uint64_t scene_seed(size_t kind, size_t picture);
/* The part of a map's weight that lies in the box, cells being cut where the box's edge runs through them. */
double scene_inside(const float *map, size_t height, size_t width, struct scene_box box);
/* The part of a cell that lies in the box. */
double scene_covers(size_t cell, size_t height, size_t width, struct scene_box box);
#endif
