/* schedule.c - the learning rate of an epoch, as torch counts it. */
#include "train/schedule.h"
#include <assert.h>
#include <math.h>

static size_t milestones_passed(const struct schedule *s, size_t epoch)
{
    size_t n = 0;
    assert(s->milestone_count <= MOST_MILESTONES);
    for (size_t i = 0; i < s->milestone_count; i++) n += s->milestones[i] <= epoch;
    return n;
}

static size_t steps_passed(const struct schedule *s, size_t epoch)
{
    assert(s->step > 0);
    return epoch / s->step;
}

static double plain_rate(const struct schedule *s, size_t epoch)
{
    switch (s->kind) {
    case SCHEDULE_STEP: return s->rate * pow(s->factor, (double)steps_passed(s, epoch));
    case SCHEDULE_MILESTONES: return s->rate * pow(s->factor, (double)milestones_passed(s, epoch));
    case SCHEDULE_COSINE:
        assert(s->epochs > 0);
        return s->rate * (1 + cos(acos(-1.0) * (double)epoch / (double)s->epochs)) / 2;
    case SCHEDULE_CONSTANT: break;
    }
    return s->rate;
}

double schedule_rate(const struct schedule *s, size_t epoch)
{
    if (s->warmup == 0) return plain_rate(s, epoch);
    if (epoch <= s->warmup) return s->rate * (double)epoch / (double)s->warmup;
    return plain_rate(s, epoch - s->warmup - 1);
}
