/* onnx.c - a network as an ONNX file: one picture goes through it on a traced tape, and each step becomes a node.
 *
 * ONNX has maps as [n, c, h, w], the tape as [n, h, w, c]: a value that is [n, h, w, c] there is simply known to be turned
 * here, and the two permutes at the ends of a network become nothing. A norm behind a convolution whose result nobody
 * else takes goes into its weights; any other stays a BatchNormalization. */
#include "api/onnx.h"
#include "base/plain.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SIDE = 8, MOST_SIDE = 4096 };

/* What a tensor of the device is called: its parameter's name, else `other`. */
static void name_of(const struct onnx_writer *w, const tensor *x, const char *other, char out[ONNX_NAME])
{
    for (size_t i = 0; i < params_count(w->net->params); i++) {
        const struct param *p = params_at(w->net->params, i);
        if (p->value.data == x->data) other = p->name;
    }
    plain_snprintf(out, ONNX_NAME, "%s", other);
}

/* "layer1.0.weight" becomes "layer1.0.bias". */
static void bias_name(const char *weight, char out[ONNX_NAME])
{
    const size_t length = strlen(weight),
                 end = length > 7 && !strcmp(weight + length - 7, ".weight") ? length - 7 : length;
    plain_snprintf(out, ONNX_NAME, "%.*s.bias", (int)end, weight);
}

static status download(const struct onnx_writer *w, const tensor *x, float *to)
{
    struct device *d = w->net->session->dev;
    return d->download(d, to, x->data, tensor_bytes(x));
}

/* A tensor of the device as a constant; its name goes to `name`. */
static status constant_of(struct onnx_writer *w, const tensor *x, const char *other, char name[ONNX_NAME])
{
    name_of(w, x, other, name);
    float *data = onnx_constant(w->model, name, x->rank, x->dim);
    return data ? download(w, x, data) : ST_MEMORY;
}

/* Scale and shift of a norm, [channels] each in one piece of memory. */
static status norm_affine(const struct onnx_writer *w, const struct step *norm, double **out)
{
    const size_t c = norm->norm.gain.dim[0];
    const tensor *each[] = {&norm->norm.gain, &norm->norm.bias, &norm->norm.mean, &norm->norm.variance};
    status st = OK;
    float *host = calloc(4 * c, sizeof *host);
    double *affine = calloc(2 * c, sizeof *affine);
    if (!host || !affine) {
        st = fail(ST_MEMORY, "no memory for the norms of a network");
        goto done;
    }
    for (size_t i = 0; i < 4; i++) TRY(download(w, each[i], host + i * c));
    for (size_t i = 0; i < c; i++) {
        affine[i] = (double)host[i] / sqrt((double)host[3 * c + i] + norm->norm.epsilon);
        affine[c + i] = (double)host[c + i] - (double)host[2 * c + i] * affine[i];
    }
    *out = affine;
    affine = NULL;
done:
    free(host);
    free(affine);
    return st;
}

/* Weights and bias (0 where the convolution has none) scaled by channel, the shift added to the bias. */
static status fold(struct onnx_writer *w, const struct step *norm, size_t out, size_t each, float *weight, float *bias)
{
    double *affine = NULL;
    const status st = norm_affine(w, norm, &affine);
    if (st != OK) return st;
    for (size_t i = 0; i < out * each; i++) weight[i] = (float)((double)weight[i] * affine[i / each]);
    for (size_t i = 0; i < out; i++) bias[i] = (float)((double)bias[i] * affine[i] + affine[out + i]);
    free(affine);
    return OK;
}

/* The bias of a convolution, before any norm. */
static status conv_bias(struct onnx_writer *w, const struct step_conv *c, const char *name, float **out)
{
    *out = onnx_constant(w->model, name, 1, c->weight.dim);
    if (!*out) return ST_MEMORY;
    if (c->bias.data) return download(w, &c->bias, *out);
    memset(*out, 0, c->weight.dim[0] * sizeof **out);
    return OK;
}

