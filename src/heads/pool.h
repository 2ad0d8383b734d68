/* pool.h - one vector a picture, by plain averaging or weighted by centrality: the plug-in of the MCL paper.
 *
 * Every head that pools takes its vectors from here, so that `pool` is an option of all of them and not a copy of
 * each. The weights come from the mutual walk between the query's map and the class maps; support weights therefore
 * depend on the query, and pooled classes become [nq, way, C]. */
#ifndef HEADS_POOL_H
#define HEADS_POOL_H
#include "ops/ops.h"

enum pool_mode { POOL_MEAN, POOL_MCL_QUERY, POOL_MCL_SUPPORT, POOL_MCL_BOTH };
extern const char *const pool_mode_names[]; /* "mean", "mcl-query", "mcl-support", "mcl-both", NULL */

struct pool_settings {
    int mode; /* enum pool_mode */
    struct walk walk;
    bool detach; /* gradients stop at the weights */
};

struct pooled {
    var *query;         /* [nq, C] */
    var *classes;       /* [way, C], or [nq, way, C] with support weights */
    var *query_weights; /* [nq, rq], rows sum to 1; NULL when plain */
    var *class_weights; /* [nq, way, rs], each class sums to 1; NULL when plain */
};

/* proto [way, C, rs] are the class maps averaged over shots, query is [nq, C, rq]. False after a failure. */
bool pool_features(tape *t, const struct pool_settings *s, var *proto, var *query, struct pooled *out);
#endif
