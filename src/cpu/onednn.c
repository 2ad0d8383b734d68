/* onednn.c - the three convolutions by oneDNN, whose interface changed from 2.x to 3.x: both are written here and nowhere
 * else.
 *
 * Maps are passed as they lie (nhwc). Weights may be wanted in a blocked order of oneDNN's own: they are reordered on the
 * way in, or on the way out for their derivative. Primitives are made anew for each call; oneDNN keeps a cache of them. */
#include "cpu/onednn.h"
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>

#define NEW_INTERFACE (DNNL_VERSION_MAJOR >= 3)

enum direction { FORWARD, GRAD_X, GRAD_W };

/* Tensors of a convolution in oneDNN's order of axes, whatever their order in memory. */
enum { SOURCE, WEIGHTS, RESULT, PARTS };

#if NEW_INTERFACE
typedef const_dnnl_memory_desc_t borrowed_desc;
#else
typedef const dnnl_memory_desc_t *borrowed_desc;
#endif

struct call {
    enum direction direction;
    dnnl_dims_t dim[PARTS], stride, pad, dilation;
    float *data[PARTS];
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_desc_t plain[PARTS], wish[PARTS]; /* as the data lies; as it is left to oneDNN (weights: any order) */
    dnnl_primitive_desc_t forward, chosen;        /* forward: the hint that the derivatives need */
};

static status check(dnnl_status_t s, const char *what)
{
    if (s == dnnl_success) return OK;
    return fail(s == dnnl_out_of_memory ? ST_MEMORY : ST_UNSUPPORTED, "oneDNN cannot %s: its status is %d", what,
                (int)s);
}

static status describe(const dnnl_dims_t dim, dnnl_format_tag_t tag, dnnl_memory_desc_t *out)
{
#if NEW_INTERFACE
    return check(dnnl_memory_desc_create_with_tag(out, 4, dim, dnnl_f32, tag), "describe a tensor");
#else
    return check(dnnl_memory_desc_init_by_tag(out, 4, dim, dnnl_f32, tag), "describe a tensor");
#endif
}

#if NEW_INTERFACE
static status make_forward(struct call *c, dnnl_prop_kind_t kind, dnnl_primitive_desc_t *out)
{
    return check(dnnl_convolution_forward_primitive_desc_create(
                     out, c->engine, kind, dnnl_convolution_direct, c->wish[SOURCE], c->wish[WEIGHTS], NULL,
                     c->wish[RESULT], c->stride, c->dilation, c->pad, c->pad, NULL),
                 "plan a convolution");
}

static status make_backward(struct call *c)
{
    const dnnl_status_t s = c->direction == GRAD_X
                                ? dnnl_convolution_backward_data_primitive_desc_create(
                                      &c->chosen, c->engine, dnnl_convolution_direct, c->wish[SOURCE], c->wish[WEIGHTS],
                                      c->wish[RESULT], c->stride, c->dilation, c->pad, c->pad, c->forward, NULL)
                                : dnnl_convolution_backward_weights_primitive_desc_create(
                                      &c->chosen, c->engine, dnnl_convolution_direct, c->wish[SOURCE], c->wish[WEIGHTS],
                                      NULL, c->wish[RESULT], c->stride, c->dilation, c->pad, c->pad, c->forward, NULL);
    return check(s, "plan the derivative of a convolution");
}
#else
static status make_forward(struct call *c, dnnl_prop_kind_t kind, dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t d;
    status st = check(dnnl_dilated_convolution_forward_desc_init(&d, kind, dnnl_convolution_direct, &c->wish[SOURCE],
                                                                 &c->wish[WEIGHTS], NULL, &c->wish[RESULT], c->stride,
                                                                 c->dilation, c->pad, c->pad),
                      "describe a convolution");
    if (st == OK) st = check(dnnl_primitive_desc_create(out, &d, NULL, c->engine, NULL), "plan a convolution");
    return st;
}

