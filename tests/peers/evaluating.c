/* evaluating.c - features and episodes that several processes share: the bits of one alone. */
#include "data/dataset.h"
#include "data/hash.h"
#include "image/transform.h"
#include "tests/data/sample.h"
#include "tests/eval/rig.h"
#include "tests/peers/circle.h"
#include "tests/test.h"
#include <stdlib.h>

enum { COUNT = 103 };

struct played { /* by rank `rank` */
    int rank;
    double accuracy[2][COUNT], loss[2], half[2];
    size_t right[RIG_CLASSES], asked[RIG_CLASSES];
};

static status play(void *context, struct peers *p)
{
    struct played *out = context;
    struct stand s;
    struct outcome o[2] = {{0}};
    status st = OK;
    if (!stand_open(&s, 2, 1, 0.7)) return fail(ST_IO, "no device");
    const struct contender c[] = {stand_head("mcl-katz"), stand_head("proto")};
    const struct episodes e = {.sampler = s.sampler, .count = COUNT};
    s.o.peers = p;
    TRY(evaluate(&s.f, c, 2, &e, &s.o, o));
    for (int h = 0; h < 2 && p->rank == out->rank; h++) {
        memcpy(out->accuracy[h], o[h].accuracy, sizeof out->accuracy[h]);
        out->loss[h] = o[h].loss;
        out->half[h] = o[h].mean.half;
    }
    for (size_t i = 0; i < RIG_CLASSES && p->rank == out->rank; i++) {
        out->right[i] = o[1].right[i];
        out->asked[i] = o[1].asked[i];
    }
done:
    for (int h = 0; h < 2; h++) {
        outcome_free(&o[h]);
        free((void *)(uintptr_t)c[h].settings);
    }
    stand_close(&s);
    return st;
}

TEST(an_evaluation_gives_the_same_bits_for_any_number_of_ranks)
{
    struct played *one = calloc(1, sizeof *one), *many = calloc(1, sizeof *many);
    REQUIRE(one && many);
    EXPECT_OK(play(one, peers_alone()));
    EXPECT(one->loss[0] > 0 && one->half[0] > 0);
    for (int size = 2; size <= 5; size++) {
        memset(many, 0, sizeof *many);
        one->rank = many->rank = size - 1;
        EXPECT(circle_run(size, play, many, NULL));
        EXPECT(memcmp(one, many, sizeof *one) == 0);
    }
    free(one);
    free(many);
}

/* Encoding */

enum { SIDE = 32, PICTURES = 7 };

struct encoded {
    int rank;
    float data[PICTURES * 64 * 4], mirrored[PICTURES * 64 * 4];
    size_t rows, unreadable, first[3], size[3];
    char fingerprint[65];
};

static void keep(const struct features *f, struct encoded *out)
{
    memcpy(out->data, f->data.data, tensor_bytes(&f->data));
    memcpy(out->mirrored, f->mirrored.data, tensor_bytes(&f->mirrored));
    out->rows = f->data.dim[0];
    out->unreadable = f->unreadable;
    memcpy(out->first, f->first, sizeof out->first);
    memcpy(out->size, f->size, sizeof out->size);
}

static status encode(void *context, struct peers *p)
{
    struct encoded *out = context;
    struct world w;
    struct model m = {0};
    struct dataset *set = NULL;
    struct features f = {0};
    struct picture_hash hashes[PICTURES] = {0};
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, 4);
    const struct features_options o = {
        .transform = &t, .batch = 2, .peers = p, .mirror = true, .skip_unreadable = true, .hashes = hashes};
    status st = OK;
    if (!world_open(&w, 1, DT_F32, TAPE_INFERENCE)) return fail(ST_IO, "no device");
    TRY(model_new(w.dev, "conv4", NULL, &m));
    TRY(model_start(&m, DT_F32, 1));
    TRY(dataset_open(sample_path("set"), NULL, NULL, &set));
    TRY(features_encode(&m, set, &o, &f));
    if (p->rank != out->rank) goto done;
    keep(&f, out);
    fingerprint_of(set, hashes, out->fingerprint);
done:
    features_free(&f);
    dataset_close(set);
    if (m.net) model_free(&m);
    world_close(&w);
    return st;
}

/* Three classes; two pictures cannot be read, so that with seven ranks two have nothing. */
TEST(features_are_the_same_bits_for_any_number_of_ranks)
{
    static const char *const names[PICTURES] = {"set/a/1.ppm", "set/a/2.ppm", "set/a/3.ppm", "set/b/1.ppm",
                                                "set/b/2.ppm", "set/c/1.ppm", "set/c/2.ppm"};
    struct encoded *one = calloc(1, sizeof *one), *many = calloc(1, sizeof *many);
    REQUIRE(one && many);
    for (int i = 0; i < PICTURES; i++) sample_grey(names[i], 30 * i);
    sample_file(names[0], "P6 nonsense", 11);
    sample_file(names[4], "P6 nonsense", 11);
    EXPECT_OK(encode(one, peers_alone()));
    EXPECT(one->rows == 5 && one->unreadable == 2 && one->size[1] == 1);
    for (int size = 2; size <= 7; size++) {
        memset(many, 0, sizeof *many);
        one->rank = many->rank = size / 2;
        EXPECT(circle_run(size, encode, many, NULL));
        EXPECT(memcmp(one, many, sizeof *one) == 0);
    }
    free(one);
    free(many);
}