/* The convolution `step` with the norm behind it, or without when that is NULL, under the name `output`. */
static status add_conv(struct onnx_writer *w, const struct step *step, const struct step *norm, const char *output)
{
    char name[ONNX_NAME], bias[ONNX_NAME];
    const struct step_conv *c = &step->conv;
    const tensor *weight = &c->weight;
    const struct onnx_value *x = &w->value[step->in[0]];
    const int64_t stride = (int64_t)c->stride;
    int64_t pads[4];
    for (int i = 0; i < 4; i++) pads[i] = (int64_t)(c->pad[i] + x->pad[i]);
    const bool has_bias = norm || c->bias.data;
    float *data, *shift = NULL;
    status st = OK;
    name_of(w, weight, output, name);
    bias_name(name, bias);
    data = onnx_constant(w->model, name, 4, weight->dim);
    if (!data) return ST_MEMORY;
    TRY(download(w, weight, data));
    if (has_bias) TRY(conv_bias(w, c, bias, &shift));
    if (norm) TRY(fold(w, norm, weight->dim[0], tensor_count(weight) / weight->dim[0], data, shift));
    onnx_add(w->model, &(struct onnx_node){
                           .type = "Conv",
                           .output = output,
                           .input = {x->name, name, has_bias ? bias : NULL},
                           .attributes = 4,
                           .attribute = {onnx_ints("kernel_shape", 2,
                                                   (int64_t[]){(int64_t)weight->dim[2], (int64_t)weight->dim[3]}),
                                         onnx_ints("strides", 2, (int64_t[]){stride, stride}),
                                         onnx_ints("pads", 4, pads), onnx_int("group", (int64_t)c->groups)},
                       });
done:
    return st;
}

/* Whether the only one who takes the convolution's result is a norm. */
static bool folds_into_norm(const struct onnx_writer *w, size_t conv)
{
    if (steps_at(w->steps, conv)->users != 1) return false;
    for (size_t i = conv + 1; i <= w->steps->count; i++)
        if (steps_at(w->steps, i)->in[0] == conv) return steps_at(w->steps, i)->kind == STEP_NORM;
    return false;
}

static status add_norm(struct onnx_writer *w, const struct step *step, const char *output)
{
    static const char *const other[] = {"gain", "bias", "mean", "variance"};
    const tensor *each[] = {&step->norm.gain, &step->norm.bias, &step->norm.mean, &step->norm.variance};
    char name[4][ONNX_NAME], fallback[ONNX_NAME];
    status st = OK;
    const struct step *before = steps_at(w->steps, step->in[0]);
    if (before->kind == STEP_CONV && folds_into_norm(w, step->in[0])) return add_conv(w, before, step, output);
    for (int i = 0; i < 4; i++) {
        plain_snprintf(fallback, sizeof fallback, "%.60s.%s", output, other[i]); /* statistics that the tape copied */
        TRY(constant_of(w, each[i], fallback, name[i]));
    }
    onnx_add(w->model, &(struct onnx_node){.type = "BatchNormalization",
                                           .output = output,
                                           .input = {w->value[step->in[0]].name, name[0], name[1], name[2], name[3]},
                                           .attributes = 1,
                                           .attribute = {onnx_number("epsilon", step->norm.epsilon)}});
done:
    return st;
}

static void add_leaky_relu(struct onnx_writer *w, const struct step *step, const char *output)
{
    onnx_add(w->model, &(struct onnx_node){.type = step->slope == 0 ? "Relu" : "LeakyRelu",
                                           .output = output,
                                           .input = {w->value[step->in[0]].name},
                                           .attributes = step->slope != 0,
                                           .attribute = {onnx_number("alpha", step->slope)}});
}

static status add_clip(struct onnx_writer *w, const struct step *step, const char *output)
{
    char low[ONNX_NAME], high[ONNX_NAME];
    plain_snprintf(low, sizeof low, "%.60s.low", output);
    plain_snprintf(high, sizeof high, "%.60s.high", output);
    float *from = onnx_constant(w->model, low, 0, NULL), *to = onnx_constant(w->model, high, 0, NULL);
    if (!from || !to) return ST_MEMORY;
    *from = (float)step->clip.low;
    *to = (float)step->clip.high;
    onnx_add(w->model,
             &(struct onnx_node){.type = "Clip", .output = output, .input = {w->value[step->in[0]].name, low, high}});
    return OK;
}

