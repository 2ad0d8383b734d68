/* record.c - what a run writes down of its epochs. */
#include "train/record.h"
#include "base/clock.h"
#include "train/tensorboard.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { REPORT_NS = 1000000000 };

struct record {
    struct record_options o;
    struct metrics *metrics;         /* owned */
    struct tensorboard *tensorboard; /* owned; NULL: not wanted */
    text title;
    bool stale;        /* the report lacks lines */
    uint64_t reported; /* clock; 0: not yet */
};

status record_open(const struct record_options *o, struct record **out)
{
    status st = OK;
    const struct run_settings *s = o->settings;
    struct record *r = calloc(1, sizeof *r);
    if (!r) return fail(ST_MEMORY, "no memory for the records of '%s'", o->folder->path);
    r->o = *o;
    text_addf(&r->title, "%s, %s, %s", s->data.set ? s->data.set : "training", s->net.name, s->head.name);
    TRY(text_status(&r->title));
    TRY(metrics_open(o->folder->file[RUN_METRICS], o->keep_epochs, &r->metrics));
    if (o->tensorboard) TRY(tensorboard_open(o->folder->path, (double)time(NULL), &r->tensorboard));
    *out = r;
    r = NULL;
done:
    record_close(r);
    return st;
}

void record_close(struct record *r)
{
    if (!r) return;
    metrics_close(r->metrics);
    tensorboard_close(r->tensorboard);
    text_free(&r->title);
    free(r);
}

static status add_tensorboard(struct record *r, const struct metrics_line *l)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"train/loss", l->loss},
               {"train/accuracy", l->accuracy},
               {"train/rate", l->rate},
               {"validation/accuracy", l->validation.count ? l->validation.mean : (double)NAN}};
    status st = OK;
    for (size_t i = 0; r->tensorboard && i < sizeof all / sizeof *all && st == OK; i++)
        st = tensorboard_add(r->tensorboard, all[i].name, l->epoch + 1, (double)time(NULL), all[i].value);
    return st;
}

static status write_report(struct record *r)
{
    status st = OK;
    struct report page = {.title = text_string(&r->title),
                          .recipe = r->o.recipe,
                          .facts = r->o.facts,
                          .epochs = (size_t)r->o.settings->train.epochs};
    struct metrics_line *lines = NULL;
    arena *memory = arena_new(1 << 16);
    if (!memory) return fail(ST_MEMORY, "no memory for the report");
    TRY(metrics_read(r->o.folder->file[RUN_METRICS], memory, &lines, &page.count));
    page.lines = lines;
    TRY(report_write(&page, r->o.folder->file[RUN_REPORT]));
done:
    arena_free(memory);
    return st;
}

status record_add(struct record *r, const struct metrics_line *line)
{
    status st = OK;
    TRY(metrics_add(r->metrics, line));
    TRY(add_tensorboard(r, line));
    r->stale = true;
    if (!r->reported || clock_ns() - r->reported >= REPORT_NS) TRY(record_finish(r));
done:
    return st;
}

status record_finish(struct record *r)
{
    if (!r->stale) return OK;
    const status st = write_report(r);
    r->stale = st != OK;
    r->reported = clock_ns();
    return st;
}
