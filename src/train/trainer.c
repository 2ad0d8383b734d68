/* trainer.c - making a trainer, and its step. */
#include "train/trainer.h"
#include "base/plain.h"
#include "base/size.h"
#include "heads/mirror.h"
#include "weights/weights.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Making one */

/* The network's parameters from a file; a head's there are not wanted here. */
static status load_start(struct trainer *t, const char *path)
{
    static const char *const ignore[] = {"head.", "pre.", NULL};
    status st = OK;
    struct weights *w = NULL;
    struct random r = {0};
    struct device *d = params_device(t->model.params);
    struct params *read = params_new(d);
    if (!read) return fail(ST_MEMORY, "no memory to read '%s'", path);
    TRY(t->model.net->params(t->model.net_settings, DT_F32, &r, read));
    TRY(weights_open(path, &w));
    TRY(weights_load(w, read, "", ignore));
    params_thaw(t->model.params);
    for (size_t i = 0; i < params_count(read); i++) {
        const struct param *from = params_at(read, i);
        TRY(d->copy(d, params_find(t->model.params, from->name)->value.data, from->value.data,
                    tensor_bytes(&from->value)));
    }
    TRY(d->sync(d));
done:
    weights_close(w);
    params_free(read);
    return st;
}

/* How many locations the extractor takes: seen on a black picture. */
static status count_locations(struct trainer *t, size_t side, size_t *out)
{
    struct net_pass pass = {.mode = NET_EVAL};
    tensor black;
    struct device *d = params_device(t->model.params);
    tape_reset(t->tape, TAPE_INFERENCE);
    status st = tape_tensor(t->tape, DT_F32, 4, (size_t[]){extractor_cells(&t->model.extractor), 3, side, side},
                            &black);
    if (st == OK) st = d->zero(d, black.data, tensor_bytes(&black));
    if (st != OK) return st;
    const var *maps = extract(
        t->tape, &t->model.extractor,
        t->model.net->forward(t->tape, t->model.net_settings, t->model.params, &pass, tape_constant(t->tape, &black)));
    if (maps) *out = tensor_span(&maps->value, 2, maps->value.rank);
    return tape_status(t->tape);
}

/* The kind of pre-training with its options, which stand where a head's do. */
static status find_pretrain(struct trainer *t)
{
    status st = OK;
    const struct head_settings *s = &t->settings->head;
    TRY(pretrain_find(s->name, &t->pretrain));
    if (!t->pretrain->options && s->options.count)
        TRY(fail(ST_USAGE, "head.%.60s is set, but pre-training has no options of a head", s->options.item[0].name));
    if (!t->pretrain->options) goto done;
    t->pretrain_settings = calloc(1, t->pretrain->settings_bytes);
    if (!t->pretrain_settings) TRY(fail(ST_MEMORY, "no memory for the settings of %s", s->name));
    options_default(t->pretrain->options, t->pretrain_settings);
    TRY(recipe_extras_set(&s->options, "head.", t->pretrain->options, t->pretrain_settings));
done:
    return st;
}

/* The side of the maps, whose places a teacher is asked for; they are squares, as pictures are. */
static status find_cells(struct trainer *t, size_t locations)
{
    size_t side = 0;
    if (t->settings->distil.places == 0) return OK;
    if (t->model.extractor.kind != EXTRACT_MAP)
        return fail(ST_USAGE, "distil.places is set, but the places of net.extractor %s are not those of a map",
                    t->settings->net.extractor);
    while (side * side < locations) side++;
    t->cells = side;
    return side * side == locations ? OK : fail(ST_SHAPE, "maps of %zu places are no squares", locations);
}

static status find_teacher(struct trainer *t, struct device *d, size_t locations, struct random *r)
{
    const struct distil_settings *s = &t->settings->distil;
    const struct teacher_options how = {s->teacher, s->fingerprint, (size_t)s->side, &t->transform};
    status st = OK;
    if (!s->teacher) return OK;
    if (extractor_cells(&t->model.extractor) > 1)
        return fail(ST_USAGE, "distil.teacher is set, but a teacher sees whole pictures: net.extractor must not be %s",
                    t->settings->net.extractor);
    TRY(find_cells(t, locations));
    TRY(teacher_open(d, &how, &t->teacher));
    TRY(distil_params(t->model.channels, teacher_channels(t->teacher), DT_F32, r, t->model.params));
done:
    return st;
}

