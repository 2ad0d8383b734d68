/* mirror.c - mirror images as second shots, as recorded. */
#include "heads/mirror.h"
#include "tests/heads/case.h"
#include "tests/heads/rig.h"
#include "tests/test.h"

static void check_flip(const struct golden *g)
{
    struct world w;
    struct npy support, labels, doubled;
    double seen[256];
    REQUIRE(golden_read(g, "support.npy", &support) && golden_read(g, "support_labels.npy", &labels) &&
            golden_read(g, "augmented_labels.npy", &doubled) && rig_open(&w, g->isa, 1, DT_F64));
    const var *both = mirror_beside(w.t, world_constant(&w, support.rank, support.dim, support.data));
    EXPECT_OK(tape_status(w.t));
    struct npy wanted;
    REQUIRE(both && golden_read(g, "augmented.npy", &wanted));
    REQUIRE(tensor_count(&both->value) == wanted.count && wanted.count <= 256 && world_read(&w, &both->value, seen));
    EXPECT(!memcmp(seen, wanted.data, wanted.count * sizeof *seen));
    for (size_t i = 0; i < doubled.count; i++) /* each label twice, one behind the other */
        EXPECT_INT(((int64_t *)doubled.data)[i], ((int64_t *)labels.data)[i / 2]);
    world_close(&w);
    npy_free(&support);
    npy_free(&labels);
    npy_free(&doubled);
    npy_free(&wanted);
}

TEST(mirror_images_stand_beside_their_pictures_as_recorded) { for_golden("dsn_flip", check_flip); }

TEST(mirror_images_are_for_dsn_at_one_shot)
{
    for (size_t i = 0; head_table[i]; i++) {
        EXPECT_INT(mirror_wanted(head_table[i], 1), !strncmp(head_table[i]->name, "dsn", 3));
        EXPECT(!mirror_wanted(head_table[i], 2));
    }
    EXPECT(!mirror_wanted(NULL, 1));
}
