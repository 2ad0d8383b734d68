/* eval_episodes.c - the episodes of an evaluation: drawn by the ordinary sampler, or played again from a file. */
#include "api/eval.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 8 }; /* classes in a warning */

/* Subtracted so that no sum can overflow. */
static bool large_enough(const centra_eval_summary *s, size_t size)
{
    return size >= s->shot && size - s->shot >= s->query;
}

/* Of an evaluation of all classes: how many they are. */
static status count_all(const centra_eval_summary *s, const size_t *size, size_t *way)
{
    *way = 0;
    for (size_t c = 0; c < s->classes; c++) *way += large_enough(s, size[c]);
    if (*way >= 2) return OK;
    return fail(ST_VALUE,
                "all classes with at least %zu support + %zu query pictures are %zu of %zu; episodes need two", s->shot,
                s->query, *way, s->classes);
}

static status sampler_of(const centra_eval *e, const size_t *first, const size_t *size, struct sampler **out)
{
    const centra_eval_summary *s = &e->summary;
    size_t way = s->way;
    status st = OK;
    if (way == CENTRA_ALL_CLASSES) st = count_all(s, size, &way);
    return st == OK ? sampler_new(s->classes, first, size, way, s->shot, s->query, s->seed, out) : st;
}

status course_possible(const centra_eval *e)
{
    const size_t n = e->summary.classes;
    struct sampler *s = NULL;
    status st = OK;
    size_t *ranges = calloc(2 * n, sizeof *ranges);
    if (!ranges) return fail(ST_MEMORY, "no memory for %zu classes", n);
    for (size_t c = 0; c < n; c++) {
        ranges[c] = dataset_class_first(e->set, c);
        ranges[n + c] = dataset_class_size(e->set, c);
    }
    st = sampler_of(e, ranges, ranges + n, &s);
    sampler_free(s);
    free(ranges);
    return st;
}

static status check_classes(const char *path, const centra_eval *e, size_t episode, const struct plan *p)
{
    for (size_t i = 0; i < p->way * (p->shot + p->query); i++) {
        const bool support = i < p->way * p->shot;
        const size_t q = i - p->way * p->shot;
        const size_t picture = support ? p->support[i] : p->queries[q];
        const size_t label = support ? i / p->shot : (size_t)p->query_labels[q];
        if (dataset_class_of(e->set, picture) != p->classes[label])
            return fail(ST_VALUE, "'%s': episode %zu has picture %zu under a class that it is not of", path,
                        episode + 1, picture);
    }
    return OK;
}

/* All episodes of a file have one shape, which becomes the evaluation's. */
static status read_list(const char *path, centra_eval *e, struct course *c)
{
    status st = OK;
    centra_eval_summary *s = &e->summary;
    TRY(plan_list_read(path, e->lineup.memory, &c->list));
    TRY(plan_list_fits(path, &c->list, e->fingerprint, s->classes, s->pictures));
    if (!c->list.count) TRY(fail(ST_VALUE, "'%s' has no episodes", path));
    const struct plan *first = c->list.plans;
    for (size_t i = 0; i < c->list.count; i++) {
        const struct plan *p = &c->list.plans[i];
        if (p->way != first->way || p->shot != first->shot || p->query != first->query)
            TRY(fail(ST_VALUE, "'%s': episode %zu is of another way, shot or query than the first", path, i + 1));
        TRY(check_classes(path, e, i, p));
    }
    s->way = first->way;
    s->shot = first->shot;
    s->query = first->query;
    s->episodes = c->list.count;
    c->episodes = (struct episodes){.list = c->list.plans, .count = c->list.count};
done:
    return st;
}

static status take_plan(arena *memory, const centra_eval_summary *s, struct plan *out)
{
    status st = OK;
    void *classes, *support, *queries, *labels;
    TRY(arena_take(memory, s->way, sizeof *out->classes, &classes));
    TRY(arena_take(memory, s->way * s->shot, sizeof *out->support, &support));
    TRY(arena_take(memory, s->way * s->query, sizeof *out->queries, &queries));
    TRY(arena_take(memory, s->way * s->query, sizeof *out->query_labels, &labels));
    *out = (struct plan){s->way, s->shot, s->query, classes, support, queries, labels};
done:
    return st;
}

static status save(const char *path, const centra_eval *e, const struct course *c)
{
    status st = OK;
    const centra_eval_summary *s = &e->summary;
    struct plan_list list = {.count = s->episodes, .plans = c->list.plans};
    memcpy(list.fingerprint, e->fingerprint, sizeof list.fingerprint);
    arena *memory = arena_new(1 << 16);
    void *plans = NULL;
    if (!memory) return fail(ST_MEMORY, "no memory for %zu episodes", s->episodes);
    if (c->sampler) {
        TRY(arena_take(memory, s->episodes, sizeof *list.plans, &plans));
        list.plans = plans;
        for (size_t i = 0; i < s->episodes; i++) {
            TRY(take_plan(memory, s, &list.plans[i]));
            TRY(sampler_episode(c->sampler, 0, i, &list.plans[i]));
        }
    }
    st = plan_list_write(path, &list);
done:
    arena_free(memory);
    return st;
}

/* Names the classes that are too small: who has a few more pictures of them can put that right. */
static status tell_left_out(const centra_eval *e, const struct log_sink *log)
{
    const centra_eval_summary *s = &e->summary;
    text names = {0};
    size_t named = 0;
    for (size_t c = 0; c < s->classes && named < MOST_NAMED; c++) {
        if (large_enough(s, e->features.size[c])) continue;
        text_addf(&names, "%s%s", named++ ? ", " : "", dataset_class_name(e->set, c));
    }
    if (s->classes_left_out > named) text_addf(&names, " and %zu more", s->classes_left_out - named);
    const status st = text_status(&names);
    if (st == OK)
        log_line(log, LOG_WARN, "%zu of %zu classes have fewer than %zu pictures and are left out: %s",
                 s->classes_left_out, s->classes, s->shot + s->query, text_string(&names));
    text_free(&names);
    return st;
}

static status draw(centra_eval *e, const struct log_sink *log, struct course *c)
{
    centra_eval_summary *s = &e->summary;
    status st = sampler_of(e, e->features.first, e->features.size, &c->sampler);
    if (st != OK) return st;
    sampler_shape(c->sampler, &s->way, &s->shot, &s->query);
    s->classes_left_out = sampler_left_out(c->sampler);
    if (s->classes_left_out && e->writes) st = tell_left_out(e, log);
    c->episodes = (struct episodes){.sampler = c->sampler, .count = s->episodes};
    return st;
}

status course_open(const centra_eval_options *o, centra_eval *e, const struct log_sink *log, struct course *c)
{
    status st = OK;
    *c = (struct course){0};
    /* A list names pictures by their place in the set, which is their row only when none is missing. */
    if (e->features.unreadable && (o->episodes_from || o->save_episodes))
        return fail(ST_VALUE, "%zu pictures cannot be read, so that episodes can be neither saved nor played again",
                    e->features.unreadable);
    TRY(o->episodes_from ? read_list(o->episodes_from, e, c) : draw(e, log, c));
    if (o->save_episodes && e->writes) TRY(save(o->save_episodes, e, c));
done:
    return st;
}

void course_close(struct course *c)
{
    sampler_free(c->sampler);
    *c = (struct course){0};
}
