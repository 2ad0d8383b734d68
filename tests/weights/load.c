/* load.c - parameters from files: by our names and the released ones, all or nothing. */
#include "base/file.h"
#include "tests/ops/world.h"
#include "tests/test.h"
#include "tests/weights/sample.h"
#include "weights/names.h"
#include <dirent.h>
#include <stdio.h>

/* A file with one array of two numbers under each of the names, the first k, k + 0.5 for the k-th. */
static status write_names(const char *path, const char *const *names)
{
    static float data[8][2];
    struct named_array a[8];
    size_t n = 0;
    for (; names[n]; n++) {
        data[n][0] = (float)n;
        data[n][1] = (float)n + 0.5f;
        a[n] = (struct named_array){
            .name = names[n], .type = ARRAY_F32, .rank = 1, .dim = {2}, .data = data[n], .bytes = sizeof data[n]};
    }
    return weights_write(path, n, a, 0, NULL);
}

struct rig {
    struct world world;
    struct params *p;
    struct param *conv, *fc, *cat;
};

static bool rig_open(struct rig *r)
{
    if (!world_open(&r->world, 1, DT_F64, TAPE_TRAINING)) return false;
    r->p = params_new(r->world.dev);
    return r->p && params_add(r->p, "layer1.0.weight", DT_F64, DIMS(2), &r->conv) == OK &&
           params_add(r->p, "head.fc1.weight", DT_F64, DIMS(2), &r->fc) == OK &&
           params_add(r->p, "pre.cat", DT_F64, DIMS(2), &r->cat) == OK;
}

static void rig_close(struct rig *r)
{
    params_free(r->p);
    world_close(&r->world);
}

