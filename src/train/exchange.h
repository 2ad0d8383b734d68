/* exchange.h - what the processes of a run exchange: the gradients of every step, and the numbers they begin with.
 *
 * Gradients are added up block by block (tensor/params.h), those of the last layers first; a block sets out as soon as the
 * backward pass has added the last to it, and travels while the pass goes on. Devices that add up among themselves
 * (tensor/device.h) do so in a queue of their own, and the host waits for none of them; where they cannot, or
 * have little to send, what lies on them sets out when the pass is over. */
#ifndef TRAIN_EXCHANGE_H
#define TRAIN_EXCHANGE_H
#include "ops/tape.h"
#include "peers/peers.h"

struct exchange;
/* Whether there is anything to exchange: several processes; or CENTRA_EXCHANGE is set, so that what it costs can be measured with one. */
bool exchange_wanted(const struct peers *peers);
/* Both are borrowed; all trained parameters are of one type. */
status exchange_new(struct peers *peers, struct params *params, struct exchange **out);
void exchange_free(struct exchange *e);
/* Whether blocks set out while a backward pass goes on. */
bool exchange_overlaps(const struct exchange *e);
/* From the next recording on, blocks set out during its backward pass. To be said of the last part of a step. */
void exchange_watch(struct exchange *e, tape *t);
/* Sends what has not set out yet, then `more` bytes of numbers of the same type on the device and `count` numbers of the host, and waits until
 * all are added up. */
status exchange_end(struct exchange *e, void *more, size_t more_bytes, double *numbers, size_t count);

/* Every process gets the values that rank 0 has. */
status exchange_spread(struct peers *peers, struct params *params);
#endif
