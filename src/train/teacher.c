/* teacher.c - the teacher's features, and the distance of the pupil's from them. */
#include "train/teacher.h"
#include "base/size.h"
#include "eval/card.h"
#include "train/resample.h"
#include "weights/weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct teacher {
    struct model model;      /* owned; its parameters are fixed */
    arena *memory;           /* owned: texts of settings */
    tape *tape;              /* owned */
    float gain[3], shift[3]; /* from the pupil's normalisation to the teacher's, channel by channel */
    bool same;               /* they are the same */
    struct resampler side;   /* owned: from the pupil's side to its own */
};

static const char *of_file(void *context, const char *key) { return weights_meta(context, key); }

/* Both normalise v as (v - mean) / std. */
static void meet(struct teacher *t, const struct transform *shown, const struct transform *wanted)
{
    t->same = true;
    for (int c = 0; c < 3; c++) {
        t->gain[c] = shown->std[c] / wanted->std[c];
        t->shift[c] = (shown->mean[c] - wanted->mean[c]) / wanted->std[c];
        t->same = t->same && t->gain[c] == 1.0f && t->shift[c] == 0.0f;
    }
}

static status check_fingerprint(const struct weights *w, const char *path, const char *wanted)
{
    char seen[65];
    const status st = weights_fingerprint(w, seen);
    if (st != OK || !wanted || !strcmp(wanted, seen)) return st;
    return fail(ST_USAGE, "the teacher '%.200s' has the fingerprint %.12s..., but distil.fingerprint is %.12s...", path,
                seen, wanted);
}

static status read_model(struct teacher *t, struct device *d, const char *path, const struct weights *w,
                         const struct transform *shown)
{
    static const char *const ignore[] = {"head.", "pre.", NULL};
    struct card card = {.transform = *shown};
    status st = OK;
    const char *backbone = weights_meta(w, "backbone"); /* without one the words are another project's */
    if (!backbone || !*backbone)
        TRY(fail(ST_FORMAT,
                 "the teacher '%.200s' does not say which network it is for; centra models add makes it do so", path));
    TRY(card_read(path, of_file, (void *)(uintptr_t)w, &card)); /* the lookup only reads */
    TRY(model_new(d, card.backbone, NULL, &t->model));
    TRY(card_options(&card, "net.", t->model.net->options, t->model.net_settings, t->memory));
    params_free(t->model.params);
    t->model.params = params_new_fixed(d);
    if (!t->model.params) TRY(fail(ST_MEMORY, "no memory for the teacher '%.200s'", path));
    TRY(t->model.net->params(t->model.net_settings, DT_F32, NULL, t->model.params));
    t->model.channels = t->model.net->channels(t->model.net_settings);
    TRY(weights_load(w, t->model.params, "", ignore));
    params_freeze(t->model.params);
    meet(t, shown, &card.transform);
done:
    return st;
}

status teacher_open(struct device *d, const struct teacher_options *o, struct teacher **out)
{
    struct weights *w = NULL;
    status st = OK;
    struct teacher *t = calloc(1, sizeof *t);
    if (!t || !(t->memory = arena_new(1 << 10))) TRY(fail(ST_MEMORY, "no memory for the teacher '%.200s'", o->path));
    TRY(tape_new(d, TAPE_INFERENCE, &t->tape));
    TRY(resampler_new(o->shown->side, o->side ? o->side : o->shown->side, &t->side));
    TRY(weights_open(o->path, &w));
    TRY(check_fingerprint(w, o->path, o->fingerprint));
    TRY(read_model(t, d, o->path, w, o->shown));
    *out = t;
    t = NULL;
done:
    weights_close(w);
    teacher_free(t);
    return st;
}

void teacher_free(struct teacher *t)
{
    if (!t) return;
    model_free(&t->model);
    tape_free(t->tape);
    arena_free(t->memory);
    resampler_free(&t->side);
    free(t);
}

size_t teacher_channels(const struct teacher *t) { return t->model.channels; }

static var *renormalise(struct teacher *t, var *x)
{
    static const size_t channels[] = {1, 3, 1, 1};
    if (t->same) return x;
    var *gain = tape_upload(t->tape, DT_F32, 4, channels, t->gain);
    var *shift = tape_upload(t->tape, DT_F32, 4, channels, t->shift);
    return op_add(t->tape, op_mul(t->tape, x, gain), shift);
}

