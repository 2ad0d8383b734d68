/* golden_dropblock.c - DropBlock with recorded corners: whole squares are erased. */
#include "tests/heads/case.h"
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdlib.h>

/* The recorded maps are [n, c, h, w]; ours have the channels last. */
static unsigned char *corners(const struct npy *seeds)
{
    const size_t c = seeds->dim[1], h = seeds->dim[2], w = seeds->dim[3];
    unsigned char *out = calloc(seeds->count, 1);
    for (size_t i = 0; out && i < seeds->count; i++) {
        const size_t x = i % w, y = i / w % h, k = i / w / h % c, n = i / w / h / c;
        out[((n * h + y) * w + x) * c + k] = ((const double *)seeds->data)[i] != 0;
    }
    return out;
}

static void check_values(const struct golden *g, const struct npy *input, const struct npy *seeds)
{
    struct world w;
    double *y = calloc(input->count, sizeof *y);
    unsigned char *at = corners(seeds);
    REQUIRE(y && at && rig_open(&w, g->isa, 1, g->type));
    var *x = world_constant(&w, DIMS(input->dim[0], input->dim[1], input->dim[2], input->dim[3]), input->data);
    const size_t block = (size_t)golden_number(g, "block_size", 5);
    var *dropped = op_drop_block_at(w.t, op_permute(w.t, x, (int[]){0, 2, 3, 1}), at, block);
    var *out = op_permute(w.t, dropped, (int[]){0, 3, 1, 2});
    EXPECT_OK(tape_status(w.t));
    if (out && world_read(&w, &out->value, y)) golden_expect(g, "output.npy", y, input->count);
    world_close(&w);
    free(y);
    free(at);
}

static void check_dropblock(const struct golden *g)
{
    struct npy input, seeds = {0};
    if (golden_read(g, "input.npy", &input) && golden_read(g, "seeds_mask.npy", &seeds)) {
        EXPECT_INT(seeds.type, NPY_F64);
        if (seeds.type == NPY_F64) check_values(g, &input, &seeds);
    }
    npy_free(&input);
    npy_free(&seeds);
}

TEST(drop_block_gives_the_recorded_numbers) { for_golden("dropblock", check_dropblock); }
