/* tape.c - the tape: its memory, its leaves, its first failure, and the walk back through its records.
 *
 * Records and vars lie in a host arena, values and gradients in a device arena; both are reset as a whole. A gradient
 * gets its memory when somebody first asks for it, so what backward does not reach costs nothing. */
#include "ops/tape.h"
#include "ops/op.h"
#include <assert.h>
#include <stdlib.h>

enum { FIRST_HOST_BYTES = 1 << 16, FIRST_DEVICE_BYTES = 1 << 20 };
enum { LOOSEST_FIT = 4 }; /* released memory is used again for no less than this part of it */

struct leaf {
    var v;
    struct leaf *previous;
};

/* The memory of a value that is read no more. It stays in the list, with its whole size, when something smaller moves in. */
struct spare {
    void *memory;
    size_t bytes;
    bool lent; /* a value lies there again */
    struct spare *next;
};

struct tape {
    struct device *dev;
    struct peers *peers; /* borrowed; NULL: a batch is all here */
    struct steps *steps; /* borrowed; NULL: not traced */
    enum tape_mode mode;
    arena *host, *values;   /* owned */
    struct spare *spare;    /* on an inference tape; the newest first */
    struct node *last;      /* the newest record; they are linked backwards */
    struct leaf *overwrite; /* leaves with GRAD_OVERWRITES, the newest first */
    bool went_back;
    void (*final)(void *context, struct param *p); /* NULL: nobody watches */
    void *context;                                 /* for it */
    struct error error;                            /* the first failure; st OK: none */
};

status tape_new(struct device *d, enum tape_mode mode, tape **out)
{
    tape *t = calloc(1, sizeof *t);
    if (t) {
        t->dev = d;
        t->mode = mode;
        t->host = arena_new(FIRST_HOST_BYTES);
        t->values = device_arena(d, FIRST_DEVICE_BYTES);
    }
    if (!t || !t->host || !t->values) {
        tape_free(t);
        return fail(ST_MEMORY, "no memory for a tape");
    }
    *out = t;
    return OK;
}

void tape_free(tape *t)
{
    if (!t) return;
    arena_free(t->values);
    arena_free(t->host);
    free(t);
}

void tape_reset(tape *t, enum tape_mode mode)
{
    arena_reset(t->host);
    arena_reset(t->values);
    t->mode = mode;
    t->spare = NULL;
    t->last = NULL;
    t->overwrite = NULL;
    t->went_back = false;
    t->error.st = OK;
}

struct device *tape_device(const tape *t) { return t->dev; }
enum tape_mode tape_get_mode(const tape *t) { return t->mode; }
void tape_share(tape *t, struct peers *peers) { t->peers = peers && peers->size > 1 ? peers : NULL; }
struct peers *tape_peers(const tape *t) { return t->peers; }
void tape_trace(tape *t, struct steps *to) { t->steps = to; }
struct steps *tape_traced(const tape *t) { return t->steps; }
size_t tape_bytes_used(const tape *t) { return arena_used(t->values); }
size_t tape_bytes_held(const tape *t) { return arena_held(t->values); }

status tape_status(const tape *t) { return t->error.st == OK ? OK : error_put(&t->error); }

var *tape_fail(tape *t, status st)
{
    assert(st != OK);
    if (t->error.st == OK) {
        error_take(st, &t->error);
        t->error.st = st;
    }
    return NULL;
}

/* The smallest released memory that holds so much, unless most of it would lie idle; NULL: none. */
static void *take_spare(tape *t, size_t bytes)
{
    struct spare *best = NULL;
    for (struct spare *s = t->spare; s; s = s->next)
        if (!s->lent && s->bytes >= bytes && s->bytes / LOOSEST_FIT <= bytes && (!best || s->bytes < best->bytes))
            best = s;
    if (!best) return NULL;
    best->lent = true;
    return best->memory;
}

static struct spare *lent_at(tape *t, const void *memory)
{
    struct spare *s = t->spare;
    while (s && (!s->lent || s->memory != memory)) s = s->next;
    return s;
}

