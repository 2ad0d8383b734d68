/* pretrain.c - the pre-training losses: reconstruction from learned class matrices (FRN), a linear classifier of pooled maps,
 * and classifiers with margins. */
#include "train/pretrain.h"
#include "base/option.h"
#include "base/size.h"
#include "heads/angular.h"
#include "heads/frn.h"
#include "heads/matrix.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number drawn for a parameter: constant + normal deviation or uniform half-width. */
struct start {
    double constant, normal, uniform;
};

static double draw(const struct start *s, struct random *r)
{
    double v = s->constant;
    if (s->normal > 0) v += s->normal * random_normal(r);
    if (s->uniform > 0) v += s->uniform * (2 * random_unit(r) - 1);
    return v;
}

static status fill(const tensor *x, struct device *d, const struct start *s, struct random *r)
{
    const size_t n = tensor_count(x);
    void *host = malloc(size_max(1, tensor_bytes(x)));
    if (!host) return fail(ST_MEMORY, "no memory for %zu start values", n);
    for (size_t i = 0; i < n; i++) {
        const double v = draw(s, r);
        if (x->type == DT_F32) ((float *)host)[i] = (float)v;
        else ((double *)host)[i] = v;
    }
    const status st = d->upload(d, x->data, host, tensor_bytes(x));
    free(host);
    return st;
}

enum { FIXED, TRAINED };

static status add(struct params *p, const char *name, int trained, dtype type, int rank, const size_t *dim,
                  struct start start, struct random *r)
{
    struct param *e = NULL;
    status st = trained ? params_add(p, name, type, rank, dim, &e) : params_add_buffer(p, name, type, rank, dim, &e);
    return st == OK ? fill(&e->value, params_device(p), &start, r) : st;
}

static var *find(tape *t, struct params *p, const char *name)
{
    struct param *e = params_find(p, name);
    return e ? tape_param(t, e) : tape_fail(t, fail(ST_USAGE, "the parameter %s is missing", name));
}

/* [n, C, h, w] as [n, C, r] */
static var *flat(tape *t, var *maps)
{
    if (!maps) return NULL;
    const tensor *x = &maps->value;
    if (x->rank < 3)
        return tape_fail(t, fail(ST_SHAPE, "feature maps have rank %d, but must be [n, C, h, w]", x->rank));
    return op_reshape(t, maps, 3, (size_t[]){x->dim[0], x->dim[1], tensor_span(x, 2, x->rank)});
}

static var *classify(tape *t, var *logits, const tensor *labels, var **out)
{
    if (out) *out = logits;
    return op_cross_entropy(t, logits, labels);
}

/* frn: each class is a learned set of as many features as a map has locations. `r` is 0 throughout. */

static status frn_params(const struct pretrain_size *s, dtype type, struct random *r, struct params *p)
{
    status st = OK;
    const size_t cat[] = {s->classes, s->locations, s->channels}, one[] = {1}, two[] = {2};
    TRY(add(p, "pre.cat", TRAINED, type, 3, cat, (struct start){.normal = 1}, r));
    TRY(add(p, "pre.scale", TRAINED, type, 1, one, (struct start){.constant = 1}, r));
    TRY(add(p, "pre.r", FIXED, type, 1, two, (struct start){0}, r));
done:
    return st;
}

static var *frn_loss(tape *t, const void *settings, struct params *p, var *maps, const tensor *labels, var **logits)
{
    (void)settings;
    const struct frn_terms f = {find(t, p, "pre.scale"), find(t, p, "pre.r"), 1e-6, 1};
    return classify(t, frn_logits(t, &f, find(t, p, "pre.cat"), flat(t, maps)), labels, logits);
}

/* linear: a fully connected layer on the average over all locations. */

static status linear_params(const struct pretrain_size *s, dtype type, struct random *r, struct params *p)
{
    status st = OK;
    const struct start start = {.uniform = 1 / sqrt((double)s->channels)};
    TRY(add(p, "pre.fc.weight", TRAINED, type, 2, (size_t[]){s->classes, s->channels}, start, r));
    TRY(add(p, "pre.fc.bias", TRAINED, type, 1, (size_t[]){s->classes}, start, r));
done:
    return st;
}

static var *linear_loss(tape *t, const void *settings, struct params *p, var *maps, const tensor *labels, var **logits)
{
    (void)settings;
    var *pooled = op_mean(t, flat(t, maps), 1u << 2, DROP_AXES);
    return classify(t, op_linear(t, pooled, find(t, p, "pre.fc.weight"), find(t, p, "pre.fc.bias")), labels, logits);
}

/* neg-cosine and neg-softmax (Liu et al., ECCV 2020): the true class gets its score minus a margin that is below zero, so that
 * classes are held less far apart, and unseen ones are told apart better. Cosines, or inner products with their least taken
 * off, which changes no loss and is left out. The margins asked for are 0.01 to 0.1 for miniImageNet (methods 3.18.3). Start
 * values are those of `linear`. The scores that are counted have no margin. */

