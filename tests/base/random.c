/* Tests of base/random.h. */
#include "tests/test.h"

TEST(random_philox_gives_the_published_words)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        /* kat_vectors of the authors' Random123 */
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t out[4];
        philox(known[i].counter, known[i].key, out);
        for (size_t k = 0; k < 4; k++) EXPECT_INT(out[k], known[i].out[k]);
    }
}

TEST(random_draw_i_is_word_i_of_the_stream)
{
    struct random r = {.seed = UINT64_C(0x299f31d0a4093822),
                       .stream = UINT64_C(0x0370734413198a2e),
                       .index = UINT64_C(0x05a308d3243f6a88) * 4};
    uint32_t counter[4] = {0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, key[2] = {0xa4093822, 0x299f31d0}, out[4];
    philox(counter, key, out);
    for (size_t k = 0; k < 4; k++) EXPECT_INT(random_u32(&r), out[k]);
    struct random zero = {0}, jump = {.index = 3};
    for (int i = 0; i < 3; i++) random_u32(&zero);
    EXPECT_INT(random_u32(&zero), random_u32(&jump));
    EXPECT_INT(zero.index, 4);
}

TEST(random_u64_is_two_draws_of_32_bits)
{
    for (uint64_t start = 0; start < 5; start++) { /* also across a block's end */
        struct random a = {.seed = 5, .stream = 6, .index = start}, b = a;
        uint64_t low = random_u32(&b), high = random_u32(&b);
        EXPECT(random_u64(&a) == (high << 32 | low));
        EXPECT_INT(a.index, b.index);
    }
}

TEST(random_streams_and_seeds_differ)
{
    struct random a = {.seed = 1, .stream = 0}, b = {.seed = 2, .stream = 0}, c = {.seed = 1, .stream = 1};
    uint64_t x = random_u64(&a), y = random_u64(&b), z = random_u64(&c);
    EXPECT(x != y && y != z && x != z);
}

TEST(random_below_is_even)
{
    struct random r = {.seed = 7};
    enum { N = 6, DRAWS = 60000 };
    int seen[N] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = random_below(&r, N);
        REQUIRE(x < N);
        seen[x]++;
    }
    for (int i = 0; i < N; i++) EXPECT_NEAR(seen[i], DRAWS / N, 500); /* 5.5 standard deviations */
    EXPECT_INT(random_below(&r, 1), 0);
    uint64_t large = UINT64_C(3) << 62; /* a third of all words must be drawn again */
    double mean = 0;
    for (int i = 0; i < 4000; i++) {
        uint64_t x = random_below(&r, large);
        REQUIRE(x < large);
        mean += (double)x / (double)large / 4000;
    }
    EXPECT_NEAR(mean, 0.5, 0.025);
    EXPECT(r.index > (DRAWS + 4000) * 2 + 1000);
}

TEST(random_unit_has_the_moments_of_the_uniform_law)
{
    struct random r = {.seed = 8};
    enum { N = 100000 };
    double mean = 0, square = 0;
    for (int i = 0; i < N; i++) {
        double u = random_unit(&r);
        REQUIRE(u >= 0 && u < 1);
        mean += u / N;
        square += u * u / N;
    }
    EXPECT_NEAR(mean, 0.5, 0.005);
    EXPECT_NEAR(square, 1.0 / 3, 0.005);
}

TEST(random_normal_has_the_moments_of_the_normal_law)
{
    struct random r = {.seed = 9};
    enum { N = 100000 };
    double m1 = 0, m2 = 0, m4 = 0;
    for (int i = 0; i < N; i++) {
        double z = random_normal(&r);
        REQUIRE(isfinite(z));
        m1 += z / N;
        m2 += z * z / N;
        m4 += z * z * z * z / N;
    }
    EXPECT_NEAR(m1, 0, 0.016); /* 5 standard deviations each */
    EXPECT_NEAR(m2, 1, 0.023);
    EXPECT_NEAR(m4, 3, 0.16);
    EXPECT_INT(r.index, 4 * N); /* two draws of 64 bits, always */
}

TEST(random_branches_are_streams_of_their_own)
{
    struct random root = {.seed = 3}, moved = root;
    random_u64(&moved);
    struct random a = random_branch(&root, 0), b = random_branch(&root, 1), c = random_branch(&a, 1), again;
    EXPECT(a.seed == 3 && a.index == 0);
    EXPECT(a.stream != b.stream && b.stream != c.stream && a.stream != c.stream && a.stream != root.stream);
    again = random_branch(&moved, 1); /* how far the parent has drawn plays no part */
    EXPECT(again.stream == b.stream);
}
