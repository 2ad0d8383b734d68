/* fit.c - the fit itself: read fit.h first. */
#include "heads/fit.h"
#include "base/dense.h"
#include "base/size.h"
#include "ops/host.h"
#include <math.h>
#include <string.h>

struct fit { /* in coordinates; memory of the tape */
    const struct fit_settings *s;
    const struct fit_task *k;
    size_t dim;
    double *x;           /* [shots, dim], normalised where the kind asks for it */
    double *weight;      /* [way, dim] */
    double *bias, *gain; /* [way] */
    double *dweight;     /* gradients, as the three above */
    double *dbias, *dgain;
    double *vweight; /* momenta */
    double *vbias, *vgain;
    double *length; /* [way] of the weights */
    double *logits; /* [way] */
    bool first;     /* no step yet */
};

/* The shots [shots, channels] as the kind sees them. */
static status prepare(tape *t, const struct fit_task *k, double **out)
{
    const status st = host_zeros(t, k->shots * k->channels, out);
    for (size_t i = 0; st == OK && i < k->shots; i++) {
        const double *x = k->x + i * k->channels, length = sqrt(dense_dot(x, x, k->channels));
        double scale = 1;
        if (k->kind == FIT_NORMED) scale = 1 / (length + 1e-5);
        if (k->kind == FIT_COSINE) scale = length < 1e-12 ? 0 : 1 / length;
        dense_add(scale, x, k->channels, *out + i * k->channels);
    }
    return st;
}

/* Shots and weights in a basis of their span, which is returned in *basis, [dim, channels]. */
static status reduce(tape *t, struct fit *f, const double *x, const double *weight, double **basis)
{
    status st = OK;
    const size_t shots = f->k->shots, way = f->k->way, channels = f->k->channels, rows = shots + way;
    const size_t most = size_min(rows, channels);
    double *all, *in;
    TRY(host_zeros(t, rows * channels, &all));
    TRY(host_zeros(t, most * channels, basis));
    TRY(host_zeros(t, rows * most, &in));
    memcpy(all, x, shots * channels * sizeof *all);
    memcpy(all + shots * channels, weight, way * channels * sizeof *all);
    f->dim = most;
    if (rows < channels) {
        dense_span(rows, channels, all, 1e-13, *basis, in); /* behind the rank coordinates are 0, and stay so */
    } else {
        memcpy(in, all, rows * channels * sizeof *in); /* nothing to win */
        for (size_t i = 0; i < channels; i++) (*basis)[i * channels + i] = 1;
    }
    f->x = in;
    f->weight = in + shots * most;
done:
    return st;
}

static status take(tape *t, struct fit *f)
{
    status st = OK;
    double **const each[] = {&f->dbias, &f->dgain, &f->vbias, &f->vgain, &f->length, &f->logits};
    TRY(host_zeros(t, f->k->way * f->dim, &f->dweight));
    TRY(host_zeros(t, f->k->way * f->dim, &f->vweight));
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) TRY(host_zeros(t, f->k->way, each[i]));
done:
    return st;
}

static bool directed(const struct fit *f) { return f->k->kind == FIT_NORMED || f->k->kind == FIT_COSINE; }

/* What multiplies w . x for class c. */
static double factor(const struct fit *f, size_t c)
{
    const double scale = f->k->kind == FIT_LINEAR ? 1 : f->s->scale;
    if (!directed(f)) return scale;
    if (f->length[c] < 1e-12) return 0;
    return (f->k->kind == FIT_NORMED ? scale * f->gain[c] : scale) / f->length[c];
}

/* Adds the gradient of one shot's cross entropy by the effective weights, factor included: g x. */
static void see(struct fit *f, size_t shot, double share)
{
    const double *x = f->x + shot * f->dim;
    const size_t way = f->k->way, label = (size_t)f->k->labels[shot];
    double top = -INFINITY, sum = 0;
    for (size_t c = 0; c < way; c++) {
        f->logits[c] = factor(f, c) * dense_dot(f->weight + c * f->dim, x, f->dim);
        if (f->k->kind == FIT_LINEAR) f->logits[c] += f->bias[c];
        else if (f->k->kind != FIT_NORMED && c == label) f->logits[c] -= f->s->scale * f->s->margin;
        top = fmax(top, f->logits[c]);
    }
    for (size_t c = 0; c < way; c++) sum += f->logits[c] = exp(f->logits[c] - top);
    for (size_t c = 0; c < way; c++) {
        const double g = share * (f->logits[c] / sum - (double)(c == label));
        dense_add(g, x, f->dim, f->dweight + c * f->dim);
        f->dbias[c] += g;
    }
}

