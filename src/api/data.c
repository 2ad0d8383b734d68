/* data.c - the public calls on data sets: checking, packing, splitting. */
#include "centra.h"
#include "data/check.h"
#include "data/pack.h"
#include "data/split.h"
#include <stdlib.h>
#include <string.h>

struct centra_data_report {
    struct check check;
};

static void warn(void *context, enum log_level level, const char *line)
{
    const centra_data_watch *watch = context;
    (void)level;
    if (watch->warning) watch->warning(watch->context, line);
}

static bool go_on(void *context, size_t done, size_t all)
{
    const centra_data_watch *watch = context;
    return !watch->progress || watch->progress(watch->context, done, all) == 0;
}

/* The caller's watch as a sink; a copy of the struct must outlive it. */
static struct log_sink sink_of(centra_data_watch *watch) { return (struct log_sink){warn, watch, LOG_WARN}; }

static centra_data_watch watch_of(const centra_data_watch *watch) { return watch ? *watch : (centra_data_watch){0}; }

centra_status centra_data_check(const char *path, const char *images, const centra_data_watch *watch,
                                centra_data_report **out)
{
    if (!path || !out) return (centra_status)fail(ST_USAGE, "a path and a place for the report are needed");
    centra_data_watch watching = watch_of(watch);
    const struct log_sink log = sink_of(&watching);
    centra_data_report *report = calloc(1, sizeof *report);
    if (!report) return (centra_status)fail(ST_MEMORY, "no memory to check '%s'", path);
    status st = data_check(path, &(struct check_options){images, &log, watching.threads, go_on, &watching},
                           &report->check);
    if (st == OK) *out = report;
    else free(report);
    return (centra_status)st;
}

void centra_data_report_free(centra_data_report *report)
{
    if (!report) return;
    check_free(&report->check);
    free(report);
}

static centra_status none_there(const char *what, size_t index, size_t count)
{
    return (centra_status)fail(ST_USAGE, "there is no %s %zu; the report has %zu", what, index, count);
}

centra_status centra_data_split_at(const centra_data_report *report, size_t index, centra_split_info *out)
{
    if (index >= report->check.splits) return none_there("split", index, report->check.splits);
    const struct check_split *s = &report->check.split[index];
    *out = (centra_split_info){s->name, s->classes, s->pictures, s->unreadable, s->smallest, s->largest, {0}};
    for (int i = 0; i < 65; i++) out->fingerprint[i] = s->fingerprint[i];
    return CENTRA_OK;
}

centra_status centra_data_size_at(const centra_data_report *report, size_t index, centra_size_info *out)
{
    if (index >= report->check.sizes) return none_there("size", index, report->check.sizes);
    const struct check_size *s = &report->check.size[index];
    *out = (centra_size_info){s->width, s->height, s->pictures};
    return CENTRA_OK;
}

centra_status centra_data_twins_at(const centra_data_report *report, size_t index, centra_twins_info *out)
{
    if (index >= report->check.twin_count) return none_there("pair", index, report->check.twin_count);
    const struct check_twins *t = &report->check.twins[index];
    *out = (centra_twins_info){t->first, t->second, t->first_split != t->second_split};
    return CENTRA_OK;
}

const char *centra_data_unreadable_at(const centra_data_report *report, size_t index)
{
    return index < report->check.unreadable_count ? report->check.unreadable[index] : NULL;
}

static status filter_find(const char *name, enum resize_filter *out)
{
    *out = RESIZE_BILINEAR;
    for (size_t i = 0; name && resize_names[i]; i++)
        if (!strcmp(name, resize_names[i])) {
            *out = (enum resize_filter)i;
            return OK;
        }
    return name ? fail(ST_USAGE, "there is no filter '%.40s'; use bilinear, bicubic or lanczos", name) : OK;
}

centra_status centra_data_pack(const char *from, const char *to, const centra_pack_options *options,
                               const centra_data_watch *watch, centra_pack_result *out)
{
    if (!from || !to) return (centra_status)fail(ST_USAGE, "a data set and a file to write are needed");
    centra_data_watch watching = watch_of(watch);
    const struct log_sink log = sink_of(&watching);
    const centra_pack_options wanted = options ? *options : (centra_pack_options){0};
    struct pack_options o = {.side = wanted.side,
                             .quality = wanted.quality,
                             .halved = wanted.halved != 0,
                             .hold = wanted.hold,
                             .seed = wanted.seed,
                             .strict = wanted.strict != 0,
                             .images = wanted.images,
                             .log = &log,
                             .threads = watching.threads,
                             .progress = go_on,
                             .context = &watching};
    struct pack_result r;
    status st = filter_find(wanted.filter, &o.filter);
    if (st == OK) st = pack_write(from, &o, to, &r);
    if (st == OK && out) *out = (centra_pack_result){r.splits, r.pictures, r.skipped};
    return (centra_status)st;
}

centra_status centra_data_split(const char *path, const double parts[3], uint64_t seed, const centra_data_watch *watch,
                                centra_split_result *out)
{
    if (!path || !parts) return (centra_status)fail(ST_USAGE, "a folder and the parts are needed");
    centra_data_watch watching = watch_of(watch);
    const struct log_sink log = sink_of(&watching);
    struct split_result r;
    status st = data_split(path, &(struct split_options){{parts[0], parts[1], parts[2]}, seed, &log}, &r);
    if (st != OK || !out) return (centra_status)st;
    *out = (centra_split_result){.left_over = r.left_over};
    for (int i = 0; i < 3; i++) {
        out->classes[i] = r.classes[i];
        out->pictures[i] = r.pictures[i];
    }
    return CENTRA_OK;
}
