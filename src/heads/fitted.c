/* fitted.c - a head whose classifier is fitted to the shots of each episode, when it is asked. */
#include "base/dense.h"
#include "heads/fit.h"
#include "heads/shots.h"
#include "ops/host.h"
#include <math.h>

static var *constant(tape *t, dtype type, int rank, const size_t *dim, const double *numbers)
{
    tensor x;
    const status st = host_write(t, type, rank, dim, numbers, &x);
    return st == OK ? tape_constant(t, &x) : tape_fail(t, st);
}

/* What the pooled query is multiplied with, [way, channels]. */
static status effective(tape *t, const struct fit_settings *s, enum fit_kind kind, size_t way, size_t channels,
                        const struct fit_weights *w, double **out)
{
    const status st = host_zeros(t, way * channels, out);
    for (size_t c = 0; st == OK && c < way; c++) {
        const double *row = w->weight + c * channels, length = sqrt(dense_dot(row, row, channels));
        double scale = kind == FIT_LINEAR ? 1 : s->scale;
        if (kind == FIT_NORMED) scale *= w->gain[c];
        if (kind == FIT_NORMED || kind == FIT_COSINE) scale = length < 1e-12 ? 0 : scale / length;
        dense_add(scale, row, channels, *out + c * channels);
    }
    return st;
}

/* z minus the smallest of its row */
static var *above_least(tape *t, var *z)
{
    var *least = op_affine(t, op_max(t, op_affine(t, z, -1, 0), 1), -1, 0);
    return z && least ? op_sub(t, z, op_reshape(t, least, 2, (size_t[]){z->value.dim[0], 1})) : NULL;
}

var *fitted_scores(tape *t, const struct fit_settings *s, enum fit_kind kind, size_t way, const struct fit_weights *w,
                   var *query)
{
    double *rows;
    if (!query) return NULL;
    const dtype type = query->value.type;
    const size_t dim[] = {way, query->value.dim[1]};
    const status st = effective(t, s, kind, way, dim[1], w, &rows);
    if (st != OK) return tape_fail(t, st);
    if (kind == FIT_COSINE) query = op_l2norm(t, query, 1);
    if (kind == FIT_NORMED) {
        var *square = op_sum(t, op_mul(t, query, query), 1u << 1, KEEP_AXES);
        query = op_div(t, query, op_affine(t, op_sqrt(t, square), 1, 1e-5));
    }
    var *bias = kind == FIT_LINEAR ? constant(t, type, 1, dim, w->bias) : NULL;
    var *z = op_linear(t, query, constant(t, type, 2, dim, rows), bias);
    return kind == FIT_MARGIN ? above_least(t, z) : z;
}

/* The classifier of an episode: its shots are read back, which waits for the device. */
static status fit_episode(tape *t, const struct fit_settings *s, enum fit_kind kind, const struct episode *e,
                          struct fit_weights *w)
{
    status st = OK;
    struct shots shots;
    double *x;
    void *labels;
    if (!shots_sort(t, e, &shots)) {
        st = tape_status(t);
        return st != OK ? st : fail(ST_USAGE, "an episode to fit to has no support");
    }
    const var *pooled = op_mean(t, shots.support, 1u << 2, DROP_AXES); /* [ns, C] */
    TRY(tape_status(t));
    TRY(host_read(t, &pooled->value, &x));
    TRY(tape_host(t, pooled->value.dim[0] * sizeof(int32_t), &labels));
    for (size_t c = 0; c < e->way; c++)
        for (size_t i = shots.first[c]; i < shots.first[c + 1]; i++) ((int32_t *)labels)[i] = (int32_t)c;
    const struct fit_task task = {.kind = kind,
                                  .shots = pooled->value.dim[0],
                                  .way = e->way,
                                  .channels = pooled->value.dim[1],
                                  .x = x,
                                  .labels = labels};
    TRY(fit_draw(t, s, &task, w));
    TRY(fit_run(t, s, &task, w));
done:
    return st;
}

bool fitted_forward(tape *t, const struct fitted *s, enum fit_kind kind, const char *name, const struct episode *e,
                    struct head_result *out)
{
    struct fit_weights w = {0};
    struct pooled p;
    if (tape_get_mode(t) == TAPE_TRAINING)
        return tape_fail(t, fail(ST_USAGE,
                                 "the head %s is fitted to each episode and has nothing to train; use it to evaluate",
                                 name)) != NULL;
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    if (!maps || !pool_features(t, &s->pool, maps, e->query, &p)) return false;
    const status st = fit_episode(t, &s->fit, kind, e, &w);
    if (st != OK) return tape_fail(t, st) != NULL;
    out->scores = fitted_scores(t, &s->fit, kind, e->way, &w, p.query);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}
