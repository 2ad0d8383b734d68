/* encode.c - centra encode: pictures, as files or as an array that is normalised already, to feature maps. */
#include "app/library.h"
#include "app/terminal.h"
#include "base/clock.h"
#include "base/npy.h"
#include <stdlib.h>
#include <string.h>

struct encode {
    const char *model, *backbone, *weights, *input, *out, *extractor;
    int precision; /* a centra_precision */
    int64_t side;
};

enum { AT_A_TIME = 64, SIDE = 84 }; /* picture files; pixels, where no model says */

/* The network at work. */
struct job {
    const struct call *call;
    const struct encode *s;
    centra_model *model; /* NULL: a network and weights that were named each by itself */
    centra_net *net;
    const char *extractor;
    size_t side;
    bool writes; /* this process writes the file */
};

static enum npy_type npy_type_of(const struct encode *s) { return s->precision == CENTRA_F64 ? NPY_F64 : NPY_F32; }

static status load_pictures(const struct encode *s, struct npy *out)
{
    status st = npy_read(s->input, SIZE_MAX / 4, out);
    if (st != OK) return st;
    if (out->rank != 4 || out->dim[1] != 3 || !out->count)
        return fail(ST_SHAPE, "'%s' has rank %d and %zu numbers, but pictures must be [n, 3, height, width], not empty",
                    s->input, out->rank, out->count);
    return npy_convert(out, npy_type_of(s), s->input);
}

static status write_features(const struct encode *s, const size_t dim[4], const void *features)
{
    interrupt_hold();
    const status st = npy_write(s->out, npy_type_of(s), 4, dim, features);
    interrupt_release();
    return st;
}

static status encode_array(const struct job *job)
{
    const struct encode *s = job->s;
    struct npy in = {0};
    const void *features;
    size_t dim[4];
    status st = OK;
    TRY(load_pictures(s, &in));
    TRY(library(centra_net_encode(job->net, in.data, in.dim[0], in.dim[2], in.dim[3], &features, dim)));
    if (job->writes) TRY(write_features(s, dim, features));
done:
    npy_free(&in);
    return st;
}

/* The files' features one batch after the other. */
struct collected {
    char *data; /* owned */
    size_t dim[4], each, count;
};

static status collect(struct collected *c, const void *features, const size_t dim[4], size_t number, size_t of)
{
    if (!c->data) {
        memcpy(c->dim, dim, sizeof c->dim);
        c->each = dim[1] * dim[2] * dim[3] * number;
        status st = array_take(of, c->each, 1, 1, (void **)&c->data);
        if (st != OK) return st;
    }
    memcpy(c->data + c->count * c->each, features, dim[0] * c->each);
    c->count += dim[0];
    return OK;
}

/* Doubles in place of floats, from the last to the first, for networks in double precision. */
static void widen(void *x, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        float f;
        memcpy(&f, (char *)x + i * sizeof f, sizeof f);
        const double d = (double)f;
        memcpy((char *)x + i * sizeof d, &d, sizeof d);
    }
}

static status load_files(const struct job *job, size_t first, size_t count, size_t each, float *out)
{
    for (size_t i = 0; i < count; i++, out += each) {
        centra_picture p = {0};
        status st = library(centra_picture_read(job->call->arguments[first + i], &p));
        if (st == OK)
            st = library(job->model ? centra_model_input(job->model, &p, job->extractor, out)
                                    : centra_picture_cells(&p, job->extractor, job->side, out));
        centra_picture_free(&p);
        if (st != OK) return st;
    }
    return OK;
}

static status encode_files(const struct job *job)
{
    const struct encode *s = job->s;
    const size_t side = job->side, number = precision_bytes((centra_precision)s->precision);
    const size_t all_files = job->call->argument_count;
    struct collected all = {0};
    const void *features;
    float *in = NULL;
    size_t dim[4], cells = 1;
    status st = OK;
    TRY(library(centra_extractor_cells(job->extractor, &cells)));
    const size_t each = cells * 3 * side * side;
    TRY(array_take(AT_A_TIME, each, 1, number, (void **)&in));
    for (size_t first = 0; first < all_files; first += AT_A_TIME) {
        const size_t count = all_files - first < AT_A_TIME ? all_files - first : AT_A_TIME;
        TRY(load_files(job, first, count, each, in));
        if (s->precision == CENTRA_F64) widen(in, count * each);
        TRY(library(centra_net_encode(job->net, in, count * cells, side, side, &features, dim)));
        TRY(collect(&all, features, dim, number, all_files));
    }
    all.dim[0] = all.count;
    if (job->writes) TRY(write_features(s, all.dim, all.data));
done:
    free(in);
    free(all.data);
    return st;
}

