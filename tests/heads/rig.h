/* rig.h - episodes made of host numbers, the mutual walk over them on a tape, and a plain reading of its definition.
 *
 * Everything is double on this side; the world (tests/ops/world.h) computes in f32 or f64. */
#ifndef TESTS_HEADS_RIG_H
#define TESTS_HEADS_RIG_H
#include "base/random.h"
#include "tests/ops/world.h"

struct maps { /* an episode after averaging over shots */
    size_t way, channels, rs, nq, rq;
    double *proto;   /* [way, channels, rs], owned */
    double *query;   /* [nq, channels, rq], owned */
    int32_t *labels; /* [nq], owned */
};

/* Normal features that share a direction, so that cosines are neither all alike nor all small. */
struct maps maps_random(struct random *r, size_t way, size_t channels, size_t rs, size_t nq, size_t rq);
struct maps maps_copy(const struct maps *m);
void maps_free(struct maps *m);
size_t maps_proto_count(const struct maps *m);
size_t maps_query_count(const struct maps *m);

struct answer {                    /* all that the walk says about an episode; one block, owned */
    double *prob, *log_prob;       /* [nq, way] */
    double *pi_support, *pi_query; /* [nq, way*rs], [nq, rq] */
    double *d_proto, *d_query;     /* gradients of the mean negative log likelihood */
    double loss;
    void *block;
};

/* As world_open, with an instruction set by name (NULL: as usual). */
bool rig_open(struct world *w, const char *isa, size_t threads, dtype type);
/* Every output of op_walk_nll and its gradients. False, with a failed expectation, when the tape has failed. */
bool rig_walk(struct world *w, const struct maps *m, const struct walk *s, struct answer *out);
void answer_free(struct answer *a);

/* A and B [rq, way*rs] of query n straight from their definition. */
void plain_transitions(const struct maps *m, const struct walk *s, size_t n, double *a, double *b);

/* Fails, naming `what`, unless |seen - wanted| <= tolerance (1 + largest |wanted|) everywhere. */
void expect_near(const char *file, int line, const char *what, const double *seen, const double *wanted, size_t n,
                 double tolerance);
#define EXPECT_ALL_NEAR(seen, wanted, n, tolerance) expect_near(__FILE__, __LINE__, #seen, seen, wanted, n, tolerance)

/* 1e-12 or 1e-5: what rounding may do to a number of size 1 on its way through a walk. */
double rig_tolerance(dtype type);
#endif