static status make_model(struct trainer *t, struct device *d, const struct dataset *data)
{
    status st = OK;
    const struct run_settings *s = t->settings;
    const bool pretrains = s->train.stage == STAGE_PRETRAIN;
    struct pretrain_size size = {.classes = dataset_class_count(data)};
    struct random r = course_stream((uint64_t)s->train.seed, STREAM_PRETRAIN, 0, 0, 0);
    if (pretrains) TRY(find_pretrain(t));
    TRY(model_new(d, s->net.name, pretrains ? NULL : s->head.name, &t->model));
    if (t->model.head && t->model.head->fitted)
        TRY(fail(ST_USAGE, "head.name is %s, which is fitted to each episode and has nothing to train", s->head.name));
    TRY(model_extract(&t->model, s->net.extractor, &t->transform));
    if (extractor_cells(&t->model.extractor) > 1 && mirror_wanted(t->model.head, (size_t)s->train.shot))
        TRY(fail(ST_USAGE, "head %s adds mirror images at 1-shot, which net.extractor %s cannot cut; use map",
                 s->head.name, s->net.extractor));
    TRY(recipe_extras_set(&s->net.options, "net.", t->model.net->options, t->model.net_settings));
    if (t->model.head)
        TRY(recipe_extras_set(&s->head.options, "head.", t->model.head->options, t->model.head_settings));
    TRY(model_start(&t->model, DT_F32, (uint64_t)s->train.seed));
    if (s->net.weights) TRY(load_start(t, s->net.weights));
    if (!pretrains) goto done;
    size.channels = t->model.channels;
    TRY(count_locations(t, (size_t)s->data.side, &size.locations));
    TRY(t->pretrain->params(&size, DT_F32, &r, t->model.params));
    TRY(find_teacher(t, d, size.locations, &r));
done:
    return st;
}

static status make_room(struct trainer *t, size_t classes)
{
    const struct train_settings *s = &t->settings->train;
    const bool pretrains = t->pretrain != NULL;
    const size_t episodes = pretrains ? 1 : (size_t)s->batch, way = pretrains ? classes : (size_t)s->way;
    const size_t queries = pretrains ? (size_t)s->batch : way * (size_t)s->query;
    const size_t shot = (size_t)s->shot * (mirror_wanted(t->model.head, (size_t)s->shot) ? 2 : 1), shots = way * shot;
    if (!size_mul(queries, way, &t->host_bytes) || !size_mul(t->host_bytes, sizeof(float), &t->host_bytes))
        return fail(ST_MEMORY, "the scores of %zu pictures in %zu classes are too many", queries, way);
    t->classes = way;
    t->scores = calloc(episodes, sizeof *t->scores);
    t->labels = calloc(episodes, sizeof *t->labels);
    t->host = malloc(size_max(1, t->host_bytes));
    t->support_labels = calloc(size_max(1, shots), sizeof *t->support_labels);
    if (!t->scores || !t->labels || !t->host || !t->support_labels)
        return fail(ST_MEMORY, "no memory for the scores of a step");
    for (size_t i = 0; i < shots; i++) t->support_labels[i] = (int32_t)(i / shot);
    return OK;
}

static struct transform transform_of(const struct data_settings *s)
{
    static const enum transform_kind kinds[] = {[AUGMENT_RESIZE] = TRANSFORM_RESIZE_CROP,
                                                [AUGMENT_PAD] = TRANSFORM_PAD_CROP,
                                                [AUGMENT_JITTER] = TRANSFORM_RESIZED_CROP};
    return transform_standard(kinds[s->transform], (size_t)s->side, (size_t)s->pad);
}