void tape_release_tensor(tape *t, tensor *x)
{
    void *memory;
    if (t->mode != TAPE_INFERENCE || tape_status(t) != OK) return;
    struct spare *s = lent_at(t, x->data);
    if (!s) {
        const status st = arena_take(t->host, 1, sizeof(struct spare), &memory);
        if (st != OK) {
            tape_fail(t, st);
            return;
        }
        s = memory;
        *s = (struct spare){.memory = x->data, .bytes = tensor_bytes(x), .next = t->spare};
        t->spare = s;
    }
    s->lent = false;
    x->data = NULL; /* who reads it all the same is found out at once */
}

void tape_release(tape *t, var *v)
{
    if (v) tape_release_tensor(t, &v->value);
}

status tape_tensor(tape *t, dtype type, int rank, const size_t *dim, tensor *out)
{
    tensor x;
    status st = tensor_make(&x, type, rank, dim, NULL);
    if (st == OK && t->spare) x.data = take_spare(t, tensor_bytes(&x));
    if (st == OK && !x.data) st = arena_take(t->values, tensor_bytes(&x), 1, &x.data);
    if (st == OK) *out = x;
    return st;
}

status tape_host(tape *t, size_t bytes, void **out) { return arena_take(t->host, bytes, 1, out); }

/* leaves */

status tape_var(tape *t, const tensor *value, var **out)
{
    void *memory;
    status st = arena_take(t->host, 1, sizeof **out, &memory);
    if (st != OK) return st;
    *out = memory;
    **out = (var){.value = *value, .tape = t};
    return OK;
}

static bool grad_fits(const tensor *value, const tensor *grad)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (grad->type == value->type && tensor_same_shape(grad, value)) return true;
    fail(ST_SHAPE, "the gradient buffer is %s %s but the value is %s %s; they must be alike", dtype_name(grad->type),
         tensor_shape_text(grad, a), dtype_name(value->type), tensor_shape_text(value, b));
    return false;
}

var *tape_leaf(tape *t, const tensor *value, const tensor *grad, enum leaf_grad how)
{
    void *memory;
    if (tape_status(t) != OK) return NULL;
    if (grad && !grad_fits(value, grad)) return tape_fail(t, ST_SHAPE);
    status st = arena_take(t->host, 1, sizeof(struct leaf), &memory);
    if (st != OK) return tape_fail(t, st);
    struct leaf *l = memory;
    *l = (struct leaf){.v = {.value = *value, .tape = t}};
    if (grad && t->mode == TAPE_TRAINING) {
        l->v.needs_grad = true;
        l->v.grad = *grad;
        l->v.grad_is_written = how == GRAD_ADDS; /* what it holds already counts */
        if (how == GRAD_OVERWRITES) {
            l->previous = t->overwrite;
            t->overwrite = l;
        }
    }
    return &l->v;
}

var *tape_constant(tape *t, const tensor *value) { return tape_leaf(t, value, NULL, GRAD_ADDS); }

var *tape_param(tape *t, struct param *p)
{
    if (tape_status(t) != OK) return NULL;
    if (!p) return tape_fail(t, fail(ST_USAGE, "a parameter that the network needs was never added"));
    var *v = p->trained ? tape_leaf(t, &p->value, &p->grad, GRAD_ADDS) : tape_constant(t, &p->value);
    if (v && v->needs_grad) v->param = p;
    if (v && p->frozen && t->mode == TAPE_INFERENCE) v->ready = &p->ready;
    return v;
}

var *tape_upload(tape *t, dtype type, int rank, const size_t *dim, const void *host)
{
    tensor x;
    if (tape_status(t) != OK) return NULL;
    status st = tape_tensor(t, type, rank, dim, &x);
    if (st == OK) st = t->dev->upload(t->dev, x.data, host, tensor_bytes(&x));
    return st == OK ? tape_constant(t, &x) : tape_fail(t, st);
}

/* gradients */

void tape_watch(tape *t, void (*final)(void *context, struct param *p), void *context)
{
    t->final = final;
    t->context = context;
}

void tape_record(struct node *n)
{
    for (int i = 0; n->tape->final && i < n->n_in; i++)
        if (n->in[i]->param) n->in[i]->param->pending++;
    n->previous = n->tape->last;
    n->tape->last = n;
}

