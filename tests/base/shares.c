/* Tests of base/shares.h. */
#include "tests/test.h"
#include "base/shares.h"
#include <stdlib.h>

enum { MOST_THREADS = 9, MOST_PIECES = 40 };

TEST(shares_are_stretches_in_order_that_differ_by_one_at_most)
{
    struct share *s = shares_new(MOST_THREADS);
    REQUIRE(s);
    for (size_t threads = 1; threads <= MOST_THREADS; threads++)
        for (size_t pieces = 0; pieces <= MOST_PIECES; pieces++) {
            shares_deal(s, threads, pieces);
            size_t from = 0;
            for (size_t i = 0; i < threads; i++) {
                EXPECT_INT(s[i].next, from);
                EXPECT_INT(s[i].end - from, pieces / threads + (i < pieces % threads));
                from = s[i].end;
            }
            EXPECT_INT(from, pieces);
        }
    free(s);
}

TEST(shares_are_taken_front_to_back_then_those_of_the_next_thread)
{
    static const size_t wanted[] = {4, 5, 6, 7, 8, 9, 0, 1, 2, 3}; /* 10 for 3 threads: 0 to 3, 4 to 6, 7 to 9 */
    struct share *s = shares_new(3);
    REQUIRE(s);
    shares_deal(s, 3, 10);
    size_t whose = 0, piece;
    for (size_t i = 0; i < 10; i++) {
        EXPECT(shares_take(s, 3, 1, &whose, &piece));
        EXPECT_INT(piece, wanted[i]);
    }
    EXPECT(!shares_take(s, 3, 1, &whose, &piece));
    free(s);
}

TEST(shares_are_shared_with_who_helps)
{
    struct share *s = shares_new(2);
    REQUIRE(s);
    shares_deal(s, 2, 5); /* 0 to 2, 3 and 4 */
    size_t first = 0, second = 0, piece;
    for (size_t i = 3; i < 5; i++) EXPECT(shares_take(s, 2, 1, &second, &piece) && piece == i);
    EXPECT(shares_take(s, 2, 1, &second, &piece) && piece == 0);
    EXPECT(shares_take(s, 2, 0, &first, &piece) && piece == 1);
    EXPECT(shares_take(s, 2, 1, &second, &piece) && piece == 2);
    EXPECT(!shares_take(s, 2, 0, &first, &piece));
    EXPECT(!shares_take(s, 2, 1, &second, &piece));
    free(s);
}

TEST(shares_of_nothing_are_empty)
{
    struct share *s = shares_new(4);
    REQUIRE(s);
    size_t whose = 0, piece;
    EXPECT(!shares_take(s, 4, 2, &whose, &piece));
    free(s);
}