status trainer_new(struct device *d, const struct dataset *data, const struct run_settings *s, struct trainer **out)
{
    status st = OK;
    const struct optimiser_settings how = train_optimiser(&s->train);
    struct trainer *t = calloc(1, sizeof *t);
    if (!t) return fail(ST_MEMORY, "no memory for a trainer");
    t->settings = s;
    t->transform = transform_of(&s->data);
    TRY(train_schedule(&s->train, &t->schedule));
    TRY(course_new(data, &s->train, &t->course));
    TRY(tape_new(d, TAPE_TRAINING, &t->tape));
    TRY(make_model(t, d, data));
    TRY(make_room(t, dataset_class_count(data)));
    TRY(optimiser_new(t->model.params, &how, &t->optimiser));
    if (s->train.average > 0)
        TRY(average_new(t->model.params, optimiser_state(t->optimiser), s->train.average, &t->average));
    *out = t;
    t = NULL;
done:
    trainer_free(t);
    return st;
}

void trainer_free(struct trainer *t)
{
    if (!t) return;
    average_free(t->average);
    optimiser_free(t->optimiser);
    course_free(t->course);
    if (t->tally) tape_device(t->tape)->release(tape_device(t->tape), t->tally);
    tape_free(t->tape);
    running_free(t->running);
    exchange_free(t->exchange);
    if (t->model.net) model_free(&t->model);
    free(t->pretrain_settings);
    teacher_free(t->teacher);
    free(t->scores);
    free(t->labels);
    free(t->items);
    free(t->support_labels);
    free(t->host);
    free(t);
}

/* A step */

bool trainer_validates(const struct run_settings *s, uint64_t epoch)
{
    const uint64_t done = epoch + 1;
    if (s->validate.every == 0) return false;
    if (done >= (uint64_t)s->train.epochs) return true;
    return done >= (uint64_t)s->validate.from && done % (uint64_t)s->validate.every == 0;
}

/* Frozen statistics begin after the first validation, as in the released code (methods 5.6). */
static enum net_mode mode_at(const struct run_settings *s, uint64_t epoch)
{
    if (!s->net.freeze_bn) return NET_TRAIN;
    for (uint64_t e = 0; e < epoch; e++)
        if (trainer_validates(s, e) || s->validate.every == 0) return NET_FROZEN;
    return NET_TRAIN;
}

/* The first `n` pictures with their mirror images, then the rest. */
static var *with_mirrored(tape *t, var *x, size_t n)
{
    if (!x) return NULL;
    const size_t count = x->value.dim[0];
    if (n == count) return mirror_beside(t, x);
    var *beside = mirror_beside(t, op_slice(t, x, 0, 0, n));
    return op_concat(t, 2, (var *[]){beside, op_slice(t, x, 0, n, count)}, 0);
}

var *trainer_maps(struct trainer *t, const struct pass *p, var *pictures, const struct through *how)
{
    const struct lesson *l = p->lesson;
    struct net_pass pass = {.mode = mode_at(t->settings, l->epoch),
                            .random = course_stream((uint64_t)t->settings->train.seed, STREAM_DROPOUT, l->epoch,
                                                    l->index, l->part * how->parts + how->part),
                            .calls = p->step * how->parts + how->part,
                            .first = how->first * extractor_cells(&t->model.extractor)};
    var *maps = extract(t->tape, &t->model.extractor,
                        t->model.net->forward(t->tape, t->model.net_settings, t->model.params, &pass, pictures));
    if (!maps) return NULL;
    return op_reshape(t->tape, maps, 3,
                      (size_t[]){maps->value.dim[0], maps->value.dim[1], tensor_span(&maps->value, 2, 4)});
}

var *trainer_encode(struct trainer *t, const struct pass *p, size_t first, size_t count, const struct through *how,
                    size_t mirrored)
{
    var *in = trainer_pictures(t, p, first, count);
    if (mirrored) in = with_mirrored(t->tape, in, mirrored);
    return trainer_maps(t, p, in, how);
}

