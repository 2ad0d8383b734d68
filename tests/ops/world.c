/* world.c - a device and a tape for the tests of ops. */
#include "tests/ops/world.h"
#include "tests/device.h"
#include "tests/strict.h"
#include "tests/test.h"

typedef status opener(pool *threads, const char *isa, struct device **out);

static bool open_by(struct world *w, opener *device_open, const char *isa, size_t threads, enum tape_mode mode)
{
    status st = OK;
    TRY(pool_new(threads, &w->threads));
    TRY(device_open(w->threads, isa, &w->dev));
    strict_watch(w->dev);
    TRY(tape_new(w->dev, mode, &w->t));
done:
    EXPECT_OK(st);
    if (st != OK) world_close(w);
    return st == OK;
}

bool world_open(struct world *w, size_t threads, dtype type, enum tape_mode mode)
{
    return world_open_isa(w, NULL, threads, type, mode);
}

bool world_open_isa(struct world *w, const char *isa, size_t threads, dtype type, enum tape_mode mode)
{
    *w = (struct world){.type = type};
    return open_by(w, test_device_open, isa, threads, mode);
}

bool world_open_cpu(struct world *w, size_t threads, dtype type, enum tape_mode mode)
{
    *w = (struct world){.type = type};
    return open_by(w, test_cpu_open, NULL, threads, mode);
}

void world_close(struct world *w)
{
    tape_free(w->t);
    if (w->dev) w->dev->close(w->dev);
    pool_free(w->threads);
    *w = (struct world){.type = w->type};
}

var *world_constant(struct world *w, int rank, const size_t *dim, const double *x)
{
    tensor shape;
    void *host;
    status st = tensor_make(&shape, w->type, rank, dim, NULL);
    if (st == OK) st = tape_host(w->t, tensor_bytes(&shape), &host);
    if (st != OK) return tape_fail(w->t, st);
    for (size_t i = 0; i < tensor_count(&shape); i++) {
        if (w->type == DT_F32) ((float *)host)[i] = (float)x[i];
        else ((double *)host)[i] = x[i];
    }
    return tape_upload(w->t, w->type, rank, dim, host);
}

var *world_leaf(struct world *w, int rank, const size_t *dim, const double *x)
{
    tensor grad;
    var *value = world_constant(w, rank, dim, x);
    if (!value) return NULL;
    status st = tape_tensor(w->t, w->type, rank, dim, &grad);
    if (st != OK) return tape_fail(w->t, st);
    return tape_leaf(w->t, &value->value, &grad, GRAD_OVERWRITES);
}

const tensor *world_index(struct world *w, size_t n, const int32_t *x)
{
    var *v = tape_upload(w->t, DT_I32, 1, &n, x);
    return v ? &v->value : NULL;
}

bool world_read(struct world *w, const tensor *x, double *out)
{
    const size_t n = tensor_count(x);
    void *host;
    if (tape_host(w->t, tensor_bytes(x), &host) != OK) return false;
    if (w->dev->download(w->dev, host, x->data, tensor_bytes(x)) != OK) return false;
    for (size_t i = 0; i < n; i++)
        out[i] = x->type == DT_F32   ? (double)((float *)host)[i]
                 : x->type == DT_F64 ? ((double *)host)[i]
                                     : ((int32_t *)host)[i];
    return true;
}

status world_back(struct world *w, var *y, const double *dy)
{
    if (!y) return tape_status(w->t);
    const var *g = world_constant(w, y->value.rank, y->value.dim, dy);
    return g ? tape_backward_from(w->t, 1, &y, (const tensor *[]){&g->value}) : tape_status(w->t);
}

void world_expect(struct world *w, const char *file, int line, const char *what, const tensor *x, size_t n,
                  const double *wanted)
{
    double seen[1024];
    const double tolerance = w->type == DT_F32 ? 1e-6 : 1e-14;
    if (tensor_count(x) != n || n > 1024 || !x->data || !world_read(w, x, seen)) {
        test_failed(file, line, "%s has %zu numbers (or none that can be read), wanted %zu", what, tensor_count(x), n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (!(fabs(seen[i] - wanted[i]) <= tolerance * (1 + fabs(wanted[i]))))
            test_failed(file, line, "%s[%zu] is %.17g, wanted %.17g", what, i, seen[i], wanted[i]);
}

void with_worlds(void (*body)(struct world *w))
{
    for (dtype type = DT_F32; type < DT_REALS; type++) {
        struct world w;
        if (!world_open(&w, 1, type, TAPE_TRAINING)) continue; /* which has failed the test */
        body(&w);
        EXPECT_OK(tape_status(w.t));
        world_close(&w);
    }
}
