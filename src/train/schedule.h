/* schedule.h - the learning rate of an epoch (methods 7.5): step, milestones, cosine, with or without warm-up. */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H
#include <stddef.h>

enum schedule_kind { SCHEDULE_CONSTANT, SCHEDULE_STEP, SCHEDULE_MILESTONES, SCHEDULE_COSINE };
enum { MOST_MILESTONES = 16 };

struct schedule {
    enum schedule_kind kind;
    double rate, factor; /* at the start; what it is multiplied by */
    size_t step;         /* SCHEDULE_STEP: epochs between */
    size_t milestones[MOST_MILESTONES], milestone_count;
    size_t epochs; /* SCHEDULE_COSINE */
    size_t warmup; /* epochs in which the rate rises from 0, reached in epoch `warmup`; then the schedule
                                     counts from its own epoch 0; 0: none */
};
double schedule_rate(const struct schedule *s, size_t epoch);
#endif
