/* resize_fast.c - the inner loops of resizing on AVX2: the same bytes in a quarter of the time.
 *
 * A weight of 22 bits is hi 2^11 + lo. Pixels and both parts fit into 16 bits, so that one instruction multiplies and adds two
 * taps of four colours; the sums of the parts are whole numbers, and joining them at the end rounds nothing. */
#include "image/resize.h"
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

enum {
    LOW_BITS = 11,
    GROUP = 4,          /* taps: 12 bytes of a load of 16 */
    GROUP_NUMBERS = 32, /* of `split`: low parts of 2 x 8, then high parts */
    MOST_TAPS = 4096    /* 255 (2^11 - 1) of each still add up below 2^31 */
};

bool resize_fast_there(void) { return __builtin_cpu_supports("avx2"); }

status resize_split(struct resize_axis *a)
{
    if (a->most > MOST_TAPS) return OK;
    a->groups = (a->most + GROUP - 1) / GROUP;
    a->split = calloc(a->m * a->groups, GROUP_NUMBERS * sizeof *a->split);
    if (!a->split) return fail(ST_MEMORY, "no memory to resize to %zu places", a->m);
    for (size_t i = 0; i < a->m; i++)
        for (size_t x = 0; x < a->n[i]; x++) {
            const int32_t w = a->weight[i * a->most + x];
            int16_t *to = a->split + (i * a->groups + x / GROUP) * GROUP_NUMBERS + x % GROUP / 2 * 8 + x % 2;
            for (int colour = 0; colour < 3; colour++) {
                to[2 * colour] = (int16_t)(w & ((1 << LOW_BITS) - 1));
                to[16 + 2 * colour] = (int16_t)(w >> LOW_BITS);
            }
        }
    return OK;
}

/* One pixel as numbers r, g, b, 0. */
__attribute__((target("avx2"))) static inline __m128i pixel(const uint8_t *from, const int16_t *split, size_t groups)
{
    /* bytes of four pixels to words: r r g g b b - - of the first two, then of the others */
    const __m256i spread = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, 6, -1, 9, -1, 7,
                                            -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
    __m256i low = _mm256_setzero_si256(), high = low;
    for (size_t g = 0; g < groups; g++, from += 3 * GROUP, split += GROUP_NUMBERS) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
        const __m256i words = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), spread);
        const __m256i *w = (const __m256i *)(const void *)split;
        low = _mm256_add_epi32(low, _mm256_madd_epi16(words, _mm256_loadu_si256(w)));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(words, _mm256_loadu_si256(w + 1)));
    }
    const __m256i sum = _mm256_add_epi32(low, _mm256_slli_epi32(high, LOW_BITS));
    const __m128i both = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    return _mm_srai_epi32(_mm_add_epi32(both, _mm_set1_epi32(1 << (RESIZE_BITS - 1))), RESIZE_BITS);
}

__attribute__((target("avx2"))) void resize_across_fast(const struct resize_axis *a, const uint8_t *row, size_t room,
                                                        uint8_t *to)
{
    for (size_t i = 0; i < a->m; i++, to += 3) {
        const size_t groups = (a->n[i] + GROUP - 1) / GROUP, at = a->from[i] * 3;
        if (at + groups * 3 * GROUP + 4 > room) { /* a load would reach behind the picture */
            const struct resize_axis one = {1, a->most, a->from + i, a->n + i, a->weight + i * a->most, NULL, 0, false};
            resize_across(&one, row, to);
            continue;
        }
        const __m128i p = pixel(row + at, a->split + i * a->groups * GROUP_NUMBERS, groups);
        const int bytes = _mm_cvtsi128_si32(_mm_packus_epi16(_mm_packs_epi32(p, p), p));
        memcpy(to, &bytes, 3);
    }
}

/* Sixteen bytes of a row of the output. */
__attribute__((target("avx2"))) static inline void sixteen(const int32_t *weight, size_t taps, const uint8_t *from,
                                                           size_t stride, uint8_t *to)
{
    __m256i left = _mm256_set1_epi32(1 << (RESIZE_BITS - 1)), right = left;
    for (size_t y = 0; y < taps; y++, from += stride) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
        const __m256i w = _mm256_set1_epi32(weight[y]);
        left = _mm256_add_epi32(left, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(bytes), w));
        right = _mm256_add_epi32(right, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)), w));
    }
    left = _mm256_srai_epi32(left, RESIZE_BITS);
    right = _mm256_srai_epi32(right, RESIZE_BITS);
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(left, right), 0xd8); /* packs works in halves */
    const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i *)(void *)to, bytes);
}

__attribute__((target("avx2"))) void resize_down_fast(const struct resize_axis *a, size_t i, const uint8_t *rows,
                                                      size_t bytes, int32_t *sum, uint8_t *to)
{
    const int32_t *weight = a->weight + i * a->most;
    if (bytes < 16) {
        resize_down(a, i, rows, bytes, sum, to);
        return;
    }
    for (size_t x = 0; x < bytes; x += 16) {
        const size_t at = x + 16 <= bytes ? x : bytes - 16; /* the last sixteen overlap those before */
        sixteen(weight, a->n[i], rows + a->from[i] * bytes + at, bytes, to + at);
    }
}

#else

bool resize_fast_there(void) { return false; }

status resize_split(struct resize_axis *a)
{
    (void)a;
    return OK;
}

void resize_across_fast(const struct resize_axis *a, const uint8_t *row, size_t room, uint8_t *to)
{
    (void)room;
    resize_across(a, row, to);
}

void resize_down_fast(const struct resize_axis *a, size_t i, const uint8_t *rows, size_t bytes, int32_t *sum,
                      uint8_t *to)
{
    resize_down(a, i, rows, bytes, sum, to);
}

#endif
