/* parts.c - parts of a lesson: every picture once, with its label and its place, and shares that make one. */
#include "train/parts.h"
#include "tests/test.h"

enum { MOST = 60 };

static struct lesson lesson_of(size_t episodes, size_t support, size_t queries, uint32_t *picture, int32_t *labels)
{
    for (size_t i = 0; i < support + queries; i++) picture[i] = (uint32_t)(100 + i);
    for (size_t i = 0; i < queries; i++) labels[i] = (int32_t)i;
    return (struct lesson){.epoch = 3,
                           .index = 4,
                           .episodes = episodes,
                           .support = support,
                           .queries = queries,
                           .picture = picture,
                           .labels = labels,
                           .first_query = support,
                           .weight = 1};
}

static void check_parts(const struct lesson *whole, size_t parts)
{
    size_t seen[MOST] = {0}, units = 0;
    double weights = 0;
    const size_t all = whole->episodes ? whole->episodes : whole->queries;
    EXPECT_INT(lesson_parts(whole, parts), parts < all ? parts : all);
    for (size_t p = 0; p < lesson_parts(whole, parts); p++) {
        uint32_t picture[MOST];
        struct lesson l;
        lesson_part(whole, p, parts, picture, &l);
        const size_t n = l.episodes ? l.episodes : l.queries;
        EXPECT(n > 0 && l.epoch == 3 && l.index == 4 && l.part == p);
        EXPECT_NEAR(l.weight, (double)n / (double)all, 1e-15);
        for (size_t i = 0; i < l.support + l.queries; i++) {
            const size_t place = lesson_place(&l, i);
            EXPECT(place < MOST && l.picture[i] == whole->picture[place]);
            EXPECT((i < l.support) == (place < whole->support));
            if (i >= l.support) EXPECT_INT(l.labels[i - l.support], whole->labels[place - whole->support]);
            seen[place]++;
        }
        weights += l.weight;
        units += n;
    }
    EXPECT_NEAR(weights, 1, 1e-12);
    EXPECT_INT(units, all);
    for (size_t i = 0; i < whole->support + whole->queries; i++) EXPECT_INT(seen[i], 1);
}

TEST(parts_of_a_lesson_are_all_of_it_with_places_and_shares)
{
    uint32_t picture[MOST];
    int32_t labels[MOST];
    for (size_t parts = 1; parts < 8; parts++) {
        const struct lesson episodes = lesson_of(5, 5 * 3, 5 * 6, picture, labels);
        check_parts(&episodes, parts);
        const struct lesson pictures = lesson_of(0, 0, 9, picture, labels);
        check_parts(&pictures, parts);
    }
}
