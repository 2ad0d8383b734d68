/* resize.h - one axis of a resizing, and the two inner loops over it: plain, and on vectors where the processor has them.
 *
 * Both give the same bytes. Only src/image/resize*.c need this; everybody else calls picture_resize. */
#ifndef IMAGE_RESIZE_H
#define IMAGE_RESIZE_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RESIZE_BITS = 22
}; /* of a weight behind the point: 32 less 8 of the pixel and 2 spare; Pillow's PRECISION_BITS */

/* The taps of a stretch of the output's places. */
struct resize_axis {
    size_t m;         /* places of the stretch */
    size_t most;      /* taps, at most */
    size_t *from, *n; /* owned, [m]: the stretch of the input under each */
    int32_t *weight;  /* owned, [m, most] */
    int16_t *split;   /* owned: the weights as resize_fast.c wants them; NULL: not asked for, or too many taps */
    size_t groups;    /* of `split`, for each place */
    bool plain;       /* weights may be below 0, which the loops on vectors do not take */
};

/* One row of RGB: a->m pixels from those at `row`, behind which `room` bytes may be read. */
void resize_across(const struct resize_axis *a, const uint8_t *row, uint8_t *to);
void resize_across_fast(const struct resize_axis *a, const uint8_t *row, size_t room, uint8_t *to);
/* Row i of the output from rows of so many bytes; `sum` has room for as many numbers. */
void resize_down(const struct resize_axis *a, size_t i, const uint8_t *rows, size_t bytes, int32_t *sum, uint8_t *to);
void resize_down_fast(const struct resize_axis *a, size_t i, const uint8_t *rows, size_t bytes, int32_t *sum,
                      uint8_t *to);

bool resize_fast_there(void);
/* Fills a->split, which only resize_across_fast needs. */
status resize_split(struct resize_axis *a);

static inline uint8_t resize_byte(int32_t sum)
{
    const int32_t v = sum >> RESIZE_BITS;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}
#endif