/* The first number of a tensor that is not finite, in words; OK when all are. */
static status all_finite(struct device *d, const char *what, const struct param *p, const tensor *x, uint64_t step)
{
    const size_t n = tensor_count(x);
    status st = OK;
    float *host = malloc(size_max(1, tensor_bytes(x)));
    if (!host) return fail(ST_MEMORY, "no memory to look at '%s'", p->name);
    TRY(d->download(d, host, x->data, tensor_bytes(x)));
    for (size_t i = 0; i < n && st == OK; i++)
        if (!isfinite(host[i]))
            st = fail(ST_NUMERIC,
                      "training broke down in step %" PRIu64
                      ": %s '%s' is %s at place %zu of %zu; a smaller train.rate may help",
                      step, what, p->name, isnan(host[i]) ? "not a number" : "infinite", i, n);
done:
    free(host);
    return st;
}

static status find_infinite(struct trainer *t, uint64_t step, bool gradients)
{
    struct params *p = t->model.params;
    status st = OK;
    for (size_t i = 0; i < params_count(p) && st == OK; i++) {
        const struct param *e = params_at(p, i);
        if (gradients && e->trained) st = all_finite(params_device(p), "the gradient of", e, &e->grad, step);
        if (!gradients) st = all_finite(params_device(p), "the parameter", e, &e->value, step);
    }
    return st;
}

status trainer_check(struct trainer *t, uint64_t step) { return find_infinite(t, step, false); }

/* Why a step has no finite loss. */
static status explain(struct trainer *t, var *loss, uint64_t step)
{
    status st = OK;
    TRY(find_infinite(t, step, false));
    if (loss) TRY(tape_backward(t->tape, loss));
    if (loss) TRY(find_infinite(t, step, true));
    st = fail(ST_NUMERIC, "training broke down in step %" PRIu64 ": the loss is not finite, but all parameters are",
              step);
done:
    return st;
}

static size_t count_right(const float *scores, const int32_t *labels, size_t n, size_t way)
{
    size_t right = 0;
    for (size_t i = 0; i < n; i++, scores += way) {
        size_t best = 0;
        for (size_t c = 1; c < way; c++)
            if (scores[c] > scores[best]) best = c;
        right += best == (size_t)labels[i];
    }
    return right;
}

static status mark(struct trainer *t, const struct lesson *l, struct taught *out)
{
    struct device *d = tape_device(t->tape);
    const size_t parts = size_max(1, l->episodes), each = l->queries / parts;
    status st = OK;
    for (size_t b = 0; b < parts && st == OK; b++) {
        st = d->download(d, t->host, t->scores[b]->value.data, tensor_bytes(&t->scores[b]->value));
        out->right += count_right(t->host, l->labels + b * each, each, t->classes);
    }
    out->asked += l->queries;
    return st;
}

/* The same, without waiting, into the tally. */
static status add_up(struct trainer *t, const struct lesson *l, uint64_t step, const var *loss, struct taught *out)
{
    struct device *d = tape_device(t->tape);
    status st = OK;
    for (size_t b = 0; b < size_max(1, l->episodes) && st == OK; b++)
        st = PRIM_CALL(
            d, DT_F32, tally,
            (d, &t->scores[b]->value, t->labels[b], b ? NULL : &loss->value, (double)l->queries, step, t->tally));
    out->asked += l->queries;
    return st;
}

status trainer_tally_begin(struct trainer *t, const struct tallied *from)
{
    struct device *d = tape_device(t->tape);
    status st = OK;
    void *memory = t->tally;
    if (!memory) TRY(d->alloc(d, sizeof *t->tally, &memory));
    t->tally = memory;
    TRY(d->upload(d, memory, from, sizeof *from));
done:
    return st;
}

status trainer_tally_read(struct trainer *t, struct tallied *out)
{
    struct device *d = tape_device(t->tape);
    const status st = d->download(d, out, t->tally, sizeof *out);
    return st == OK && out->broke ? explain(t, NULL, out->broke - 1) : st;
}

