/* Tests of data/stock.h, on the device under test: the numbers of transform_apply, bit for bit. */
#include "data/stock.h"
#include "tests/data/sample.h"
#include "tests/device.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 24, PAD = 6, FLOATS = 3 * SIDE * SIDE, SHOWN = 40 };

static const size_t sizes[][2] = {{40, 40}, {61, 33}, {25, 90}, {200, 150}, {24, 24}, {31, 24}, {24, 53}, {700, 30}};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Noise, so that every mistake shows. */
static void write_noise(const char *name, size_t width, size_t height)
{
    struct random r = {.seed = width * 1000 + height};
    const size_t room = 32 + width * height * 3;
    char *file = malloc(room);
    REQUIRE(file);
    size_t n = (size_t)snprintf(file, room, "P6\n%zu %zu\n255\n", width, height);
    for (size_t i = 0; i < width * height * 3; i++) file[n++] = (char)random_below(&r, 256);
    sample_file(name, file, n);
    free(file);
}

/* One class of all sizes and one of a few; `damaged`: the first of each cannot be read. */
static struct dataset *noise_set(bool damaged)
{
    char name[64];
    struct dataset *d = NULL;
    for (size_t i = 0; i < SIZES + 3; i++) {
        snprintf(name, sizeof name, "set/train/%c/%zu.ppm", i < SIZES ? 'a' : 'b', i);
        if (damaged && (i == 0 || i == SIZES)) sample_file(name, "P6", 2);
        else write_noise(name, sizes[i % SIZES][0], sizes[i % SIZES][1]);
    }
    EXPECT_OK(dataset_open(sample_path("set"), "train", NULL, &d));
    return d;
}

struct bench { /* a device with threads */
    pool *threads;
    struct device *dev;
};

static bool bench_open(struct bench *b, size_t threads)
{
    *b = (struct bench){0};
    EXPECT_OK(pool_new(threads, &b->threads));
    EXPECT_OK(test_device_open(b->threads, NULL, &b->dev));
    return b->dev != NULL;
}

static void bench_close(struct bench *b)
{
    if (b->dev) b->dev->close(b->dev);
    pool_free(b->threads);
}

static struct load_item item_of(const struct dataset *d, size_t i)
{
    const struct random root = {.seed = 5};
    return (struct load_item){(uint32_t)(i * 7 % dataset_count(d)), random_branch(&root, i)};
}

/* SHOWN pictures through the stock; the caller frees them. */
static float *show(const struct stock *s, struct device *dev, bool channels_last)
{
    static const size_t planes[] = {SHOWN, 3, SIDE, SIDE}, pixels[] = {SHOWN, SIDE, SIDE, 3};
    struct picture_item items[SHOWN];
    void *on_device = NULL;
    tensor y;
    float *out = calloc(SHOWN * FLOATS, sizeof *out);
    for (size_t i = 0; i < SHOWN; i++) {
        const struct load_item item = item_of(stock_data(s), i);
        EXPECT_OK(stock_plan(s, &item, &items[i]));
    }
    EXPECT_OK(tensor_make(&y, DT_F32, 4, channels_last ? pixels : planes, NULL));
    EXPECT_OK(dev->alloc(dev, tensor_bytes(&y), &y.data));
    EXPECT_OK(dev->alloc(dev, sizeof items, &on_device));
    EXPECT_OK(dev->upload(dev, on_device, items, sizeof items));
    EXPECT_OK(stock_show(s, on_device, channels_last, &y));
    if (out) EXPECT_OK(dev->download(dev, out, y.data, tensor_bytes(&y)));
    dev->release(dev, y.data);
    dev->release(dev, on_device);
    return out;
}

static float *wanted(const struct dataset *d, const struct transform *t, bool random)
{
    float *out = calloc(SHOWN * FLOATS, sizeof *out);
    for (size_t i = 0; out && i < SHOWN; i++) {
        struct load_item item = item_of(d, i);
        struct picture p = {0};
        EXPECT_OK(dataset_picture(d, item.picture, &p));
        EXPECT_OK(transform_apply(t, &p, random ? &item.random : NULL, out + i * FLOATS));
        picture_free(&p);
    }
    return out;
}

/* [n, 3, pixels] as [n, pixels, 3] */
static void to_channels_last(float *x)
{
    for (size_t n = 0; n < SHOWN; n++, x += FLOATS) {
        float planes[FLOATS];
        memcpy(planes, x, sizeof planes);
        for (size_t i = 0; i < FLOATS; i++) x[i] = planes[i % 3 * SIDE * SIDE + i / 3];
    }
}