tensor *var_grad_write(var *v, bool *fresh)
{
    if (!v->needs_grad || v->tape->error.st != OK) return NULL;
    if (!v->grad.data) {
        status st = tape_tensor(v->tape, v->value.type, v->value.rank, v->value.dim, &v->grad);
        if (st != OK) {
            tape_fail(v->tape, st);
            return NULL;
        }
    }
    *fresh = !v->grad_is_written;
    v->grad_is_written = true;
    return &v->grad;
}

tensor *var_grad(var *v)
{
    bool fresh;
    tensor *grad = var_grad_write(v, &fresh);
    if (!grad || !fresh) return grad;
    struct device *d = v->tape->dev;
    status st = d->zero(d, grad->data, tensor_bytes(grad));
    if (st != OK) tape_fail(v->tape, st);
    return st == OK ? grad : NULL;
}

/* Adds `gradient`, or 1 where that is NULL, to the gradient of v. */
static status seed(struct device *d, var *v, const tensor *gradient)
{
    bool fresh;
    dtype type = v->value.type;
    tensor *to = var_grad_write(v, &fresh);
    if (!to) return tape_status(v->tape); /* OK: nothing below it wants a gradient */
    if (!gradient) return fresh ? PRIM_CALL(d, type, fill, (d, 1, to)) : PRIM_CALL(d, type, affine, (d, to, 1, 1, to));
    if (fresh) return d->copy(d, to->data, gradient->data, tensor_bytes(to));
    return PRIM_CALL(d, type, axpy, (d, 1, gradient, to));
}

static bool reached(const struct node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->grad_is_written) return true;
    return false;
}

/* The record has added what it had to the gradients of its parameters. */
static void tell_final(tape *t, const struct node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        struct param *p = n->in[i]->param;
        if (p && --p->pending == 0) t->final(t->context, p);
    }
}

static status run_back(tape *t)
{
    status st = OK;
    for (struct node *n = t->last; n && st == OK; n = n->previous) {
        if (reached(n)) {
            st = n->op->backward(n);
            if (st != OK) node_fail_in(n, "backward", st);
            st = tape_status(t);
        }
        if (t->final && st == OK) tell_final(t, n);
    }
    for (struct leaf *l = t->overwrite; l && st == OK; l = l->previous) {
        var_grad(&l->v);
        st = tape_status(t);
    }
    return st;
}

/* Fails unless a backward pass may start now. */
static status may_start(tape *t)
{
    status st = tape_status(t);
    if (st != OK) return st;
    if (t->mode != TAPE_TRAINING)
        st = fail(ST_USAGE, "an inference tape keeps no records to go back through; use a training tape");
    else if (t->went_back)
        st = fail(ST_USAGE, "backward has already run on this recording; reset the tape and record again");
    if (st != OK) tape_fail(t, st);
    t->went_back = true;
    return tape_status(t);
}

static status check_source(const var *v, const tensor *gradient)
{
    char a[SHAPE_TEXT];
    if (!v) return fail(ST_USAGE, "there is no loss to go back from; was the episode given labels?");
    if (v->value.type >= DT_REALS) return fail(ST_USAGE, "an i32 tensor has no gradient to go back from");
    if (gradient) return grad_fits(&v->value, gradient) ? OK : ST_SHAPE;
    if (tensor_count(&v->value) == 1) return OK;
    return fail(ST_SHAPE, "the loss has shape %s; backward starts from one number (sum or average it first)",
                tensor_shape_text(&v->value, a));
}

static status go_back(tape *t, size_t count, var *const *of, const tensor *const *gradients)
{
    status st;
    TRY(may_start(t));
    for (size_t i = 0; i < count; i++) {
        TRY(check_source(of[i], gradients ? gradients[i] : NULL));
        TRY(seed(t->dev, of[i], gradients ? gradients[i] : NULL));
    }
    TRY(run_back(t));
done:
    if (st != OK) tape_fail(t, st);
    return tape_status(t);
}

status tape_backward(tape *t, var *loss) { return go_back(t, 1, &loss, NULL); }

status tape_backward_from(tape *t, size_t count, var *const *of, const tensor *const *gradients)
{
    return go_back(t, count, of, gradients);
}