/* All that a model says about itself counts, except what was asked for. */
static status open_model(struct job *job, centra_session *session)
{
    const struct call *c = job->call;
    const struct encode *s = job->s;
    centra_model_info about;
    status st = OK;
    if (s->backbone || s->side)
        return fail(ST_USAGE,
                    "a model says itself what its %s is; leave --%s out, or give --weights in place of --model",
                    s->backbone ? "network" : "side", s->backbone ? "backbone" : "side");
    TRY(library(centra_model_open(s->model, &job->model)));
    centra_model_describe(job->model, &about);
    TRY(library(centra_model_net(session, job->model, c->net_options, c->net_option_count,
                                 (centra_precision)s->precision, &job->net)));
    job->side = about.side;
    job->extractor = s->extractor ? s->extractor : about.extractor;
done:
    return st;
}

static status open_weights(struct job *job, centra_session *session)
{
    const struct call *c = job->call;
    const struct encode *s = job->s;
    status st = OK;
    TRY(library(centra_net_new(session, s->backbone ? s->backbone : "conv4", c->net_options, c->net_option_count,
                               (centra_precision)s->precision, (uint64_t)c->common.seed, &job->net)));
    TRY(library(centra_net_load(job->net, s->weights)));
    job->side = s->side ? (size_t)s->side : SIDE;
    job->extractor = s->extractor ? s->extractor : "map";
done:
    return st;
}

static status check_words(const struct call *c, const struct encode *s)
{
    if (!s->model == !s->weights)
        return fail(ST_USAGE, s->model ? "either --model or --weights, not both"
                                       : "no network to encode with: give --model, or --backbone and --weights");
    if (!s->input == !c->argument_count)
        return fail(ST_USAGE, s->input ? "either --input or pictures, not both"
                                       : "nothing to encode: name pictures, or give --input");
    return OK;
}

static status encode_run(const struct call *c)
{
    const struct encode *s = c->settings;
    struct job job = {.call = c, .s = s};
    centra_session *session = NULL;
    status st = OK;
    TRY(check_words(c, s));
    TRY(session_join(c, &session));
    TRY(s->model ? open_model(&job, session) : open_weights(&job, session));
    TRY(library(centra_net_extractor(job.net, job.extractor)));
    const uint64_t start = clock_ns();
    job.writes = centra_session_rank(session) == 0;
    TRY(s->input ? encode_array(&job) : encode_files(&job));
    if (job.writes) detail(c, "written to %s after %.1f ms", s->out, (double)(clock_ns() - start) / 1e6);
done:
    centra_net_free(job.net);
    centra_model_close(job.model);
    centra_session_close(session);
    return st;
}

static const struct option encode_options[] = {
    OPT_TEXT(struct encode, model, "model", NULL, "NAME|FILE",
             "a model, with all that it says about itself; centra models list shows them"),
    OPT_TEXT(struct encode, backbone, "backbone", NULL, "NAME",
             "without a model: the network, conv4 unless another is named; centra list backbones shows them"),
    OPT_FILE(struct encode, weights, "weights", NULL, "its parameters: safetensors, .pth or a folder of .npy"),
    OPT_FILE(struct encode, input, "input", NULL,
             "in place of picture files: normalised already, .npy [n, 3, height, width]"),
    OPT_FILE_REQUIRED(struct encode, out, "out", "the .npy file to write the features to, [n, C, h, w]"),
    OPT_INT(struct encode, side, "side", 0, 0, 4096,
            "without a model: side in pixels of what the network sees of a picture file; 0: 84"),
    OPT_TEXT(struct encode, extractor, "extractor", NULL, "NAME",
             "vectors to take: map, pyramid-5,3 or grid-3,2 (any sizes); else as the model says, or map"),
    OPT_NAME(struct encode, precision, "precision", 0, precision_names, "precision to compute with"),
    OPT_END};

static const char *const encode_details[] = {
    "Turns pictures into the dense feature maps that centra score takes. The "
    "network runs with its running statistics, so "
    "a picture's features do not depend on the other pictures.",
    "Picture files (JPEG, PNG, WebP, PPM) are resized to 23/21 of the side, the "
    "middle is cut out and normalised, as in the paper's tests; with --model as that model says.",
    "Parameters are found by our names or by those of the released code; "
    "missing and extra ones are listed and nothing is "
    "loaded in part. Options of a network are written --net.KEY VALUE.",
    "Started by mpirun -n 4 or srun, the processes share the network's work, and the first writes the file.", NULL};

const struct command encode_command = {
    .name = "encode",
    .title = "turns pictures into feature maps with a network",
    .arguments = "PICTURE...",
    .most = SIZE_MAX,
    .options = encode_options,
    .settings_bytes = sizeof(struct encode),
    .net_options = true,
    .details = encode_details,
    .run = encode_run,
    .examples = {{"centra encode --model conv4-mini --out features.npy birds/*.jpg",
                  "features of picture files with a model that came along"},
                 {"centra encode --backbone wrn --net.depth 16 --weights W --input X.npy --out Y.npy",
                  "a wide residual network of depth 16"}},
};
