/* tar_write.h - tars made block by block, good ones and bad. */
#ifndef TESTS_DATA_TAR_WRITE_H
#define TESTS_DATA_TAR_WRITE_H
#include "base/text.h"

/* Adds a header and its data, padded. `magic` has 8 bytes: USTAR or GNU. */
#define USTAR "ustar\00000"
#define GNU "ustar  \0"
void tar_add(text *t, const char *magic, char type, const char *name, const void *data, size_t n);
/* Like tar_add with a 2 x 2 picture of that grey. */
void tar_grey(text *t, const char *name, int grey);
void tar_end(text *t); /* two empty blocks */
/* Computes the checksum of the header at that byte again, after a change. */
void tar_sum(text *t, size_t at);
#endif