/* Loads those names with that prefix and `ignore`. */
static status load(struct rig *r, const char *const *names, const char *prefix, const char *const *ignore)
{
    char path[4096];
    struct weights *w = NULL;
    snprintf(path, sizeof path, "%s/w", test_folder());
    EXPECT_OK(write_names(path, names));
    EXPECT_OK(weights_open(path, &w));
    status st = w ? weights_load(w, r->p, prefix, ignore) : ST_IO;
    weights_close(w);
    return st;
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(parameters_load_under_our_names_and_the_released_ones)
{
    struct rig r;
    REQUIRE(rig_open(&r));
    EXPECT_OK(load(&r, NAMES("pre.cat", "layer1.0.weight", "head.fc1.weight"), "", NULL));
    EXPECT_NUMBERS(&r.world, r.cat->value, 0, 0.5);
    EXPECT_NUMBERS(&r.world, r.conv->value, 1, 1.5);
    EXPECT_NUMBERS(&r.world, r.fc->value, 2, 2.5);
    EXPECT_OK(load(
        &r,
        NAMES("encoder.layer1.1.num_batches_tracked", "encoder.layer1.0.weight", "query.rn.fc1.weight", "category_mat"),
        "", NULL));
    EXPECT_NUMBERS(&r.world, r.conv->value, 1, 1.5);
    EXPECT_NUMBERS(&r.world, r.fc->value, 2, 2.5);
    EXPECT_NUMBERS(&r.world, r.cat->value, 3, 3.5);
    rig_close(&r);
}

TEST(names_that_dataparallel_has_wrapped_are_unwrapped_all_or_none)
{
    struct rig r;
    REQUIRE(rig_open(&r));
    EXPECT_OK(load(&r, NAMES("module.pre.cat", "module.layer1.0.weight", "module.head.fc1.weight"), "", NULL));
    EXPECT_NUMBERS(&r.world, r.cat->value, 0, 0.5);
    EXPECT_NUMBERS(&r.world, r.conv->value, 1, 1.5);
    EXPECT_NUMBERS(&r.world, r.fc->value, 2, 2.5);
    EXPECT_STATUS(load(&r, NAMES("pre.cat", "module.layer1.0.weight", "head.fc1.weight"), "", NULL), ST_FORMAT);
    EXPECT_STATUS(load(&r, NAMES("module.pre.cat", "module.layer1.0.weight", "module."), "", NULL), ST_FORMAT);
    EXPECT(strstr(error_text(), "module.pre.cat")); /* nothing was taken off */
    rig_close(&r);
}

TEST(missing_and_extra_names_are_listed_together_and_nothing_is_loaded)
{
    struct rig r;
    REQUIRE(rig_open(&r));
    EXPECT_STATUS(load(&r, NAMES("a", "layer1.0.weight", "encoder.layer2.0.weight"), "", NULL), ST_FORMAT);
    EXPECT(strstr(error_text(),
                  "is for another network: missing head.fc1.weight, pre.cat; extra a, encoder.layer2.0.weight"));
    EXPECT_NUMBERS(&r.world, r.conv->value, 0, 0);
    EXPECT_STATUS(load(&r, NAMES("a", "b", "c", "d", "e", "layer1.0.weight"), "layer", NULL), ST_FORMAT);
    EXPECT(strstr(error_text(), "another network: extra a, b, c, d and 1 more"));
    EXPECT_STATUS(load(&r, NAMES("layer1.0.weight", "encoder.layer1.0.weight"), "layer", NULL), ST_FORMAT);
    EXPECT(strstr(error_text(), "network: extra encoder.layer1.0.weight"));
    EXPECT_NUMBERS(&r.world, r.conv->value, 0, 0);
    rig_close(&r);
}

TEST(ignored_prefixes_stand_for_the_released_names_too)
{
    struct rig r;
    REQUIRE(rig_open(&r));
    EXPECT_OK(load(&r, NAMES("encoder.layer1.0.weight", "query.rn.fc1.weight", "category_mat"), "layer",
                   NAMES("head.", "pre.")));
    EXPECT_NUMBERS(&r.world, r.conv->value, 0, 0.5);
    EXPECT_NUMBERS(&r.world, r.fc->value, 0, 0);
    EXPECT_STATUS(load(&r, NAMES("encoder.layer1.0.weight", "query.rn.fc1.weight"), "layer", NAMES("pre.")), ST_FORMAT);
    EXPECT_OK(load(&r, NAMES("encoder.layer1.0.weight", "query.rn.fc1.weight"), "head.", NAMES("layer1")));
    EXPECT_NUMBERS(&r.world, r.fc->value, 1, 1.5);
    rig_close(&r);
}

TEST(another_shape_is_refused_by_name_and_nothing_is_loaded)
{
    struct rig r;
    struct param *extra;
    REQUIRE(rig_open(&r));
    EXPECT_OK(params_add(r.p, "layer2.bias", DT_F64, DIMS(1, 2), &extra));
    EXPECT_STATUS(load(&r, NAMES("layer1.0.weight", "layer2.bias"), "layer", NULL), ST_SHAPE);
    EXPECT(strstr(error_text(), "'layer2.bias' is [2], but [1, 2] is needed: these weights are for another network"));
    EXPECT_NUMBERS(&r.world, r.conv->value, 0, 0);
    rig_close(&r);
}

TEST(names_map_in_both_directions)
{
    static const char *const pairs[][2] = {
        {"head.fc2.bias", "query.rn.fc2.bias"},
        {"head.scale", "query.scale"},
        {"head.scale", "scale"},
        {"head.r", "query.r"},
        {"head.key.weight", "query.key_head.weight"},
        {"head.query.weight", "query.query_head.weight"},
        {"head.value.weight", "query.value_head.weight"},
        {"pre.scale", "scale"},
        {"pre.r", "r"},
        {"pre.fc.bias", "fake_classifier.bias"},
        {"conv1.weight", "encoder.conv1.weight"},
    };
    char name[NAME_TEXT];
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        bool there = false, back = false;
        for (size_t i = 0; name_in_file(pairs[k][0], i, name); i++) there |= !strcmp(name, pairs[k][1]);
        for (size_t i = 0; name_of_ours(pairs[k][1], i, name); i++) back |= !strcmp(name, pairs[k][0]);
        if (!there || !back)
            test_failed(__FILE__, __LINE__, "%s does not map to %s and back", pairs[k][0], pairs[k][1]);
    }
    EXPECT(!name_in_file("head.rest", 1, name)); /* "head.r" is a whole name, not a beginning */
    EXPECT(name_is_idle("bn1.num_batches_tracked") && !name_is_idle("num_batches_tracked.weight"));
}

