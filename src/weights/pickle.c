/* pickle.c - the opcodes of a pickle, one small function each, from the list in opcodes.def. */
#include "weights/pickle.h"
#include "base/size.h"
#include "weights/file.h"
#include "weights/pickle_machine.h"
#include <stdlib.h>
#include <string.h>

static status damaged(const struct machine *m, const char *what)
{
    return fail(ST_FORMAT, "'%s': byte %zu of its pickle: %s", m->file, m->at, what);
}

status pickle_new(struct machine *m, enum pickle_kind kind, struct pickle_value **out)
{
    void *memory;
    if (++m->values > PICKLE_VALUES_MOST)
        return fail(ST_FORMAT, "'%s': its pickle has more than %d values", m->file, PICKLE_VALUES_MOST);
    status st = arena_take(m->memory, 1, sizeof **out, &memory);
    if (st != OK) return st;
    *out = memory;
    **out = (struct pickle_value){.kind = kind};
    return OK;
}

status pickle_append(struct machine *m, struct pickle_value *to, struct pickle_value *item)
{
    if (to->count == to->capacity) {
        void *memory;
        size_t capacity = size_max(4, 2 * to->capacity);
        status st = arena_take(m->memory, capacity, sizeof item, &memory);
        if (st != OK) return st;
        if (to->count) memcpy(memory, to->item, to->count * sizeof item);
        to->item = memory;
        to->capacity = capacity;
    }
    to->item[to->count++] = item;
    return OK;
}

/* Makes room for `need` entries in the stack or the memo. */
static status reserve(struct machine *m, struct pickle_value ***list, size_t *capacity, size_t need)
{
    if (need <= *capacity) return OK;
    if (need > PICKLE_STACK_MOST) return damaged(m, "its stack or memo grows beyond all limits");
    size_t more = size_max(need, size_max(64, 2 * *capacity)); /* far from wrapping around */
    struct pickle_value **grown = realloc(*list, more * sizeof *grown);
    if (!grown) return fail(ST_MEMORY, "no memory to read the pickle of '%s'", m->file);
    *list = grown;
    *capacity = more;
    return OK;
}

static status push(struct machine *m, struct pickle_value *v)
{
    status st = reserve(m, &m->stack, &m->stack_capacity, m->depth + 1);
    if (st == OK) m->stack[m->depth++] = v;
    return st;
}

/* Takes a value off the stack; a mark is none. */
static status take(struct machine *m, struct pickle_value **out)
{
    if (m->depth == 0 || !m->stack[m->depth - 1]) return damaged(m, "a value is missing on the stack");
    *out = m->stack[--m->depth];
    return OK;
}

static status top(struct machine *m, struct pickle_value **out)
{
    status st = take(m, out);
    if (st == OK) m->depth++;
    return st;
}

/* The number of values above the topmost mark. */
static status above_mark(struct machine *m, size_t *out)
{
    size_t n = 0;
    while (n < m->depth && m->stack[m->depth - 1 - n]) n++;
    if (n == m->depth) return damaged(m, "a mark is missing on the stack");
    *out = n;
    return OK;
}

/* The next `n` bytes, which the opcode has as its argument. */
static status argument(struct machine *m, size_t n, const unsigned char **out)
{
    if (n > m->n - m->at) return damaged(m, "it is cut short");
    *out = m->bytes + m->at;
    m->at += n;
    return OK;
}

/* An argument of 1, 2 or 4 bytes, without a sign. */
static status number(struct machine *m, int bytes, uint32_t *out)
{
    const unsigned char *b = NULL;
    status st = argument(m, (size_t)bytes, &b);
    if (st == OK) *out = bytes == 1 ? b[0] : bytes == 2 ? load_u16(b) : load_u32(b);
    return st;
}

static status op_skip(struct machine *m, int bytes)
{
    const unsigned char *b = NULL;
    return argument(m, (size_t)bytes, &b);
}

static status op_stop(struct machine *m, int unused)
{
    (void)unused;
    m->stopped = true;
    return m->depth == 1 && m->stack[0] ? OK : damaged(m, "it ends without exactly one value");
}

static status op_mark(struct machine *m, int unused)
{
    (void)unused;
    return push(m, NULL);
}

static status op_pop(struct machine *m, int unused)
{
    (void)unused;
    struct pickle_value *v = NULL;
    return take(m, &v);
}

static status push_new(struct machine *m, enum pickle_kind kind, int64_t integer)
{
    struct pickle_value *v = NULL;
    status st = pickle_new(m, kind, &v);
    if (st != OK) return st;
    v->integer = integer;
    return push(m, v);
}

static status op_none(struct machine *m, int unused) { return push_new(m, PICKLE_NONE, unused); }

static status op_boolean(struct machine *m, int value) { return push_new(m, PICKLE_BOOL, value); }

