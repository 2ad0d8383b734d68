/* head_base.c - pictures of base classes for a head: pooled, sorted by class and kept on the host until they are shown. */
#include "api/session.h"
#include "base/size.h"
#include "ops/host.h"
#include <math.h>
#include <stdlib.h>

void base_free(struct base *b)
{
    free(b->pooled);
    free(b->first);
    *b = (struct base){0};
}

struct place { /* of a picture */
    int64_t label;
    size_t picture;
};

static int by_label(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->label != y->label) return x->label < y->label ? -1 : 1;
    return (x->picture > y->picture) - (x->picture < y->picture);
}

/* One picture's average over its locations. */
static status average(centra_precision precision, const void *features, size_t picture, size_t channels,
                      size_t locations, double *out)
{
    for (size_t c = 0; c < channels; c++) {
        double sum = 0;
        for (size_t i = (picture * channels + c) * locations, end = i + locations; i < end; i++)
            sum += precision == CENTRA_F32 ? (double)((const float *)features)[i] : ((const double *)features)[i];
        if (!isfinite(sum))
            return fail(ST_VALUE, "the base features of picture %zu, channel %zu are not finite", picture, c);
        out[c] = sum / (double)locations;
    }
    return OK;
}

static status fill(struct base *b, centra_precision precision, size_t count, size_t locations, const void *features,
                   const struct place *sorted)
{
    status st = OK;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || sorted[i].label != sorted[i - 1].label) b->first[b->classes++] = i;
        TRY(average(precision, features, sorted[i].picture, b->channels, locations, b->pooled + i * b->channels));
    }
    b->first[b->classes] = count;
done:
    return st;
}

static status check(const centra_head *h, centra_precision precision, size_t count, size_t channels, size_t locations,
                    const void *features, const int64_t *labels)
{
    size_t n;
    if (!h || !features || !labels) return fail(ST_USAGE, "centra_head_base needs a head, features and labels");
    if (precision != CENTRA_F32 && precision != CENTRA_F64)
        return fail(ST_USAGE, "precision %d does not exist; use CENTRA_F32 or CENTRA_F64", (int)precision);
    if (!h->head->base) return fail(ST_USAGE, "the head %s does not look at base classes", h->head->name);
    if (!count || !channels || !locations)
        return fail(ST_SHAPE, "%zu base pictures of %zu channels and %zu locations are nothing", count, channels,
                    locations);
    if (count > INT32_MAX || !size_mul(count, channels, &n) || !size_mul(n, sizeof(double), &n))
        return fail(ST_SHAPE, "%zu base pictures of %zu channels are too many", count, channels);
    return OK;
}

centra_status centra_head_base(centra_head *h, centra_precision precision, size_t count, size_t channels,
                               size_t locations, const void *features, const int64_t *labels)
{
    status st = check(h, precision, count, channels, locations, features, labels);
    if (st != OK) return (centra_status)st;
    struct base b = {.channels = channels};
    struct place *sorted = calloc(count, sizeof *sorted);
    b.pooled = malloc(count * channels * sizeof *b.pooled);
    b.first = calloc(count + 1, sizeof *b.first);
    if (!sorted || !b.pooled || !b.first) TRY(fail(ST_MEMORY, "no memory for %zu base pictures", count));
    for (size_t i = 0; i < count; i++) sorted[i] = (struct place){labels[i], i};
    qsort(sorted, count, sizeof *sorted, by_label);
    TRY(fill(&b, precision, count, locations, features, sorted));
    base_free(&h->base);
    h->base = b;
    b = (struct base){0};
done:
    free(sorted);
    base_free(&b);
    return (centra_status)st;
}

status base_show(const struct base *b, tape *t, dtype type, struct head_base *memory, const struct head_base **out)
{
    *out = NULL;
    if (!b->classes) return OK;
    *memory = (struct head_base){.classes = b->classes, .first = b->first};
    *out = memory;
    return host_write(t, type, 2, (size_t[]){b->first[b->classes], b->channels}, b->pooled, &memory->features);
}
