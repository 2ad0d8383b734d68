/* head_drill.c - a head's drill scores again and again, allocates nothing, and leaves the head as it was. */
#include "tests/api/sample.h"
#include "tests/test.h"

TEST(head_drill_scores_without_allocating_and_changes_no_result)
{
    const struct sample_shape shape = {3, 2, 5, 16, 9, CENTRA_F32};
    for (int gradients = 0; gradients < 2; gradients++) {
        struct desk d;
        struct sample before, after;
        centra_head_drill *drill = NULL;
        REQUIRE(desk_open(&d, "mcl-katz", NULL, 1) && sample_make(&shape, 1, &before) &&
                sample_make(&shape, 1, &after));
        EXPECT_OK((status)centra_head_score(d.head, &before.e, &before.r));
        EXPECT_OK((status)centra_head_drill_new(d.head, &before.e, gradients, &drill));
        EXPECT_OK((status)centra_head_drill_pass(drill, 2));
        const size_t count = alloc_count();
        EXPECT_OK((status)centra_head_drill_pass(drill, 3));
        EXPECT_INT(alloc_count(), count);
        centra_head_drill_free(drill);
        EXPECT_OK((status)centra_head_score(d.head, &after.e, &after.r));
        EXPECT(sample_same(&before, &after));
        sample_free(&before);
        sample_free(&after);
        desk_close(&d);
    }
}

TEST(head_drill_refuses_what_scoring_refuses)
{
    const struct sample_shape shape = {3, 1, 2, 8, 4, CENTRA_F32};
    struct desk d;
    struct sample x;
    centra_head_drill *drill = NULL;
    REQUIRE(desk_open(&d, "mcl-katz", NULL, 1) && sample_make(&shape, 1, &x));
    x.e.query_labels = NULL;
    EXPECT_STATUS((status)centra_head_drill_new(d.head, &x.e, 1, &drill), ST_USAGE);
    EXPECT_STATUS((status)centra_head_drill_new(d.head, NULL, 0, &drill), ST_USAGE);
    EXPECT_STATUS((status)centra_head_drill_pass(NULL, 1), ST_USAGE);
    EXPECT(drill == NULL);
    sample_free(&x);
    desk_close(&d);
}
