/* parts.h - a step in parts: some episodes, or pictures, of its lesson at a time.
 *
 * Each part is normalised by its own statistics; gradients are added up, and the running statistics of the parts averaged,
 * with the parts' shares of the lesson. So a step does not depend on who computes which part: one process computes them
 * one after another, several side by side. */
#ifndef TRAIN_PARTS_H
#define TRAIN_PARTS_H
#include "train/course.h"

/* How many parts of this lesson hold anything: those behind are empty. */
size_t lesson_parts(const struct lesson *whole, size_t parts);
/* Part `part` of `parts`, which is not empty. `picture` has room for its pictures and is part of the result. */
void lesson_part(const struct lesson *whole, size_t part, size_t parts, uint32_t *picture, struct lesson *out);
/* The place of picture i in the whole lesson, which its random stream depends on. */
static inline size_t lesson_place(const struct lesson *l, size_t i)
{
    return i < l->support ? l->first_support + i : l->first_query + i - l->support;
}

/* The running statistics of a step in parts: every part begins with those that the step began with. */
struct running;
struct params;
/* The parameters are borrowed, and must be all there. */
status running_new(struct params *p, struct running **out);
void running_free(struct running *r);
status running_begin(struct running *r);
status running_part(struct running *r, double weight); /* takes note of what a part has left behind */
status running_end(struct running *r);
/* The changes noted so far, weighted, on the device: to be added up over processes before the end. */
status running_changes(struct running *r, void **memory, size_t *bytes);
#endif
