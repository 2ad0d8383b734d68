/* pickle_call.c - the few names that a pickle of tensors may use, and what each of them stands for. Nothing is called:
 * the arguments are checked and turned into values. */
#include "base/size.h"
#include "weights/pickle_machine.h"
#include <string.h>

static const struct {
    const char *module, *name;
    enum pickle_global what;
    enum array_type type; /* of a storage */
} globals[] = {
    {"collections", "OrderedDict", GLOBAL_DICT, ARRAY_F32},
    {"torch._utils", "_rebuild_tensor_v2", GLOBAL_TENSOR, ARRAY_F32},
    {"torch._utils", "_rebuild_parameter", GLOBAL_PARAMETER, ARRAY_F32},
    {"torch", "Size", GLOBAL_SIZE, ARRAY_F32},
    {"torch", "FloatStorage", GLOBAL_STORAGE, ARRAY_F32},
    {"torch", "DoubleStorage", GLOBAL_STORAGE, ARRAY_F64},
    {"torch", "HalfStorage", GLOBAL_STORAGE, ARRAY_F16},
    {"torch", "BFloat16Storage", GLOBAL_STORAGE, ARRAY_BF16},
    {"torch", "LongStorage", GLOBAL_STORAGE, ARRAY_I64},
    {"torch", "IntStorage", GLOBAL_STORAGE, ARRAY_I32},
    {"torch", "ByteStorage", GLOBAL_STORAGE, ARRAY_U8},
    {"torch", "BoolStorage", GLOBAL_STORAGE, ARRAY_BOOL},
};

/* The name as it may stand in a message: printable and not long. */
static const char *printable(const char *name, char buffer[80])
{
    size_t n = size_min(strlen(name), 79);
    for (size_t i = 0; i < n; i++) buffer[i] = name[i] > ' ' && name[i] < 127 ? name[i] : '?';
    buffer[n] = 0;
    return buffer;
}

status pickle_global(struct machine *m, const char *module, const char *name, struct pickle_value **out)
{
    char a[80], b[80];
    for (size_t i = 0; i < sizeof globals / sizeof globals[0]; i++)
        if (!strcmp(globals[i].module, module) && !strcmp(globals[i].name, name)) {
            status st = pickle_new(m, PICKLE_GLOBAL, out);
            if (st != OK) return st;
            (*out)->global = globals[i].what;
            (*out)->type = globals[i].type;
            return OK;
        }
    return fail(ST_FORMAT, "'%s': its pickle uses %s.%s, which is refused; save only model.state_dict()", m->file,
                printable(module, a), printable(name, b));
}

static status wrong(const struct machine *m, const char *what)
{
    return fail(ST_FORMAT, "'%s': byte %zu of its pickle: %s", m->file, m->at, what);
}

static const struct pickle_value *argument(const struct pickle_value *args, size_t i, enum pickle_kind kind)
{
    return i < args->count && args->item[i]->kind == kind ? args->item[i] : NULL;
}

/* The sizes or strides of a tensor. */
static bool sizes_of(const struct pickle_value *tuple, size_t to[MAX_RANK])
{
    for (size_t i = 0; i < tuple->count; i++) {
        const struct pickle_value *v = argument(tuple, i, PICKLE_INT);
        if (!v || v->integer < 0 || (uint64_t)v->integer > SIZE_MAX) return false;
        to[i] = (size_t)v->integer;
    }
    return true;
}

/* Whether every element lies in the storage. */
static bool inside(const struct pickle_tensor *t)
{
    size_t last = t->offset, product = 1;
    for (int d = 0; d < t->rank; d++) {
        size_t step;
        if (t->dim[d] == 0) return t->offset <= t->storage->count; /* none */
        if (!size_mul(t->dim[d] - 1, t->stride[d], &step) || !size_add(last, step, &last)) return false;
        if (!size_mul(product, t->dim[d], &product)) return false;
    }
    return last < t->storage->count;
}

/* _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks, ...) */
static status rebuild_tensor(struct machine *m, const struct pickle_value *args, struct pickle_value **out)
{
    void *memory;
    const struct pickle_value *storage = argument(args, 0, PICKLE_STORAGE), *offset = argument(args, 1, PICKLE_INT);
    const struct pickle_value *sizes = argument(args, 2, PICKLE_TUPLE), *strides = argument(args, 3, PICKLE_TUPLE);
    if (!storage || !offset || !sizes || !strides || offset->integer < 0 || sizes->count != strides->count)
        return wrong(m, "a tensor is described by other values than it should");
    if (sizes->count > MAX_RANK)
        return fail(ST_FORMAT, "'%s': a tensor has %zu axes; at most %d are read", m->file, sizes->count, MAX_RANK);
    status st = pickle_new(m, PICKLE_TENSOR, out);
    if (st == OK) st = arena_take(m->memory, 1, sizeof(struct pickle_tensor), &memory);
    if (st != OK) return st;
    struct pickle_tensor *t = (*out)->tensor = memory;
    *t = (struct pickle_tensor){storage->storage, (size_t)offset->integer, (int)sizes->count, {0}, {0}};
    if (!sizes_of(sizes, t->dim) || !sizes_of(strides, t->stride) || !inside(t))
        return wrong(m, "a tensor reaches beyond its storage");
    return OK;
}

status pickle_call(struct machine *m, const struct pickle_value *f, struct pickle_value *args,
                   struct pickle_value **out)
{
    if (f->kind != PICKLE_GLOBAL || args->kind != PICKLE_TUPLE) return wrong(m, "it calls what is no function");
    switch (f->global) {
    case GLOBAL_DICT:
        if (args->count) return wrong(m, "a dict is made from arguments, which is not read here");
        return pickle_new(m, PICKLE_DICT, out);
    case GLOBAL_TENSOR: return rebuild_tensor(m, args, out);
    case GLOBAL_PARAMETER:
        if (!argument(args, 0, PICKLE_TENSOR)) return wrong(m, "a parameter is made of what is no tensor");
        *out = args->item[0];
        return OK;
    case GLOBAL_SIZE:
        if (!argument(args, 0, PICKLE_TUPLE)) return wrong(m, "a size is made of what is no tuple");
        *out = args->item[0];
        return OK;
    case GLOBAL_STORAGE: break;
    }
    return wrong(m, "it makes a storage outside of the file's list");
}

/* ('storage', its type, key, where it lay, numbers in it) and in old files a view, which must be None. */
status pickle_persistent(struct machine *m, const struct pickle_value *id, struct pickle_value **out)
{
    void *memory;
    if (id->kind != PICKLE_TUPLE || id->count < 5 || id->count > 6)
        return wrong(m, "a storage is described by other values than it should");
    const struct pickle_value *tag = argument(id, 0, PICKLE_STRING), *type = argument(id, 1, PICKLE_GLOBAL);
    const struct pickle_value *key = argument(id, 2, PICKLE_STRING), *count = argument(id, 4, PICKLE_INT);
    bool view = id->count == 6 && id->item[5]->kind != PICKLE_NONE;
    if (!tag || strcmp(tag->string, "storage") || !type || type->global != GLOBAL_STORAGE || !key || !count ||
        count->integer < 0 || view)
        return wrong(m, "a storage is described by other values than it should");
    status st = pickle_new(m, PICKLE_STORAGE, out);
    if (st == OK) st = arena_take(m->memory, 1, sizeof(struct pickle_storage), &memory);
    if (st != OK) return st;
    struct pickle_storage *s = (*out)->storage = memory;
    *s = (struct pickle_storage){key->string, type->type, (size_t)count->integer, NULL, m->storages};
    m->storages = s;
    return OK;
}
