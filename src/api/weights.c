/* weights.c - the public calls on files of named arrays. */
#include "weights/weights.h"
#include "api/model_find.h"
#include "centra.h"
#include <stdlib.h>
#include <string.h>

struct centra_weights {
    struct weights *file; /* owned */
};

centra_status centra_weights_open(const char *path, centra_weights **out)
{
    if (!path || !out) return (centra_status)fail(ST_USAGE, "a path and a place for the weights are needed");
    char found[PATH_MAX];
    status st = OK;
    centra_weights *w = calloc(1, sizeof *w);
    if (!w) TRY(fail(ST_MEMORY, "no memory to open '%s'", path));
    TRY(model_find_weights(path, found));
    TRY(weights_open(found, &w->file));
    *out = w;
    w = NULL;
done:
    free(w);
    return (centra_status)st;
}

void centra_weights_close(centra_weights *weights)
{
    if (!weights) return;
    weights_close(weights->file);
    free(weights);
}

const char *centra_weights_kind(const centra_weights *weights) { return weights_kind(weights->file); }

size_t centra_weights_count(const centra_weights *weights) { return weights_count(weights->file); }

centra_status centra_weights_array(const centra_weights *weights, size_t index, centra_array_info *out)
{
    if (index >= weights_count(weights->file))
        return (centra_status)fail(ST_USAGE, "there is no array %zu; the file has %zu", index,
                                   weights_count(weights->file));
    const struct named_array *a = weights_at(weights->file, index);
    *out = (centra_array_info){
        .name = a->name, .type = array_type_name(a->type), .rank = (size_t)a->rank, .bytes = a->bytes, .data = a->data};
    for (int d = 0; d < a->rank; d++) out->dim[d] = a->dim[d];
    return CENTRA_OK;
}

centra_status centra_weights_meta(const centra_weights *weights, size_t index, const char **key, const char **value)
{
    if (index >= weights_meta_count(weights->file))
        return (centra_status)fail(ST_USAGE, "there is no metadata %zu; the file has %zu", index,
                                   weights_meta_count(weights->file));
    weights_meta_at(weights->file, index, key, value);
    return CENTRA_OK;
}

centra_status centra_weights_fingerprint(const centra_weights *weights, char hex[65])
{
    return (centra_status)weights_fingerprint(weights->file, hex);
}

centra_status centra_weights_convert(const centra_weights *weights, const char *format, const char *path)
{
    static const char *const names[] = {
        [WEIGHTS_SAFETENSORS] = "safetensors", [WEIGHTS_HALF] = "half", [WEIGHTS_NPY] = "npy"};
    if (!weights || !format || !path)
        return (centra_status)fail(ST_USAGE, "centra_weights_convert needs weights, a format and a path");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(format, names[i]))
            return (centra_status)weights_convert(weights->file, (enum weights_format)i, path);
    return (centra_status)fail(ST_USAGE, "weights cannot be written as '%s'; use safetensors, half or npy", format);
}
