/* tensorboard.h - TensorBoard's event files: scalars by name and step, for those who watch runs there.
 *
 * A file is a chain of records (length, masked CRC-32C, protobuf message, masked CRC-32C), each appended in one write. The
 * few protobuf bytes are written by hand; nothing else of TensorBoard is needed. */
#ifndef TRAIN_TENSORBOARD_H
#define TRAIN_TENSORBOARD_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

struct tensorboard;
/* Makes a new file in `folder`, named after the time (seconds since 1970) as TensorBoard wants it. */
status tensorboard_open(const char *folder, double time, struct tensorboard **out);
void tensorboard_close(struct tensorboard *t);
/* Adds one number; NaN is left out. */
status tensorboard_add(struct tensorboard *t, const char *name, uint64_t step, double time, double value);

/* CRC-32C (Castagnoli), and the form that records carry. */
uint32_t crc32c(const void *bytes, size_t n);
uint32_t crc32c_masked(const void *bytes, size_t n);
#endif