static var *places_of(struct teacher *t, var *maps, size_t cells)
{
    if (!maps) return NULL;
    const size_t *dim = maps->value.dim;
    if (dim[2] != cells || dim[3] != cells) maps = op_adaptive_pool(t->tape, maps, cells, cells);
    return op_reshape(t->tape, maps, 3, (size_t[]){dim[0], dim[1], cells * cells});
}

static status look(struct teacher *t, const tensor *pictures, size_t cells, struct guidance *out)
{
    struct net_pass pass = {.mode = NET_EVAL};
    tape_reset(t->tape, TAPE_INFERENCE);
    var *x = resample(t->tape, &t->side, renormalise(t, tape_constant(t->tape, pictures)));
    var *maps = t->model.net->forward(t->tape, t->model.net_settings, t->model.params, &pass, x);
    const var *pooled = op_mean(t->tape, maps, 1u << 2 | 1u << 3, DROP_AXES);
    const var *places = cells ? places_of(t, maps, cells) : NULL;
    if (pooled) out->pooled = pooled->value;
    if (places) out->places = places->value;
    return tape_status(t->tape);
}

status teacher_features(struct teacher *t, const tensor *pictures, size_t cells, struct guidance *out)
{
    struct device *d = tape_device(t->tape);
    const enum maths pupils = d->maths;
    if (pupils == MATHS_BF16) d->maths = MATHS_TF32;
    const status st = look(t, pictures, cells, out);
    d->maths = pupils;
    return st;
}

/* The loss */

static const char PROJECTION[] = "pre.distil.weight";

status distil_params(size_t channels, size_t taught, dtype type, struct random *r, struct params *p)
{
    const double half = 1 / sqrt((double)channels);
    struct device *d = params_device(p);
    struct param *e = NULL;
    void *host = NULL;
    status st = OK;
    TRY(params_add(p, PROJECTION, type, 2, (size_t[]){taught, channels}, &e));
    const size_t n = tensor_count(&e->value);
    host = malloc(size_max(1, tensor_bytes(&e->value)));
    if (!host) TRY(fail(ST_MEMORY, "no memory for %zu start values", n));
    for (size_t i = 0; i < n; i++) {
        const double v = half * (2 * random_unit(r) - 1);
        if (type == DT_F32) ((float *)host)[i] = (float)v;
        else ((double *)host)[i] = v;
    }
    TRY(d->upload(d, e->value.data, host, tensor_bytes(&e->value)));
    TRY(d->sync(d)); /* the numbers are freed next */
done:
    free(host);
    return st;
}

/* 1 - cos of rows [m, C], turned, and rows [m, taught], averaged. */
static var *apart(tape *t, struct params *p, var *rows, var *taught)
{
    struct param *projection = params_find(p, PROJECTION);
    if (!projection) return tape_fail(t, fail(ST_USAGE, "the parameter %s is missing", PROJECTION));
    var *turned = op_l2norm(t, op_linear(t, rows, tape_param(t, projection), NULL), 1);
    var *cosines = op_sum(t, op_mul(t, turned, op_l2norm(t, taught, 1)), 1u << 1, DROP_AXES); /* [m] */
    return op_affine(t, op_mean(t, cosines, 1u << 0, DROP_AXES), -1, 1);
}

var *distil_loss(tape *t, struct params *p, var *maps, const tensor *pooled)
{
    if (!maps) return NULL;
    return apart(t, p, op_mean(t, maps, 1u << 2, DROP_AXES), tape_constant(t, pooled));
}

/* [n, C, r] to [n r, C] */
static var *rows_of(tape *t, var *maps)
{
    if (!maps) return NULL;
    const size_t *dim = maps->value.dim;
    return op_reshape(t, op_permute(t, maps, (int[]){0, 2, 1}), 2, (size_t[]){dim[0] * dim[2], dim[1]});
}

var *distil_places_loss(tape *t, struct params *p, var *maps, const tensor *places)
{
    return maps ? apart(t, p, rows_of(t, maps), rows_of(t, tape_constant(t, places))) : NULL;
}
