/* node.c - the making of one record: inputs, outputs, what it saves, its run, and its failure in words. */
#include "ops/op.h"
#include "base/plain.h"
#include "ops/steps.h"
#include <assert.h>
#include <stdarg.h>
#include <string.h>

/* Inputs of one op are real and of one type, or bf16 beside f32 where the op says so. */
static bool inputs_fit(struct node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        assert(n->in[i] && n->in[i]->tape == n->tape);
        dtype type = n->in[i]->value.type;
        if (type == DT_BF16 && n->op->takes_bf16 && n->maps == DT_BF16) continue;
        if (type >= DT_REALS) {
            node_fail(n, ST_USAGE, "input %d is %s; it must be f32 or f64", i + 1, dtype_name(type));
            return false;
        }
        if (type != n->type) {
            node_fail(n, ST_USAGE, "input %d is %s but input 1 is %s; they must be alike", i + 1, dtype_name(type),
                      dtype_name(n->type));
            return false;
        }
    }
    return true;
}

static status copy_attr(struct node *n, const void *attr, size_t bytes)
{
    status st = tape_host(n->tape, bytes, &n->attr);
    if (st == OK) memcpy(n->attr, attr, bytes);
    return st;
}

struct node *node_new(tape *t, const struct op *op, int n_in, var *const *in, const void *attr, size_t attr_bytes)
{
    void *memory;
    assert(n_in > 0 && n_in <= NODE_MAX_IN);
    if (tape_status(t) != OK) return NULL;
    for (int i = 0; i < n_in; i++) {
        if (in[i]) continue;
        tape_fail(t, fail(ST_USAGE, "op %s: input %d is missing", op->name, i + 1));
        return NULL;
    }
    status st = tape_host(t, sizeof(struct node), &memory);
    if (st != OK) {
        tape_fail(t, st);
        return NULL;
    }
    struct node *n = memory;
    const dtype maps = in[0]->value.type;
    *n = (struct node){.op = op,
                       .tape = t,
                       .dev = tape_device(t),
                       .type = maps == DT_BF16 && op->takes_bf16 ? DT_F32 : maps,
                       .maps = maps,
                       .n_in = n_in};
    memcpy(n->in, in, (size_t)n_in * sizeof *in);
    if (attr && (st = copy_attr(n, attr, attr_bytes)) != OK) {
        tape_fail(t, st);
        return NULL;
    }
    return inputs_fit(n) ? n : NULL;
}

/* On an inference tape no leaf needs a gradient, and so nothing made of them does. */
static bool wants_grad(const struct node *n)
{
    if (!n->op->backward) return false;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i]->needs_grad) return true;
    return false;
}

static status add_out(struct node *n, const tensor *value)
{
    assert(n->n_out < NODE_MAX_OUT);
    var *v;
    status st = tape_var(n->tape, value, &v);
    if (st != OK) return st;
    v->node = n;
    v->needs_grad = value->type != DT_I32 && wants_grad(n);
    n->out[n->n_out++] = v;
    return OK;
}

static status new_out(struct node *n, dtype type, int rank, const size_t *dim)
{
    tensor value;
    status st = tape_tensor(n->tape, type, rank, dim, &value);
    return st == OK ? add_out(n, &value) : st;
}

status node_out(struct node *n, int rank, const size_t *dim) { return new_out(n, n->type, rank, dim); }

status node_out_like(struct node *n, const tensor *like) { return new_out(n, n->type, like->rank, like->dim); }

status node_out_maps(struct node *n, int rank, const size_t *dim) { return new_out(n, n->maps, rank, dim); }

status node_out_index(struct node *n, int rank, const size_t *dim) { return new_out(n, DT_I32, rank, dim); }

status node_out_view(struct node *n, const tensor *value) { return add_out(n, value); }

status node_save(struct node *n, int i, dtype type, int rank, const size_t *dim)
{
    assert(i >= 0 && i < NODE_MAX_SAVED);
    return tape_tensor(n->tape, type, rank, dim, &n->saved[i]);
}

var *node_run(struct node *n)
{
    bool record = false;
    status st = n->op->forward(n);
    if (st == OK && tape_traced(n->tape)) st = steps_take(tape_traced(n->tape), n);
    if (st != OK) return node_fail_in(n, NULL, st);
    for (int i = 0; i < n->n_out; i++) record |= n->out[i]->needs_grad;
    if (record) tape_record(n);
    for (int i = 0; i < n->n_out && !record; i++) n->out[i]->node = NULL;
    return n->out[0];
}

var *node_fail_in(struct node *n, const char *pass, status st)
{
    struct error e;
    error_take(st, &e);
    return tape_fail(n->tape, fail(st, "op %s%s%s: %s", n->op->name, pass ? ", " : "", pass ? pass : "", e.text));
}

var *node_fail(struct node *n, status st, const char *format, ...)
{
    char sentence[ERROR_BYTES];
    va_list args;
    va_start(args, format);
    plain_vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return tape_fail(n->tape, fail(st, "op %s: %s", n->op->name, sentence));
}
