/* pool.h - one vector a picture, by plain averaging or weighted by centrality: the plug-in of the MCL paper.
 *
 * Every head that pools takes its vectors from here, so that `pool` is an option of all of them and not a copy of
 * each. The weights come from the mutual walk between the query's map and the class maps; support weights therefore
 * depend on the query, and pooled classes become [nq, way, C]. */
#ifndef HEADS_POOL_H
#define HEADS_POOL_H
#include "base/option.h"
#include "ops/ops.h"

enum pool_mode { POOL_MEAN, POOL_MCL_QUERY, POOL_MCL_SUPPORT, POOL_MCL_BOTH };
extern const char *const pool_mode_names[];  /* "mean", "mcl-query", "mcl-support", "mcl-both", NULL */
extern const char *const pool_query_names[]; /* "mean", "mcl-query", NULL */

struct pool_settings {
    int mode; /* enum pool_mode */
    struct walk walk;
    bool detach; /* gradients stop at the weights */
};

/* The lines of a head's option table for its field `pool`. A head NAME has two tables: its own with `mean`, and that of
 * NAME+mcl with the plug-in that the paper's tables report for it. Heads that need each shot's own vector weigh the
 * query only: a support weight belongs to a class, not to a shot. */
#define POOL_OPTIONS(s, standard_mode) POOL_TABLE(s, standard_mode, pool_mode_names)
#define POOL_QUERY_OPTIONS(s, standard_mode) POOL_TABLE(s, standard_mode, pool_query_names)
#define POOL_TABLE(s, standard_mode, names) \
    OPT_NAME(s, pool.mode, "pool", standard_mode, names, "how a picture becomes one vector"), \
        OPT_FLOAT_INSIDE(s, pool.walk.gamma, "pool.gamma", 20, 0, 1e7, "sharpness of the walk from query to support"), \
        OPT_FLOAT_INSIDE(s, pool.walk.beta, "pool.beta", 10, 0, 1e7, "sharpness of the walk from support to query"), \
        OPT_FLOAT(s, pool.walk.alpha, "pool.alpha", 0.999, 0, 1, \
                  "damping of the walk; near 1 it forgets where it began"), \
        OPT_FLAG(s, pool.detach, "pool.detach", "keep gradients out of the weights")

struct pooled {
    var *query;         /* [nq, C] */
    var *classes;       /* [way, C], or [nq, way, C] with support weights */
    var *query_weights; /* [nq, rq], rows sum to 1; NULL when plain */
    var *class_weights; /* [nq, way, rs], each class sums to 1; NULL when plain */
};

/* The class maps averaged over shots, [way, C, rs]; [way, C, 1] where nothing but their averages is looked at. */
var *pool_class_maps(tape *t, const struct pool_settings *s, var *support, const tensor *labels, size_t way);
/* proto are such class maps, query is [nq, C, rq]. False after a failure. */
bool pool_features(tape *t, const struct pool_settings *s, var *proto, var *query, struct pooled *out);
/* Each query against each class by an op on all pairs of rows (op_sqdist, op_cosine): [nq, way]. */
var *pool_compare(tape *t, const struct pooled *p, var *(*pairs)(tape *t, var *a, var *b));
#endif
