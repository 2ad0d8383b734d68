/* rig.h - a network on a device with the parameters of a golden case, which are computed by an integer hash. */
#ifndef TESTS_NETS_RIG_H
#define TESTS_NETS_RIG_H
#include "nets/net.h"
#include "tests/heads/case.h"
#include "tests/heads/rig.h"

struct net_rig {
    struct world w;
    const struct net *net;
    union {
        max_align_t align;
        unsigned char bytes[256];
    } settings;
    struct params *p;
};

/* False, with a failed expectation, when something could not be opened. The parameters hold their start values. A network may
 * be followed by one of its options, "wrn widen=2". */
bool net_rig_open(struct net_rig *r, const char *isa, size_t threads, dtype type, const char *net);
void net_rig_close(struct net_rig *r);
/* Sets the case's parameters, whose names begin with `prefix`; each of the network's must be there. */
bool net_rig_load(struct net_rig *r, const struct json *list, const char *prefix);

/* The numbers of {"shape", "index", "scale", "offset"} in case.json; free() them. NULL, with a failed expectation, when
 * it is none. */
double *formula_numbers(const struct json *about, int *rank, size_t dim[MAX_RANK]);
var *formula_leaf(struct world *w, const struct json *about);

/* All numbers of the parameters whose names end in `end`, one behind the other; free() them. */
double *net_rig_gather(struct net_rig *r, const char *end, size_t *n);
/* Compares NAME, or NAME.head, .pick and .stat of a tensor that is recorded in parts: `file` says which. */
void golden_expect_part(const struct golden *g, const char *file, const double *seen, size_t n);
/* `file` without ".npy" and ".head", ".pick", ".stat". */
void golden_base_name(const char *file, char out[96]);
#endif
