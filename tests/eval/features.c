/* features.c - a set's pictures through a network: rows, classes, and what cannot be read. */
#include "eval/features.h"
#include "data/dataset.h"
#include "data/hash.h"
#include "data/stock.h"
#include "image/transform.h"
#include "tests/data/sample.h"
#include "tests/ops/world.h"
#include "tests/test.h"
#include <stdlib.h>

enum { SIDE = 32 };

struct bench {
    struct world w;
    struct model m;
    struct dataset *set;
    struct transform transform;
    struct features_options o;
};

/* Two classes of three grey pictures; the second picture of the first is `broken` or not. */
static bool bench_open(struct bench *b, size_t threads, bool broken)
{
    static const char *const names[] = {"set/a/1.ppm", "set/a/2.ppm", "set/a/3.ppm",
                                        "set/b/1.ppm", "set/b/2.ppm", "set/b/3.ppm"};
    *b = (struct bench){.transform = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, 4)};
    for (int i = 0; i < 6; i++) sample_grey(names[i], 40 * i);
    if (broken) sample_file(names[1], "P6 nonsense", 11);
    if (!world_open(&b->w, threads, DT_F32, TAPE_INFERENCE)) return false;
    status st = OK;
    TRY(model_new(b->w.dev, "conv4", NULL, &b->m));
    TRY(model_start(&b->m, DT_F32, 1));
    TRY(dataset_open(sample_path("set"), NULL, NULL, &b->set));
    b->o = (struct features_options){.transform = &b->transform, .threads = b->w.threads};
done:
    EXPECT_OK(st);
    return st == OK;
}

static void bench_close(struct bench *b)
{
    dataset_close(b->set);
    model_free(&b->m);
    world_close(&b->w);
}

/* What the extractor takes of maps that were encoded by hand, for whole pictures and for cells. */
TEST(features_are_what_the_extractor_takes)
{
    static const char *const names[] = {"pyramid-2,1", "grid-2,1"};
    for (int i = 0; i < 2; i++) {
        struct bench b;
        struct features f;
        struct picture p = {0};
        static float in[5 * 3 * SIDE * SIDE], wanted[64 * 5];
        struct net_pass pass = {.mode = NET_EVAL};
        REQUIRE(bench_open(&b, 2, false));
        dataset_close(b.set);
        REQUIRE(dataset_open("synth:3?train=2&pictures=2&side=40", "train", NULL, &b.set) == OK);
        REQUIRE(model_extract(&b.m, names[i], &b.transform) == OK);
        b.o.batch = 3;
        REQUIRE(features_encode(&b.m, b.set, &b.o, &f) == OK);
        EXPECT(f.data.dim[0] == 4 && f.data.dim[1] == 64 && f.data.dim[2] == 5);
        EXPECT(i ? f.height == 5 && f.width == 1 : f.height == 1 && f.width == 5);
        REQUIRE(dataset_picture(b.set, 2, &p) == OK);
        if (i) EXPECT_OK(transform_cells(&b.transform, &p, 2, (size_t[]){2, 1}, NULL, in));
        else EXPECT_OK(transform_apply(&b.transform, &p, NULL, in));
        picture_free(&p);
        var *x = tape_upload(b.w.t, DT_F32, 4, (size_t[]){i ? 5 : 1, 3, SIDE, SIDE}, in);
        var *y = b.m.net->forward(b.w.t, b.m.net_settings, b.m.params, &pass, x);
        y = i ? extract_grid(b.w.t, y, 5) : extract_pyramid(b.w.t, y, 2, (size_t[]){2, 1});
        REQUIRE(y && tensor_bytes(&y->value) == sizeof wanted);
        EXPECT_OK(b.w.dev->download(b.w.dev, wanted, y->value.data, sizeof wanted));
        EXPECT(!memcmp((float *)f.data.data + 2 * 64 * 5, wanted, sizeof wanted));
        features_free(&f);
        bench_close(&b);
    }
}

TEST(features_are_those_of_each_picture_alone_for_any_batch_and_threads)
{
    struct bench b;
    struct features all, one;
    REQUIRE(bench_open(&b, 1, false));
    REQUIRE(features_encode(&b.m, b.set, &b.o, &all) == OK);
    EXPECT_INT(all.data.dim[0], 6);
    EXPECT_INT(all.data.dim[1], 64);
    EXPECT_INT(all.data.dim[2], all.height * all.width);
    EXPECT(memcmp(all.data.data, (char *)all.data.data + tensor_bytes(&all.data) / 6, tensor_bytes(&all.data) / 6));
    for (size_t batch = 1; batch < 6; batch++) {
        b.o.batch = batch;
        b.o.threads = batch == 2 ? NULL : b.w.threads;
        REQUIRE(features_encode(&b.m, b.set, &b.o, &one) == OK);
        EXPECT(tensor_same_shape(&one.data, &all.data));
        EXPECT(!memcmp(one.data.data, all.data.data, tensor_bytes(&all.data)));
        features_free(&one);
    }
    bench_close(&b);
    REQUIRE(bench_open(&b, 3, false));
    REQUIRE(features_encode(&b.m, b.set, &b.o, &one) == OK);
    EXPECT(!memcmp(one.data.data, all.data.data, tensor_bytes(&all.data)));
    features_free(&one);
    all.device = b.w.dev;
    features_free(&all);
    bench_close(&b);
}

