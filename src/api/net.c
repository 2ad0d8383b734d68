/* net.c - the public calls on networks: parameters from a file, pictures to feature maps.
 *
 * Pictures go through in batches, so that memory does not grow with their number; with running statistics a picture's
 * features do not depend on its neighbours. */
#include "api/net.h"
#include "api/model_find.h"
#include "base/size.h"
#include "weights/weights.h"
#include <stdlib.h>
#include <string.h>

enum { BATCH_PIXELS = 16 * 84 * 84 }; /* of a batch, unless one picture has more */

static status make_settings(centra_net *n, const centra_option *options, size_t count)
{
    status st = OK;
    n->settings = calloc(1, n->net->settings_bytes);
    if (!n->settings) return fail(ST_MEMORY, "no memory for the settings of %s", n->net->name);
    options_default(n->net->options, n->settings);
    for (size_t i = 0; i < count && st == OK; i++) {
        if (!options[i].name || !options[i].value) return fail(ST_USAGE, "option %zu has no name or no value", i);
        st = option_set(n->net->options, "--net.", options[i].name, options[i].value, n->settings);
    }
    return st;
}

centra_status centra_net_new(centra_session *session, const char *name, const centra_option *options,
                             size_t option_count, centra_precision precision, uint64_t seed, centra_net **out)
{
    status st = OK;
    struct random r = {.seed = seed};
    if (!session || !name || !out || (option_count && !options))
        return (centra_status)fail(ST_USAGE, "centra_net_new needs a session, a name and a place for the network");
    if (precision != CENTRA_F32 && precision != CENTRA_F64)
        return (centra_status)fail(ST_USAGE, "precision %d does not exist; use CENTRA_F32 or CENTRA_F64",
                                   (int)precision);
    centra_net *n = calloc(1, sizeof *n);
    if (!n) return (centra_status)fail(ST_MEMORY, "no memory for a network");
    n->session = session;
    n->type = precision == CENTRA_F32 ? DT_F32 : DT_F64;
    n->transform = transform_standard(TRANSFORM_RESIZE_CROP, 84, 8);
    TRY(net_find(name, &n->net));
    TRY(make_settings(n, options, option_count));
    n->params = params_new(session->dev);
    if (!n->params) {
        st = fail(ST_MEMORY, "no memory for the parameters of %s", name);
        goto done;
    }
    TRY(n->net->params(n->settings, n->type, &r, n->params));
    *out = n;
    n = NULL;
done:
    centra_net_free(n);
    return (centra_status)st;
}

void centra_net_free(centra_net *n)
{
    if (!n) return;
    params_free(n->params);
    arena_free(n->memory);
    free(n->settings);
    free(n->features);
    free(n);
}

centra_status centra_net_load(centra_net *n, const char *path)
{
    static const char *const ignore[] = {"head.", "pre.", NULL}; /* a model's file holds its head as well */
    char found[PATH_MAX];
    struct weights *w = NULL;
    status st = OK;
    if (!n || !path) return (centra_status)fail(ST_USAGE, "centra_net_load needs a network and a path");
    TRY(model_find_weights(path, found));
    TRY(weights_open(found, &w));
    TRY(weights_load(w, n->params, "", ignore));
    n->batches = 0;
done:
    weights_close(w);
    return (centra_status)st;
}

centra_status centra_net_extractor(centra_net *n, const char *extractor)
{
    if (!n || !extractor) return (centra_status)fail(ST_USAGE, "centra_net_extractor needs a network and a name");
    return (centra_status)extractor_parse(extractor, &n->extractor);
}

/* Room for the features of `count` pictures, once the first batch has shown how many each has. */
static status reserve(centra_net *n, size_t count, const tensor *batch)
{
    size_t bytes;
    if (!size_mul(count, tensor_bytes(batch) / batch->dim[0], &bytes))
        return fail(ST_MEMORY, "the features of %zu pictures are too many", count);
    if (bytes <= n->bytes) return OK;
    free(n->features);
    n->bytes = 0;
    n->features = malloc(bytes);
    if (!n->features) return fail(ST_MEMORY, "no memory for the features of %zu pictures", count);
    n->bytes = bytes;
    return OK;
}

