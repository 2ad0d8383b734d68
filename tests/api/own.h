/* own.h - a model, a session, a classifier and known pictures for the tests of own pictures. */
#ifndef TESTS_API_OWN_H
#define TESTS_API_OWN_H
#include "centra.h"
#include <stdbool.h>

struct own {
    centra_model *model;
    centra_session *session;
    centra_classifier *classifier;
    centra_support *support; /* empty */
};
/* That model on so many threads; `head` NULL: its own. A failed expectation and false when something is missing. */
bool own_open(struct own *o, const char *head, size_t threads);
void own_close(struct own *o);

/* A picture of class `kind` (stripes, rings, checks, dots ...), different for each `seed`, of the given size. */
centra_picture own_picture(size_t kind, uint64_t seed, size_t width, size_t height);
/* `each` pictures of each of the first `kinds` classes, called "kind 0" and so on; seeds from `seed` on. */
bool own_fill(struct own *o, size_t kinds, size_t each, uint64_t seed);
/* A picture as number `index` of class `kind`. */
bool own_add(struct own *o, size_t kind, size_t index, const centra_picture *p);
/* The model that tests use. */
const char *own_model_path(void);
#endif