TEST(features_from_a_stock_are_the_same_rows)
{
    struct bench b;
    struct features decoded, shown;
    struct stock *stock = NULL;
    REQUIRE(bench_open(&b, 2, true));
    b.o.skip_unreadable = true;
    REQUIRE(features_encode(&b.m, b.set, &b.o, &decoded) == OK);
    const struct stock_options how = {.transform = &b.transform, .threads = b.w.threads};
    EXPECT_OK(stock_new(b.set, b.w.dev, &how, &stock));
    b.o.stock = stock;
    for (size_t batch = 0; stock && batch < 4; batch++) {
        b.o.batch = batch;
        REQUIRE(features_encode(&b.m, b.set, &b.o, &shown) == OK);
        EXPECT(shown.unreadable == 1 && shown.classes == 2 && shown.size[0] == 2 && shown.first[1] == 2);
        EXPECT(tensor_same_shape(&shown.data, &decoded.data) &&
               !memcmp(shown.data.data, decoded.data.data, tensor_bytes(&decoded.data)));
        features_free(&shown);
    }
    features_free(&decoded);
    stock_free(stock);
    bench_close(&b);
}

TEST(features_leave_out_what_cannot_be_read_or_fail_naming_it)
{
    struct bench b;
    struct features f;
    struct sample_log log;
    sample_log_begin(&log);
    REQUIRE(bench_open(&b, 2, true));
    EXPECT(features_encode(&b.m, b.set, &b.o, &f) != OK);
    EXPECT(strstr(error_text(), "2.ppm"));
    b.o.skip_unreadable = true;
    b.o.log = &log.sink;
    REQUIRE(features_encode(&b.m, b.set, &b.o, &f) == OK);
    EXPECT(strstr(log.lines, "2.ppm") && strstr(log.lines, "left out"));
    EXPECT_INT(f.unreadable, 1);
    EXPECT_INT(f.data.dim[0], 5);
    EXPECT_INT(f.size[0], 2);
    EXPECT_INT(f.first[1], 2);
    EXPECT_INT(f.size[1], 3);
    features_free(&f);
    bench_close(&b);
}

TEST(features_give_the_hashes_of_the_sets_fingerprint)
{
    struct bench b;
    struct features f;
    struct picture_hash hashes[6] = {0};
    char seen[65], wanted[65];
    REQUIRE(bench_open(&b, 2, true));
    b.o.hashes = hashes;
    b.o.skip_unreadable = true;
    REQUIRE(features_encode(&b.m, b.set, &b.o, &f) == OK);
    fingerprint_of(b.set, hashes, seen);
    EXPECT_OK(dataset_fingerprint(b.set, wanted));
    EXPECT_TEXT(seen, wanted);
    features_free(&f);
    bench_close(&b);
}

/* A picture that falls from left to right, or rises, of the size that needs no resizing. */
static void slope_file(const char *name, bool rises)
{
    enum { ALL = SIDE + 4 };
    static char ppm[13 + ALL * ALL * 3 + 1] = "P6 36 36 255\n";
    for (size_t i = 0; i < (size_t)ALL * ALL * 3; i++) {
        const size_t x = i / 3 % ALL;
        ppm[13 + i] = (char)(7 * (rises ? x : ALL - 1 - x) / 2);
    }
    sample_file(name, ppm, 13 + (size_t)ALL * ALL * 3);
}

TEST(features_of_mirror_images_are_those_of_the_mirrored_pictures)
{
    struct bench b;
    struct features f;
    REQUIRE(bench_open(&b, 2, false));
    slope_file("set/a/1.ppm", true);
    slope_file("set/a/2.ppm", false);
    b.o.mirror = true;
    b.o.batch = 4;
    REQUIRE(features_encode(&b.m, b.set, &b.o, &f) == OK);
    const size_t row = tensor_bytes(&f.data) / 6;
    const char *seen = f.data.data, *mirrored = f.mirrored.data;
    EXPECT_INT(f.mirrored.dim[0], 6);
    EXPECT(memcmp(seen, seen + row, row));
    EXPECT(!memcmp(mirrored, seen + row, row) && !memcmp(mirrored + row, seen, row));
    EXPECT(!memcmp(mirrored + 5 * row, seen + 5 * row, row)); /* of one grey */
    features_free(&f);
    b.o.mirror = false;
    REQUIRE(features_encode(&b.m, b.set, &b.o, &f) == OK);
    EXPECT(!f.mirrored.data);
    features_free(&f);
    bench_close(&b);
}

static bool never(void *context, size_t done, size_t of)
{
    (void)done;
    return ++*(size_t *)context < 2 || of != 6;
}

TEST(features_stop_when_told)
{
    struct bench b;
    struct features f;
    size_t calls = 0;
    REQUIRE(bench_open(&b, 2, false));
    b.o.batch = 2;
    b.o.progress = never;
    b.o.context = &calls;
    EXPECT_STATUS(features_encode(&b.m, b.set, &b.o, &f), ST_USAGE);
    EXPECT_TEXT(error_text(), "stopped after 2 of 6 pictures");
    EXPECT_INT(calls, 2);
    bench_close(&b);
}

TEST(features_survive_each_failing_allocation)
{
    struct bench b;
    struct features f;
    REQUIRE(bench_open(&b, 1, false));
    REQUIRE(features_encode(&b.m, b.set, &b.o, &f) == OK); /* the device has its scratch memory now */
    features_free(&f);
    const size_t live = alloc_live();
    for (size_t n = 1;; n++) {
        b.o.skip_unreadable = n % 2; /* a lack of memory makes no picture unreadable */
        alloc_fail_at(n);
        const status st = features_encode(&b.m, b.set, &b.o, &f);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        if (st == OK) features_free(&f);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
        REQUIRE(n < 200);
    }
    bench_close(&b);
}