static status op_empty(struct machine *m, int kind) { return push_new(m, (enum pickle_kind)kind, 0); }

static status op_integer(struct machine *m, int bytes)
{
    uint32_t v = 0;
    status st = number(m, bytes, &v);
    if (st != OK) return st;
    return push_new(m, PICKLE_INT, bytes == 4 ? (int64_t)(int32_t)v : (int64_t)v); /* only four bytes have a sign */
}

static status op_longer(struct machine *m, int unused)
{
    (void)unused;
    uint32_t n = 0;
    const unsigned char *b = NULL;
    status st = number(m, 1, &n);
    if (st == OK) st = argument(m, n, &b);
    if (st != OK) return st;
    uint64_t v = n && b[n - 1] & 0x80 ? UINT64_MAX : 0; /* two's complement, little-endian */
    for (size_t i = size_min(n, 8); i-- > 0;) v = v << 8 | b[i];
    return push_new(m, n > 8 ? PICKLE_HUGE : PICKLE_INT, (int64_t)v);
}

static status op_real(struct machine *m, int unused)
{
    const unsigned char *b = NULL;
    status st = argument(m, 8, &b);
    return st == OK ? push_new(m, PICKLE_REAL, unused) : st;
}

static status push_string(struct machine *m, const unsigned char *from, size_t n)
{
    void *to = NULL;
    if (memchr(from, 0, n)) return damaged(m, "a text has a NUL inside");
    status st = push_new(m, PICKLE_STRING, 0);
    if (st == OK) st = arena_take(m->memory, n + 1, 1, &to);
    if (st != OK) return st;
    memcpy(to, from, n);
    ((char *)to)[n] = 0;
    m->stack[m->depth - 1]->string = to;
    return OK;
}

static status op_string(struct machine *m, int length_bytes)
{
    uint32_t n = 0;
    const unsigned char *b = NULL;
    status st = number(m, length_bytes, &n);
    if (st == OK) st = argument(m, n, &b);
    return st == OK ? push_string(m, b, n) : st;
}

/* The topmost `n` values become one tuple. */
static status make_tuple(struct machine *m, size_t n, bool drop_mark)
{
    status st = OK;
    struct pickle_value *t = NULL;
    TRY(pickle_new(m, PICKLE_TUPLE, &t));
    for (size_t i = 0; i < n; i++) TRY(pickle_append(m, t, m->stack[m->depth - n + i]));
    m->depth -= n + drop_mark;
    TRY(push(m, t));
done:
    return st;
}

static status op_tuple(struct machine *m, int unused)
{
    (void)unused;
    size_t n = 0;
    status st = above_mark(m, &n);
    return st == OK ? make_tuple(m, n, true) : st;
}

static status op_short_tuple(struct machine *m, int count)
{
    size_t n = (size_t)count;
    bool enough = n <= m->depth;
    for (size_t i = 0; enough && i < n; i++) enough = m->stack[m->depth - 1 - i] != NULL;
    return enough ? make_tuple(m, n, false) : damaged(m, "a tuple's values are missing on the stack");
}

/* The topmost `n` values go into the list (step 1) or dict (step 2) below them. */
static status add_values(struct machine *m, size_t n, int step, bool drop_mark)
{
    status st = OK;
    struct pickle_value *to = NULL, **from = m->stack + m->depth - n;
    size_t below = n + drop_mark;
    if (m->depth > below) to = m->stack[m->depth - below - 1];
    if (!to || to->kind != (step == 1 ? PICKLE_LIST : PICKLE_DICT) || n % (size_t)step)
        return damaged(m, "values are added to what is no list or dict");
    for (size_t i = 0; i < n; i++) {
        TRY(pickle_append(m, to, from[i]));
        if (step == 2 && i % 2 && from[i]->kind == PICKLE_TENSOR) to->holds_tensor = true;
    }
    m->depth -= below;
done:
    return st;
}

static status op_add(struct machine *m, int step)
{
    size_t n = (size_t)step;
    bool enough = n < m->depth;
    for (size_t i = 0; enough && i < n; i++) enough = m->stack[m->depth - 1 - i] != NULL;
    return enough ? add_values(m, n, step, false) : damaged(m, "a list's or dict's values are missing on the stack");
}

static status op_add_all(struct machine *m, int step)
{
    size_t n = 0;
    status st = above_mark(m, &n);
    return st == OK ? add_values(m, n, step, true) : st;
}

/* The bytes up to the end of the line, as a text. */
static status line(struct machine *m, struct pickle_value **out)
{
    const unsigned char *from = m->bytes + m->at, *end = memchr(from, '\n', m->n - m->at);
    if (!end) return damaged(m, "it is cut short");
    status st = push_string(m, from, (size_t)(end - from));
    if (st != OK) return st;
    m->at += (size_t)(end - from) + 1;
    return take(m, out);
}

