/* score_inputs.c - reads the arrays of centra score and checks that they fit each other.
 *
 * Each sentence names the file, what was seen and what was wanted. Each file is read once and its numbers are changed
 * to the precision in place, so that no array is in memory twice. */
#include "app/score.h"
#include "app/library.h"
#include <stdlib.h>
#include <string.h>

enum { SHAPE_BYTES = 200 };
#define ANY_FILE (SIZE_MAX / 4) /* memory sets the limit */

/* "[5, 640, 25]" */
static const char *shape_text(const struct npy *a, char out[SHAPE_BYTES])
{
    text t = {0};
    text_add(&t, "[");
    for (int i = 0; i < a->rank; i++) text_addf(&t, "%s%zu", i ? ", " : "", a->dim[i]);
    text_add(&t, "]");
    strncpy(out, text_string(&t), SHAPE_BYTES - 1);
    out[SHAPE_BYTES - 1] = '\0';
    text_free(&t);
    return out;
}

static status load_features(const char *path, centra_precision precision, struct npy *out)
{
    char shape[SHAPE_BYTES];
    status st = npy_read(path, ANY_FILE, out);
    if (st != OK) return st;
    if (out->rank != 3 && out->rank != 4)
        return fail(ST_SHAPE,
                    "'%s' has the shape %s, but features must be [pictures, channels, height, width] or "
                    "[pictures, channels, locations]",
                    path, shape_text(out, shape));
    if (out->count == 0)
        return fail(ST_SHAPE, "'%s' has the shape %s: there are no features in it", path, shape_text(out, shape));
    return npy_convert(out, precision == CENTRA_F64 ? NPY_F64 : NPY_F32, path);
}

static size_t locations(const struct npy *a) { return a->rank == 4 ? a->dim[2] * a->dim[3] : a->dim[2]; }

static status load_labels(const char *path, const char *features_path, const struct npy *features, struct npy *out)
{
    char shape[SHAPE_BYTES];
    status st = npy_read(path, ANY_FILE, out);
    if (st != OK) return st;
    if (out->type != NPY_I64)
        return fail(ST_FORMAT, "'%s' holds floating-point numbers (%s), but labels must be integers", path,
                    out->type == NPY_F32 ? "f4" : "f8");
    if (out->rank != 1)
        return fail(ST_SHAPE, "'%s' has the shape %s, but labels must be [pictures], here [%zu]", path,
                    shape_text(out, shape), features->dim[0]);
    if (out->dim[0] != features->dim[0])
        return fail(ST_SHAPE, "'%s' has %zu labels, but '%s' has %zu pictures", path, out->dim[0], features_path,
                    features->dim[0]);
    return OK;
}

static int compare_labels(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static status find_classes(struct inputs *in)
{
    size_t n = in->support_labels.count;
    in->classes = malloc(n * sizeof *in->classes); /* no overflow: an array of that size is in memory */
    if (!in->classes) return fail(ST_MEMORY, "no memory for %zu labels", n);
    memcpy(in->classes, in->support_labels.data, n * sizeof *in->classes);
    qsort(in->classes, n, sizeof *in->classes, compare_labels);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || in->classes[i] != in->classes[i - 1]) in->classes[in->way++] = in->classes[i];
    return OK;
}

static status check_query_labels(const struct score *s, const struct inputs *in)
{
    const int64_t *labels = in->query_labels.data;
    for (size_t i = 0; i < in->query_labels.count; i++) {
        if (bsearch(&labels[i], in->classes, in->way, sizeof *labels, compare_labels)) continue;
        return fail(ST_VALUE, "'%s' gives query %zu the label %lld, which is none of the %zu classes in '%s'",
                    s->query_labels, i, (long long)labels[i], in->way, s->support_labels);
    }
    return OK;
}

static status check_channels(const struct score *s, const struct inputs *in)
{
    char support[SHAPE_BYTES], query[SHAPE_BYTES];
    if (in->query.dim[1] == in->support.dim[1]) return OK;
    return fail(ST_SHAPE, "'%s' has %zu channels (shape %s), but '%s' has %zu (shape %s)", s->query, in->query.dim[1],
                shape_text(&in->query, query), s->support, in->support.dim[1], shape_text(&in->support, support));
}

status inputs_load(const struct score *s, struct inputs *in)
{
    status st = OK;
    TRY(load_features(s->support, (centra_precision)s->precision, &in->support));
    TRY(load_labels(s->support_labels, s->support, &in->support, &in->support_labels));
    TRY(load_features(s->query, (centra_precision)s->precision, &in->query));
    TRY(check_channels(s, in));
    TRY(find_classes(in));
    if (s->query_labels) {
        TRY(load_labels(s->query_labels, s->query, &in->query, &in->query_labels));
        TRY(check_query_labels(s, in));
    }
    if (s->base) {
        TRY(load_features(s->base, (centra_precision)s->precision, &in->base));
        TRY(load_labels(s->base_labels, s->base, &in->base, &in->base_labels));
    }
    in->episode = (centra_episode){
        .precision = (centra_precision)s->precision,
        .channels = in->support.dim[1],
        .support_count = in->support.dim[0],
        .support_locations = locations(&in->support),
        .support = in->support.data,
        .support_labels = in->support_labels.data,
        .query_count = in->query.dim[0],
        .query_locations = locations(&in->query),
        .query = in->query.data,
        .query_labels = in->query_labels.data,
    };
done:
    return st;
}

status inputs_give_base(const struct inputs *in, centra_head *head)
{
    const struct npy *b = &in->base;
    if (!b->data) return OK;
    return library(centra_head_base(head, in->episode.precision, b->dim[0], b->dim[1], locations(b), b->data,
                                    in->base_labels.data));
}

void inputs_free(struct inputs *in)
{
    npy_free(&in->support);
    npy_free(&in->support_labels);
    npy_free(&in->query);
    npy_free(&in->query_labels);
    npy_free(&in->base);
    npy_free(&in->base_labels);
    free(in->classes);
    *in = (struct inputs){0};
}
