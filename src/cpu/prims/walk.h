/* walk.h - the mutual walk on the CPU: what its files share.
 *
 * Notation (docs/mcl.md): one query has rq features, the support has m = way * rs. phi [rq, m] are their cosines;
 * A = softmax of gamma phi along rows (query -> support), B = softmax of beta phi along columns (support -> query). Both are kept as
 * exponentials with their sums apart: A = row_inverse[i] ea[i, j], B = eb[i, j] column_inverse[j]. w [rq] solves
 *     w = a^2 B A^T w + (1 - a^2)/(rq + a m) (1 + a B 1),     sum w = 1,
 * and pi(S) = A^T w. These hold for any rq and rs; methods.md writes them for rq = rs.
 *
 * Files: walk.c (the episode: preparation, pieces of work), walk_query.c (one query forward), walk_solve.c (w, fast),
 * walk_krylov.c (w where the walk mixes slowly), walk_exact.c (w by the paper's slower forms), walk_direct.c (w by LU factors), walk_backward.c (the derivative). */
#ifndef CPU_PRIMS_WALK_H
#define CPU_PRIMS_WALK_H
#include "cpu/prims/prim.h"

enum { WALK_TILED = 16, WALK_KRYLOV_STEPS = 40 };

/* Hands out pieces of one block of memory; with `at` NULL it only adds up how much will be needed. */
struct cursor {
    char *at;
    size_t bytes;
};
static inline void *cursor_take(struct cursor *c, size_t count, size_t size)
{
    void *p = c->at ? c->at + c->bytes : NULL;
    c->bytes += size_round_up(count * size, 64);
    return p;
}
static inline real *cursor_reals(struct cursor *c, size_t count) { return cursor_take(c, count, sizeof(real)); }

struct R(walk) { /* what all queries of a call share */
    struct device *dev;
    const kernel_table *k;
    const struct walk_args *args;
    size_t nq, way, channels, rs, rq, m;
    size_t step;         /* row step of [rq, m] matrices: whole panels, and an odd number of cache lines */
    size_t channel_step; /* the same for rows of channels */
    real alpha, a2;      /* alpha and its square */
    bool walks_back;     /* alpha > 0 or pi(q) wanted: B is needed */
    bool differentiates;
    /* the support, once a call */
    real *support;         /* [channels, step] unit vectors */
    real *support_inverse; /* [m] inverse norms of the raw ones */
    real *forward_panels;  /* packed for phi = query^T support */
    real *backward_panels; /* packed for d query = d phi support^T */
    /* the derivative: a piece of work is a range of queries with a sum of its own, so that sums do not depend on threads */
    size_t pieces, group; /* ranges, and queries in them that are multiplied at a time */
    real *d_support;      /* [pieces, channels, step] */
    double *losses;       /* [nq] */
};

struct R(walk_query) {                               /* one query's working memory, in a worker's scratch */
    size_t n;                                        /* which query */
    real *phi, *ea, *eb;                             /* [rq, step] */
    real *inverse;                                   /* [rq] inverse norms of the query's features */
    real *row_max, *row_inverse;                     /* [rq] */
    real *column_max, *column_inverse;               /* [m] */
    real *first;                                     /* [rq] where the walk begins, (1 + a B 1) / (rq + a m) */
    real *w;                                         /* [rq] */
    real *pi_support;                                /* [m] */
    real *row_a, *row_b, *row_c;                     /* [rq] temporaries */
    real *column_a, *column_b, *column_c, *column_d; /* [m] temporaries */
    real *before;                                    /* [rq] the step before, in the iteration */
    real *basis;                                     /* [WALK_KRYLOV_STEPS + 1, rq] */
    real *g;                                         /* [rq, rq] B A^T, and what the slower solvers make of it */
    int *pivot;                                      /* [rq] */
    real *panels;                                    /* A packed for B A^T */
    bool factored;                                   /* wide holds LU factors of G */
    bool has_pi_support;                             /* the solver gave pi_support itself */
    real *d_query;                                   /* [rq, channel_step] */
    real *tiled;                                     /* [WALK_TILED, rq] one vector repeated */
    real *large;                                     /* the slow solvers' matrices */
    real *wide;                                      /* walk_direct.c: [rq + 1, rq] doubles */
    double direct_a2;                                /* the a^2 that its factors were made with */
};

/* walk_query.c */
void R(walk_query_layout)(const struct R(walk) *w, struct cursor *c, struct R(walk_query) *q);
status R(walk_query_forward)(const struct R(walk) *w, struct R(walk_query) *q);
/* The sum of pi(S) over a class, and its logarithm, which is right also where the mass itself underflows. */
double R(walk_mass)(const struct R(walk) *w, const struct R(walk_query) *q, size_t class_index);
double R(walk_other_mass)(const struct R(walk) *w, const struct R(walk_query) *q,
                          size_t class_index); /* of all others */
double R(walk_log_mass)(const struct R(walk) *w, const struct R(walk_query) *q, size_t class_index);

/* walk_solve.c: fills q->w; the adjoint solves G^T x = u, where G is the deflated matrix */
status R(walk_solve)(const struct R(walk) *w, struct R(walk_query) *q);
status R(walk_solve_deflated)(const struct R(walk) *w, struct R(walk_query) *q);
status R(walk_solve_adjoint)(const struct R(walk) *w, struct R(walk_query) *q, const real *u, real *x);
void R(walk_two_steps)(const struct R(walk) *w, struct R(walk_query) *q); /* g = B A^T */

/* One walk there and back: y = B A^T x, and its transpose, y = A B^T x. x and y may be the same. */
void R(walk_there_and_back)(const struct R(walk) *w, struct R(walk_query) *q, const real *x, real *y);
void R(walk_back_and_there)(const struct R(walk) *w, struct R(walk_query) *q, const real *x, real *y);

/* walk_krylov.c: improves x until G x = b, or G^T x = b; false when that takes too many steps */
bool R(walk_krylov)(const struct R(walk) *w, struct R(walk_query) *q, bool transposed, const real *b, real *x);

/* walk_direct.c: LU factors of G, and with them G x = b or G^T x = b */
size_t R(walk_direct_count)(const struct R(walk) *w);
status R(walk_direct_factor)(const struct R(walk) *w, struct R(walk_query) *q);
void R(walk_direct_solve)(const struct R(walk) *w, struct R(walk_query) *q, bool transposed, const real *b, real *x);

/* walk_exact.c: the solvers that are kept for comparison, and how many reals of `large` they need */
size_t R(walk_large_count)(const struct R(walk) *w);
status R(walk_solve_slow)(const struct R(walk) *w, struct R(walk_query) *q);

/* walk_backward.c */
status R(walk_query_backward)(const struct R(walk) *w, struct R(walk_query) *q);
void R(walk_support_backward)(const struct R(walk) *w, size_t piece, size_t first, size_t count, const real *d_phi,
                              bool add);
status R(walk_support_finish)(struct R(walk) *w);
#endif
