/* eval_base.c - the base classes of an evaluation, pooled and encoded once, for heads that look at them. */
#include "api/eval.h"
#include "base/plain.h"
#include <stdlib.h>
#include <string.h>

/* The first head that needs them; NULL: none does. */
static const struct head *who(const centra_eval *e)
{
    for (size_t i = 0; i < e->lineup.heads; i++)
        if (e->lineup.head[i].head->base) return e->lineup.head[i].head;
    return NULL;
}

status base_possible(const centra_eval_options *o, const centra_eval *e, const struct log_sink *log)
{
    const struct head *h = who(e);
    if (h && !o->base)
        return fail(ST_USAGE,
                    "the head %s needs pictures of base classes, those that the network was trained on; give them with "
                    "--base",
                    h->name);
    if (!h && o->base && e->writes) log_line(log, LOG_WARN, "no head looks at base classes; '%s' is not read", o->base);
    return OK;
}

static status open_set(const centra_eval_options *o, const struct log_sink *log, struct dataset **out)
{
    const struct dataset_options d = {.images = o->images, .log = log};
    const char *split = o->base_split, **splits;
    if (!split) {
        const status st = dataset_splits(o->base, &splits);
        if (st != OK) return st;
        if (splits[0]) split = "train";
        free(splits);
    }
    return dataset_open(o->base, split, &d, out);
}

/* What is known already is not learned from a few pictures. */
static void warn_of_shared(const centra_eval *e, const struct dataset *base, const struct log_sink *log)
{
    size_t shared = 0;
    for (size_t b = 0; b < dataset_class_count(base); b++)
        for (size_t c = 0; c < e->summary.classes; c++)
            shared += !strcmp(dataset_class_name(base, b), dataset_class_name(e->set, c));
    if (shared && e->writes)
        log_line(log, LOG_WARN, "%zu base classes have names of classes that are evaluated; they should be others",
                 shared);
}

/* Classes of which nothing could be read are left out. */
static status index_classes(centra_eval *e)
{
    void *memory;
    struct head_base *to = &e->shown;
    const struct features *f = &e->base;
    const status st = arena_take(e->lineup.memory, f->classes + 1, sizeof *to->first, &memory);
    if (st != OK) return st;
    size_t *first = memory, n = 0;
    for (size_t c = 0; c < f->classes; c++)
        if (f->size[c]) first[n++] = f->first[c];
    first[n] = f->data.dim[0];
    to->first = first;
    to->classes = n;
    return tensor_make(&to->features, f->data.type, 2, f->data.dim, f->data.data); /* of one location */
}

/* All processes must have the same. */
static status agree(struct peers *p, const struct dataset *base)
{
    char set[96];
    if (p->size == 1) return OK;
    plain_snprintf(set, sizeof set, "%zu pictures of %zu classes", dataset_count(base), dataset_class_count(base));
    return peers_agree(p, 1, &(struct peers_fact){"base classes, with", set, true});
}

status base_encode(const centra_eval_options *o, const struct features_options *how, centra_eval *e)
{
    status st = OK;
    struct dataset *set = NULL;
    struct features_options f = *how;
    if (!who(e)) return OK;
    f.mirror = false;
    f.hashes = NULL;
    f.pool = true;
    TRY(open_set(o, how->log, &set));
    TRY(agree(how->peers, set));
    warn_of_shared(e, set, how->log);
    TRY(features_encode(&e->lineup.model, set, &f, &e->base));
    TRY(index_classes(e));
done:
    dataset_close(set);
    return st;
}
