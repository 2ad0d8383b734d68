/* eval.h - what the files of centra eval share: its settings, its heads, and how results are shown. */
#ifndef APP_EVAL_H
#define APP_EVAL_H
#include "app/command.h"
#include "base/json.h"

struct eval {
    const char *weights, *backbone, *extractor, *data, *images, *split, *head, *save_episodes, *save_accuracies,
        *episodes_from, *report, *base, *base_split, *way;
    int64_t shot, query, episodes;
    bool per_class, strict, shuffle_labels;
};

/* eval_heads.c: "mcl,mcl-katz:gamma=40:beta=20" as heads with options of their own; "all" stands for mcl-katz and every
 * other head that needs no training, and no base classes unless there are some. */
struct head_list {
    centra_eval_head *heads; /* owned */
    centra_option *options;  /* owned: what the heads point at */
    char *words;             /* owned: what the options point at */
    size_t count;
};
status head_list_parse(const char *s, bool base, struct head_list *out);
void head_list_free(struct head_list *l);

/* eval_report.c */
/* A head's name, and what of its options tells it from others of the same name in the list. */
void eval_label(const centra_eval *e, size_t head, text *to);
status eval_table(const struct call *c, const centra_eval *e);
/* One head's object; paired NULL: there is nothing to compare it with. */
struct eval_paired {
    const char *against;
    double difference, ci95;
};
void eval_json_row(struct json_writer *w, const centra_session *session, const centra_eval *e, size_t head,
                   const struct eval_paired *paired);
/* A line of JSON for each head with the accuracy of every episode, to compare with what others have on the same ones. */
status eval_save_accuracies(const centra_eval *e, const char *path);
/* eval_page.c: heads by accuracy, drawn with their intervals, and their differences to the first of the list. */
status eval_page(const centra_eval *e, const char *path);
status eval_json(const struct call *c, const centra_session *session, const centra_eval *e);
#endif