static void check_kind(const struct dataset *d, const struct bench *b, enum transform_kind kind, bool random)
{
    const struct transform t = transform_standard(kind, SIDE, PAD);
    const struct stock_options o = {.transform = &t, .random = random, .strict = true, .threads = b->threads};
    struct stock *s = NULL;
    EXPECT_OK(stock_new(d, b->dev, &o, &s));
    REQUIRE(s);
    float *want = wanted(d, &t, random);
    for (int last = 0; last < 2; last++) {
        float *seen = show(s, b->dev, last);
        if (last) to_channels_last(want);
        EXPECT(want && seen && !memcmp(seen, want, SHOWN * FLOATS * sizeof *seen));
        free(seen);
    }
    free(want);
    stock_free(s);
}

TEST(stock_shows_what_the_transform_gives_bit_for_bit)
{
    struct bench b;
    struct dataset *d = noise_set(false);
    for (size_t threads = 1; d && threads <= 3; threads++) {
        if (bench_open(&b, threads))
            for (int kind = 0; kind < 4; kind++)
                for (int random = kind == TRANSFORM_PAD_CROP; random < 2; random++)
                    check_kind(d, &b, (enum transform_kind)kind, random);
        bench_close(&b);
    }
    dataset_close(d);
}

/* The loader's batch of the same items. */
static size_t plan_once(void *context, uint64_t index, struct load_item *items, size_t most)
{
    for (size_t i = 0; i < most && !index; i++) items[i] = item_of(context, i);
    return index ? 0 : most;
}

TEST(stock_replaces_what_cannot_be_read_as_the_loader_does)
{
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, PAD);
    struct bench b;
    struct sample_log log;
    struct stock *s = NULL;
    struct loader *l = NULL;
    const float *batch = NULL;
    size_t count = 0;
    struct dataset *d = noise_set(true);
    sample_log_begin(&log);
    REQUIRE(d && bench_open(&b, 2));
    struct stock_options o = {.transform = &t, .random = true, .threads = b.threads, .log = &log.sink};
    EXPECT_OK(stock_new(d, b.dev, &o, &s));
    EXPECT(strstr(log.lines, "a/0.ppm") && strstr(log.lines, "stands in"));
    const struct loader_options how = {.transform = &t, .random = true, .most = SHOWN, .threads = 1};
    EXPECT_OK(loader_new(d, &how, plan_once, d, &l));
    if (l) EXPECT_OK(loader_next(l, &batch, &count));
    if (s && batch) {
        EXPECT(!stock_has(s, 0) && stock_has(s, 1));
        float *seen = show(s, b.dev, false);
        EXPECT(seen && !memcmp(seen, batch, SHOWN * FLOATS * sizeof *seen));
        free(seen);
    }
    stock_free(s);
    o.strict = true;
    EXPECT_STATUS(stock_new(d, b.dev, &o, &s), ST_FORMAT);
    EXPECT(!s);
    loader_free(l);
    bench_close(&b);
    dataset_close(d);
}

TEST(stock_of_unreadable_pictures_names_the_class)
{
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, PAD);
    struct bench b;
    struct stock *s = NULL;
    struct dataset *d = NULL;
    struct picture_item item;
    sample_file("bad/train/c/1.ppm", "P6", 2);
    EXPECT_OK(dataset_open(sample_path("bad"), "train", NULL, &d));
    REQUIRE(d && bench_open(&b, 1));
    const struct stock_options o = {.transform = &t, .random = true, .threads = b.threads};
    EXPECT_OK(stock_new(d, b.dev, &o, &s));
    if (s) EXPECT_STATUS(stock_plan(s, &(struct load_item){0}, &item), ST_FORMAT);
    EXPECT(strstr(error_text(), "class 'c'"));
    stock_free(s);
    bench_close(&b);
    dataset_close(d);
}

TEST(stock_is_not_made_where_the_pictures_take_more_than_is_granted)
{
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, PAD);
    const size_t each = (SIDE + PAD) * (SIDE + PAD) * 3;
    struct bench b;
    struct stock *s = NULL;
    struct dataset *d = noise_set(false);
    REQUIRE(d && bench_open(&b, 1));
    struct stock_options o = {
        .transform = &t, .random = true, .threads = b.threads, .most_bytes = each * dataset_count(d) - 1};
    EXPECT_OK(stock_new(d, b.dev, &o, &s));
    EXPECT(!s);
    o.most_bytes++;
    EXPECT_OK(stock_new(d, b.dev, &o, &s));
    EXPECT(s && stock_bytes(s) == o.most_bytes);
    stock_free(s);
    bench_close(&b);
    dataset_close(d);
}