TEST(converting_gives_released_arrays_our_names)
{
    char in[4096], out[4096];
    struct weights *w = NULL, *v = NULL;
    snprintf(in, sizeof in, "%s/in", test_folder());
    snprintf(out, sizeof out, "%s/out", test_folder());
    EXPECT_OK(write_names(in, NAMES("encoder.layer1.0.weight", "query.rn.fc1.weight", "scale")));
    EXPECT_OK(weights_open(in, &w));
    REQUIRE(w);
    EXPECT_OK(weights_convert(w, WEIGHTS_SAFETENSORS, out));
    EXPECT_OK(weights_open(out, &v));
    REQUIRE(v && weights_count(v) == 3);
    EXPECT_TEXT(weights_at(v, 0)->name, "head.fc1.weight");
    EXPECT_TEXT(weights_at(v, 1)->name, "layer1.0.weight");
    EXPECT_TEXT(weights_at(v, 2)->name, "scale"); /* of which head, or none, is not said */
    weights_close(w);
    weights_close(v);
}

/* Types that .npy readers may lack are widened; numbers stay what they were. */
TEST(a_folder_of_npy_holds_the_same_numbers)
{
    const float f[2] = {1.5f, -2};
    const uint16_t half[2] = {0x3c00, 0xc000}, brain[2] = {0x3f80, 0xc000}; /* 1, -2 */
    const int32_t i32[2] = {-7, 1 << 30};
    const int64_t i64[2] = {-1, (int64_t)1 << 40};
    const uint8_t u8[2] = {0, 255};
    const struct named_array arrays[] = {
        {.name = "a.f32", .type = ARRAY_F32, .rank = 1, .dim = {2}, .data = f, .bytes = 8},
        {.name = "b.f16", .type = ARRAY_F16, .rank = 1, .dim = {2}, .data = half, .bytes = 4},
        {.name = "c.bf16", .type = ARRAY_BF16, .rank = 1, .dim = {2}, .data = brain, .bytes = 4},
        {.name = "d.i32", .type = ARRAY_I32, .rank = 1, .dim = {2}, .data = i32, .bytes = 8},
        {.name = "e.i64", .type = ARRAY_I64, .rank = 2, .dim = {1, 2}, .data = i64, .bytes = 16},
        {.name = "f.u8", .type = ARRAY_U8, .rank = 1, .dim = {2}, .data = u8, .bytes = 2},
    };
    char path[4096];
    struct weights *w = NULL;
    snprintf(path, sizeof path, "%s/folder", test_folder());
    EXPECT_OK(weights_write_npy(path, 6, arrays));
    EXPECT_OK(weights_open(path, &w));
    REQUIRE(w && weights_count(w) == 6);
    EXPECT(!memcmp(weights_at(w, 0)->data, f, sizeof f));
    EXPECT(!memcmp(weights_at(w, 1)->data, (float[]){1, -2}, 8));
    EXPECT(!memcmp(weights_at(w, 2)->data, (float[]){1, -2}, 8));
    EXPECT(!memcmp(weights_at(w, 3)->data, (int64_t[]){-7, 1 << 30}, 16));
    EXPECT(!memcmp(weights_at(w, 4)->data, i64, sizeof i64));
    EXPECT_INT(weights_at(w, 4)->rank, 2);
    EXPECT(!memcmp(weights_at(w, 5)->data, (int64_t[]){0, 255}, 16));
    weights_close(w);
    EXPECT_STATUS(weights_write_npy(path, 6, arrays), ST_IO);
    EXPECT(strstr(error_text(), "it is there already"));
}

