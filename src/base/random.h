/* random.h - random numbers by counter: the number is a function of (seed, stream, index) and nothing else.
 *
 * So episode i, or picture j's crop, is the same on every device, with any number of threads and after a resume.
 * Philox 4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H
#include <stdint.h>

/* One block of four words for counter and key, as in the paper. */
void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* A cursor over one stream: draw i gives the i-th number. Copy it to branch, set `index` to jump. */
struct random {
    uint64_t seed, stream, index;
};

/* The stream that belongs to number `n` among those below `parent` (its seed and stream; not its index). Chained, it gives
 * a stream to (purpose, epoch, episode, picture). */
struct random random_branch(const struct random *parent, uint64_t n);

uint32_t random_u32(struct random *r);
uint64_t random_u64(struct random *r);
uint64_t random_below(struct random *r,
                      uint64_t n);      /* uniform on 0..n-1 without bias; n > 0; draws as often as needed */
double random_unit(struct random *r);   /* [0, 1), 53 bits */
double random_normal(struct random *r); /* mean 0, variance 1; always uses two draws of 64 bits */
#endif
