/* explain.h - the parts of an explanation, on encoded pictures: the walk between a query and every known picture, its strongest
 * pairs of places, and Grad-CAM. */
#ifndef API_EXPLAIN_H
#define API_EXPLAIN_H
#include "api/session.h"

/* Features are [channels, height * width] of each picture. */
struct why_input {
    centra_head *head; /* that guesses; its session does the work */
    size_t channels, height, width;
    const float *query;
    const float *known;    /* [count, channels, height * width] */
    const int64_t *labels; /* [count], from 0 to classes - 1 */
    size_t count;
};

/* The walk with each known picture as a class of its own; m = count * places. */
struct why_walk {
    struct walk walk;
    size_t places, count; /* of a picture; known pictures */
    double *mass;         /* owned, [count]: what each picture drew; sums to 1 */
    float *on_query;      /* owned, [places]: pi(q); sums to 1 */
    float *on_known;      /* owned, [m]: pi(S); sums to 1 */
    float *cosine;        /* owned, [places, m]: phi */
    double *leaving;      /* owned, [places]: the weights w; sums to 1 */
    double *there, *back; /* owned, [places] and [m]: ln of the softmaxes' denominators for A's rows and B's columns */
};
status why_walk(const struct why_input *in, struct why_walk *out);
void why_walk_free(struct why_walk *w); /* accepts a zeroed struct */

/* The strongest pairs between the query and a known picture, strongest first, in weights that can be compared between pictures. No
 * two share a place, or on maps of more than 8 cells a side come near to it. */
enum { WHY_PAIRS = 8 };
status why_pairs(const struct why_walk *w, size_t height, size_t width, size_t picture, centra_pair out[WHY_PAIRS],
                 size_t *count);

/* Grad-CAM of the query's map for a class, [height * width], which sums to 1. */
status why_grad_cam(const struct why_input *in, size_t class_index, float *out);
#endif