static status make_backward(struct call *c)
{
    dnnl_convolution_desc_t d;
    const dnnl_status_t s = c->direction == GRAD_X
                                ? dnnl_dilated_convolution_backward_data_desc_init(
                                      &d, dnnl_convolution_direct, &c->wish[SOURCE], &c->wish[WEIGHTS],
                                      &c->wish[RESULT], c->stride, c->dilation, c->pad, c->pad)
                                : dnnl_dilated_convolution_backward_weights_desc_init(
                                      &d, dnnl_convolution_direct, &c->wish[SOURCE], &c->wish[WEIGHTS], NULL,
                                      &c->wish[RESULT], c->stride, c->dilation, c->pad, c->pad);
    status st = check(s, "describe the derivative of a convolution");
    if (st == OK)
        st = check(dnnl_primitive_desc_create(&c->chosen, &d, NULL, c->engine, c->forward),
                   "plan the derivative of a convolution");
    return st;
}
#endif

static status memory_over(struct call *c, borrowed_desc desc, void *data, dnnl_memory_t *out)
{
    return check(dnnl_memory_create(out, desc, c->engine, data), "take a tensor");
}

static status run(struct call *c, const_dnnl_primitive_desc_t plan, const dnnl_exec_arg_t *args, int count)
{
    dnnl_primitive_t p = NULL;
    status st = OK;
    TRY(check(dnnl_primitive_create(&p, plan), "make a primitive"));
    TRY(check(dnnl_primitive_execute(p, c->stream, count, args), "run a primitive"));
    TRY(check(dnnl_stream_wait(c->stream), "finish"));
done:
    if (p) dnnl_primitive_destroy(p);
    return st;
}

static status reorder(struct call *c, borrowed_desc from_desc, dnnl_memory_t from, borrowed_desc to_desc,
                      dnnl_memory_t to)
{
    dnnl_primitive_desc_t plan = NULL;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    status st = check(dnnl_reorder_primitive_desc_create(&plan, from_desc, c->engine, to_desc, c->engine, NULL),
                      "plan a reordering");
    if (st == OK) st = run(c, plan, args, 2);
    if (plan) dnnl_primitive_desc_destroy(plan);
    return st;
}

static borrowed_desc plain_desc(const struct call *c, int part)
{
#if NEW_INTERFACE
    return c->plain[part];
#else
    return &c->plain[part];
#endif
}

