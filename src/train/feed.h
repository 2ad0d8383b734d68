/* feed.h - which pictures the loader makes ready for this process: those of its parts of every step, in their order. */
#ifndef TRAIN_FEED_H
#define TRAIN_FEED_H
#include "data/loader.h"
#include "peers/peers.h"
#include "train/course.h"

struct share { /* of the parts of every step: those from `first` to `end` are ours */
    size_t parts, first, end;
};
/* As train.parts says; refuses more processes than parts, and more parts than a step has
 * episodes; with sync-bn each process has one part. */
status share_take(const struct run_settings *s, const struct peers *p, struct share *out);
/* Pictures in the largest part of a step. */
size_t share_most(const struct share *s, const struct train_settings *t, const struct course *c);

struct feed {
    struct course *course; /* owned: a way through the course of its own, ahead of the trainer's */
    const struct train_settings *settings;
    struct share share;
    uint64_t epoch, index;
    struct lesson lesson; /* the one it is at */
    size_t part, end;     /* of it: the next, and behind our last */
    uint32_t *picture;    /* owned: of a part */
};
/* From step `index` of epoch `epoch` on. Close with feed_close, also after a failure. */
status feed_open(const struct dataset *d, const struct train_settings *s, const struct share *share, uint64_t epoch,
                 uint64_t index, struct feed *out);
void feed_close(struct feed *f);
/* A load_plan (data/loader.h) whose context is a feed. */
size_t feed_plan(void *feed, uint64_t index, struct load_item *items, size_t most);
#endif
