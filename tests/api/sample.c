/* sample.c - random episodes for the tests of the public calls. */
#include "tests/api/sample.h"
#include "tests/test.h"
#include <stdlib.h>

static size_t width(const struct sample *s) { return s->e.precision == CENTRA_F32 ? sizeof(float) : sizeof(double); }
static size_t support_count(const struct sample *s)
{
    return s->e.support_count * s->e.channels * s->e.support_locations;
}
static size_t query_count(const struct sample *s) { return s->e.query_count * s->e.channels * s->e.query_locations; }

double sample_at(const struct sample *s, const void *array, size_t i)
{
    return s->e.precision == CENTRA_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

void sample_put(const struct sample *s, const void *array, size_t i, double value)
{
    void *at = (void *)(uintptr_t)array; /* the sample's own arrays, which it may change */
    if (s->e.precision == CENTRA_F32) ((float *)at)[i] = (float)value;
    else ((double *)at)[i] = value;
}

/* Bytes of the result arrays, in the order of struct centra_result without the loss. */
static void result_bytes(const struct sample *s, size_t bytes[6])
{
    bytes[0] = s->way * sizeof(int64_t);
    bytes[1] = s->e.query_count * s->way * width(s);
    bytes[2] = support_count(s) * width(s);
    bytes[3] = query_count(s) * width(s);
    bytes[4] = s->e.query_count * s->way * s->e.support_locations * width(s);
    bytes[5] = s->e.query_count * s->e.query_locations * width(s);
}

static void fill(struct sample *s, uint64_t stream, const struct sample_shape *shape, int64_t *labels,
                 int64_t *query_labels)
{
    struct random r = {.seed = test_seed(), .stream = stream};
    for (size_t i = 0; i < support_count(s); i++) sample_put(s, s->e.support, i, random_normal(&r));
    for (size_t i = 0; i < query_count(s); i++) sample_put(s, s->e.query, i, random_normal(&r));
    for (size_t i = 0; i < s->e.support_count; i++) labels[i] = 7 + 10 * (int64_t)((i * 7 + 3) % shape->way);
    for (size_t i = 0; i < s->e.query_count; i++) query_labels[i] = 7 + 10 * (int64_t)random_below(&r, shape->way);
}

bool sample_make(const struct sample_shape *shape, uint64_t stream, struct sample *out)
{
    const size_t ns = shape->way * shape->shots, each = shape->channels * shape->locations;
    *out = (struct sample){.way = shape->way};
    out->e = (centra_episode){.precision = shape->precision,
                              .channels = shape->channels,
                              .support_count = ns,
                              .support_locations = shape->locations,
                              .query_count = shape->queries,
                              .query_locations = shape->locations};
    size_t bytes[9] = {ns * each * width(out), shape->queries * each * width(out),
                       (ns + shape->queries) * sizeof(int64_t)};
    result_bytes(out, bytes + 3);
    for (int i = 0; i < 9; i++) {
        out->block[i] = malloc(bytes[i]);
        if (out->block[i]) continue;
        test_failed(__FILE__, __LINE__, "no memory for a sample");
        sample_free(out);
        return false;
    }
    int64_t *labels = out->block[2];
    out->e.support = out->block[0];
    out->e.query = out->block[1];
    out->e.support_labels = labels;
    out->e.query_labels = labels + ns;
    out->r = (centra_result){.labels = out->block[3],
                             .scores = out->block[4],
                             .loss = &out->loss,
                             .grad_support = out->block[5],
                             .grad_query = out->block[6],
                             .centrality_support = out->block[7],
                             .centrality_query = out->block[8]};
    fill(out, stream, shape, labels, labels + ns);
    sample_wipe(out);
    return true;
}

void sample_free(struct sample *s)
{
    for (int i = 0; i < 9; i++) free(s->block[i]);
    *s = (struct sample){0};
}

void sample_wipe(struct sample *s)
{
    size_t bytes[6];
    result_bytes(s, bytes);
    for (int i = 0; i < 6; i++) memset(s->block[3 + i], 0x5a, bytes[i]);
    s->loss = NAN;
}

bool sample_same(const struct sample *a, const struct sample *b)
{
    size_t bytes[6];
    bool same = a->loss == b->loss;
    result_bytes(a, bytes);
    for (int i = 0; i < 6; i++) same = same && !memcmp(a->block[3 + i], b->block[3 + i], bytes[i]);
    return same;
}

bool desk_open(struct desk *d, const char *head, const char *isa, size_t threads)
{
    const centra_session_options o = {.threads = threads, .isa = isa};
    *d = (struct desk){0};
    status st = (status)centra_session_open(&o, &d->session);
    if (st == OK) st = (status)centra_head_new(d->session, head, NULL, 0, &d->head);
    EXPECT_OK(st);
    if (st != OK) desk_close(d);
    return st == OK;
}

void desk_close(struct desk *d)
{
    centra_head_free(d->head);
    centra_session_close(d->session);
    *d = (struct desk){0};
}