/* Records the loss; numbers that were not finite on the way are named. */
static status record_loss(struct trainer *t, const struct pass *p, var **out)
{
    *out = t->pretrain ? pretrain_loss(t, p) : episodic_loss(t, p);
    const status st = tape_status(t->tape);
    if (st != ST_NUMERIC && st != ST_VALUE) return st;
    const status cause = find_infinite(t, p->step, false);
    return cause == OK ? tape_status(t->tape) : cause;
}

/* Adds the gradient of a lesson, or of a part of one. */
static status learn(struct trainer *t, const struct lesson *l, uint64_t step, const float *pictures, struct taught *out)
{
    status st = OK;
    struct device *d = tape_device(t->tape);
    struct pass pass = {l, step, pictures, NULL};
    var *v = NULL;
    float loss = 0;
    tape_reset(t->tape, TAPE_TRAINING);
    if (!pictures) TRY(trainer_plan(t, l, &pass.items));
    TRY(record_loss(t, &pass, &v));
    if (!t->tally) {
        TRY(d->download(d, &loss, v->value.data, sizeof loss));
        if (!isfinite(loss)) TRY(explain(t, v, step));
    }
    TRY(tape_backward(t->tape, l->weight < 1 ? op_affine(t->tape, v, l->weight, 0) : v));
    TRY(t->tally ? add_up(t, l, step, v, out) : mark(t, l, out));
    out->loss = (double)loss;
done:
    return st;
}

static status step_calls(struct trainer *t, const struct lesson *l, uint64_t step, const float *pictures,
                         struct taught *out)
{
    status st = OK;
    TRY(params_zero_grad(t->model.params));
    TRY(learn(t, l, step, pictures, out));
    TRY(optimiser_step(t->optimiser, schedule_rate(&t->schedule, (size_t)l->epoch)));
done:
    return st;
}

status trainer_step(struct trainer *t, const struct lesson *l, uint64_t step, const float *pictures, struct taught *out)
{
    struct device *d = tape_device(t->tape);
    *out = (struct taught){0};
    const status st = device_together_begin(d);
    return st == OK ? device_together_end(d, step_calls(t, l, step, pictures, out)) : st;
}

/* A step in parts */

status trainer_share(struct trainer *t, struct peers *peers)
{
    status st = OK;
    TRY(running_new(t->model.params, &t->running));
    TRY(exchange_new(peers, t->model.params, &t->exchange));
    if (t->settings->net.sync_bn) tape_share(t->tape, peers);
done:
    return st;
}

status trainer_begin(struct trainer *t)
{
    const status st = params_zero_grad(t->model.params);
    return st == OK ? running_begin(t->running) : st;
}

static status part_calls(struct trainer *t, const struct lesson *l, uint64_t step, const float *pictures,
                         struct taught *out)
{
    const status st = learn(t, l, step, pictures, out);
    return st == OK ? running_part(t->running, l->weight) : st;
}

status trainer_part(struct trainer *t, const struct lesson *part, bool last, uint64_t step, const float *pictures,
                    struct taught *out)
{
    struct device *d = tape_device(t->tape);
    struct taught now = {0};
    const bool sends = last && exchange_overlaps(t->exchange);
    if (sends) exchange_watch(t->exchange, t->tape);
    /* Sums that set out on the way cannot be in a recording: these are put in the place of one another. */
    status st = sends ? OK : device_together_begin(d);
    if (st == OK) st = part_calls(t, part, step, pictures, &now);
    if (!sends) st = device_together_end(d, st);
    tape_watch(t->tape, NULL, NULL);
    const size_t asked = out->asked + now.asked;
    if (asked) out->loss = (out->loss * (double)out->asked + now.loss * (double)now.asked) / (double)asked;
    out->right += now.right;
    out->asked = asked;
    return st;
}

status trainer_end(struct trainer *t, uint64_t epoch, double *numbers, size_t count)
{
    status st = OK;
    void *changes;
    size_t bytes;
    TRY(running_changes(t->running, &changes, &bytes));
    TRY(exchange_end(t->exchange, changes, bytes, numbers, count));
    TRY(running_end(t->running));
    TRY(optimiser_step(t->optimiser, schedule_rate(&t->schedule, (size_t)epoch)));
done:
    return st;
}