static status push_global(struct machine *m, const struct pickle_value *module, const struct pickle_value *name)
{
    struct pickle_value *v = NULL;
    if (module->kind != PICKLE_STRING || name->kind != PICKLE_STRING) return damaged(m, "a global's name is no text");
    status st = pickle_global(m, module->string, name->string, &v);
    return st == OK ? push(m, v) : st;
}

static status op_global(struct machine *m, int unused)
{
    (void)unused;
    struct pickle_value *module = NULL, *name = NULL;
    status st = line(m, &module);
    if (st == OK) st = line(m, &name);
    return st == OK ? push_global(m, module, name) : st;
}

static status op_stack_global(struct machine *m, int unused)
{
    (void)unused;
    struct pickle_value *module = NULL, *name = NULL;
    status st = take(m, &name);
    if (st == OK) st = take(m, &module);
    return st == OK ? push_global(m, module, name) : st;
}

static status op_reduce(struct machine *m, int unused)
{
    (void)unused;
    struct pickle_value *args = NULL, *f = NULL, *result = NULL;
    status st = take(m, &args);
    if (st == OK) st = take(m, &f);
    if (st == OK) st = pickle_call(m, f, args, &result);
    return st == OK ? push(m, result) : st;
}

/* A state dictionary has its versions as an attribute, which nobody needs. */
static status op_build(struct machine *m, int unused)
{
    (void)unused;
    struct pickle_value *state = NULL, *to = NULL;
    status st = take(m, &state);
    if (st == OK) st = top(m, &to);
    if (st == OK && to->kind != PICKLE_DICT) st = damaged(m, "attributes are given to what is no dict");
    return st;
}

static status op_persistent(struct machine *m, int unused)
{
    (void)unused;
    struct pickle_value *id = NULL, *v = NULL;
    status st = take(m, &id);
    if (st == OK) st = pickle_persistent(m, id, &v);
    return st == OK ? push(m, v) : st;
}

static status remember(struct machine *m, size_t at)
{
    struct pickle_value *v = NULL;
    status st = top(m, &v);
    if (st == OK) st = reserve(m, &m->memo, &m->memo_capacity, at + 1);
    if (st != OK) return st;
    while (m->memo_count <= at) m->memo[m->memo_count++] = NULL;
    m->memo[at] = v;
    return OK;
}

static status op_put(struct machine *m, int bytes)
{
    uint32_t at = 0;
    status st = number(m, bytes, &at);
    return st == OK ? remember(m, at) : st;
}

static status op_memoize(struct machine *m, int unused)
{
    (void)unused;
    return remember(m, m->memo_count);
}

static status op_get(struct machine *m, int bytes)
{
    uint32_t at = 0;
    status st = number(m, bytes, &at);
    if (st != OK) return st;
    if (at >= m->memo_count || !m->memo[at]) return damaged(m, "it recalls a value that it has not kept");
    return push(m, m->memo[at]);
}

static const struct {
    const char *name;
    status (*run)(struct machine *m, int argument); /* NULL: refused */
    int argument;
} opcodes[256] = {
#define KNOWN(code, opcode, function, number) [code] = {#opcode, op_##function, number},
#define OTHER(code, opcode) [code] = {#opcode, NULL, 0},
#include "weights/opcodes.def"
#undef KNOWN
#undef OTHER
};

static status step(struct machine *m)
{
    if (m->at >= m->n) return damaged(m, "it is cut short");
    unsigned code = m->bytes[m->at++];
    if (opcodes[code].run) return opcodes[code].run(m, opcodes[code].argument);
    if (opcodes[code].name)
        return fail(ST_FORMAT,
                    "'%s': its pickle has the opcode %s, which no state dictionary needs; save only model.state_dict()",
                    m->file, opcodes[code].name);
    return fail(ST_FORMAT, "'%s': byte %zu of its pickle is 0x%02x, which is no opcode", m->file, m->at - 1, code);
}

status pickle_read(const char *file, const unsigned char *bytes, size_t n, arena *memory, struct pickle *out)
{
    status st = OK;
    struct machine m = {.file = file, .bytes = bytes, .n = size_min(n, PICKLE_BYTES_MOST), .memory = memory};
    while (!m.stopped) TRY(step(&m));
    *out = (struct pickle){m.stack[0], m.storages, m.at};
done:
    free(m.stack);
    free(m.memo);
    return st;
}

const struct pickle_value *pickle_member(const struct pickle_value *dict, const char *key)
{
    if (dict->kind != PICKLE_DICT) return NULL;
    for (size_t i = 0; i + 1 < dict->count; i += 2)
        if (dict->item[i]->kind == PICKLE_STRING && !strcmp(dict->item[i]->string, key)) return dict->item[i + 1];
    return NULL;
}
