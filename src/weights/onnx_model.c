/* onnx_model.c - the messages of an ONNX file. Numbers of constants are not copied into the message around them: their
 * lengths are added up first, then everything goes to the file in order. */
#include "base/file.h"
#include "base/size.h"
#include "weights/onnx.h"
#include "weights/onnx_wire.h"
#include <stdlib.h>
#include <string.h>

enum { IR_VERSION = 8, TYPE_FLOAT = 1, ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT = 2, ATTRIBUTE_INTS = 7 };
/* Field numbers of onnx.proto, by message. */
enum { MODEL_IR = 1, MODEL_PRODUCER, MODEL_PRODUCER_VERSION, MODEL_GRAPH = 7, MODEL_OPSET, MODEL_META = 14 };
enum { OPSET_VERSION = 2 };
enum { META_KEY = 1, META_VALUE };
enum { GRAPH_NODE = 1, GRAPH_NAME, GRAPH_CONSTANT = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT };
enum { NODE_INPUT = 1, NODE_OUTPUT, NODE_NAME, NODE_TYPE, NODE_ATTRIBUTE };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F, ATTRIBUTE_I, ATTRIBUTE_LIST = 8, ATTRIBUTE_TYPE = 20 };
enum { TENSOR_DIM = 1, TENSOR_TYPE, TENSOR_NAME = 8, TENSOR_RAW };
enum { VALUE_NAME = 1, VALUE_TYPE };
enum { TYPE_TENSOR = 1 }; /* then in it: */
enum { TENSOR_ELEMENT = 1, TENSOR_SHAPE, SHAPE_DIM = 1, DIM_VALUE = 1, DIM_NAME };

struct constant {
    text head;    /* owned: name, type, sizes, and the beginning of the numbers */
    float *data;  /* owned */
    size_t bytes; /* of them */
    struct constant *next;
};

struct onnx {
    text graph;                     /* owned: nodes, inputs and outputs */
    text meta;                      /* owned */
    struct constant *first, **last; /* owned, in the order of their coming */
    status st;                      /* the first failure of a constant */
};

status onnx_new(struct onnx **out)
{
    struct onnx *m = calloc(1, sizeof *m);
    if (!m) return fail(ST_MEMORY, "no memory for an ONNX model");
    m->last = &m->first;
    *out = m;
    return OK;
}

void onnx_free(struct onnx *m)
{
    if (!m) return;
    for (struct constant *c = m->first, *next; c; c = next) {
        next = c->next;
        text_free(&c->head);
        free(c->data);
        free(c);
    }
    text_free(&m->graph);
    text_free(&m->meta);
    free(m);
}

float *onnx_constant(struct onnx *m, const char *name, int rank, const size_t *dim)
{
    size_t bytes = sizeof(float);
    bool fits = true;
    for (int i = 0; i < rank; i++) fits = fits && size_mul(bytes, dim[i], &bytes);
    struct constant *c = calloc(1, sizeof *c);
    if (c && fits) c->data = malloc(size_max(bytes, 1));
    if (!c || !c->data) {
        free(c);
        m->st = fail(ST_MEMORY, "no memory for the constant %s", name);
        return NULL;
    }
    for (int i = 0; i < rank; i++) wire_int(&c->head, TENSOR_DIM, dim[i]);
    wire_int(&c->head, TENSOR_TYPE, TYPE_FLOAT);
    wire_string(&c->head, TENSOR_NAME, name);
    wire_begin(&c->head, TENSOR_RAW, bytes);
    c->bytes = bytes;
    *m->last = c;
    m->last = &c->next;
    return c->data;
}

struct onnx_attribute onnx_int(const char *name, int64_t value)
{
    return (struct onnx_attribute){.name = name, .count = 1, .ints = {value}, .single = 1};
}

struct onnx_attribute onnx_ints(const char *name, size_t count, const int64_t *values)
{
    struct onnx_attribute a = {.name = name, .count = count};
    memcpy(a.ints, values, count * sizeof *values);
    return a;
}

struct onnx_attribute onnx_number(const char *name, double value)
{
    return (struct onnx_attribute){.name = name, .number = value};
}

static void add_attribute(text *node, const struct onnx_attribute *a)
{
    text t = {0};
    wire_string(&t, ATTRIBUTE_NAME, a->name);
    if (!a->count) wire_float(&t, ATTRIBUTE_F, (float)a->number);
    for (size_t i = 0; i < a->count; i++) wire_int(&t, a->single ? ATTRIBUTE_I : ATTRIBUTE_LIST, (uint64_t)a->ints[i]);
    wire_int(&t, ATTRIBUTE_TYPE, !a->count ? ATTRIBUTE_FLOAT : a->single ? ATTRIBUTE_INT : ATTRIBUTE_INTS);
    wire_message(node, NODE_ATTRIBUTE, &t);
    text_free(&t);
}

