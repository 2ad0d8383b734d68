/* steps.c - the list of steps, and the shape of what each gives. */
#include "ops/steps.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

void steps_free(struct steps *s)
{
    free(s->at);
    *s = (struct steps){0};
}

const struct step *steps_at(const struct steps *s, size_t number) { return &s->at[number]; }

size_t steps_fail(struct steps *s, const char *why)
{
    s->why = why;
    return 0;
}

static bool grow(struct steps *s)
{
    if (s->count + 1 < s->room) return true;
    const size_t room = s->room ? 2 * s->room : FIRST_ROOM;
    struct step *at = realloc(s->at, room * sizeof *at);
    if (!at) {
        s->st = fail(ST_MEMORY, "no memory to write a network down");
        return false;
    }
    s->at = at;
    s->room = room;
    return true;
}

/* A step that gives what `x` gives, until it says otherwise; NULL after a failure. */
static struct step *append(struct steps *s, enum step_kind kind, size_t x)
{
    if (s->st != OK || !x || !grow(s)) return NULL;
    struct step *step = &s->at[++s->count];
    *step = (struct step){.kind = kind, .in = {x}, .rank = s->at[x].rank};
    memcpy(step->dim, s->at[x].dim, sizeof step->dim);
    s->at[x].users++;
    return step;
}

static size_t number_of(const struct steps *s, const struct step *step) { return step ? (size_t)(step - s->at) : 0; }

status steps_input(struct steps *s, var *x)
{
    if (!grow(s)) return s->st;
    struct step *step = &s->at[++s->count];
    *step = (struct step){.kind = STEP_INPUT, .rank = x->value.rank};
    memcpy(step->dim, x->value.dim, sizeof step->dim);
    x->step = s->count;
    return OK;
}

status steps_take(struct steps *s, struct node *n)
{
    if (!n->op->tell) return fail(ST_UNSUPPORTED, "it cannot be told to other programs");
    s->why = NULL;
    n->out[0]->step = n->op->tell(n, s);
    if (s->st != OK) return s->st;
    if (n->out[0]->step) return OK;
    return fail(ST_UNSUPPORTED, "it cannot be told to other programs: %s",
                s->why ? s->why : "an input does not come from the network's own");
}

size_t steps_conv(struct steps *s, size_t x, const struct step_conv *conv)
{
    struct step *step = append(s, STEP_CONV, x);
    if (!step) return 0;
    step->conv = *conv;
    for (int i = 1; i < 3; i++)
        step->dim[i] = (step->dim[i] + conv->pad[i - 1] + conv->pad[i + 1] - conv->weight.dim[i + 1]) / conv->stride +
                       1;
    step->dim[3] = conv->weight.dim[0];
    return number_of(s, step);
}

size_t steps_norm(struct steps *s, size_t x, const struct norm_input *by)
{
    struct step *step = append(s, STEP_NORM, x);
    if (!step) return 0;
    step->norm.mean = *by->mean;
    step->norm.variance = *by->variance;
    step->norm.gain = *by->gain;
    step->norm.bias = *by->bias;
    step->norm.epsilon = by->epsilon;
    return number_of(s, step);
}

size_t steps_add(struct steps *s, size_t a, size_t b)
{
    struct step *step = b ? append(s, STEP_ADD, a) : NULL;
    if (!step) return 0;
    step->in[1] = b;
    s->at[b].users++;
    return number_of(s, step);
}

size_t steps_leaky_relu(struct steps *s, size_t x, double slope)
{
    if (slope == 1) return x;
    struct step *step = append(s, STEP_LEAKY_RELU, x);
    if (step) step->slope = slope;
    return number_of(s, step);
}

size_t steps_clip(struct steps *s, size_t x, double low, double high)
{
    struct step *step = append(s, STEP_CLIP, x);
    if (!step) return 0;
    step->clip.low = low;
    step->clip.high = high;
    return number_of(s, step);
}

size_t steps_max_pool(struct steps *s, size_t x, const struct pool_shape *pool)
{
    struct step *step = append(s, STEP_MAX_POOL, x);
    if (!step) return 0;
    step->pool = *pool;
    for (int i = 1; i < 3; i++) step->dim[i] = (step->dim[i] + 2 * pool->pad - pool->size) / pool->stride + 1;
    return number_of(s, step);
}

size_t steps_pad(struct steps *s, size_t x, const size_t pad[4])
{
    struct step *step = append(s, STEP_PAD, x);
    if (!step) return 0;
    memcpy(step->pad, pad, sizeof step->pad);
    step->dim[2] += pad[0] + pad[2];
    step->dim[3] += pad[1] + pad[3];
    return number_of(s, step);
}

size_t steps_adaptive_pool(struct steps *s, size_t x, size_t height, size_t width)
{
    struct step *step = append(s, STEP_ADAPTIVE_POOL, x);
    if (!step) return 0;
    step->dim[2] = height;
    step->dim[3] = width;
    return number_of(s, step);
}

size_t steps_permute(struct steps *s, size_t x, const int *order)
{
    struct step *step = append(s, STEP_PERMUTE, x);
    if (!step) return 0;
    memcpy(step->order, order, (size_t)step->rank * sizeof *order);
    for (int i = 0; i < step->rank; i++) step->dim[i] = s->at[x].dim[order[i]];
    return number_of(s, step);
}
