/* channels.c - maps in bf16: what enters and leaves a network. */
#include "tests/ops/world.h"
#include "tests/test.h"

static bool open_f32(struct world *w) { return world_open(w, 1, DT_F32, TAPE_TRAINING); }

TEST(pictures_become_maps_of_halves_and_come_back_rounded_to_even)
{
    struct world w;
    REQUIRE(open_f32(&w));
    /* [1, 2, 1, 3]; 1 + 2^-8 lies between two halves and goes to the even one, 1 + 3 2^-8 likewise */
    var *x = world_leaf(&w, DIMS(1, 2, 1, 3), NUMBERS(1, 1.00390625, 1.01171875, -2.5, 0, 301));
    var *maps = op_channels_last(w.t, x);
    REQUIRE(maps);
    EXPECT(maps->value.type == DT_BF16);
    EXPECT_DIMS(maps->value, 1, 1, 3, 2);
    var *back = op_channels_first(w.t, maps);
    REQUIRE(back);
    EXPECT_NUMBERS(&w, back->value, 1, 1, 1.015625, -2.5, 0, 300);
    EXPECT(world_back(&w, back, NUMBERS(1, 2, 3, 4, 5, 6.03125)) == OK);
    EXPECT_NUMBERS(&w, x->grad, 1, 2, 3, 4, 5, 6.03125);
    world_close(&w);
}

TEST(only_pictures_in_f32_become_halves_and_no_other_op_takes_them)
{
    struct world w;
    REQUIRE(open_f32(&w));
    var *maps = op_channels_last(w.t, world_constant(&w, DIMS(1, 1, 1, 2), NUMBERS(1, 2)));
    REQUIRE(maps);
    EXPECT(!op_affine(w.t, maps, 2, 0));
    EXPECT(tape_status(w.t) == ST_USAGE);
    EXPECT_TEXT(error_text(), "op affine: input 1 is bf16; it must be f32 or f64");
    tape_reset(w.t, TAPE_TRAINING);
    EXPECT(!op_channels_first(w.t, world_constant(&w, DIMS(1, 1, 1, 2), NUMBERS(1, 2))));
    EXPECT(tape_status(w.t) == ST_SHAPE);
    tape_reset(w.t, TAPE_TRAINING);
    EXPECT(!op_channels_last(w.t, world_constant(&w, DIMS(1, 2), NUMBERS(1, 2))));
    EXPECT(tape_status(w.t) == ST_SHAPE);
    EXPECT_TEXT(error_text(), "op channels_last: the input is f32 [1, 2]; it must be f32 [n, c, h, w]");
    world_close(&w);
}

TEST(maps_of_halves_have_weights_in_f32)
{
    struct world w;
    REQUIRE(open_f32(&w));
    var *maps = op_channels_last(w.t, world_constant(&w, DIMS(1, 1, 1, 1), NUMBERS(1)));
    REQUIRE(maps);
    EXPECT(!op_conv2d(w.t, maps, maps, 1, 0));
    EXPECT(tape_status(w.t) == ST_SHAPE);
    EXPECT_TEXT(error_text(),
                "op conv2d: maps [1, 1, 1, 1] and weights [1, 1, 1, 1] do not fit: only maps may be bf16");
    world_close(&w);
}