TEST(a_name_that_leaves_its_folder_is_refused_and_nothing_stays_behind)
{
    const float f = 1;
    char path[4096], other[4096];
    static const char *const names[] = {"../evil", "a/b", "", ".hidden", "line\nbreak"};
    snprintf(path, sizeof path, "%s/folder", test_folder());
    snprintf(other, sizeof other, "%s/evil.npy", test_folder());
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct named_array arrays[] = {{.name = "fine", .type = ARRAY_F32, .data = &f, .bytes = 4},
                                             {.name = names[i], .type = ARRAY_F32, .data = &f, .bytes = 4}};
        EXPECT_STATUS(weights_write_npy(path, 2, arrays), ST_VALUE);
        EXPECT(!file_exists(path) && !file_exists(other));
    }
    DIR *d = opendir(test_folder());
    REQUIRE(d);
    const struct dirent *e;
    while ((e = readdir(d))) EXPECT(e->d_name[0] == '.');
    closedir(d);
}

TEST(numbers_too_large_for_32_bits_are_refused)
{
    const double x = 1e39;
    const struct named_array a = {.name = "a", .type = ARRAY_F64, .rank = 0, .data = &x, .bytes = sizeof x};
    float f;
    double d;
    EXPECT_STATUS(named_array_get(&a, "f", DT_F32, 0, NULL, &f), ST_VALUE);
    EXPECT_OK(named_array_get(&a, "f", DT_F64, 0, NULL, &d));
    EXPECT_NEAR(d, x, 0);
}

TEST(halves_have_their_subnormal_and_special_values)
{
    static const struct {
        uint16_t bits;
        double wanted;
    } cases[] = {{0x0001, 0x1p-24}, {0x03ff, 1023 * 0x1p-24}, {0x0400, 0x1p-14}, {0x7bff, 65504}, {0xfc00, -INFINITY}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char b[2] = {(unsigned char)cases[i].bits, (unsigned char)(cases[i].bits >> 8)};
        const struct named_array a = {.name = "a", .type = ARRAY_F16, .rank = 0, .data = b, .bytes = 2};
        double d = 0;
        EXPECT_OK(named_array_get(&a, "f", DT_F64, 0, NULL, &d));
        EXPECT(d == cases[i].wanted);
    }
}

/* Floats lie in the file's memory where that is the device's; doubles are made of them. */
TEST(lent_parameters_lie_in_the_file_where_they_can)
{
    static const dtype types[] = {DT_F32, DT_F64};
    char path[4096];
    snprintf(path, sizeof path, "%s/w", test_folder());
    for (int i = 0; i < 2; i++) {
        struct world world;
        struct weights *w = NULL;
        struct param *a, *b;
        REQUIRE(world_open(&world, 1, types[i], TAPE_INFERENCE));
        struct params *p = params_new_fixed(world.dev);
        REQUIRE(p && params_add(p, "a", types[i], DIMS(2), &a) == OK &&
                params_add(p, "b", types[i], DIMS(2), &b) == OK);
        REQUIRE(write_names(path, NAMES("a", "b")) == OK && weights_open(path, &w) == OK);
        EXPECT_OK(weights_lend(w, p, "", NULL));
        EXPECT_OK(weights_lend(w, p, "", NULL)); /* again is the same */
        EXPECT_NUMBERS(&world, a->value, 0, 0.5);
        EXPECT_NUMBERS(&world, b->value, 1, 1.5);
        EXPECT((a->value.data == weights_find(w, "a")->data) == (types[i] == DT_F32 && world.dev->on_host));
        params_free(p);
        weights_close(w);
        world_close(&world);
    }
}
