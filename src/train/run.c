/* run.c - the loop over epochs and steps, and what is written meanwhile.
 *
 * The order at the end of an epoch matters: best.safetensors, metrics, report, then the checkpoint. Whoever is killed in
 * between goes on from the previous checkpoint and writes the same again. */
#include "base/size.h"
#include "train/keep.h"
#include "train/parts.h"
#include "train/run_state.h"
#include "train/validate.h"
#include <inttypes.h>
#include <math.h>

static const double CHECKPOINT_SECONDS = 300;
/* Epochs shorter than this, or than so many times what a checkpoint takes, have none of their own: saving a large network
 * after each would take longer than to train it. */
static const double EPOCH_SECONDS = 1, EPOCH_SAVES = 20;
static const double LOOK_SECONDS = 0.2; /* between looks at what a device has added up */

/* What the processes tell each other with every step. */
enum vote { VOTE_LOSS, VOTE_RIGHT, VOTE_ASKED, VOTE_STOP, VOTE_LOOK, VOTES };

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
    if (r->peers->size == 1) r->stopped = true;
}

static bool validating(void *context, size_t done, size_t of)
{
    struct run *r = context;
    struct run_progress p = progress_of(r, RUN_VALIDATING);
    p.done = done;
    p.of = of;
    tell(r, &p);
    return r->peers->size > 1 || !r->stopped; /* the others would wait for our part */
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
    r->saves = run_writes(r) && wants_checkpoint(r, r->at.step + 1);
    votes[VOTE_STOP] = r->wish;
    votes[VOTE_LOOK] = run_writes(r) && (r->saves || seconds_since(r->looked) >= LOOK_SECONDS);
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
    const struct tallied sums = {.loss = run_writes(r) ? r->at.loss : 0, .right = run_writes(r) ? r->at.right : 0};
    if (!r->o->device->on_host) TRY(trainer_tally_begin(r->trainer, &sums));
    while (r->at.index < course_steps(r->trainer->course) && !r->stopped) {
        TRY(step(r));
        if (r->looks) TRY(look(r));
        if (r->saves) TRY(run_save(r));
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
    if (!run_writes(r)) return OK;
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

/* Validates, when asked to, and keeps; the average over epochs where there is one. `cut`: somebody wanted to stop meanwhile, and
 * it has to be done again. */
static status judge(struct run *r, const struct validation_options *how, struct interval *validation, bool *best,
                    bool *cut)
{
    status st = OK;
    struct average *average = r->trainer->average;
    *cut = false;
    if (average) TRY(average_show(average, r->at.epoch));
    if (how) TRY(validate(r->trainer, how, validation, cut));
    if (!*cut) TRY(keep(r, validation, best));
    if (average) TRY(average_hide(average, !*cut));
done:
    return st;
}

static status end_epoch(struct run *r)
{
    status st = OK;
    struct run_progress p;
    bool cut, best = false;
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
    TRY(judge(r, validates ? &how : NULL, &validation, &best, &cut));
    if (cut) goto done; /* and validates again when it goes on */
    p = progress_of(r, RUN_EPOCH_DONE);
    p.best = best;
    const struct metrics_line line = {r->at.epoch, r->at.step, p.loss,     p.accuracy,
                                      p.rate,      p.seconds,  validation, p.best};
    if (run_writes(r)) TRY(record_add(r->record, &line));
    r->at.epoch++;
    r->at.index = r->at.right = r->at.asked = 0;
    r->at.loss = 0;
    if (r->at.epoch == p.epochs || wants_checkpoint(r, r->at.step) ||
        seconds_since(r->saved) >= fmax(EPOCH_SECONDS, EPOCH_SAVES * r->saving))
        TRY(run_save(r));
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
    if (run_writes(r)) TRY(record_finish(r->record));
    if (r->stopped && (r->saved_step != r->at.step || r->saved_epoch != r->at.epoch)) TRY(run_save(r));
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
