/* pickle.h - the part of Python's pickle format that describes a dictionary of tensors.
 *
 * A pickle is a program for a stack machine that can call any Python function. This reader knows the opcodes and the
 * few names that a state dictionary needs, builds plain values from them, and refuses everything else by its name; it
 * never calls or imports anything. Every value costs at least a byte of the file, and the numbers of bytes and values
 * are limited. Values may refer to one another in any way, also in circles: do not walk them by recursion. */
#ifndef WEIGHTS_PICKLE_H
#define WEIGHTS_PICKLE_H
#include "base/arena.h"
#include "weights/weights.h"
#include <stdbool.h>
#include <stdint.h>

enum { PICKLE_BYTES_MOST = 16 << 20, PICKLE_VALUES_MOST = 1 << 20, PICKLE_STACK_MOST = 1 << 20 };

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_HUGE, /* an integer beyond 64 bits: its value is not kept */
    PICKLE_REAL, /* nor is that of a real number */
    PICKLE_STRING,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT,
    PICKLE_GLOBAL,
    PICKLE_STORAGE,
    PICKLE_TENSOR
};

/* The callables that may be named. */
enum pickle_global { GLOBAL_DICT, GLOBAL_TENSOR, GLOBAL_PARAMETER, GLOBAL_SIZE, GLOBAL_STORAGE };

struct pickle_storage {
    const char *key;
    enum array_type type;
    size_t count;              /* numbers in it */
    const unsigned char *data; /* NULL; set by who knows where the file keeps it */
    struct pickle_storage *next;
};

struct pickle_tensor {
    const struct pickle_storage *storage;
    size_t offset; /* in numbers, as the strides */
    int rank;
    size_t dim[MAX_RANK], stride[MAX_RANK];
};

struct pickle_value {
    enum pickle_kind kind;
    enum pickle_global global;  /* PICKLE_GLOBAL, */
    enum array_type type;       /* and of what, if it is a storage */
    bool holds_tensor;          /* PICKLE_DICT: one of its values is a tensor */
    int64_t integer;            /* PICKLE_INT, PICKLE_BOOL */
    const char *string;         /* PICKLE_STRING, NUL-terminated, without a NUL inside */
    struct pickle_value **item; /* members of tuple and list; keys and values of a dict in turn */
    size_t count, capacity;     /* of `item` */
    union {
        struct pickle_storage *storage;
        struct pickle_tensor *tensor;
    };
};

struct pickle {
    const struct pickle_value *root;
    struct pickle_storage *storages; /* all that were named, the last first */
    size_t bytes;                    /* up to the end of this pickle: another may follow */
};

/* `file` stands in messages. The values live in `memory` and do not point into `bytes`. */
status pickle_read(const char *file, const unsigned char *bytes, size_t n, arena *memory, struct pickle *out);
/* The dict's value for that key, or NULL. */
const struct pickle_value *pickle_member(const struct pickle_value *dict, const char *key);
#endif
