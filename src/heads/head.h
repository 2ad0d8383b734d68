/* head.h - a head turns the features of an episode into class scores.
 *
 * Each head is one file and one line in heads.def. Settings, parameters and capabilities are data, so that the command
 * line, help, man pages, docs tables, recipes and tests all walk this registry. */
#ifndef HEADS_HEAD_H
#define HEADS_HEAD_H
#include "base/option.h"
#include "base/random.h"
#include "ops/ops.h"

/* Pictures of other classes than the episode's, those that the network was trained on: for heads that want them. */
struct head_base {
    tensor features;     /* [n, C], pooled, on the tape's device, of the episode's type */
    size_t classes;      /* sorted by class: class b has the rows first[b] up to first[b + 1], one at least */
    const size_t *first; /* [classes + 1], on the host */
};

/* An episode on the tape. Labels are class indices in order of the sorted distinct labels. */
struct episode {
    var *support;                 /* [ns, C, rs] */
    const tensor *support_labels; /* i32 [ns] */
    var *query;                   /* [nq, C, rq] */
    const tensor *query_labels;   /* i32 [nq], or NULL: no loss */
    size_t way;
    const int32_t *support_host;  /* support_labels on the host; NULL: heads that need them read them back, and wait */
    const struct head_base *base; /* NULL: none */
};

enum { HEAD_CENTRALITY = 1 }; /* wants beyond the scores */

struct head_result {
    var *scores;                /* [nq, way] */
    var *loss;                  /* scalar; NULL without labels */
    var *pi_support, *pi_query; /* [nq, way*rs], [nq, rq]; NULL unless wanted and the head has them */
};

struct head_param {
    const char *name; /* "head.scale" */
    int rank;
    size_t (*dim)(size_t channels, int axis);
    double start, start_normal, start_uniform; /* constant + normal deviation or uniform half-width */
    bool by_channels;                          /* those two are divided by the root of the channels */
};

struct head {
    const char *name, *title, *paper;
    const struct option *options;
    size_t settings_bytes;
    void (*presets)(void *settings); /* after the defaults, for heads that share a table; NULL: none */
    const struct head_param *params; /* ends with a NULL name; NULL: none */
    bool probabilities;              /* scores are probabilities, else logits */
    /* The walk that pi_support and pi_query come from; NULL: the head has none. */
    struct walk (*walk)(const void *settings);
    bool pools;   /* one vector a picture: accepts the centrality plug-in */
    bool named;   /* its parameters know the classes of an episode by number */
    bool mirrors; /* at 1-shot wants mirror images as second shots (heads/mirror.h) */
    bool fitted;  /* to each episode when asked: it refuses training tapes */
    bool base;    /* needs an episode's `base` */
    /* False after a failure, which the tape holds. `params` holds what head_start added; a head whose start values are
     * constants may be given NULL and then uses those. */
    bool (*forward)(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                    struct head_result *out);
};

/* All heads, sorted by name, NULL-terminated. */
extern const struct head *const head_table[];
/* ST_USAGE with a "did you mean" when there is none. */
status head_find(const char *name, const struct head **out);
size_t head_param_count(const struct head *h);
/* Adds the head's parameters of type `type` for maps of that many channels, with their start values drawn from r. */
status head_start(const struct head *h, size_t channels, dtype type, struct random *r, struct params *p);
/* A parameter as a var; with p NULL a constant of its start value. */
var *head_var(tape *t, struct params *p, const struct head_param *e, size_t channels, dtype type);
#endif
