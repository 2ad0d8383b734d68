/* pickle_machine.h - the stack machine of a pickle, shared by its opcodes (pickle.c) and what they call
 * (pickle_call.c). */
#ifndef WEIGHTS_PICKLE_MACHINE_H
#define WEIGHTS_PICKLE_MACHINE_H
#include "weights/pickle.h"

struct machine {
    const char *file;
    const unsigned char *bytes;
    size_t n, at;
    arena *memory;
    struct pickle_value **stack, **memo; /* owned; NULL in the stack is a mark, in the memo an empty place */
    size_t depth, stack_capacity, memo_count, memo_capacity;
    size_t values;
    struct pickle_storage *storages;
    bool stopped;
};

status pickle_new(struct machine *m, enum pickle_kind kind, struct pickle_value **out);
/* Adds to a tuple, list or dict. */
status pickle_append(struct machine *m, struct pickle_value *to, struct pickle_value *item);

/* The global with that name, or a refusal that names it. */
status pickle_global(struct machine *m, const char *module, const char *name, struct pickle_value **out);
/* What the callable gives for the arguments. */
status pickle_call(struct machine *m, const struct pickle_value *f, struct pickle_value *args,
                   struct pickle_value **out);
/* The storage that a persistent identifier names. */
status pickle_persistent(struct machine *m, const struct pickle_value *id, struct pickle_value **out);
#endif
