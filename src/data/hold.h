/* hold.h - pictures of each class that are held back from training, so that all classes are learned and yet some pictures of each
 * are new to the network. */
#ifndef DATA_HOLD_H
#define DATA_HOLD_H
#include "base/random.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

struct dataset;

/* held[picture]: whether it is one of the `each` of its class that are drawn. A class must have more than so many. */
status hold_choose(const struct dataset *d, size_t each, struct random *r, bool *held);
/* Refuses classes that stand in two of the sets: one class would be made of both. */
status hold_check(struct dataset *const *set, size_t count);
#endif
