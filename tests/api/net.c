/* net.c - networks through centra.h: parameters from a folder, features by hand, batches, refusals, failing allocations. */
#include "base/file.h"
#include "base/npy.h"
#include "base/text.h"
#include "centra.h"
#include "tests/api/copying.h"
#include "tests/test.h"
#include <stdlib.h>

enum { WIDTH = COPYING_WIDTH, SIDE = 32, PICTURES = 120 }; /* more than a batch */

static centra_status open_small(centra_session *s, centra_net **out)
{
    const centra_option width = {"width", "2"};
    return centra_net_new(s, "conv4", &width, 1, CENTRA_F64, 1, out);
}

TEST(net_encodes_as_by_hand_and_in_batches_as_alone)
{
    static double pictures[PICTURES][3][SIDE * SIDE];
    centra_session *s = NULL;
    centra_net *net = NULL;
    const void *features;
    size_t dim[4];
    for (size_t n = 0; n < PICTURES; n++)
        for (size_t c = 0; c < 3; c++)
            for (size_t i = 0; i < SIDE * SIDE; i++) pictures[n][c][i] = c == 0 ? (double)n - 10 : 77;
    REQUIRE(copying_weights(test_folder()));
    REQUIRE(centra_session_open(NULL, &s) == CENTRA_OK);
    EXPECT_OK((status)open_small(s, &net));
    EXPECT_OK((status)centra_net_load(net, test_folder()));
    EXPECT_OK((status)centra_net_encode(net, pictures, PICTURES, SIDE, SIDE, &features, dim));
    EXPECT(dim[0] == PICTURES && dim[1] == WIDTH && dim[2] == 2 && dim[3] == 2);
    for (size_t n = 0; n < PICTURES; n++) {
        const double v = ((double)n - 10) / (1.00001 * 1.00001); /* four norms */
        const double wanted = v > 0 ? v : v * 0.2 * 0.2 * 0.2 * 0.2;
        for (size_t i = 0; i < WIDTH * 4; i++)
            EXPECT_NEAR(((const double *)features)[n * WIDTH * 4 + i], wanted, 1e-12);
    }
    double all[WIDTH * 4];
    memcpy(all, (const double *)features + 117 * WIDTH * 4, sizeof all);
    EXPECT_OK((status)centra_net_encode(net, pictures[117], 1, SIDE, SIDE, &features, dim));
    EXPECT(dim[0] == 1 && !memcmp(features, all, sizeof all));
    centra_net_free(net);
    centra_session_close(s);
}

TEST(net_that_has_encoded_encodes_with_the_weights_it_loads)
{
    static double picture[3 * SIDE * SIDE], wanted[WIDTH * 4];
    centra_session *s = NULL;
    centra_net *net = NULL, *fresh = NULL;
    const void *features;
    size_t dim[4];
    for (size_t i = 0; i < sizeof picture / sizeof *picture; i++) picture[i] = (double)(i % 97) - 40;
    REQUIRE(copying_weights(test_folder()));
    REQUIRE(centra_session_open(NULL, &s) == CENTRA_OK);
    EXPECT_OK((status)open_small(s, &net));
    EXPECT_OK((status)open_small(s, &fresh));
    EXPECT_OK((status)centra_net_load(fresh, test_folder()));
    EXPECT_OK((status)centra_net_encode(fresh, picture, 1, SIDE, SIDE, &features, dim));
    memcpy(wanted, features, sizeof wanted);
    for (int i = 0; i < 12; i++) /* so often that weights are kept in the device's form */
        EXPECT_OK((status)centra_net_encode(net, picture, 1, SIDE, SIDE, &features, dim));
    EXPECT(memcmp(features, wanted, sizeof wanted) != 0);
    EXPECT_OK((status)centra_net_load(net, test_folder()));
    EXPECT_OK((status)centra_net_encode(net, picture, 1, SIDE, SIDE, &features, dim));
    EXPECT(memcmp(features, wanted, sizeof wanted) == 0);
    centra_net_free(net);
    centra_net_free(fresh);
    centra_session_close(s);
}

