/* labels.c - an episode's labels may be any integers; classes are the sorted distinct ones, and everything behind the
 * public calls uses indices into them. */
#include "api/session.h"
#include "base/size.h"
#include <stdlib.h>
#include <string.h>

void labels_free(struct labels *l)
{
    free(l->classes);
    free(l->support);
    free(l->query);
    *l = (struct labels){0};
}

static status reserve(struct labels *l, size_t n)
{
    size_t bytes;
    if (l->classes && n <= l->capacity) return OK;
    labels_free(l);
    if (!size_mul(n, sizeof *l->classes, &bytes)) return fail(ST_MEMORY, "no memory for %zu labels", n);
    l->classes = malloc(bytes);
    l->support = malloc(bytes);
    l->query = malloc(bytes);
    if (!l->classes || !l->support || !l->query) {
        labels_free(l);
        return fail(ST_MEMORY, "no memory for %zu labels", n);
    }
    l->capacity = n;
    return OK;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static size_t distinct(int64_t *sorted, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1]) sorted[kept++] = sorted[i];
    return kept;
}

static int32_t index_of(const struct labels *l, int64_t label)
{
    const int64_t *at = bsearch(&label, l->classes, l->way, sizeof label, by_value);
    return at ? (int32_t)(at - l->classes) : -1;
}

status labels_index(struct labels *l, const centra_episode *e)
{
    status st = OK;
    if (e->support_count > INT32_MAX || e->query_count > INT32_MAX)
        return fail(ST_SHAPE, "%zu support and %zu query pictures are too many", e->support_count, e->query_count);
    TRY(reserve(l, size_max(e->support_count, e->query_count)));
    memcpy(l->classes, e->support_labels, e->support_count * sizeof *l->classes);
    qsort(l->classes, e->support_count, sizeof *l->classes, by_value);
    l->way = distinct(l->classes, e->support_count);
    for (size_t i = 0; i < e->support_count; i++) l->support[i] = index_of(l, e->support_labels[i]);
    for (size_t i = 0; e->query_labels && i < e->query_count; i++) {
        l->query[i] = index_of(l, e->query_labels[i]);
        if (l->query[i] < 0) {
            st = fail(ST_VALUE, "query label %lld (picture %zu) is not among the %zu support classes",
                      (long long)e->query_labels[i], i, l->way);
            goto done;
        }
    }
done:
    return st;
}

centra_status centra_episode_way(const centra_episode *e, size_t *way)
{
    status st = OK;
    struct labels l = {0};
    centra_episode support;
    if (!e || !way || !e->support_labels || !e->support_count)
        return (centra_status)fail(ST_USAGE, "an episode needs support labels");
    support = *e;
    support.query_labels = NULL;
    TRY(labels_index(&l, &support));
    *way = l.way;
done:
    labels_free(&l);
    return (centra_status)st;
}
