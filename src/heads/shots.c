/* shots.c - sorting an episode's support pictures by class. */
#include "heads/shots.h"
#include <string.h>

/* Counts into first[c + 1], then sums up. */
static status count(const int32_t *labels, size_t ns, size_t way, size_t *first)
{
    memset(first, 0, (way + 1) * sizeof *first);
    for (size_t i = 0; i < ns; i++) first[labels[i] + 1]++;
    for (size_t c = 0; c < way; c++) {
        if (!first[c + 1]) return fail(ST_VALUE, "class %zu has no support picture", c);
        first[c + 1] += first[c];
    }
    return OK;
}

/* order[k] is the picture that comes k-th; true when that is how they came. */
static bool sort(const int32_t *labels, size_t ns, size_t way, const size_t *first, int32_t *order)
{
    bool sorted = true;
    for (size_t c = 0; c < way; c++)
        for (size_t i = 0, at = first[c]; i < ns && at < first[c + 1]; i++)
            if ((size_t)labels[i] == c) order[at++] = (int32_t)i;
    for (size_t i = 0; i < ns; i++) sorted = sorted && order[i] == (int32_t)i;
    return sorted;
}

bool shots_sort(tape *t, const struct episode *e, struct shots *out)
{
    status st = OK;
    void *read, *order, *first;
    const int32_t *labels = e->support_host;
    struct device *d = tape_device(t);
    if (!e->support || !e->support_labels) return false;
    const size_t ns = e->support->value.dim[0];
    TRY(tape_host(t, ns * sizeof(int32_t), &order));
    TRY(tape_host(t, (e->way + 1) * sizeof(size_t), &first));
    if (!labels) {
        TRY(tape_host(t, ns * sizeof(int32_t), &read));
        TRY(d->download(d, read, e->support_labels->data, ns * sizeof(int32_t)));
        labels = read;
    }
    TRY(count(labels, ns, e->way, first));
    *out = (struct shots){.support = e->support, .first = first, .equal = true};
    for (size_t c = 0; c < e->way; c++) out->equal = out->equal && out->first[c + 1] - out->first[c] == out->first[1];
    if (!sort(labels, ns, e->way, out->first, order)) {
        const var *index = tape_upload(t, DT_I32, 1, &ns, order);
        out->support = index ? op_gather(t, e->support, 0, &index->value) : NULL;
    }
done:
    if (st != OK) tape_fail(t, st);
    return st == OK && out->support;
}
