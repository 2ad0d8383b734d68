/* random.c - Philox 4x32-10 and what is drawn from it. Word i of a stream is word i % 4 of block i / 4. */
#include "base/random.h"
#include <assert.h>
#include <math.h>

/* Multipliers and key increments of the paper (section 3.3). */
#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * c0, p1 = (uint64_t)PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The block that holds word `index`. */
static void block_at(const struct random *r, uint64_t index, uint32_t out[4])
{
    uint64_t block = index / 4;
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)r->stream, (uint32_t)(r->stream >> 32)};
    uint32_t key[2] = {(uint32_t)r->seed, (uint32_t)(r->seed >> 32)};
    philox(counter, key, out);
}

struct random random_branch(const struct random *parent, uint64_t n)
{
    /* Another key than the parent's own draws have, so that no stream's name is among them. */
    const uint32_t key[2] = {(uint32_t)parent->seed ^ PHILOX_W1, (uint32_t)(parent->seed >> 32) ^ PHILOX_W0};
    const uint32_t counter[4] = {(uint32_t)n, (uint32_t)(n >> 32), (uint32_t)parent->stream,
                                 (uint32_t)(parent->stream >> 32)};
    uint32_t out[4];
    philox(counter, key, out);
    return (struct random){.seed = parent->seed, .stream = (uint64_t)out[1] << 32 | out[0]};
}

uint32_t random_u32(struct random *r)
{
    uint32_t words[4];
    block_at(r, r->index, words);
    return words[r->index++ % 4];
}

uint64_t random_u64(struct random *r) /* the first word is the lower half */
{
    uint32_t words[4];
    block_at(r, r->index, words);
    uint32_t low = words[r->index++ % 4];
    if (r->index % 4 == 0) block_at(r, r->index, words);
    uint32_t high = words[r->index++ % 4];
    return (uint64_t)high << 32 | low;
}

uint64_t random_below(struct random *r, uint64_t n)
{
    assert(n > 0);
    uint64_t surplus = (0 - n) % n; /* 2^64 mod n: so many values are one too many for an even share */
    uint64_t x;
    do x = random_u64(r);
    while (x < surplus);
    return x % n;
}

double random_unit(struct random *r) { return (double)(random_u64(r) >> 11) * 0x1p-53; }

double random_normal(struct random *r) /* Box and Muller 1958; the second number of the pair is not used */
{
    double radius = sqrt(-2.0 * log(1.0 - random_unit(r)));
    return radius * cos(6.283185307179586476925 * random_unit(r));
}
