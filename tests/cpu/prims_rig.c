/* prims_rig.c - the devices, tensors and comparisons of the primitives' tests. */
#include "tests/cpu/prims_rig.h"
#include <float.h>
#include <stdlib.h>

enum { MOST_THREADS = 3 };

static void run_once(struct rig *r, const char *isa, size_t threads, void (*body)(struct rig *r))
{
    pool *p = NULL;
    struct device *d = NULL;
    r->isa = isa;
    if (pool_new(threads, &p) == OK && test_device_open(p, isa, &d) == OK && (r->memory = test_device_arena(1 << 20))) {
        r->dev = d;
        r->threads = threads;
        r->random = test_random();
        r->trace_at = 0;
        body(r);
        if (r->trace_at != r->trace_bytes)
            test_failed(__FILE__, __LINE__, "runs compared different numbers of results");
    } else {
        test_failed(__FILE__, __LINE__, "no device: %s", error_text());
    }
    arena_free(r->memory);
    r->memory = NULL;
    if (d) d->close(d);
    pool_free(p);
}

/* Sanitizers look for races and bad accesses, which two numbers of threads show as well as three. */
void rig_each(void (*body)(struct rig *r))
{
    const size_t step = UNDER_ASAN || UNDER_TSAN ? 2 : 1;
    for (int isa = 0; isa < (test_device() ? 1 : ISA_COUNT); isa++) {
        for (int type = 0; kernels_of((enum isa)isa) && type < DT_REALS; type++) {
            struct rig r = {.type = (dtype)type, .epsilon = type == DT_F32 ? (double)FLT_EPSILON : DBL_EPSILON};
            for (size_t threads = 1; threads <= MOST_THREADS; threads += step)
                run_once(&r, isa_name((enum isa)isa), threads, body);
            free(r.trace);
        }
    }
}

status rig_waited(struct rig *r, status st)
{
    const status later = r->dev->sync(r->dev);
    return st == OK ? later : st;
}

static void *take(struct rig *r, size_t bytes)
{
    void *memory;
    if (arena_take(r->memory, bytes, 1, &memory) == OK) return memory;
    abort(); /* a test without memory cannot go on */
}

static void set(const tensor *x, size_t i, double value)
{
    if (x->type == DT_F32) ((float *)x->data)[i] = (float)value;
    else ((double *)x->data)[i] = value;
}

tensor rig_filled(struct rig *r, double value, int rank, const size_t *dim)
{
    tensor x;
    EXPECT_OK(tensor_make(&x, r->type, rank, dim, NULL));
    x.data = take(r, tensor_bytes(&x));
    for (size_t i = 0; i < tensor_count(&x); i++) set(&x, i, value);
    return x;
}

tensor rig_blank(struct rig *r, int rank, const size_t *dim) { return rig_filled(r, (double)NAN, rank, dim); }

tensor rig_random(struct rig *r, double low, double high, int rank, const size_t *dim)
{
    tensor x = rig_blank(r, rank, dim);
    for (size_t i = 0; i < tensor_count(&x); i++) set(&x, i, low + (high - low) * random_unit(&r->random));
    return x;
}

tensor rig_given(struct rig *r, const double *numbers, int rank, const size_t *dim)
{
    tensor x = rig_blank(r, rank, dim);
    for (size_t i = 0; i < tensor_count(&x); i++) set(&x, i, numbers[i]);
    return x;
}

tensor rig_ints(struct rig *r, size_t n)
{
    tensor x;
    EXPECT_OK(tensor_make(&x, DT_I32, 1, &n, NULL));
    x.data = take(r, tensor_bytes(&x));
    memset(x.data, 0x7f, tensor_bytes(&x)); /* no index a test could use */
    return x;
}

double *rig_zeros(struct rig *r, size_t n)
{
    double *out = take(r, n * sizeof *out);
    for (size_t i = 0; i < n; i++) out[i] = 0;
    return out;
}

double *rig_numbers(struct rig *r, const tensor *x)
{
    double *out = rig_zeros(r, tensor_count(x));
    for (size_t i = 0; i < tensor_count(x); i++) {
        if (x->type == DT_F32) out[i] = (double)((float *)x->data)[i];
        else if (x->type == DT_F64) out[i] = ((double *)x->data)[i];
        else out[i] = ((int32_t *)x->data)[i];
    }
    return out;
}

/* Keeps the bits of the run with one thread and compares those of the others with them. */
static void trace(struct rig *r, const char *file, int line, const char *what, const tensor *x)
{
    size_t bytes = tensor_bytes(x);
    if (r->threads == 1) {
        unsigned char *grown = realloc(r->trace, r->trace_bytes + bytes + 1);
        if (!grown) abort();
        r->trace = grown;
        r->trace_bytes += bytes;
        memcpy(r->trace + r->trace_at, x->data, bytes);
    } else if (r->trace_at + bytes > r->trace_bytes || memcmp(r->trace + r->trace_at, x->data, bytes)) {
        test_failed(file, line, "%s has other bits with %zu threads than with 1", what, r->threads);
    }
    r->trace_at += bytes;
}

void rig_near(struct rig *r, const char *file, int line, const char *what, const tensor *x, const double *wanted,
              double factor)
{
    double *seen = rig_numbers(r, x);
    trace(r, file, line, what, x);
    for (size_t i = 0; i < tensor_count(x); i++) {
        if (isnan(wanted[i]) ? isnan(seen[i]) : seen[i] == wanted[i]) continue;
        double bound = factor * r->epsilon * (1 + fabs(wanted[i]));
        if (fabs(seen[i] - wanted[i]) <= bound) continue;
        test_failed(file, line, "%s[%zu] is %.17g, wanted %.17g within %g (%s, %s, %zu threads)", what, i, seen[i],
                    wanted[i], bound, dtype_name(r->type), test_device() ? test_device() : r->isa, r->threads);
        return;
    }
}
