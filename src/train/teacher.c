/* teacher.c - the teacher's features, and the distance of the pupil's from them. */
#include "train/teacher.h"
#include "base/size.h"
#include "eval/card.h"
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
    TRY(card_read(path, of_file, (void *)(uintptr_t)w, &card)); /* the lookup only reads */
    if (!card.backbone)
        TRY(fail(ST_FORMAT,
                 "the teacher '%.200s' does not say which network it is for; centra models add makes it do so", path));
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

status teacher_open(struct device *d, const char *path, const char *fingerprint, const struct transform *shown,
                    struct teacher **out)
{
    struct weights *w = NULL;
    status st = OK;
    struct teacher *t = calloc(1, sizeof *t);
    if (!t || !(t->memory = arena_new(1 << 10))) TRY(fail(ST_MEMORY, "no memory for the teacher '%.200s'", path));
    TRY(tape_new(d, TAPE_INFERENCE, &t->tape));
    TRY(weights_open(path, &w));
    TRY(check_fingerprint(w, path, fingerprint));
    TRY(read_model(t, d, path, w, shown));
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

status teacher_features(struct teacher *t, const tensor *pictures, tensor *out)
{
    struct net_pass pass = {.mode = NET_EVAL};
    tape_reset(t->tape, TAPE_INFERENCE);
    var *x = renormalise(t, tape_constant(t->tape, pictures));
    var *maps = t->model.net->forward(t->tape, t->model.net_settings, t->model.params, &pass, x);
    var *pooled = op_mean(t->tape, maps, 1u << 2 | 1u << 3, DROP_AXES);
    if (pooled) *out = pooled->value;
    return tape_status(t->tape);
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

var *distil_loss(tape *t, struct params *p, var *maps, const tensor *features)
{
    struct param *projection = params_find(p, PROJECTION);
    if (!maps) return NULL;
    if (!projection) return tape_fail(t, fail(ST_USAGE, "the parameter %s is missing", PROJECTION));
    var *pooled = op_mean(t, maps, 1u << 2, DROP_AXES);
    var *turned = op_l2norm(t, op_linear(t, pooled, tape_param(t, projection), NULL), 1);
    var *wanted = op_l2norm(t, tape_constant(t, features), 1);
    var *cosines = op_sum(t, op_mul(t, turned, wanted), 1u << 1, DROP_AXES); /* [n] */
    return op_affine(t, op_mean(t, cosines, 1u << 0, DROP_AXES), -1, 1);
}
