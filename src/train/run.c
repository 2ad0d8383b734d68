/* run.c - the loop over epochs and steps, and what is written meanwhile.
 *
 * The order at the end of an epoch matters: best.safetensors, metrics, report, then the checkpoint. Whoever is killed in
 * between goes on from the previous checkpoint and writes the same again. */
#include "train/run.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/plain.h"
#include "base/size.h"
#include "train/checkpoint.h"
#include "train/exchange.h"
#include "train/feed.h"
#include "train/folder.h"
#include "train/keep.h"
#include "train/parts.h"
#include "train/record.h"
#include "train/validate.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double CHECKPOINT_SECONDS = 300;
/* Epochs shorter than this, or than so many times what a checkpoint takes, have none of their own: saving a large network
 * after each would take longer than to train it. */
static const double EPOCH_SECONDS = 1, EPOCH_SAVES = 20;
static const double LOOK_SECONDS = 0.2; /* between looks at what a device has added up */
enum { BATCHES_AHEAD = 3 };

/* What the processes tell each other with every step. */
enum vote { VOTE_LOSS, VOTE_RIGHT, VOTE_ASKED, VOTE_STOP, VOTE_LOOK, VOTES };

struct run {
    const struct run_options *o;
    struct peers *peers;
    struct share share;
    uint32_t *picture; /* owned: of a part */
    struct run_folder folder;
    struct dataset *data, *held_out; /* owned */
    struct trainer *trainer;         /* owned */
    struct feed feed;
    struct loader *loader;             /* owned; NULL: with a stock */
    struct stock *stock, *held_stock;  /* owned: the pictures on the device; NULL: they come from the host */
    uint64_t looked;                   /* clock: when the tally was read */
    uint64_t unread;                   /* queries asked since then */
    struct record *record;             /* owned */
    text recipe, travelling, identity; /* as kept in the folder, in the weights, in checkpoints */
    char fingerprint[65];
    struct checkpoint at;
    uint64_t began, saved; /* clock */
    uint64_t saved_step, saved_epoch;
    double saving;           /* seconds that the last checkpoint took */
    double before;           /* seconds of earlier sittings */
    uint64_t first_pictures; /* seen in earlier sittings */
    bool stopped;
    bool wish;         /* somebody here wants to stop: the others must hear of it first */
    bool saves, looks; /* after the step that is on its way */
};

static bool writes(const struct run *r) { return r->peers->rank == 0; }
static bool shares(const struct run *r) { return r->peers->size > 1; }

static double seconds_since(uint64_t then) { return (double)(clock_ns() - then) / 1e9; }
static double run_seconds(const struct run *r) { return r->before + seconds_since(r->began); }

