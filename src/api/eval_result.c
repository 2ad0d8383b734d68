/* eval_result.c - the results of an evaluation in the words of centra.h. */
#include "api/describe.h"
#include "api/eval.h"
#include <math.h>

static status keep_option(const struct option *o, const void *settings, arena *memory, centra_option *out)
{
    text value = {0};
    status st = OK;
    (void)option_text(o, settings, &value); /* a text that is not set is empty */
    TRY(text_status(&value));
    *out = (centra_option){.name = o->name};
    TRY(keep_text(memory, text_string(&value), &out->value));
done:
    text_free(&value);
    return st;
}

status result_options(centra_eval *e)
{
    arena *memory = e->lineup.memory;
    void *taken;
    status st = OK;
    TRY(arena_take(memory, e->lineup.heads, sizeof *e->options, &taken));
    e->options = taken;
    for (size_t h = 0; h < e->lineup.heads; h++) {
        const struct contender *c = &e->lineup.head[h];
        const size_t count = option_count(c->head->options);
        TRY(arena_take(memory, count + 1, sizeof **e->options, &taken));
        e->options[h] = taken;
        for (size_t i = 0; i < count; i++)
            TRY(keep_option(&c->head->options[i], c->settings, memory, &e->options[h][i]));
        e->options[h][count] = (centra_option){NULL, NULL};
    }
done:
    return st;
}

void centra_eval_summarise(const centra_eval *e, centra_eval_summary *out) { *out = e->summary; }

static status check_head(const centra_eval *e, size_t head)
{
    if (head < e->lineup.heads) return OK;
    return fail(ST_USAGE, "there is no head %zu; %zu were evaluated", head, e->lineup.heads);
}

centra_status centra_eval_head_row(const centra_eval *e, size_t head, centra_eval_row *out)
{
    const status st = check_head(e, head);
    if (st != OK) return (centra_status)st;
    const struct outcome *o = &e->out[head];
    const bool paired = o->paired.count > 0;
    *out = (centra_eval_row){.head = e->lineup.head[head].head->name,
                             .accuracy = 100 * o->mean.mean,
                             .ci95 = 100 * o->mean.half,
                             .difference = paired ? 100 * o->paired.mean : (double)NAN,
                             .difference_ci95 = paired ? 100 * o->paired.half : (double)NAN,
                             .loss = o->loss,
                             .seconds = o->seconds,
                             .episodes = o->accuracy};
    return CENTRA_OK;
}

centra_status centra_eval_head_class(const centra_eval *e, size_t head, size_t index, const char **name, size_t *asked,
                                     size_t *right)
{
    const status st = check_head(e, head);
    if (st != OK) return (centra_status)st;
    if (index >= e->summary.classes)
        return (centra_status)fail(ST_USAGE, "there is no class %zu; the set has %zu", index, e->summary.classes);
    *name = dataset_class_name(e->set, index);
    *asked = e->out[head].asked[index];
    *right = e->out[head].right[index];
    return CENTRA_OK;
}

centra_status centra_eval_head_option(const centra_eval *e, size_t head, size_t index, centra_option *out)
{
    const status st = check_head(e, head);
    if (st != OK) return (centra_status)st;
    if (index >= option_count(e->lineup.head[head].head->options))
        return (centra_status)fail(ST_USAGE, "%s has no option %zu", e->lineup.head[head].head->name, index);
    *out = e->options[head][index];
    return CENTRA_OK;
}