static status encode_batch(centra_net *n, const char *pictures, size_t count, size_t height, size_t width, var **out)
{
    tape *t = n->session->tape;
    struct net_pass pass = {.mode = NET_EVAL};
    if (n->batches++ >= PARAMS_FREEZE_PAYS) params_freeze(n->params);
    tape_reset(t, TAPE_INFERENCE);
    var *x = tape_upload(t, n->type, 4, (size_t[]){count, 3, height, width}, pictures);
    *out = extract(t, &n->extractor, n->net->forward(t, n->settings, n->params, &pass, x));
    return tape_status(t);
}

struct range {                                  /* pictures, or cells of them: ours among all */
    size_t from, end, most, count, cells, each; /* most: in a batch; each: bytes of one */
    size_t height, width;
};

/* Our pictures, in batches; their features go where they belong among those of all. */
static status encode_range(centra_net *n, const struct range *r, const char *pictures, size_t dim[4])
{
    status st = OK;
    struct device *d = n->session->dev;
    for (size_t first = r->from; first < r->end; first += r->most) {
        var *v;
        const size_t now = size_min(r->most, r->end - first);
        TRY(encode_batch(n, pictures + first * r->each, now, r->height, r->width, &v));
        if (first == r->from) TRY(reserve(n, r->count / r->cells, &v->value));
        const size_t one = tensor_bytes(&v->value) / v->value.dim[0];
        TRY(d->download(d, n->features + first / r->cells * one, v->value.data, tensor_bytes(&v->value)));
        memcpy(dim, v->value.dim, 4 * sizeof *dim);
    }
done:
    return st;
}

/* The features that the other processes have made of theirs. */
static status encode_join(centra_net *n, const struct range *r, const size_t dim[4])
{
    struct peers *p = n->session->peers;
    const size_t size = (size_t)p->size, pictures = r->count / r->cells;
    const size_t one = dim[1] * dim[2] * dim[3] * dtype_bytes(n->type);
    size_t *bytes = calloc(size, sizeof *bytes);
    if (!bytes) return fail(ST_MEMORY, "no memory for the parts of %zu processes", size);
    for (size_t k = 0; k < size; k++)
        bytes[k] = (peers_first(pictures, k + 1, size) - peers_first(pictures, k, size)) * one;
    const status st = p->gather(p, bytes, n->features + peers_first(pictures, (size_t)p->rank, size) * one,
                                n->features);
    free(bytes);
    return st;
}

centra_status centra_net_encode(centra_net *n, const void *pictures, size_t count, size_t height, size_t width,
                                const void **features, size_t dim[4])
{
    status st = OK;
    size_t pixels, each;
    if (!n || !pictures || !features || !dim)
        return (centra_status)fail(ST_USAGE, "centra_net_encode needs a network, pictures and places for the features");
    if (!count || !height || !width || !size_mul(height, width, &pixels) ||
        !size_mul(pixels, 3 * dtype_bytes(n->type), &each))
        return (centra_status)fail(ST_SHAPE, "%zu pictures of %zu x %zu cannot be encoded", count, height, width);
    const size_t cells = extractor_cells(&n->extractor);
    if (count % cells)
        return (centra_status)fail(ST_SHAPE, "%zu cells make no whole number of pictures with %zu each", count, cells);
    const size_t rank = (size_t)n->session->peers->rank, size = (size_t)n->session->peers->size;
    struct range r = {.from = cells * peers_first(count / cells, rank, size),
                      .end = cells * peers_first(count / cells, rank + 1, size),
                      .most = cells * size_max(1, BATCH_PIXELS / pixels / cells),
                      .count = count,
                      .cells = cells,
                      .each = each,
                      .height = height,
                      .width = width};
    if (r.from == r.end) r.from = 0, r.end = cells; /* to know how many features a picture has */
    TRY(encode_range(n, &r, pictures, dim));
    if (size > 1) TRY(encode_join(n, &r, dim));
    dim[0] = count / cells;
    *features = n->features;
done:
    return (centra_status)session_end(n->session, st);
}