struct margin {
    double scale, margin;
};

#define NEGATIVE_OPTIONS(scale_, margin_) \
    OPT_FLOAT_INSIDE(struct margin, scale, "scale", scale_, 0, 1e6, "what multiplies the scores"), \
        OPT_FLOAT(struct margin, margin, "margin", margin_, -10, 10, "taken from the score of the true class"), \
        OPT_END

static const struct option cosine_options[] = {NEGATIVE_OPTIONS(30, -0.02)};
static const struct option softmax_options[] = {NEGATIVE_OPTIONS(5, -0.01)};

static status negative_params(const struct pretrain_size *s, dtype type, struct random *r, struct params *p)
{
    const struct start start = {.uniform = 1 / sqrt((double)s->channels)};
    return add(p, "pre.fc.weight", TRAINED, type, 2, (size_t[]){s->classes, s->channels}, start, r);
}

/* z [n, classes]: scores without scale and margin */
static var *with_margin(tape *t, const struct margin *s, var *z, const tensor *labels, var **logits)
{
    if (!z || !labels) return NULL;
    var *is_true = op_gather(t, matrix_identity(t, z->value.type, z->value.dim[1]), 0, labels);
    var *held = op_sub(t, z, op_affine(t, is_true, s->margin, 0));
    if (logits) *logits = op_affine(t, z, s->scale, 0);
    return op_cross_entropy(t, op_affine(t, held, s->scale, 0), labels);
}

static var *cosine_loss(tape *t, const void *settings, struct params *p, var *maps, const tensor *labels, var **logits)
{
    var *pooled = op_mean(t, flat(t, maps), 1u << 2, DROP_AXES);
    return with_margin(t, settings, op_cosine(t, pooled, find(t, p, "pre.fc.weight")), labels, logits);
}

static var *softmax_loss(tape *t, const void *settings, struct params *p, var *maps, const tensor *labels, var **logits)
{
    var *pooled = op_mean(t, flat(t, maps), 1u << 2, DROP_AXES);
    return with_margin(t, settings, op_linear(t, pooled, find(t, p, "pre.fc.weight"), NULL), labels, logits);
}

/* angular (Afrasiyabi et al., ECCV 2020): cosines with an additive angular margin, in which the network of the head centroid is
 * trained. Start values are those of `linear`. The scores that are counted have no margin. */

static const struct option angular_options[] = {
    OPT_FLOAT_INSIDE(struct margin, scale, "scale", 20, 0, 1e6, "what multiplies the cosines"),
    OPT_FLOAT(struct margin, margin, "margin", 0.01, 0, 1.5, "angle that is added to the true class's"), OPT_END};

static var *angular_loss(tape *t, const void *settings, struct params *p, var *maps, const tensor *labels, var **logits)
{
    const struct margin *s = settings;
    var *pooled = op_mean(t, flat(t, maps), 1u << 2, DROP_AXES);
    var *cosines = op_cosine(t, pooled, find(t, p, "pre.fc.weight"));
    if (logits) *logits = op_affine(t, cosines, s->scale, 0);
    return op_cross_entropy(t, angular_logits(t, cosines, labels, s->scale, s->margin), labels);
}

static const struct pretrain angular = {"angular",       "cosines with an angular margin",
                                        angular_options, sizeof(struct margin),
                                        negative_params, angular_loss,
                                        "neg-cosine"};
static const struct pretrain frn = {"frn", "reconstruction from learned class matrices", NULL, 0, frn_params, frn_loss,
                                    "frn"};
static const struct pretrain linear = {
    "linear", "a linear classifier of pooled maps", NULL, 0, linear_params, linear_loss, "mean-direction"};
static const struct pretrain neg_cosine = {
    "neg-cosine", "cosines with a negative margin", cosine_options, sizeof(struct margin), negative_params, cosine_loss,
    "neg-cosine"};
static const struct pretrain neg_softmax = {"neg-softmax",   "inner products with a negative margin",
                                            softmax_options, sizeof(struct margin),
                                            negative_params, softmax_loss,
                                            "neg-softmax"};
const struct pretrain *const pretrain_table[] = {&angular, &frn, &linear, &neg_cosine, &neg_softmax, NULL};

status pretrain_find(const char *name, const struct pretrain **out)
{
    enum { COUNT = sizeof pretrain_table / sizeof *pretrain_table };
    const char *names[COUNT] = {NULL};
    for (size_t i = 0; pretrain_table[i]; i++) {
        names[i] = pretrain_table[i]->name;
        if (strcmp(name, names[i])) continue;
        *out = pretrain_table[i];
        return OK;
    }
    const char *near = nearest_name(name, names);
    if (near) return fail(ST_USAGE, "there is no pre-training '%s'; did you mean '%s'?", name, near);
    return fail(ST_USAGE, "there is no pre-training '%s'; there are angular, frn, linear, neg-cosine and neg-softmax",
                name);
}
