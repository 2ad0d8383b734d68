/* library.c - the program's side of centra.h. */
#include "app/library.h"
#include "base/size.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert((int)CENTRA_USAGE == (int)ST_USAGE && (int)CENTRA_NUMERIC == (int)ST_NUMERIC,
               "the public statuses are numbered as the internal ones");

status library(centra_status st)
{
    struct error e = {.st = (status)st};
    size_t n;
    if (st == CENTRA_OK) return OK;
    /* Copied first: where program and library share one slot, fail() must not read what it writes. */
    n = strlen(centra_message());
    if (n >= sizeof e.text) n = sizeof e.text - 1;
    memcpy(e.text, centra_message(), n);
    return error_put(&e);
}

static struct error lost; /* the first list that was cut short; only the main thread makes lists */

bool library_has(centra_status st)
{
    if (st == CENTRA_OK || st == CENTRA_USAGE) return st == CENTRA_OK;
    if (lost.st == OK) error_take(library(st), &lost);
    return false;
}

status library_lost(void) { return lost.st == OK ? OK : error_put(&lost); }

static status open_with(const struct call *c, int peers, centra_session **out)
{
    centra_session_options o = {.threads = (size_t)c->common.threads,
                                .isa = c->common.isa,
                                .device = c->common.device,
                                .maths = c->common.maths,
                                .peers = peers};
    return library(centra_session_open(&o, out));
}

status session_open(const struct call *c, centra_session **out) { return open_with(c, 0, out); }
status session_join(const struct call *c, centra_session **out) { return open_with(c, 1, out); }

status head_open(const struct call *c, centra_session *session, const char *name, centra_head **out)
{
    return library(centra_head_new(session, name, c->head_options, c->head_option_count, out));
}

bool head_info(const char *name, centra_head_info *out)
{
    for (size_t i = 0; i < centra_head_count(); i++)
        if (library_has(centra_head_describe(i, out)) && !strcmp(out->name, name)) return true;
    return false;
}

const char *const device_names[] = {"cpu", "cuda", NULL};

const char *const precision_names[] = {[CENTRA_F32] = "f32", [CENTRA_F64] = "f64", NULL};

size_t precision_bytes(centra_precision p) { return p == CENTRA_F64 ? sizeof(double) : sizeof(float); }

enum { LARGE_PAGE = 2 << 20 };

status array_take(size_t a, size_t b, size_t c, size_t bytes, void **out)
{
    size_t n;
    if (!size_mul(a, b, &n) || !size_mul(n, c, &n) || !size_mul(n, bytes, &n))
        return fail(ST_MEMORY, "an array of %zu x %zu x %zu numbers is too large", a, b, c);
    /* Large arrays ask for large pages, as those of NumPy do: the first pass over features is half address translation. */
    if (n < 2 * LARGE_PAGE) *out = malloc(n ? n : 1);
    else *out = aligned_alloc(LARGE_PAGE, size_round_up(n, LARGE_PAGE));
    if (!*out) return fail(ST_MEMORY, "no memory for an array of %zu bytes", n);
    if (n >= 2 * LARGE_PAGE) madvise(*out, n, MADV_HUGEPAGE); /* a wish: without them it is slower and no more */
    return OK;
}

double real_at(const void *data, centra_precision precision, size_t i)
{
    return precision == CENTRA_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}
