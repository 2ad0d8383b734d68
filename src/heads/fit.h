/* fit.h - linear classifiers fitted to the pooled shots of one episode, by stochastic gradient descent.
 *
 * The fit runs on the host in double. Every weight stays in the span of the shots and of its start, so shots and weights are
 * first written in an orthonormal basis of that span: a step costs as many numbers as there are shots and classes, not as
 * there are channels, and the result is the same. Episodes are fitted side by side by whoever plays them (eval/evaluate.c). */
#ifndef HEADS_FIT_H
#define HEADS_FIT_H
#include "heads/head.h"
#include "heads/pool.h"

enum fit_kind {
    FIT_LINEAR, /* w . f + b */
    FIT_NORMED, /* scale gain (w / |w|) . f / (|f| + 1e-5) */
    FIT_COSINE, /* scale (cos(w, f) - margin [true class]) */
    FIT_MARGIN  /* scale (w . f - margin [true class]) */
};

struct
    fit_settings { /* v = momentum v + (1 - dampening) (gradient + decay w), at first without dampening; w -= rate v */
    int64_t epochs, batch, seed;
    double rate, momentum, dampening, decay;
    double scale, margin; /* the margin counts during the fit only */
    int64_t norm;         /* FIT_NORMED: 0 keeps the gains at 1 */
};

struct fit_task {
    enum fit_kind kind;
    size_t shots, way, channels;
    const double *x;       /* [shots, channels] */
    const int32_t *labels; /* [shots] */
    size_t steps;          /* at most; 0: all */
};

struct fit_weights {       /* memory of the tape */
    double *weight;        /* [way, channels] */
    double *bias, *gain;   /* [way]; not looked at by the kinds that have none */
    const uint32_t *order; /* [epochs, shots]: the shots in the order of each epoch */
};

/* Start weights, uniform within 1 / sqrt(channels), and orders. They are a function of the seed and of the features: neither
 * the order of the shots nor the names of the classes matter, and episodes differ in their draws. */
status fit_draw(tape *t, const struct fit_settings *s, const struct fit_task *task, struct fit_weights *out);
/* Fits from w's numbers and leaves the fitted ones there. ST_NUMERIC when they are not finite. */
status fit_run(tape *t, const struct fit_settings *s, const struct fit_task *task, struct fit_weights *w);

/* heads/fitted.c: a head that fits. */
struct fitted {
    struct fit_settings fit;
    struct pool_settings pool;
};
/* Scores of the queries. Fails on a training tape: there is nothing to train in such a head. */
bool fitted_forward(tape *t, const struct fitted *s, enum fit_kind kind, const char *name, const struct episode *e,
                    struct head_result *out);
/* Scores [nq, way] of pooled queries [nq, C] by fitted weights. */
var *fitted_scores(tape *t, const struct fit_settings *s, enum fit_kind kind, size_t way, const struct fit_weights *w,
                   var *query);

/* The lines of an option table that all of them share. */
#define FIT_OPTIONS \
    OPT_INT(struct fitted, fit.epochs, "epochs", 100, 0, 100000, "how often the fit sees each shot"), \
        OPT_INT(struct fitted, fit.batch, "batch", 4, 1, 1000000, "shots in a step of the fit"), \
        OPT_FLOAT(struct fitted, fit.rate, "lr", 0.01, 0, 1e6, "learning rate of the fit"), \
        OPT_FLOAT(struct fitted, fit.momentum, "momentum", 0.9, 0, 1, "momentum of the fit"), \
        OPT_FLOAT(struct fitted, fit.dampening, "dampening", 0.9, 0, 1, "dampening of that momentum"), \
        OPT_FLOAT(struct fitted, fit.decay, "decay", 0.001, 0, 1e6, "weight decay of the fit"), \
        OPT_INT(struct fitted, fit.seed, "seed", 0, 0, 1000000000, \
                "seed of the start weights and of the order of the shots")
#endif
