/* fit_draw.c - where a fit starts and in which order it sees the shots.
 *
 * Draws are given out by rank: shots are ranked by their features, classes by their first shot. The stream is told apart by
 * the channel in which each shot is largest, so that rounding, which differs between devices, seldom changes it. */
#include "heads/fit.h"
#include "ops/host.h"
#include <math.h>

struct ranks {
    uint32_t *shot;  /* [shots]: the shot of each rank */
    uint32_t *class; /* [way]: the rank of each class */
};

static bool before(const struct fit_task *k, uint32_t a, uint32_t b)
{
    const double *x = k->x + a * k->channels, *y = k->x + b * k->channels;
    for (size_t i = 0; i < k->channels; i++)
        if (x[i] < y[i] || x[i] > y[i]) return x[i] < y[i];
    return false;
}

/* A merge would be shorter in time, but episodes are small, and equal shots must stay as they came. */
static void rank_shots(const struct fit_task *k, uint32_t *shot)
{
    for (uint32_t i = 0; i < k->shots; i++) {
        size_t at = i;
        for (; at > 0 && before(k, i, shot[at - 1]); at--) shot[at] = shot[at - 1];
        shot[at] = i;
    }
}

static void rank_classes(const struct fit_task *k, const uint32_t *shot, uint32_t *class)
{
    uint32_t next = 0;
    for (size_t c = 0; c < k->way; c++) class[c] = UINT32_MAX;
    for (size_t i = 0; i < k->shots; i++) {
        uint32_t *rank = &class[k->labels[shot[i]]];
        if (*rank == UINT32_MAX) *rank = next++;
    }
}

static uint64_t fingerprint(const struct fit_task *k, const uint32_t *shot)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < k->shots; i++) {
        const double *x = k->x + shot[i] * k->channels;
        size_t largest = 0;
        for (size_t c = 1; c < k->channels; c++)
            if (x[c] > x[largest]) largest = c;
        hash = (hash ^ largest) * 1099511628211u;
    }
    return hash;
}

static void draw_weights(struct random *r, const struct fit_task *k, const struct ranks *by, struct fit_weights *w)
{
    const double half = 1 / sqrt((double)k->channels);
    for (size_t c = 0; c < k->way; c++) {
        struct random own = random_branch(r, by->class[c]);
        double *row = w->weight + c * k->channels, square = 0;
        for (size_t i = 0; i < k->channels; i++) row[i] = half * (2 * random_unit(&own) - 1);
        for (size_t i = 0; i < k->channels; i++) square += row[i] * row[i];
        w->bias[c] = half * (2 * random_unit(&own) - 1);
        w->gain[c] = sqrt(square);
    }
}

static void draw_order(struct random *r, const struct fit_task *k, const struct ranks *by, size_t epochs, uint32_t *to)
{
    for (size_t e = 0; e < epochs; e++, to += k->shots) {
        for (size_t i = 0; i < k->shots; i++) to[i] = by->shot[i];
        for (size_t i = k->shots; i > 1; i--) {
            const size_t other = (size_t)random_below(r, i);
            const uint32_t held = to[i - 1];
            to[i - 1] = to[other];
            to[other] = held;
        }
    }
}

status fit_draw(tape *t, const struct fit_settings *s, const struct fit_task *k, struct fit_weights *out)
{
    status st = OK;
    void *shot, *class, *order;
    const size_t epochs = (size_t)s->epochs;
    struct random r = {.seed = (uint64_t)s->seed};
    TRY(host_zeros(t, k->way * k->channels, &out->weight));
    TRY(host_zeros(t, k->way, &out->bias));
    TRY(host_zeros(t, k->way, &out->gain));
    TRY(tape_host(t, k->shots * sizeof(uint32_t), &shot));
    TRY(tape_host(t, k->way * sizeof(uint32_t), &class));
    TRY(tape_host(t, (epochs * k->shots + 1) * sizeof(uint32_t), &order));
    const struct ranks by = {shot, class};
    rank_shots(k, by.shot);
    rank_classes(k, by.shot, by.class);
    r.stream = fingerprint(k, by.shot);
    draw_weights(&r, k, &by, out);
    struct random orders = random_branch(&r, k->way);
    draw_order(&orders, k, &by, epochs, order);
    out->order = order;
done:
    return st;
}