static void add_max_pool(struct onnx_writer *w, const struct step *step, const char *output)
{
    const int64_t size = (int64_t)step->pool.size, stride = (int64_t)step->pool.stride, pad = (int64_t)step->pool.pad;
    onnx_add(w->model, &(struct onnx_node){.type = "MaxPool",
                                           .output = output,
                                           .input = {w->value[step->in[0]].name},
                                           .attributes = 3,
                                           .attribute = {onnx_ints("kernel_shape", 2, (int64_t[]){size, size}),
                                                         onnx_ints("strides", 2, (int64_t[]){stride, stride}),
                                                         onnx_ints("pads", 4, (int64_t[]){pad, pad, pad, pad})}});
}

/* (pictures - mean) / std. A border of zeros would be another colour before than behind, so no convolution takes it in. */
static status add_input(struct onnx_writer *w, const struct step *step, const char *output)
{
    static const size_t dim[] = {1, 3, 1, 1};
    const struct transform *t = &w->net->transform;
    onnx_end(w->model, ONNX_INPUT, "pictures", step->rank, step->dim);
    float *mean = onnx_constant(w->model, "mean", 4, dim), *std = onnx_constant(w->model, "std", 4, dim);
    if (!mean || !std) return ST_MEMORY;
    memcpy(mean, t->mean, sizeof t->mean);
    memcpy(std, t->std, sizeof t->std);
    onnx_add(w->model, &(struct onnx_node){.type = "Sub", .output = "centred", .input = {"pictures", "mean"}});
    onnx_add(w->model, &(struct onnx_node){.type = "Div", .output = output, .input = {"centred", "std"}});
    return OK;
}

/* The two orders that turn maps: to [n, h, w, c], and back. */
static status turn(struct onnx_writer *w, const struct step *step, size_t number)
{
    static const int last[] = {0, 2, 3, 1}, first[] = {0, 3, 1, 2};
    const struct onnx_value *x = &w->value[step->in[0]];
    const bool to_last = step->rank == 4 && !memcmp(step->order, last, sizeof last);
    if (x->turned == to_last || step->rank != 4 || (!to_last && memcmp(step->order, first, sizeof first)))
        return fail(ST_UNSUPPORTED, "a network that permutes axes otherwise than to channels-last and back cannot be "
                                    "written as ONNX");
    w->value[number] = *x;
    w->value[number].turned = to_last;
    return OK;
}

/* Zeros around a value wait for a convolution, which writes them. */
static status not_padded(const struct onnx_value *v)
{
    if (!v->pad[0] && !v->pad[1] && !v->pad[2] && !v->pad[3]) return OK;
    return fail(ST_UNSUPPORTED, "a network that pads maps otherwise than for a convolution cannot be written as ONNX");
}

/* Convolutions, norms and max pooling are of turned maps, adaptive pooling and padding of others; the rest takes either. */
static status layout_fits(const struct onnx_writer *w, const struct step *step)
{
    const bool turned = w->value[step->in[0]].turned;
    const bool wants = step->kind == STEP_CONV || step->kind == STEP_NORM || step->kind == STEP_MAX_POOL;
    const bool refuses = step->kind == STEP_ADAPTIVE_POOL || step->kind == STEP_PAD;
    if ((wants && !turned) || (refuses && turned) || (step->in[1] && w->value[step->in[1]].turned != turned))
        return fail(ST_UNSUPPORTED,
                    "a network with a step of kind %d on maps that lie otherwise cannot be written as ONNX",
                    (int)step->kind);
    return OK;
}

static status add_step(struct onnx_writer *w, size_t number)
{
    const struct step *step = steps_at(w->steps, number);
    struct onnx_value *v = &w->value[number];
    status st = OK;
    if (step->kind == STEP_PERMUTE) return turn(w, step, number);
    if (step->kind != STEP_INPUT) TRY(layout_fits(w, step));
    if (step->kind != STEP_CONV && step->in[0]) TRY(not_padded(&w->value[step->in[0]]));
    if (step->in[1]) TRY(not_padded(&w->value[step->in[1]]));
    plain_snprintf(v->name, sizeof v->name, number == w->result ? "features" : "value%zu", number);
    v->turned = step->in[0] && w->value[step->in[0]].turned;
    switch (step->kind) {
    case STEP_INPUT: st = add_input(w, step, v->name); break;
    case STEP_CONV:
        if (folds_into_norm(w, number)) /* the norm will write both */
            *v = (struct onnx_value){.turned = v->turned};
        else st = add_conv(w, step, NULL, v->name);
        break;
    case STEP_NORM: st = add_norm(w, step, v->name); break;
    case STEP_ADD:
        onnx_add(w->model, &(struct onnx_node){.type = "Add",
                                               .output = v->name,
                                               .input = {w->value[step->in[0]].name, w->value[step->in[1]].name}});
        break;
    case STEP_LEAKY_RELU: add_leaky_relu(w, step, v->name); break;
    case STEP_CLIP: st = add_clip(w, step, v->name); break;
    case STEP_MAX_POOL: add_max_pool(w, step, v->name); break;
    case STEP_ADAPTIVE_POOL: st = onnx_adaptive_pool(w, step, v->name); break;
    case STEP_PAD: /* the convolution behind it writes it */
        *v = w->value[step->in[0]];
        memcpy(v->pad, step->pad, sizeof v->pad);
        break;
    case STEP_PERMUTE: break;
    }
done:
    return st;
}

