/* run_open.c - what a run begins with: its folder, data, trainer and last checkpoint; and how a checkpoint is written.
 *
 * Several processes open the same run: rank 0 reads and writes its folder, and all go on with what it has read. */
#include "base/file.h"
#include "base/plain.h"
#include "base/size.h"
#include "train/exchange.h"
#include "train/run_state.h"
#include "train/validate.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES_AHEAD = 3 };

/* The name of a file without its folders; NULL of NULL. */
static const char *file_part(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static status write_recipes(struct run *r)
{
    struct run_settings s = *r->o->settings;
    struct recipe_section sections[RUN_SECTIONS + 1];
    status st = OK;
    run_sections(&s, sections);
    if (r->o->data) s.data.path = r->o->data;
    TRY(recipe_write(sections, &r->recipe));
    s.data.path = NULL; /* weights are given to others, who have no such folder and need not know of ours */
    s.distil.teacher = file_part(s.distil.teacher); /* nor of that one; the fingerprint says which teacher it was */
    TRY(recipe_write(sections, &r->travelling));
    /* What must stay the same: neither where the pictures lie nor, unless the rate depends on it, how long it goes on. */
    if (s.train.schedule != SCHEDULE_COSINE) s.train.epochs = 0;
    s.train.parts = 0; /* another number of processes may go on with it */
    TRY(recipe_write(sections, &r->identity));
done:
    return st;
}

static status open_data(struct run *r)
{
    status st = OK;
    const struct run_settings *s = r->o->settings;
    const struct dataset_options how = {.images = r->o->images, .log = r->o->log};
    const char *path = r->o->data ? r->o->data : s->data.path;
    if (!path) return fail(ST_USAGE, "no pictures to train on: name them with --data, or as data.path in the recipe");
    TRY(dataset_open(path, "train", &how, &r->data));
    if (s->validate.every == 0) goto done;
    TRY(dataset_open(path, s->data.validate_on_test ? "test" : "val", &how, &r->held_out));
    TRY(validate_check(r->held_out, s));
done:
    return st;
}

static status open_loader(struct run *r)
{
    status st = OK;
    const struct extractor *e = &r->trainer->model.extractor;
    const struct loader_options how = {.transform = &r->trainer->transform,
                                       .grids = e->kind == EXTRACT_GRID ? e->count : 0,
                                       .grid_sizes = e->sizes,
                                       .random = true,
                                       .strict = r->o->strict,
                                       .cache_bytes = LOADER_CACHE_BYTES,
                                       .log = r->o->log,
                                       .most = share_most(&r->share, &r->o->settings->train, r->trainer->course),
                                       .ahead = BATCHES_AHEAD,
                                       .first = r->at.step};
    TRY(feed_open(r->data, &r->o->settings->train, &r->share, r->at.epoch, r->at.index, &r->feed));
    TRY(course_seek(r->trainer->course, r->at.epoch, r->at.index));
    TRY(loader_new(r->data, &how, feed_plan, &r->feed, &r->loader));
done:
    return st;
}

/* The pictures of both splits, as far as the device has room for them. */
static status open_stocks(struct run *r)
{
    status st = OK;
    struct stock_options how = {.transform = &r->trainer->transform,
                                .random = true,
                                .strict = r->o->strict,
                                .threads = r->o->threads,
                                .log = r->o->log};
    TRY(stock_new(r->data, r->o->device, &how, &r->stock));
    if (r->stock) TRY(trainer_take_stock(r->trainer, r->stock));
    else
        log_line(r->o->log, LOG_WARN, "the pictures take more than half of %s's free memory; the host makes them ready",
                 r->o->device->name);
    how.random = how.strict = false;
    if (r->held_out) TRY(stock_new(r->held_out, r->o->device, &how, &r->held_stock));
done:
    return st;
}

static status open_input(struct run *r)
{
    status st = OK;
    const bool whole = extractor_cells(&r->trainer->model.extractor) == 1; /* cells are cut by the loader alone */
    if (!r->o->device->on_host && whole) TRY(open_stocks(r));
    if (!r->stock) return open_loader(r);
    TRY(course_seek(r->trainer->course, r->at.epoch, r->at.index));
done:
    return st;
}

static struct checkpoint_of identity_of(const struct run *r)
{
    return (struct checkpoint_of){text_string(&r->identity), r->fingerprint};
}

/* Rank 0 reads, and all have what it has. */
static status go_on(struct run *r)
{
    status st = OK;
    const struct checkpoint_of of = identity_of(r);
    struct trainer *t = r->trainer;
    uint64_t steps = 0;
    if (run_writes(r)) {
        if (!r->o->resume || !file_exists(r->folder.file[RUN_LAST])) TRY(run_folder_clear(&r->folder));
        else TRY(checkpoint_read(r->folder.file[RUN_LAST], &of, t->model.params, t->optimiser, &r->at));
        steps = optimiser_steps(t->optimiser);
    }
    TRY(r->peers->broadcast(r->peers, sizeof r->at, &r->at));
    TRY(r->peers->broadcast(r->peers, sizeof steps, &steps));
    TRY(exchange_spread(r->peers, t->model.params));
    TRY(exchange_spread(r->peers, optimiser_state(t->optimiser)));
    optimiser_set_steps(t->optimiser, steps);
done:
    return st;
}

status run_save(struct run *r)
{
    status st = OK;
    const struct checkpoint_of of = identity_of(r);
    const uint64_t start = clock_ns();
    TRY(trainer_check(r->trainer, r->at.step));
    if (!run_writes(r)) goto done;
    r->at.seconds = run_seconds(r);
    TRY(checkpoint_write(r->folder.file[RUN_LAST], &r->at, &of, r->trainer->model.params, r->trainer->optimiser));
    r->saving = seconds_since(start);
    r->saved = clock_ns();
    r->saved_step = r->at.step;
    r->saved_epoch = r->at.epoch;
done:
    return st;
}

/* All processes must be about to do the same. */
static status agree(struct run *r)
{
    char seed[NUMBER_BYTES], held_out[2 * NUMBER_BYTES] = "";
    const struct run_options *o = r->o;
    if (r->peers->size == 1) return OK;
    plain_snprintf(seed, sizeof seed, "%" PRId64, o->settings->train.seed);
    if (r->held_out)
        plain_snprintf(held_out, sizeof held_out, "%zu %zu", dataset_class_count(r->held_out),
                       dataset_count(r->held_out));
    const struct peers_fact facts[] = {{"version", o->version ? o->version : "", true},
                                       {"seed", seed, true},
                                       {"recipe", text_string(&r->travelling), false},
                                       {"maths", maths_name(o->device->maths), true},
                                       {"order of sums", o->in_order ? "fixed" : "free", true},
                                       {"training set", r->fingerprint, false},
                                       {"validation set", held_out, false}};
    return peers_agree(r->peers, sizeof facts / sizeof *facts, facts);
}

static status open_trainer(struct run *r)
{
    status st = OK;
    const struct run_options *o = r->o;
    TRY(trainer_new(o->device, r->data, o->settings, &r->trainer));
    if (r->share.parts > 1 || exchange_wanted(r->peers)) TRY(trainer_share(r->trainer, r->peers));
    const size_t most = share_most(&r->share, &o->settings->train, r->trainer->course);
    r->picture = calloc(most, sizeof *r->picture);
    if (!r->picture) TRY(fail(ST_MEMORY, "no memory for parts of %zu pictures", most));
    if (run_writes(r) && course_left_out(r->trainer->course))
        log_line(o->log, LOG_WARN, "%zu of %zu training classes have too few pictures for an episode and are left out",
                 course_left_out(r->trainer->course), dataset_class_count(r->data));
done:
    return st;
}

/* What the run's folder gets before the first step. */
static status open_record(struct run *r)
{
    status st = OK;
    if (!run_writes(r)) return OK;
    run_folder_sweep(&r->folder);
    TRY(file_write(r->folder.file[RUN_RECIPE], r->recipe.data, r->recipe.length));
    TRY(record_open(&(struct record_options){.folder = &r->folder,
                                             .settings = r->o->settings,
                                             .recipe = text_string(&r->recipe),
                                             .facts = r->o->facts,
                                             .keep_epochs = (size_t)r->at.epoch,
                                             .tensorboard = r->o->tensorboard},
                    &r->record));
done:
    return st;
}

status run_open(struct run *r)
{
    status st = OK;
    const struct run_options *o = r->o;
    TRY(run_settings_check(o->settings));
    if (r->peers->size > 1) r->peers->in_order = o->in_order;
    TRY(share_take(o->settings, r->peers, &r->share));
    TRY(write_recipes(r));
    if (run_writes(r)) TRY(run_folder_open(o->folder, o->resume, o->force, &r->folder));
    TRY(open_data(r));
    TRY(open_trainer(r));
    TRY(dataset_fingerprint(r->data, r->fingerprint));
    TRY(agree(r));
    TRY(go_on(r));
    TRY(open_record(r));
    r->before = r->at.seconds;
    r->first_pictures = r->at.pictures;
    r->began = clock_ns();
    if (r->at.epoch < (uint64_t)o->settings->train.epochs) TRY(open_input(r));
    TRY(run_save(r));
done:
    return st;
}

void run_close(struct run *r)
{
    loader_free(r->loader);
    feed_close(&r->feed);
    free(r->picture);
    trainer_free(r->trainer);
    stock_free(r->stock);
    stock_free(r->held_stock);
    dataset_close(r->data);
    dataset_close(r->held_out);
    record_close(r->record);
    run_folder_close(&r->folder);
    text_free(&r->recipe);
    text_free(&r->travelling);
    text_free(&r->identity);
}
