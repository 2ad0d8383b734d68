/* encode.c - centra encode: pictures, as an array that is normalised already, to feature maps. */
#include "app/library.h"
#include "app/terminal.h"
#include "base/clock.h"
#include "base/npy.h"

struct encode {
    const char *backbone, *weights, *input, *out;
    int precision; /* a centra_precision */
};

static status load_pictures(const struct encode *s, struct npy *out)
{
    status st = npy_read(s->input, SIZE_MAX / 4, out);
    if (st != OK) return st;
    if (out->rank != 4 || out->dim[1] != 3 || !out->count)
        return fail(ST_SHAPE, "'%s' has rank %d and %zu numbers, but pictures must be [n, 3, height, width], not empty",
                    s->input, out->rank, out->count);
    return npy_convert(out, s->precision == CENTRA_F64 ? NPY_F64 : NPY_F32, s->input);
}

static status encode_run(const struct call *c)
{
    const struct encode *s = c->settings;
    struct npy in = {0};
    centra_session *session = NULL;
    centra_net *net = NULL;
    const void *features;
    size_t dim[4];
    status st = OK;
    TRY(session_open(c, &session));
    TRY(library(centra_net_new(session, s->backbone, c->net_options, c->net_option_count,
                               (centra_precision)s->precision, (uint64_t)c->common.seed, &net)));
    TRY(library(centra_net_load(net, s->weights)));
    TRY(load_pictures(s, &in));
    const uint64_t start = clock_ns();
    TRY(library(centra_net_encode(net, in.data, in.dim[0], in.dim[2], in.dim[3], &features, dim)));
    detail(c, "%zu pictures in %.1f ms", in.dim[0], (double)(clock_ns() - start) / 1e6);
    TRY(npy_write(s->out, s->precision == CENTRA_F64 ? NPY_F64 : NPY_F32, 4, dim, features));
    detail(c, "[%zu, %zu, %zu, %zu] written to %s", dim[0], dim[1], dim[2], dim[3], s->out);
done:
    centra_net_free(net);
    centra_session_close(session);
    npy_free(&in);
    return st;
}

static const struct option encode_options[] = {
    OPT_TEXT(struct encode, backbone, "backbone", "conv4", "NAME", "the network; centra list backbones shows them"),
    OPT_FILE_REQUIRED(struct encode, weights, "weights", "its parameters: safetensors, .pth or a folder of .npy"),
    OPT_FILE_REQUIRED(struct encode, input, "input", "pictures, normalised already, .npy [n, 3, height, width]"),
    OPT_FILE_REQUIRED(struct encode, out, "out", "the .npy file to write the features to, [n, C, h, w]"),
    OPT_NAME(struct encode, precision, "precision", 0, precision_names, "precision to compute with"),
    OPT_END};

static const char *const encode_details[] = {"Turns pictures into the dense feature maps that centra score takes. The "
                                             "network runs with its running statistics, so "
                                             "a picture's features do not depend on the other pictures.",
                                             "Parameters are found by our names or by those of the released code; "
                                             "missing and extra ones are listed and nothing is "
                                             "loaded in part. Options of a network are written --net.KEY VALUE.",
                                             NULL};

const struct command encode_command = {
    .name = "encode",
    .title = "turns pictures into feature maps with a network",
    .options = encode_options,
    .settings_bytes = sizeof(struct encode),
    .net_options = true,
    .details = encode_details,
    .run = encode_run,
    .examples = {{"centra encode --weights model.safetensors --input pictures.npy --out features.npy",
                  "features of a Conv-4"},
                 {"centra encode --backbone wrn --net.depth 16 --weights W --input X.npy --out Y.npy",
                  "a wide residual network of depth 16"}},
};
