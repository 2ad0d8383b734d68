/* stock.h - a set's pictures on a device as bytes, decoded once, and shown to a network from there.
 *
 * What is kept is what the transform does to every showing alike: resized pictures, or those of the deterministic form,
 * else the pictures themselves. The rest, which depends on chance, is drawn on the host (image/plan.c), 56 bytes a
 * picture, and carried out by the device's primitives: the numbers are those of the loader, bit for bit. A picture that
 * cannot be read is known from the beginning, and replaced as in the loader. */
#ifndef DATA_STOCK_H
#define DATA_STOCK_H
#include "base/pool.h"
#include "data/loader.h"
#include "tensor/device.h"

struct stock;

struct stock_options {
    const struct transform *transform;
    bool random;                /* training: draws; else the deterministic form */
    bool strict;                /* a picture that cannot be read is an error; else it is warned about */
    pool *threads;              /* that decode */
    size_t most_bytes;          /* of device memory; 0: half of what is free */
    const struct log_sink *log; /* warnings; NULL: nobody */
};
/* Decodes everything; the data set and the device are borrowed. OK with *out NULL: the pictures take too much memory. */
status stock_new(const struct dataset *d, struct device *dev, const struct stock_options *o, struct stock **out);
void stock_free(struct stock *s);
size_t stock_bytes(const struct stock *s);               /* of device memory */
bool stock_has(const struct stock *s, size_t picture);   /* it could be read */
const struct dataset *stock_data(const struct stock *s); /* that it was made from */

/* How a picture, or the readable one of its class that stands in, is shown this time. */
status stock_plan(const struct stock *s, const struct load_item *item, struct picture_item *out);
/* `items` are device memory, one for each picture of y: [n, 3, side, side], or [n, side, side, 3] with channels last. */
status stock_show(const struct stock *s, const struct picture_item *items, bool channels_last, tensor *y);
#endif