void onnx_add(struct onnx *m, const struct onnx_node *node)
{
    text t = {0};
    for (size_t i = 0; i < sizeof node->input / sizeof node->input[0] && node->input[i]; i++)
        wire_string(&t, NODE_INPUT, node->input[i]);
    wire_string(&t, NODE_OUTPUT, node->output);
    wire_string(&t, NODE_NAME, node->output);
    wire_string(&t, NODE_TYPE, node->type);
    for (size_t i = 0; i < node->attributes; i++) add_attribute(&t, &node->attribute[i]);
    wire_message(&m->graph, GRAPH_NODE, &t);
    text_free(&t);
}

void onnx_end(struct onnx *m, enum onnx_end which, const char *name, int rank, const size_t *dim)
{
    text one = {0}, shape = {0}, tensor = {0}, type = {0}, value = {0};
    wire_string(&one, DIM_NAME, "n");
    wire_message(&shape, SHAPE_DIM, &one);
    for (int i = 1; i < rank; i++) {
        wire_int(&one, DIM_VALUE, dim[i]);
        wire_message(&shape, SHAPE_DIM, &one);
    }
    wire_int(&tensor, TENSOR_ELEMENT, TYPE_FLOAT);
    wire_message(&tensor, TENSOR_SHAPE, &shape);
    wire_message(&type, TYPE_TENSOR, &tensor);
    wire_string(&value, VALUE_NAME, name);
    wire_message(&value, VALUE_TYPE, &type);
    wire_message(&m->graph, which == ONNX_INPUT ? GRAPH_INPUT : GRAPH_OUTPUT, &value);
    text_free(&one);
    text_free(&shape);
    text_free(&tensor);
    text_free(&type);
    text_free(&value);
}

void onnx_meta(struct onnx *m, const char *key, const char *value)
{
    text t = {0};
    wire_string(&t, META_KEY, key);
    wire_string(&t, META_VALUE, value);
    wire_message(&m->meta, MODEL_META, &t);
    text_free(&t);
}

static status first_failure(const struct onnx *m)
{
    status st = m->st;
    if (st == OK) st = text_status(&m->graph);
    if (st == OK) st = text_status(&m->meta);
    for (const struct constant *c = m->first; c && st == OK; c = c->next) st = text_status(&c->head);
    return st;
}

/* Everything up to the graph's own length, which needs to be known. */
static status begin(const struct onnx *m, const char *path, const char *version, text *to)
{
    text opset = {0};
    size_t length = m->graph.length;
    bool fits = true;
    for (const struct constant *c = m->first; c; c = c->next) {
        size_t each = 0;
        fits = fits && size_add(c->head.length, c->bytes, &each);
        fits = fits && size_add(length, wire_begin_bytes(each) + each, &length);
    }
    if (!fits || length > INT32_MAX - (m->meta.length + 1024))
        return fail(ST_UNSUPPORTED, "'%s' would have more than 2 GB, which ONNX files cannot", path);
    wire_int(to, MODEL_IR, IR_VERSION);
    wire_string(to, MODEL_PRODUCER, "centra");
    wire_string(to, MODEL_PRODUCER_VERSION, version);
    wire_int(&opset, OPSET_VERSION, ONNX_OPSET);
    wire_message(to, MODEL_OPSET, &opset);
    if (m->meta.length) text_add_bytes(to, m->meta.data, m->meta.length);
    wire_begin(to, MODEL_GRAPH, length);
    text_free(&opset);
    return text_status(to);
}

status onnx_write(struct onnx *m, const char *name, const char *version, const char *path)
{
    status st = OK;
    text head = {0}, mark = {0};
    struct file_writer w = {0};
    wire_string(&m->graph, GRAPH_NAME, name);
    TRY(first_failure(m));
    TRY(begin(m, path, version, &head));
    for (const struct constant *c = m->first; c; c = c->next)
        wire_begin(&mark, GRAPH_CONSTANT, c->head.length + c->bytes);
    TRY(text_status(&mark));
    TRY(file_begin(path, &w));
    file_put(&w, head.data, head.length);
    file_put(&w, m->graph.data, m->graph.length);
    const char *next = mark.data;
    for (const struct constant *c = m->first; c; c = c->next) {
        const size_t length = wire_begin_bytes(c->head.length + c->bytes);
        file_put(&w, next, length);
        file_put(&w, c->head.data, c->head.length);
        file_put(&w, c->data, c->bytes);
        next += length;
    }
    TRY(file_commit(&w));
done:
    text_free(&head);
    text_free(&mark);
    return st;
}
