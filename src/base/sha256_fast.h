/* sha256_fast.h - the block step of SHA-256 in the processor's own instructions. Only base/sha256.c needs it. */
#ifndef BASE_SHA256_FAST_H
#define BASE_SHA256_FAST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sha256_fast_there(void);
/* Takes whole blocks into the state; to be called only where it is there. */
void sha256_fast(uint32_t state[8], const uint8_t *bytes, size_t blocks, const uint32_t constant[64]);

/* sha256.c: the same for one block in plain C, and the constants of the rounds. */
void sha256_block(uint32_t state[8], const uint8_t block[64]);
extern const uint32_t sha256_constants[64];
#endif
