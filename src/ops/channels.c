/* channels - in and out of a network whose maps are bf16: pictures f32 [n, c, h, w] to maps bf16 [n, h, w, c], and such
 * maps back to f32 [n, c, h, w]. In f32 a permute does the same. */
#include "ops/op.h"
#include "ops/ops.h"

static status channels_last_forward(struct node *n)
{
    return N_PRIM(n, channels_last, &n->in[0]->value, &n->out[0]->value);
}

static status channels_last_backward(struct node *n)
{
    bool fresh = false;
    tensor *dx = var_grad_write(n->in[0], &fresh);
    if (!dx) return tape_status(n->tape);
    return N_PRIM(n, channels_first, &n->out[0]->grad, !fresh, dx);
}

const struct op channels_last_op = {
    .name = "channels_last", .forward = channels_last_forward, .backward = channels_last_backward};

static status channels_first_forward(struct node *n)
{
    return N_PRIM(n, channels_first, &n->in[0]->value, false, &n->out[0]->value);
}

static status channels_first_backward(struct node *n)
{
    bool fresh = false;
    tensor *dx = var_grad_write(n->in[0], &fresh);
    if (!dx) return tape_status(n->tape);
    if (!fresh) return fail(ST_UNSUPPORTED, "maps in bf16 can leave a network only once");
    return N_PRIM(n, channels_last, &n->out[0]->grad, dx);
}

const struct op channels_first_op = {.name = "channels_first",
                                     .forward = channels_first_forward,
                                     .backward = channels_first_backward,
                                     .takes_bf16 = true};

var *op_channels_last(tape *t, var *x)
{
    char shape[SHAPE_TEXT];
    tensor value;
    struct node *n = node_new(t, &channels_last_op, 1, &x, NULL, 0);
    if (!n) return NULL;
    const tensor *v = &x->value;
    if (v->type != DT_F32 || v->rank != 4)
        return node_fail(n, ST_SHAPE, "the input is %s %s; it must be f32 [n, c, h, w]", dtype_name(v->type),
                         tensor_shape_text(v, shape));
    const size_t dim[4] = {v->dim[0], v->dim[2], v->dim[3], v->dim[1]};
    NODE_TRY(n, tape_tensor(t, DT_BF16, 4, dim, &value));
    NODE_TRY(n, node_out_view(n, &value));
    return node_run(n);
}

var *op_channels_first(tape *t, var *x)
{
    char shape[SHAPE_TEXT];
    struct node *n = node_new(t, &channels_first_op, 1, &x, NULL, 0);
    if (!n) return NULL;
    const tensor *v = &x->value;
    if (v->type != DT_BF16 || v->rank != 4)
        return node_fail(n, ST_SHAPE, "the input is %s %s; it must be bf16 [n, h, w, c]", dtype_name(v->type),
                         tensor_shape_text(v, shape));
    NODE_TRY(n, node_out(n, 4, (size_t[]){v->dim[0], v->dim[3], v->dim[1], v->dim[2]}));
    return node_run(n);
}
