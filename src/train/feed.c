/* feed.c - the loader's way through the course. */
#include "train/feed.h"
#include "base/size.h"
#include "train/parts.h"
#include <inttypes.h>
#include <stdlib.h>

status share_take(const struct run_settings *settings, const struct peers *p, struct share *out)
{
    const struct train_settings *s = &settings->train;
    const int64_t size = p->size, parts = s->parts ? s->parts : size;
    if (settings->net.sync_bn && parts != size)
        return fail(ST_USAGE,
                    "train.parts is %" PRId64 ", but with net.sync-bn it must be 0, or the %" PRId64
                    " processes that there are",
                    parts, size);
    if (size > parts)
        return fail(ST_USAGE, "train.parts is %" PRId64 ", too few for %" PRId64 " processes", parts, size);
    if (parts > s->batch)
        return fail(ST_USAGE,
                    "train.batch is %" PRId64 ", which cannot be cut into %" PRId64
                    " parts, one or more for each process; set train.batch to at least %" PRId64,
                    s->batch, parts, parts);
    *out = (struct share){.parts = (size_t)parts,
                          .first = peers_first((size_t)parts, (size_t)p->rank, (size_t)size),
                          .end = peers_first((size_t)parts, (size_t)p->rank + 1, (size_t)size)};
    return OK;
}

size_t share_most(const struct share *s, const struct train_settings *t, const struct course *c)
{
    const size_t batch = (size_t)t->batch;
    return course_most(c) / batch * size_div_up(batch, s->parts);
}

status feed_open(const struct dataset *d, const struct train_settings *s, const struct share *share, uint64_t epoch,
                 uint64_t index, struct feed *out)
{
    status st = OK;
    *out = (struct feed){.settings = s, .share = *share, .epoch = epoch, .index = index};
    TRY(course_new(d, s, &out->course));
    TRY(course_seek(out->course, epoch, index));
    const size_t most = share_most(share, s, out->course);
    out->picture = calloc(most, sizeof *out->picture);
    if (!out->picture) st = fail(ST_MEMORY, "no memory for parts of %zu pictures", most);
done:
    return st;
}

void feed_close(struct feed *f)
{
    course_free(f->course);
    free(f->picture);
    *f = (struct feed){0};
}

/* Goes to the next lesson that holds something for us; false behind the last. */
static bool advance(struct feed *f)
{
    while (f->part >= f->end) {
        if (f->index == course_steps(f->course)) {
            f->index = 0;
            f->epoch++;
            if (f->epoch < (uint64_t)f->settings->epochs && course_seek(f->course, f->epoch, 0) != OK) return false;
        }
        if (f->epoch >= (uint64_t)f->settings->epochs || course_next(f->course, &f->lesson) != OK) return false;
        f->index++;
        f->part = f->share.first;
        f->end = size_min(f->share.end, lesson_parts(&f->lesson, f->share.parts));
    }
    return true;
}

size_t feed_plan(void *feed, uint64_t index, struct load_item *items, size_t most)
{
    struct feed *f = feed;
    struct lesson l;
    (void)index; /* asked for in order */
    if (!advance(f)) return 0;
    lesson_part(&f->lesson, f->part++, f->share.parts, f->picture, &l);
    const size_t n = size_min(most, l.support + l.queries);
    const struct random streams = course_streams((uint64_t)f->settings->seed, STREAM_PICTURE, l.epoch, l.index);
    for (size_t i = 0; i < n; i++)
        items[i] = (struct load_item){l.picture[i], random_branch(&streams, lesson_place(&l, i))};
    return n;
}