/* Opening */

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
    if (writes(r)) {
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

static status save(struct run *r)
{
    status st = OK;
    const struct checkpoint_of of = identity_of(r);
    const uint64_t start = clock_ns();
    TRY(trainer_check(r->trainer, r->at.step));
    if (!writes(r)) goto done;
    r->at.seconds = run_seconds(r);
    TRY(checkpoint_write(r->folder.file[RUN_LAST], &r->at, &of, r->trainer->model.params, r->trainer->optimiser));
    r->saving = seconds_since(start);
    r->saved = clock_ns();
    r->saved_step = r->at.step;
    r->saved_epoch = r->at.epoch;
done:
    return st;
}

static status put_file(const char *path, const text *t)
{
    struct file_writer w;
    const status st = file_begin(path, &w);
    if (st != OK) return st;
    file_put(&w, t->data, t->length);
    return file_commit(&w);
}

/* All processes must be about to do the same. */
static status agree(struct run *r)
{
    char seed[NUMBER_BYTES], held_out[2 * NUMBER_BYTES] = "";
    const struct run_options *o = r->o;
    if (!shares(r)) return OK;
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
    if (writes(r) && course_left_out(r->trainer->course))
        log_line(o->log, LOG_WARN, "%zu of %zu training classes have too few pictures for an episode and are left out",
                 course_left_out(r->trainer->course), dataset_class_count(r->data));
done:
    return st;
}

/* What the run's folder gets before the first step. */
static status open_record(struct run *r)
{
    status st = OK;
    if (!writes(r)) return OK;
    run_folder_sweep(&r->folder);
    TRY(put_file(r->folder.file[RUN_RECIPE], &r->recipe));
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

static status run_open(struct run *r)
{
    status st = OK;
    const struct run_options *o = r->o;
    TRY(run_settings_check(o->settings));
    if (shares(r)) r->peers->in_order = o->in_order;
    TRY(share_take(o->settings, r->peers, &r->share));
    TRY(write_recipes(r));
    if (writes(r)) TRY(run_folder_open(o->folder, o->resume, o->force, &r->folder));
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
    TRY(save(r));
done:
    return st;
}

static void run_close(struct run *r)
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

/* Progress */

static struct run_progress progress_of(const struct run *r, enum run_phase phase)
{
    const struct checkpoint *c = &r->at;
    const uint64_t epochs = (uint64_t)r->o->settings->train.epochs, steps = course_steps(r->trainer->course);
    const double here = seconds_since(r->began), seen = (double)(c->pictures - r->first_pictures);
    struct run_progress p = {.phase = phase,
                             .epoch = c->epoch,
                             .epochs = epochs,
                             .index = c->index,
                             .steps = steps,
                             .loss = c->asked ? c->loss / (double)c->asked : (double)NAN,
                             .accuracy = c->asked ? (double)c->right / (double)c->asked : (double)NAN,
                             .rate = schedule_rate(&r->trainer->schedule, (size_t)c->epoch),
                             .pictures_per_second = here > 0 ? seen / here : 0,
                             .seconds = run_seconds(r),
                             .seconds_left = (double)NAN};
    if (seen > 0 && c->step > 0) {
        const double left = (double)(steps - c->index) + (double)(epochs - c->epoch - 1) * (double)steps;
        p.seconds_left = left * ((double)c->pictures / (double)c->step) / p.pictures_per_second;
    }
    return p;
}

static void tell(struct run *r, const struct run_progress *p)
{
    if (!r->o->progress || r->o->progress(r->o->context, p)) return;
    r->wish = true;
    if (!shares(r)) r->stopped = true;
}

static bool validating(void *context, size_t done, size_t of)
{
    struct run *r = context;
    struct run_progress p = progress_of(r, RUN_VALIDATING);
    p.done = done;
    p.of = of;
    tell(r, &p);
    return shares(r) || !r->stopped; /* the others would wait for our part */
}

/* Epochs */

/* What the device has added up since the epoch began; without a tally, each step has told. */
static status look(struct run *r)
{
    struct tallied sum = {0};
    status st = OK;
    if (!r->unread) return OK;
    TRY(trainer_tally_read(r->trainer, &sum));
    double total[] = {sum.loss, (double)sum.right};
    TRY(peers_total(r->peers, 2, total));
    r->at.loss = total[0];
    r->at.right = (uint64_t)total[1];
    r->at.asked += r->unread;
    r->unread = 0;
    r->looked = clock_ns();
done:
    return st;
}

static bool wants_checkpoint(const struct run *r, uint64_t steps)
{
    const double wait = r->o->checkpoint_seconds > 0 ? r->o->checkpoint_seconds : CHECKPOINT_SECONDS;
    return (r->o->checkpoint_steps && steps - r->saved_step >= r->o->checkpoint_steps) ||
           seconds_since(r->saved) >= wait;
}

static status next_pictures(struct run *r, const struct lesson *l, const float **out)
{
    status st = OK;
    size_t count = l->support + l->queries;
    *out = NULL;
    if (r->loader) TRY(loader_next(r->loader, out, &count));
    if (count != l->support + l->queries)
        TRY(fail(ST_MEMORY, "no memory for the pictures of step %" PRIu64, r->at.step));
done:
    return st;
}

static status whole_step(struct run *r, const struct lesson *l, double votes[VOTES])
{
    status st = OK;
    struct taught taught;
    const float *pictures;
    TRY(next_pictures(r, l, &pictures));
    TRY(trainer_step(r->trainer, l, r->at.step, pictures, &taught));
    votes[VOTE_LOSS] = taught.loss * (double)taught.asked;
    votes[VOTE_RIGHT] = (double)taught.right;
    votes[VOTE_ASKED] = (double)taught.asked;
done:
    return st;
}

/* Our parts of the step, the last of which sends its gradients while they are made; then everybody's. */
static status shared_step(struct run *r, const struct lesson *whole, double votes[VOTES])
{
    status st = OK;
    struct taught taught = {0};
    const size_t there = lesson_parts(whole, r->share.parts), end = size_min(r->share.end, there);
    if (r->o->settings->net.sync_bn && there < r->share.parts)
        return fail(ST_USAGE,
                    "the last step of an epoch has %zu episodes or pictures, fewer than the %zu processes, which "
                    "net.sync-bn cannot do; choose another train.batch or train.episodes",
                    there, r->share.parts);
    TRY(trainer_begin(r->trainer));
    for (size_t part = r->share.first; part < end; part++) {
        struct lesson l;
        const float *pictures;
        lesson_part(whole, part, r->share.parts, r->picture, &l);
        TRY(next_pictures(r, &l, &pictures));
        TRY(trainer_part(r->trainer, &l, part + 1 == end, r->at.step, pictures, &taught));
    }
    votes[VOTE_LOSS] = taught.loss * (double)taught.asked;
    votes[VOTE_RIGHT] = (double)taught.right;
    votes[VOTE_ASKED] = (double)taught.asked;
    TRY(trainer_end(r->trainer, whole->epoch, votes, VOTES));
done:
    return st;
}

static status step(struct run *r)
{
    status st = OK;
    struct lesson l;
    double votes[VOTES] = {0};
    const bool last = r->at.index + 1 == course_steps(r->trainer->course);
    r->saves = writes(r) && wants_checkpoint(r, r->at.step + 1);
    votes[VOTE_STOP] = r->wish;
    votes[VOTE_LOOK] = writes(r) && (r->saves || seconds_since(r->looked) >= LOOK_SECONDS);
    TRY(course_next(r->trainer->course, &l));
    TRY((r->trainer->running ? shared_step : whole_step)(r, &l, votes));
    r->at.loss += votes[VOTE_LOSS];
    r->at.right += (uint64_t)votes[VOTE_RIGHT];
    *(r->trainer->tally ? &r->unread : &r->at.asked) += (uint64_t)votes[VOTE_ASKED];
    r->looks = last || votes[VOTE_LOOK] > 0;
    r->stopped = r->stopped || votes[VOTE_STOP] > 0;
    r->at.pictures += l.support + l.queries;
    r->at.index++;
    r->at.step++;
done:
    return st;
}

static status train_epoch(struct run *r)
{
    status st = OK;
    /* One of the processes counts what was there before. */
    const struct tallied sums = {.loss = writes(r) ? r->at.loss : 0, .right = writes(r) ? r->at.right : 0};
    if (!r->o->device->on_host) TRY(trainer_tally_begin(r->trainer, &sums));
    while (r->at.index < course_steps(r->trainer->course) && !r->stopped) {
        TRY(step(r));
        if (r->looks) TRY(look(r));
        if (r->saves) TRY(save(r));
        const struct run_progress p = progress_of(r, RUN_STEP);
        tell(r, &p);
    }
    TRY(look(r)); /* where it was stopped */
done:
    return st;
}

/* Keeps the model when it is the best so far, or always when the last is wanted. */
static status keep(struct run *r, const struct interval *validation, bool *best)
{
    const struct run_settings *s = r->o->settings;
    *best = validation->count && validation->mean > r->at.best;
    if (*best) {
        r->at.best = validation->mean;
        r->at.best_half = validation->half;
        r->at.best_epochs = r->at.epoch + 1;
    }
    const bool last = r->at.epoch + 1 == (uint64_t)s->train.epochs;
    if (!writes(r)) return OK;
    if (s->validate.select == SELECT_BEST && !*best && !(last && r->at.best_epochs == 0)) return OK; /* never nothing */
    const struct keep_facts facts = {.version = r->o->version,
                                     .recipe = text_string(&r->travelling),
                                     .set = s->data.set,
                                     .fingerprint = r->fingerprint,
                                     .classes = dataset_class_count(r->data),
                                     .epochs = r->at.epoch + 1,
                                     .accuracy = validation};
    return keep_model(r->folder.file[RUN_BEST], &r->trainer->model, &r->trainer->transform, &facts);
}

/* Between steps: whether anybody wants to stop. */
static status hear_wishes(struct run *r)
{
    double wish = r->wish;
    const status st = peers_total(r->peers, 1, &wish);
    r->stopped = r->stopped || wish > 0;
    return st;
}

static status end_epoch(struct run *r)
{
    status st = OK;
    struct run_progress p;
    bool cut = false;
    struct interval validation = {(double)NAN, (double)NAN, 0};
    const struct validation_options how = {.data = r->held_out,
                                           .stock = r->held_stock,
                                           .settings = r->o->settings,
                                           .epoch = r->at.epoch,
                                           .threads = r->o->threads,
                                           .peers = r->peers,
                                           .log = r->o->log,
                                           .progress = validating,
                                           .context = r};
    const bool validates = trainer_validates(r->o->settings, r->at.epoch);
    if (validates || !r->trainer->tally) TRY(trainer_check(r->trainer, r->at.step)); /* the tally saw finite losses */
    if (validates) TRY(validate(r->trainer, &how, &validation, &cut));
    if (cut) goto done; /* and validates again when it goes on */
    p = progress_of(r, RUN_EPOCH_DONE);
    TRY(keep(r, &validation, &p.best));
    const struct metrics_line line = {r->at.epoch, r->at.step, p.loss,     p.accuracy,
                                      p.rate,      p.seconds,  validation, p.best};
    if (writes(r)) TRY(record_add(r->record, &line));
    r->at.epoch++;
    r->at.index = r->at.right = r->at.asked = 0;
    r->at.loss = 0;
    if (r->at.epoch == p.epochs || wants_checkpoint(r, r->at.step) ||
        seconds_since(r->saved) >= fmax(EPOCH_SECONDS, EPOCH_SAVES * r->saving))
        TRY(save(r));
    p.epoch = r->at.epoch;
    p.validation = validation;
    tell(r, &p);
    TRY(hear_wishes(r));
done:
    return st;
}

static status run_epochs(struct run *r, struct run_result *out)
{
    status st = OK;
    while (r->at.epoch < (uint64_t)r->o->settings->train.epochs && !r->stopped) {
        TRY(train_epoch(r));
        if (r->stopped) break;
        const struct run_progress p = progress_of(r, RUN_EPOCH_DONE);
        TRY(end_epoch(r));
        if (r->at.index) break; /* stopped while validating */
        out->loss = p.loss;
        out->accuracy = p.accuracy;
        if (r->at.epoch < (uint64_t)r->o->settings->train.epochs) TRY(course_seek(r->trainer->course, r->at.epoch, 0));
    }
    if (writes(r)) TRY(record_finish(r->record));
    if (r->stopped && (r->saved_step != r->at.step || r->saved_epoch != r->at.epoch)) TRY(save(r));
done:
    return st;
}

status run_train(const struct run_options *o, struct run_result *out)
{
    status st = OK;
    struct run r = {.o = o, .peers = o->peers ? o->peers : peers_alone(), .folder = {.lock = -1}};
    *out = (struct run_result){.loss = (double)NAN, .accuracy = (double)NAN};
    TRY(run_open(&r));
    TRY(run_epochs(&r, out));
    out->epochs = r.at.epoch;
    out->steps = r.at.step;
    out->best = r.at.best;
    out->best_half = r.at.best_half;
    out->best_epochs = r.at.best_epochs;
    out->stopped = r.stopped && r.at.epoch < (uint64_t)o->settings->train.epochs;
done:
    run_close(&r);
    return st;
}