static status multiply(struct call *c)
{
    static const int names[3][PARTS] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                        {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                        {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
    const borrowed_desc blocked = dnnl_primitive_desc_query_md(
        c->chosen, c->direction == GRAD_W ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    dnnl_memory_t memory[PARTS] = {NULL}, weights = NULL;
    dnnl_exec_arg_t args[PARTS];
    status st = OK;
    for (int i = 0; i < PARTS; i++) TRY(memory_over(c, plain_desc(c, i), c->data[i], &memory[i]));
    TRY(memory_over(c, blocked, DNNL_MEMORY_ALLOCATE, &weights));
    if (c->direction != GRAD_W) TRY(reorder(c, plain_desc(c, WEIGHTS), memory[WEIGHTS], blocked, weights));
    for (int i = 0; i < PARTS; i++)
        args[i] = (dnnl_exec_arg_t){names[c->direction][i], i == WEIGHTS ? weights : memory[i]};
    TRY(run(c, c->chosen, args, PARTS));
    if (c->direction == GRAD_W) TRY(reorder(c, blocked, weights, plain_desc(c, WEIGHTS), memory[WEIGHTS]));
done:
    for (int i = 0; i < PARTS; i++)
        if (memory[i]) dnnl_memory_destroy(memory[i]);
    if (weights) dnnl_memory_destroy(weights);
    return st;
}

static void call_end(struct call *c)
{
    if (c->chosen && c->chosen != c->forward) dnnl_primitive_desc_destroy(c->chosen);
    if (c->forward) dnnl_primitive_desc_destroy(c->forward);
#if NEW_INTERFACE
    for (int i = 0; i < PARTS; i++) {
        if (c->plain[i]) dnnl_memory_desc_destroy(c->plain[i]);
        if (c->wish[i]) dnnl_memory_desc_destroy(c->wish[i]);
    }
#endif
    if (c->stream) dnnl_stream_destroy(c->stream);
    if (c->engine) dnnl_engine_destroy(c->engine);
}

static status convolve(struct call *c)
{
    static const dnnl_format_tag_t order[PARTS] = {dnnl_nhwc, dnnl_oihw, dnnl_nhwc};
    status st = OK;
    TRY(check(dnnl_engine_create(&c->engine, dnnl_cpu, 0), "start"));
    TRY(check(dnnl_stream_create(&c->stream, c->engine, dnnl_stream_default_flags), "start"));
    for (int i = 0; i < PARTS; i++) {
        TRY(describe(c->dim[i], order[i], &c->plain[i]));
        TRY(describe(c->dim[i], i == WEIGHTS ? dnnl_format_tag_any : order[i], &c->wish[i]));
    }
    TRY(make_forward(c, c->direction == FORWARD ? dnnl_forward_inference : dnnl_forward_training, &c->forward));
    if (c->direction == FORWARD) c->chosen = c->forward;
    else TRY(make_backward(c));
    TRY(multiply(c));
done:
    call_end(c);
    return st;
}

static void set_dims(dnnl_dims_t to, size_t a, size_t b, size_t c, size_t d)
{
    to[0] = (dnnl_dim_t)a, to[1] = (dnnl_dim_t)b, to[2] = (dnnl_dim_t)c, to[3] = (dnnl_dim_t)d;
}

static status call_of(enum direction direction, const tensor *x, const tensor *w, const tensor *y, struct conv_shape s)
{
    struct call c = {.direction = direction, .data = {x->data, w->data, y->data}};
    set_dims(c.dim[SOURCE], x->dim[0], x->dim[3], x->dim[1], x->dim[2]);
    set_dims(c.dim[WEIGHTS], w->dim[0], w->dim[1], w->dim[2], w->dim[3]);
    set_dims(c.dim[RESULT], y->dim[0], y->dim[3], y->dim[1], y->dim[2]);
    for (int i = 0; i < 2; i++) {
        c.stride[i] = (dnnl_dim_t)s.stride;
        c.pad[i] = (dnnl_dim_t)s.pad;
    }
    return convolve(&c);
}

/* oneDNN overwrites and the derivatives add: they go to memory of their own first. */
static void add_to(tensor *to, const tensor *fresh)
{
    float *sum = to->data;
    const float *more = fresh->data;
    for (size_t i = 0; i < tensor_count(to); i++) sum[i] += more[i];
}

static status fresh_like(const tensor *t, tensor *out)
{
    *out = *t;
    out->data = malloc(tensor_bytes(t) ? tensor_bytes(t) : 1);
    return out->data ? OK : fail(ST_MEMORY, "no memory for a derivative");
}

static status conv2d(struct device *d, const tensor *x, const tensor *w, struct conv_shape s, tensor *y)
{
    (void)d;
    return tensor_count(y) ? call_of(FORWARD, x, w, y, s) : OK;
}

/* Nothing is kept: the forms that our kernels like are not oneDNN's. */
static status conv2d_prepare(struct device *d, const tensor *x, const tensor *w, struct conv_shape s,
                             struct conv_ready *out)
{
    (void)d, (void)x, (void)w, (void)s;
    *out = (struct conv_ready){.made = true};
    return OK;
}

static status conv2d_grad_x(struct device *d, const tensor *w, const struct conv_ready *ready, const tensor *dy,
                            struct conv_shape s, bool add, tensor *dx)
{
    tensor fresh;
    (void)d, (void)ready;
    if (!tensor_count(dx)) return OK;
    if (!add) return call_of(GRAD_X, dx, w, dy, s);
    status st = fresh_like(dx, &fresh);
    if (st == OK) st = call_of(GRAD_X, &fresh, w, dy, s);
    if (st == OK) add_to(dx, &fresh);
    free(fresh.data);
    return st;
}

static status conv2d_grad_w(struct device *d, const tensor *x, const tensor *dy, struct conv_shape s, tensor *dw)
{
    tensor fresh;
    (void)d;
    if (!tensor_count(x)) return OK;
    status st = fresh_like(dw, &fresh);
    if (st == OK) st = call_of(GRAD_W, x, &fresh, dy, s);
    if (st == OK) add_to(dw, &fresh);
    free(fresh.data);
    return st;
}

void onednn_take_over(struct device *d)
{
    struct prims *p = &d->prim[DT_F32];
    p->conv2d = conv2d;
    p->conv2d_prepare = conv2d_prepare;
    p->conv2d_grad_x = conv2d_grad_x;
    p->conv2d_grad_w = conv2d_grad_w;
}

const char *onednn_version(void)
{
    static _Thread_local char words[32];
    const dnnl_version_t *v = dnnl_version();
    snprintf(words, sizeof words, "%d.%d.%d", v->major, v->minor, v->patch);
    return words;
}
