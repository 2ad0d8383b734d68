/* mcl - mutual centralized learning (Liu et al., CVPR 2022): a class is as likely as its features are central in a random
 * walk back and forth between the query's local features and those of all classes.
 *
 * The four heads here are one walk with different damping alpha: mcl (0.999, the paper's approximation of the
 * stationary distribution), mcl-katz (0.5, Katz centrality), mcl-exact (1, the stationary distribution itself) and
 * unidirectional (the limit 0: one step from query to support, the paper's ablation). Shots are averaged location by
 * location before anything is normalised. No learned parameters. */
#include "heads/head.h"

struct mcl {
    double gamma, beta, alpha;
    int solver;
};

static const char *const solver_names[] = {"auto", "full", "block",   "reduced", "deflated",
                                           "qr",   "pinv", "iterate", NULL};
_Static_assert(WALK_FULL == 1 && WALK_ITERATE == 7, "solver_names is in the order of enum walk_solver");

#define GAMMA OPT_FLOAT_INSIDE(struct mcl, gamma, "gamma", 20, 0, 1e7, "sharpness of the walk from query to support")
#define BETA OPT_FLOAT_INSIDE(struct mcl, beta, "beta", 10, 0, 1e7, "sharpness of the walk from support to query")
#define ALPHA(standard) \
    OPT_FLOAT_INSIDE(struct mcl, alpha, "alpha", standard, 0, 1, \
                     "damping of the walk; near 1 it forgets where it began")
#define SOLVER \
    OPT_NAME(struct mcl, solver, "solver", WALK_AUTO, solver_names, "how the walk is solved; all give the same numbers")

static const struct option damped_options[] = {GAMMA, BETA, ALPHA(0.999), SOLVER, OPT_END};
static const struct option katz_options[] = {GAMMA, BETA, ALPHA(0.5), SOLVER, OPT_END};
static const struct option exact_options[] = {GAMMA, BETA, SOLVER, OPT_END};
static const struct option one_way_options[] = {
    GAMMA, OPT_FLOAT_INSIDE(struct mcl, beta, "beta", 10, 0, 1e7, "sharpness for the query's centralities only"),
    OPT_END};

static void stationary(void *settings) { ((struct mcl *)settings)->alpha = 1; }
static void one_way(void *settings) { ((struct mcl *)settings)->alpha = 0; }

static struct walk mcl_walk(const void *settings)
{
    const struct mcl *s = settings;
    return (struct walk){s->gamma, s->beta, s->alpha, (enum walk_solver)s->solver};
}

static bool mcl_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                        struct head_result *out)
{
    const struct walk w = mcl_walk(settings);
    const unsigned wanted = WALK_PROB | (want & HEAD_CENTRALITY ? WALK_PI_SUPPORT | WALK_PI_QUERY : 0);
    struct walk_vars v = {0};
    var *proto = op_class_mean(t, e->support, e->support_labels, e->way); /* [way, C, rs] */
    (void)params;
    if (e->query_labels) out->loss = op_walk_nll(t, proto, e->query, e->query_labels, &w, wanted, &v);
    else op_walk(t, proto, e->query, &w, wanted, &v);
    out->scores = v.prob;
    out->pi_support = v.pi_support;
    out->pi_query = v.pi_query;
    return v.prob != NULL;
}

static const char paper[] =
    "Liu et al., Learning to Affiliate: Mutual Centralized Learning for Few-shot Classification, "
    "CVPR 2022";

const struct head mcl_head = {.name = "mcl",
                              .title = "mutual walk, damping 0.999 (the paper's MCL)",
                              .paper = paper,
                              .options = damped_options,
                              .settings_bytes = sizeof(struct mcl),
                              .probabilities = true,
                              .walk = mcl_walk,
                              .forward = mcl_forward};

const struct head mcl_katz_head = {.name = "mcl-katz",
                                   .title = "mutual walk, Katz centrality with damping 0.5",
                                   .paper = paper,
                                   .options = katz_options,
                                   .settings_bytes = sizeof(struct mcl),
                                   .probabilities = true,
                                   .walk = mcl_walk,
                                   .forward = mcl_forward};

const struct head mcl_exact_head = {.name = "mcl-exact",
                                    .title = "mutual walk, exact stationary distribution",
                                    .paper = paper,
                                    .options = exact_options,
                                    .settings_bytes = sizeof(struct mcl),
                                    .presets = stationary,
                                    .probabilities = true,
                                    .walk = mcl_walk,
                                    .forward = mcl_forward};

const struct head unidirectional_head = {.name = "unidirectional",
                                         .title = "one step from query to support only (the paper's ablation)",
                                         .paper = paper,
                                         .options = one_way_options,
                                         .settings_bytes = sizeof(struct mcl),
                                         .presets = one_way,
                                         .probabilities = true,
                                         .walk = mcl_walk,
                                         .forward = mcl_forward};