TEST(net_refuses_in_words)
{
    const centra_option wrong = {"witdh", "2"};
    static double small[3 * 15 * 15];
    centra_session *s = NULL;
    centra_net *net = NULL;
    const void *features;
    size_t dim[4];
    REQUIRE(centra_session_open(NULL, &s) == CENTRA_OK);
    EXPECT_STATUS((status)centra_net_new(s, "con4", NULL, 0, CENTRA_F32, 1, &net), ST_USAGE);
    EXPECT_TEXT(centra_message(), "there is no network 'con4'; did you mean 'conv4'?");
    EXPECT_STATUS((status)centra_net_new(s, "conv4", &wrong, 1, CENTRA_F32, 1, &net), ST_USAGE);
    EXPECT_TEXT(centra_message(), "unknown option --net.witdh, did you mean --net.width?");
    EXPECT_STATUS((status)centra_net_new(s, NULL, NULL, 0, CENTRA_F32, 1, &net), ST_USAGE);
    REQUIRE(open_small(s, &net) == CENTRA_OK);
    EXPECT(centra_net_load(net, "/nonexistent") == CENTRA_IO);
    EXPECT(centra_net_encode(net, small, 1, 15, 15, &features, dim) == CENTRA_SHAPE); /* 15 pixels leave no map */
    EXPECT(centra_net_encode(net, small, 0, 15, 15, &features, dim) == CENTRA_SHAPE);
    EXPECT(centra_net_encode(net, NULL, 1, 15, 15, &features, dim) == CENTRA_USAGE);
    centra_net_info info;
    EXPECT(centra_net_describe(centra_net_count(), &info) == CENTRA_USAGE && centra_net_count() == 6);
    centra_net_free(net);
    centra_session_close(s);
}

TEST(net_survives_failing_allocations)
{
    static const double picture[3 * 16 * 16];
    REQUIRE(copying_weights(test_folder()));
    const size_t live = alloc_live();
    for (size_t n = 1;; n++) {
        centra_session *s = NULL;
        centra_net *net = NULL;
        const void *features;
        size_t dim[4];
        REQUIRE(n < 10000 && centra_session_open(NULL, &s) == CENTRA_OK);
        alloc_fail_at(n);
        centra_status st = open_small(s, &net);
        if (st == CENTRA_OK) st = centra_net_load(net, test_folder());
        if (st == CENTRA_OK) st = centra_net_encode(net, picture, 1, 16, 16, &features, dim);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS((status)st, failed ? ST_MEMORY : OK);
        centra_net_free(net);
        centra_session_close(s);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
    }
}

TEST(net_drill_trains_and_infers_without_allocating_and_learns_nothing)
{
    centra_session *s = NULL;
    centra_net *net = NULL;
    centra_net_drill *drill = NULL;
    static double picture[3 * SIDE * SIDE];
    const void *features;
    double before[2];
    size_t dim[4];
    for (size_t i = 0; i < 3 * SIDE * SIDE; i++) picture[i] = (double)(i % 17);
    for (int train = 0; train < 2; train++) {
        REQUIRE(centra_session_open(NULL, &s) == CENTRA_OK);
        EXPECT_OK((status)open_small(s, &net));
        EXPECT_OK((status)centra_net_encode(net, picture, 1, SIDE, SIDE, &features, dim));
        memcpy(before, features, sizeof before);
        EXPECT_OK((status)centra_net_drill_new(net, 3, SIDE, SIDE, train, &drill));
        for (int i = 0; i < 2; i++) EXPECT_OK((status)centra_net_drill_run(drill, 1));
        const size_t count = alloc_count();
        for (int i = 0; i < 3; i++) EXPECT_OK((status)centra_net_drill_run(drill, 1));
        EXPECT_INT(alloc_count(), count);
        EXPECT_OK((status)centra_net_encode(net, picture, 1, SIDE, SIDE, &features, dim));
        EXPECT(!memcmp(before, features, sizeof before) == !train); /* training moves the running statistics */
        centra_net_drill_free(drill);
        centra_net_free(net);
        centra_session_close(s);
    }
    EXPECT_STATUS((status)centra_net_drill_run(NULL, 1), ST_USAGE);
}
