/* score.h - what the files of centra score share: its settings, its inputs and its results. */
#ifndef APP_SCORE_H
#define APP_SCORE_H
#include "app/command.h"
#include "base/npy.h"

struct score {
    const char *head, *support, *support_labels, *query, *query_labels, *weights, *out, *base, *base_labels;
    int precision; /* a centra_precision */
    bool gradients, centrality;
};

/* An episode read from files and checked. */
struct inputs {
    struct npy support, support_labels, query, query_labels; /* owned; query_labels may be empty */
    struct npy base, base_labels;                            /* owned; may be empty */
    int64_t *classes;                                        /* owned: the distinct support labels, sorted */
    size_t way;
    centra_episode episode; /* points into the arrays above */
};
/* score_inputs.c */
status inputs_load(const struct score *s, struct inputs *out);
/* The base pictures, where there are some. */
status inputs_give_base(const struct inputs *in, centra_head *head);
void inputs_free(struct inputs *in);

/* What the head gave. */
struct outputs {
    centra_result result; /* the arrays that were wanted, owned; labels and loss are not */
    size_t param_count;
    centra_param_info *params; /* owned [param_count] */
    void **grad_params;        /* owned, and its arrays; NULL: not wanted */
    double loss;
    double accuracy; /* percent; with query labels */
};

/* score_report.c: on standard output as a table or JSON lines; or into the folder --out with a summary. */
status report_table(const struct call *c, const struct inputs *in, const struct outputs *out, bool probabilities);
status report_files(const struct call *c, const struct inputs *in, const struct outputs *out, bool probabilities);
/* The class of query i: the first of those with the highest score. */
size_t best_class(const struct inputs *in, const struct outputs *out, size_t i);
#endif