/* From the gradient by the logits' directions to that by the weight and its gain. */
static void through_length(struct fit *f, size_t c)
{
    double *d = f->dweight + c * f->dim;
    const double *w = f->weight + c * f->dim, by = factor(f, c), length = f->length[c];
    if (!directed(f)) {
        for (size_t i = 0; i < f->dim; i++) d[i] *= by;
        return;
    }
    const double along = length < 1e-12 ? 0 : dense_dot(d, w, f->dim) / length;
    f->dgain[c] = f->s->scale * along;
    for (size_t i = 0; i < f->dim; i++) d[i] = length < 1e-12 ? 0 : by * (d[i] - along * w[i] / length);
}

static void descend(const struct fit *f, size_t n, const double *d, double *v, double *w)
{
    const double keep = f->first ? 0 : f->s->momentum, fresh = f->first ? 1 : 1 - f->s->dampening;
    for (size_t i = 0; i < n; i++) {
        v[i] = keep * v[i] + fresh * (d[i] + f->s->decay * w[i]);
        w[i] -= f->s->rate * v[i];
    }
}

static void step(struct fit *f, const uint32_t *shots, size_t count)
{
    const size_t way = f->k->way;
    memset(f->dweight, 0, way * f->dim * sizeof *f->dweight);
    memset(f->dbias, 0, way * sizeof *f->dbias);
    for (size_t c = 0; directed(f) && c < way; c++) {
        const double *w = f->weight + c * f->dim;
        f->length[c] = sqrt(dense_dot(w, w, f->dim));
    }
    for (size_t i = 0; i < count; i++) see(f, shots[i], 1 / (double)count);
    for (size_t c = 0; c < way; c++) through_length(f, c);
    descend(f, way * f->dim, f->dweight, f->vweight, f->weight);
    if (f->k->kind == FIT_LINEAR) descend(f, way, f->dbias, f->vbias, f->bias);
    if (f->k->kind == FIT_NORMED && f->s->norm) descend(f, way, f->dgain, f->vgain, f->gain);
    f->first = false;
}

static void run(struct fit *f, const uint32_t *order)
{
    const size_t shots = f->k->shots, batch = (size_t)f->s->batch;
    size_t left = f->k->steps ? f->k->steps : SIZE_MAX;
    for (size_t e = 0; e < (size_t)f->s->epochs; e++)
        for (size_t at = 0; at < shots && left; at += batch, left--)
            step(f, order + e * shots + at, size_min(batch, shots - at));
}

static status all_finite(const double *x, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return fail(ST_NUMERIC, "%s", what);
    return OK;
}

status fit_run(tape *t, const struct fit_settings *s, const struct fit_task *k, struct fit_weights *w)
{
    status st = OK;
    struct fit f = {.s = s, .k = k, .bias = w->bias, .gain = w->gain, .first = true};
    double *x, *basis;
    TRY(all_finite(k->x, k->shots * k->channels, "the shots have features that are not finite"));
    TRY(prepare(t, k, &x));
    TRY(reduce(t, &f, x, w->weight, &basis));
    TRY(take(t, &f));
    for (size_t c = 0; k->kind == FIT_NORMED && !s->norm && c < k->way; c++) f.gain[c] = 1;
    run(&f, w->order);
    TRY(all_finite(f.weight, k->way * f.dim, "the fit has diverged; a smaller --head.lr may help"));
    memset(w->weight, 0, k->way * k->channels * sizeof *w->weight);
    for (size_t c = 0; c < k->way; c++)
        for (size_t i = 0; i < f.dim; i++)
            dense_add(f.weight[c * f.dim + i], basis + i * k->channels, k->channels, w->weight + c * k->channels);
done:
    return st;
}
