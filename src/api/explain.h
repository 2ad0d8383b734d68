/* explain.h - the parts of an explanation, on encoded pictures: the walk between a query and every known picture, its
 * strongest pairs of places, and Grad-CAM. */
#ifndef API_EXPLAIN_H
#define API_EXPLAIN_H
#include "api/classifier.h"

struct why_input {
    centra_classifier *classifier; /* its head guesses, its session works */
    struct rows known;
    size_t height, width; /* of a map */
    const float *query;   /* [channels, height * width] */
};

/* The walk with each known picture as a class of its own, in the symbols of docs/mcl.md; m = count * places. */
struct why_walk {
    struct walk walk;
    size_t places, count; /* of a picture; known pictures */
    float *on_known;      /* owned, [m]: pi(S); sums to 1 */
    float *cosine;        /* owned, [places, m]: phi */
    double *leaving;      /* owned, [places]: the weights w; sums to 1 */
    double *there, *back; /* owned, [places] and [m]: ln of the softmaxes' denominators for A's rows and B's columns */
    double *toward;       /* owned, [places, count]: A summed over the places of each known picture */
};
status why_walk(const struct why_input *in, struct why_walk *out);
void why_walk_free(struct why_walk *w); /* accepts a zeroed struct */
/* A and B. */
double walk_there(const struct why_walk *w, size_t query_place, size_t known_place);
double walk_back(const struct why_walk *w, size_t query_place, size_t known_place);

/* What of the walk speaks for the class whose pictures are first .. first + count - 1. */
enum { WHY_PAIRS = 8 };
struct why_class {
    size_t picture;   /* the one that drew the most */
    double *on_query; /* [places], the caller's: what each place of the query sends to the class beyond chance */
    double *on_known; /* [places], the caller's: what of that arrives at each place of the picture */
    centra_pair
        pairs[WHY_PAIRS]; /* strongest first; no two share a place, or on maps of more than 8 cells a side come near */
    size_t pair_count;
};
status why_class(const struct why_walk *w, const struct why_input *in, size_t first, size_t count,
                 struct why_class *out);

/* Grad-CAM of the query's map for a class, [height * width], which sums to 1. */
status why_grad_cam(const struct why_input *in, size_t class_index, float *out);
#endif