static status add_meta(struct onnx_writer *w)
{
    text options = {0}, extractor = {0};
    status st = OK;
    options_text(w->net->net->options, "net.", w->net->settings, &options); /* as a card says them (eval/card.h) */
    extractor_add_name(&w->net->extractor,
                       &extractor); /* what the model's heads take of the map: for the caller to do */
    TRY(text_status(&options));
    TRY(text_status(&extractor));
    onnx_meta(w->model, "backbone", w->net->net->name);
    onnx_meta(w->model, "options", text_string(&options));
    onnx_meta(w->model, "extractor", text_string(&extractor));
done:
    text_free(&options);
    text_free(&extractor);
    return st;
}

status onnx_write_steps(struct onnx_writer *w, size_t last, const char *path)
{
    status st = OK;
    TRY(onnx_new(&w->model));
    w->value = calloc(w->steps->count + 1, sizeof *w->value);
    if (!w->value) TRY(fail(ST_MEMORY, "no memory to write '%s'", path));
    for (w->result = last; steps_at(w->steps, w->result)->kind == STEP_PERMUTE;)
        w->result = steps_at(w->steps, w->result)->in[0];
    for (size_t i = 1; i <= w->steps->count; i++) TRY(add_step(w, i));
    TRY(not_padded(&w->value[last]));
    if (w->value[last].turned)
        TRY(fail(ST_UNSUPPORTED, "a network that ends in [n, h, w, c] cannot be written as ONNX"));
    onnx_end(w->model, ONNX_OUTPUT, "features", 4, steps_at(w->steps, last)->dim);
    TRY(add_meta(w));
    TRY(onnx_write(w->model, w->net->net->name, centra_version(), path));
done:
    onnx_free(w->model);
    free(w->value);
    return st;
}

/* A grey picture through the network, with every op written down. */
static status trace(centra_net *n, size_t side, struct steps *steps, size_t *last)
{
    struct net_pass pass = {.mode = NET_EVAL};
    tape *t = n->session->tape;
    tensor x;
    status st = OK;
    tape_reset(t, TAPE_INFERENCE);
    TRY(tape_tensor(t, n->type, 4, (size_t[]){1, 3, side, side}, &x));
    TRY(n->session->dev->zero(n->session->dev, x.data, tensor_bytes(&x)));
    var *pictures = tape_constant(t, &x);
    TRY(tape_status(t));
    TRY(steps_input(steps, pictures));
    tape_trace(t, steps);
    const var *out = n->net->forward(t, n->settings, n->params, &pass, pictures);
    tape_trace(t, NULL);
    TRY(tape_status(t));
    *last = out->step;
done:
    return st;
}

centra_status centra_net_write_onnx(centra_net *n, size_t side, const char *path)
{
    struct steps steps = {0};
    struct onnx_writer w = {.net = n, .steps = &steps};
    size_t last = 0;
    status st = OK;
    if (!n || !path) return (centra_status)fail(ST_USAGE, "centra_net_write_onnx needs a network and a path");
    if (n->type != DT_F32)
        return (centra_status)fail(ST_USAGE, "ONNX files are written from networks in single precision");
    if (!side) side = n->transform.side;
    if (side < LEAST_SIDE || side > MOST_SIDE)
        return (centra_status)fail(ST_USAGE, "a side of %zu pixels; it must lie between %d and %d", side, LEAST_SIDE,
                                   MOST_SIDE);
    TRY(trace(n, side, &steps, &last));
    TRY(onnx_write_steps(&w, last, path));
done:
    steps_free(&steps);
    return (centra_status)st;
}
