/* course.h - which pictures each step of training sees, with their labels: a function of the seed and the counters
 * (epoch, step in the epoch) alone, so that a run can stop and go on anywhere.
 *
 * A lesson is one step's worth. In episodic training it holds the support pictures of all its episodes, then all their
 * queries; in pre-training a part of the shuffled set. */
#ifndef TRAIN_COURSE_H
#define TRAIN_COURSE_H
#include "base/random.h"
#include "data/dataset.h"
#include "train/settings.h"

struct lesson {
    uint64_t epoch, index;
    size_t episodes;         /* 0 in pre-training */
    size_t support, queries; /* pictures, all episodes together; in pre-training all are queries */
    const uint32_t *picture; /* [support + queries] */
    const int32_t *labels;   /* [queries]: in its episode, or the class */
    /* Of a part of a step (train/parts.h); of a whole one 0, 0, `support` and 1. */
    unsigned part;
    size_t first_support, first_query; /* places of its first pictures in the step */
    double weight;                     /* its share of the step's loss */
};

struct course;
/* Both are borrowed. Fails when the set cannot fill an episode. */
status course_new(const struct dataset *d, const struct train_settings *s, struct course **out);
void course_free(struct course *c);
size_t course_most(const struct course *c);     /* pictures in the largest lesson */
size_t course_left_out(const struct course *c); /* classes too small for an episode */
/* Goes to step `index` of epoch `epoch`. */
status course_seek(struct course *c, uint64_t epoch, uint64_t index);
size_t course_steps(const struct course *c); /* of the epoch it is at */
/* The lesson it is at, valid until the next call; moves on within the epoch. Not to be called behind its last step. */
status course_next(struct course *c, struct lesson *out);

/* The streams of everything else that is drawn in training; `place` is a picture's in its lesson or a pass's in its step. */
enum stream { STREAM_PICTURE = 16, STREAM_DROPOUT, STREAM_SHUFFLE, STREAM_PRETRAIN };
struct random course_stream(uint64_t seed, enum stream purpose, uint64_t epoch, uint64_t index, uint64_t place);
/* What the streams of all places branch off from: random_branch(&this, place) is the one above. */
struct random course_streams(uint64_t seed, enum stream purpose, uint64_t epoch, uint64_t index);
#endif
