/* sha256.c - SHA-256, straight from FIPS 180-4: sections 4.1.2 (functions), 5.1.1 (padding) and 6.2.2 (rounds). */
#include "base/sha256.h"
#include "base/sha256_fast.h"
#include "base/size.h"
#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

/* The 16 words of a block, and 48 made from them. */
static void schedule(const uint8_t block[64], uint32_t w[64])
{
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

void sha256_block(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    schedule(block, w);
    for (size_t i = 0; i < 64; i++) {
        uint32_t s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25), choice = (e & f) ^ (~e & g);
        uint32_t t1 = h + s1 + choice + sha256_constants[i] + w[i];
        uint32_t s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22), majority = (a & b) ^ (a & c) ^ (b & c);
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + s0 + majority;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

static void take_blocks(uint32_t state[8], const uint8_t *bytes, size_t blocks)
{
    if (sha256_fast_there()) sha256_fast(state, bytes, blocks, sha256_constants);
    else
        for (; blocks; blocks--, bytes += 64) sha256_block(state, bytes);
}

void sha256_begin(struct sha256 *s)
{
    /* of the square roots of the first 8 primes */
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    *s = (struct sha256){0};
    memcpy(s->state, start, sizeof start);
}

void sha256_add(struct sha256 *s, const void *bytes, size_t n)
{
    const uint8_t *from = bytes;
    size_t filled = (size_t)(s->bytes % 64);
    s->bytes += n;
    while (n) {
        if (filled == 0 && n >= 64) { /* whole blocks need no copy */
            take_blocks(s->state, from, n / 64);
            from += n / 64 * 64, n %= 64;
            continue;
        }
        size_t part = size_min(n, 64 - filled);
        memcpy(s->block + filled, from, part);
        from += part, n -= part, filled += part;
        if (filled == 64) {
            take_blocks(s->state, s->block, 1);
            filled = 0;
        }
    }
}

void sha256_end(struct sha256 *s, char hex[65])
{
    static const uint8_t padding[64] = {0x80};
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)(s->bytes * 8 >> (56 - 8 * i));
    sha256_add(s, padding, 1 + (size_t)((119 - s->bytes % 64) % 64)); /* up to 8 bytes before a block's end */
    sha256_add(s, length, 8);
    for (int i = 0; i < 64; i++) hex[i] = "0123456789abcdef"[s->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = 0;
}
