/* extract.c - extractors by name, and the vectors of a grid's cells: a recorded run, gradients, refusals. */
#include "nets/extract.h"
#include "tests/heads/case.h"
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdlib.h>

TEST(extractors_are_read_from_their_names)
{
    struct extractor e = {0};
    EXPECT_OK(extractor_parse("map", &e));
    EXPECT_INT(e.kind, EXTRACT_MAP);
    EXPECT_INT(extractor_cells(&e), 1);
    EXPECT_OK(extractor_parse("pyramid-5,3", &e));
    EXPECT_INT(e.kind, EXTRACT_PYRAMID);
    EXPECT_INT(e.count, 2);
    EXPECT_INT(e.sizes[0], 5);
    EXPECT_INT(e.sizes[1], 3);
    EXPECT_INT(extractor_cells(&e), 1);
    EXPECT_OK(extractor_parse("grid-3,2", &e));
    EXPECT_INT(e.kind, EXTRACT_GRID);
    EXPECT_INT(extractor_cells(&e), 13);
    EXPECT_OK(extractor_parse("grid-1,2,3,4,5,6,7,16", &e));
    EXPECT_INT(e.count, 8);
}

TEST(extractors_have_the_names_that_they_are_read_from)
{
    static const char *const names[] = {"map", "pyramid-5,3", "grid-3,2", "grid-1,2,3,4,5,6,7,16"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct extractor e = {EXTRACT_MAP, 0, {0}};
        text t = {0};
        EXPECT_OK(extractor_parse(names[i], &e));
        extractor_add_name(&e, &t);
        EXPECT_TEXT(text_string(&t), names[i]);
        text_free(&t);
        if (i >= EXTRACT_KINDS) continue;
        EXPECT_INT(e.kind, i);
        EXPECT_TEXT(extract_table[i].name, names[i]);
    }
}

TEST(what_is_no_extractor_is_refused_by_its_text)
{
    static const char *const wrong[] = {
        "",          "maps",    "grid",     "grid-",     "grid-0",    "grid-3,",    "grid-3,,2",
        "grid-3 ,2", "grid-17", "pyramid5", "pyramid-x", "grid-3,2x", "pyramid--1", "grid-1,1,1,1,1,1,1,1,1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct extractor e = {EXTRACT_MAP, 99, {0}};
        EXPECT_INT(extractor_parse(wrong[i], &e), ST_USAGE);
        EXPECT(strstr(error_text(), "is no extractor; use map"));
        EXPECT_INT(e.count, 99); /* untouched */
    }
}

static void check_grid(const struct golden *g)
{
    struct world w;
    struct npy encoded;
    struct extractor e;
    if (!golden_read(g, "encoded.npy", &encoded)) return;
    EXPECT_OK(extractor_parse("grid-2,3", &e));
    REQUIRE(rig_open(&w, g->isa, 2, g->type));
    var *y = extract(w.t, &e, world_constant(&w, 4, encoded.dim, encoded.data));
    EXPECT_OK(tape_status(w.t));
    if (y) {
        double seen[2 * 4 * 13];
        EXPECT_INT(y->value.rank, 4);
        EXPECT_INT(y->value.dim[2], 13);
        EXPECT_INT(y->value.dim[3], 1);
        if (tensor_count(&y->value) == 2 * 4 * 13 && world_read(&w, &y->value, seen))
            golden_expect(g, "features.npy", seen, 2 * 4 * 13);
        else test_failed(__FILE__, __LINE__, "the features cannot be read");
    }
    world_close(&w);
    npy_free(&encoded);
}

TEST(grid_gives_the_recorded_vectors) { for_golden("grid", check_grid); }

/* Each cell's vector is a mean over its map, so a gradient of 1 spreads evenly over the cell's locations. */
TEST(gradients_of_a_grid_spread_over_their_cell)
{
    struct world w;
    double in[4 * 2 * 6], grad[4 * 2 * 6], pick[1 * 2 * 4] = {0};
    for (size_t i = 0; i < 48; i++) in[i] = (double)i;
    pick[1 * 4 + 2] = 1; /* channel 1 of cell 2 */
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    var *x = world_leaf(&w, 4, (size_t[]){4, 2, 2, 3}, in);
    var *y = extract_grid(w.t, x, 4);
    var *value = y ? op_sum(w.t, op_mul(w.t, y, world_constant(&w, 4, y->value.dim, pick)), 15, DROP_AXES) : NULL;
    EXPECT_OK(value ? tape_backward(w.t, value) : tape_status(w.t));
    if (value && world_read(&w, &x->grad, grad))
        for (size_t i = 0; i < 48; i++) EXPECT_NEAR(grad[i], i / 6 == 2 * 2 + 1 ? 1.0 / 6 : 0, 1e-15);
    world_close(&w);
}

TEST(maps_that_are_no_whole_grid_are_refused)
{
    struct world w;
    double in[5 * 4] = {0};
    REQUIRE(rig_open(&w, NULL, 1, DT_F32));
    EXPECT(!extract_grid(w.t, world_constant(&w, 4, (size_t[]){5, 1, 2, 2}, in), 4));
    EXPECT_INT(tape_status(w.t), ST_SHAPE);
    EXPECT(strstr(error_text(), "a grid of 4 cells needs maps"));
    world_close(&w);
}
