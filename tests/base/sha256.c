/* Tests of base/sha256.h. */
#include "base/sha256.h"
#include "base/sha256_fast.h"
#include "tests/test.h"

static const char *hash(const void *bytes, size_t n, char hex[65])
{
    struct sha256 s;
    sha256_begin(&s);
    sha256_add(&s, bytes, n);
    sha256_end(&s, hex);
    return hex;
}

TEST(sha256_gives_the_published_hashes)
{
    char hex[65];
    EXPECT_TEXT(hash("", 0, hex), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_TEXT(hash("abc", 3, hex), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    EXPECT_TEXT(hash(two, strlen(two), hex), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(sha256_of_a_million_letters_given_in_uneven_pieces)
{
    char a[997], hex[65];
    struct sha256 s;
    memset(a, 'a', sizeof a);
    sha256_begin(&s);
    for (size_t left = 1000000, n = 1; left; n = n * 7 % sizeof a) {
        size_t part = n < left ? n : left;
        sha256_add(&s, a, part);
        left -= part;
    }
    sha256_end(&s, hex);
    EXPECT_TEXT(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(sha256_does_not_depend_on_how_the_bytes_are_cut)
{
    /* of n times 'x', from another implementation: the lengths at which the padding changes its form */
    static const struct {
        size_t n;
        const char *hex;
    } cases[] = {
        {1, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"},
        {55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
        {56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
        {63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
        {64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
        {65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
        {119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
        {120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
        {128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464"},
    };
    char x[130], hex[65];
    memset(x, 'x', sizeof x);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPECT_TEXT(hash(x, cases[i].n, hex), cases[i].hex);
        for (size_t cut = 0; cut <= cases[i].n; cut++) {
            struct sha256 s;
            sha256_begin(&s);
            sha256_add(&s, x, cut);
            sha256_add(&s, x + cut, cases[i].n - cut);
            sha256_end(&s, hex);
            EXPECT_TEXT(hex, cases[i].hex);
        }
    }
}

/* The two ways of taking a block, on the same random bytes. */
TEST(sha256_is_the_same_with_and_without_the_processors_instructions)
{
    uint8_t bytes[640];
    uint32_t fast[8], plain[8];
    struct random r = test_random();
    if (!sha256_fast_there()) {
        test_skip("this processor has no instructions for SHA-256");
        return;
    }
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)random_below(&r, 256);
    for (size_t i = 0; i < 8; i++) fast[i] = plain[i] = random_u32(&r);
    sha256_fast(fast, bytes, 10, sha256_constants);
    for (size_t i = 0; i < 10; i++) sha256_block(plain, bytes + 64 * i);
    EXPECT(!memcmp(fast, plain, sizeof fast));
}
