/* rig.c - episodes, walks over them, and the plain definition. */
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdlib.h>

size_t maps_proto_count(const struct maps *m) { return m->way * m->channels * m->rs; }
size_t maps_query_count(const struct maps *m) { return m->nq * m->channels * m->rq; }

static void *reserve(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (!p) test_failed(__FILE__, __LINE__, "no memory for a test");
    return p;
}

static void fill(struct random *r, const double *shared, size_t pictures, size_t channels, size_t locations, double *to)
{
    for (size_t i = 0; i < pictures * channels * locations; i++)
        to[i] = random_normal(r) + shared[i / locations % channels];
}

struct maps maps_random(struct random *r, size_t way, size_t channels, size_t rs, size_t nq, size_t rq)
{
    struct maps m = {.way = way, .channels = channels, .rs = rs, .nq = nq, .rq = rq};
    double *shared = reserve(channels, sizeof *shared);
    m.proto = reserve(maps_proto_count(&m), sizeof *m.proto);
    m.query = reserve(maps_query_count(&m), sizeof *m.query);
    m.labels = reserve(nq, sizeof *m.labels);
    for (size_t c = 0; c < channels; c++) shared[c] = 0.5 * random_normal(r);
    fill(r, shared, way, channels, rs, m.proto);
    fill(r, shared, nq, channels, rq, m.query);
    for (size_t n = 0; n < nq; n++) m.labels[n] = (int32_t)random_below(r, way);
    free(shared);
    return m;
}

struct maps maps_copy(const struct maps *m)
{
    struct maps c = *m;
    c.proto = reserve(maps_proto_count(m), sizeof *c.proto);
    c.query = reserve(maps_query_count(m), sizeof *c.query);
    c.labels = reserve(m->nq, sizeof *c.labels);
    memcpy(c.proto, m->proto, maps_proto_count(m) * sizeof *c.proto);
    memcpy(c.query, m->query, maps_query_count(m) * sizeof *c.query);
    memcpy(c.labels, m->labels, m->nq * sizeof *c.labels);
    return c;
}

void maps_free(struct maps *m)
{
    free(m->proto);
    free(m->query);
    free(m->labels);
    *m = (struct maps){0};
}

bool rig_open(struct world *w, const char *isa, size_t threads, dtype type)
{
    return world_open_isa(w, isa, threads, type, TAPE_TRAINING);
}

static void answer_reserve(const struct maps *m, struct answer *out)
{
    const size_t counts[] = {m->nq * m->way, m->nq * m->way,      m->nq * m->way * m->rs,
                             m->nq * m->rq,  maps_proto_count(m), maps_query_count(m)};
    double **parts[] = {&out->prob, &out->log_prob, &out->pi_support, &out->pi_query, &out->d_proto, &out->d_query};
    size_t total = 0;
    for (int i = 0; i < 6; i++) total += counts[i];
    double *at = out->block = reserve(total, sizeof *at);
    for (int i = 0; i < 6; at += counts[i++]) *parts[i] = at;
}

bool rig_walk(struct world *w, const struct maps *m, const struct walk *s, struct answer *out)
{
    struct walk_vars v;
    const unsigned all = WALK_PROB | WALK_LOG_PROB | WALK_PI_SUPPORT | WALK_PI_QUERY;
    *out = (struct answer){0};
    answer_reserve(m, out);
    tape_reset(w->t, TAPE_TRAINING);
    var *proto = world_leaf(w, DIMS(m->way, m->channels, m->rs), m->proto);
    var *query = world_leaf(w, DIMS(m->nq, m->channels, m->rq), m->query);
    const tensor *labels = op_labels(w->t, m->labels, m->nq, m->way);
    var *loss = op_walk_nll(w->t, proto, query, labels, s, all, &v);
    if (loss) tape_backward(w->t, loss);
    const status st = tape_status(w->t);
    EXPECT_OK(st);
    if (st != OK) return false;
    const tensor *from[] = {&v.prob->value,     &v.log_prob->value, &v.pi_support->value,
                            &v.pi_query->value, &proto->grad,       &query->grad};
    double *to[] = {out->prob, out->log_prob, out->pi_support, out->pi_query, out->d_proto, out->d_query};
    bool read = world_read(w, &loss->value, &out->loss);
    for (int i = 0; i < 6; i++) read = read && world_read(w, from[i], to[i]);
    EXPECT(read);
    return read;
}

void answer_free(struct answer *a)
{
    free(a->block);
    *a = (struct answer){0};
}

static double cosine(const double *x, size_t x_step, const double *y, size_t y_step, size_t n)
{
    double xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        xx += x[i * x_step] * x[i * x_step];
        yy += y[i * y_step] * y[i * y_step];
        xy += x[i * x_step] * y[i * y_step];
    }
    return sqrt(xx) < 1e-12 || sqrt(yy) < 1e-12 ? 0 : xy / sqrt(xx) / sqrt(yy);
}

/* exp(scale x), scaled to sum 1, over n numbers `step` apart */
static void plain_softmax(const double *x, size_t step, size_t n, double scale, double *y)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) top = fmax(top, scale * x[i * step]);
    for (size_t i = 0; i < n; i++) sum += y[i * step] = exp(scale * x[i * step] - top);
    for (size_t i = 0; i < n; i++) y[i * step] /= sum;
}

void plain_transitions(const struct maps *m, const struct walk *s, size_t n, double *a, double *b)
{
    const size_t columns = m->way * m->rs;
    double *phi = reserve(m->rq * columns, sizeof *phi);
    for (size_t q = 0; q < m->rq; q++)
        for (size_t j = 0; j < columns; j++)
            phi[q * columns + j] = cosine(m->query + n * m->channels * m->rq + q, m->rq,
                                          m->proto + j / m->rs * m->channels * m->rs + j % m->rs, m->rs, m->channels);
    for (size_t q = 0; q < m->rq; q++) plain_softmax(phi + q * columns, 1, columns, s->gamma, a + q * columns);
    for (size_t j = 0; j < columns; j++) plain_softmax(phi + j, columns, m->rq, s->beta, b + j);
    free(phi);
}

void expect_near(const char *file, int line, const char *what, const double *seen, const double *wanted, size_t n,
                 double tolerance)
{
    double scale = 1;
    for (size_t i = 0; i < n; i++) scale = fmax(scale, 1 + fabs(wanted[i]));
    for (size_t i = 0; i < n; i++) {
        if (fabs(seen[i] - wanted[i]) <= tolerance * scale) continue;
        test_failed(file, line, "%s[%zu] is %.17g, wanted %.17g within %g", what, i, seen[i], wanted[i],
                    tolerance * scale);
        return; /* one is enough to see where to look */
    }
}

double rig_tolerance(dtype type) { return type == DT_F64 ? 1e-12 : 1e-5; }
