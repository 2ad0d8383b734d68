/* encode.c - centra encode and centra list backbones: what is refused, in which words. */
#include "base/file.h"
#include "base/npy.h"
#include "base/text.h"
#include "image/picture.h"
#include "tests/api/copying.h"
#include "tests/app/program.h"
#include "tests/test.h"

TEST(encode_refuses_in_one_line)
{
    EXPECT_REFUSED(2, "centra encode: --out is missing: the .npy file to write the features to, [n, C, h, w]",
                   "encode");
    EXPECT_REFUSED(2, "centra encode: no network to encode with: give --model, or --backbone and --weights", "encode",
                   "--out", "y.npy", "a.png");
    EXPECT_REFUSED(2, "centra encode: either --model or --weights, not both", "encode", "--model", "conv4-mini",
                   "--weights", "w", "--out", "y.npy", "a.png");
    EXPECT_REFUSED(2,
                   "centra encode: a model says itself what its side is; leave --side out, or give --weights in place "
                   "of --model",
                   "encode", "--model", "conv4-mini", "--side", "96", "--out", "y.npy", "a.png");
    EXPECT_REFUSED(2, "centra encode: there is no network 'resnet21'; did you mean 'resnet12'?", "encode", "--backbone",
                   "resnet21", "--weights", "w", "--input", "x.npy", "--out", "y.npy");
    EXPECT_REFUSED(2, "centra encode: unknown option --net.widht, did you mean --net.width?", "encode", "--net.widht",
                   "3", "--weights", "w", "--input", "x.npy", "--out", "y.npy");
    EXPECT_REFUSED(2, "centra encode: unknown option --nt.width; options of a network are written --net.KEY VALUE",
                   "encode", "--nt.width", "3");
    EXPECT_REFUSED(2, "centra encode: nothing to encode: name pictures, or give --input", "encode", "--weights", "w",
                   "--out", "y.npy");
    EXPECT_REFUSED(2, "centra encode: either --input or pictures, not both", "encode", "--weights", "w", "--out",
                   "y.npy", "--input", "x.npy", "a.png");
}

/* A picture of one red tone: every location of every map is that tone, normalised, through four norms. */
static double copied(uint8_t red)
{
    const double v = (red / 255.0 - 125.3 / 255) / (63.0 / 255) / (1.00001 * 1.00001);
    return v > 0 ? v : v * 0.2 * 0.2 * 0.2 * 0.2;
}

static bool write_tone(const char *path, uint8_t red)
{
    struct picture p = {0};
    if (picture_new(50, 40, &p) != OK) return false;
    for (size_t i = 0; i < 50 * 40; i++) p.rgb[3 * i] = red;
    const status st = picture_write_png(path, &p);
    picture_free(&p);
    return st == OK;
}

static void expect_encoded(const char *extractor, const char *precision, size_t height, size_t width)
{
    char a[512], b[512], out[512], weights[512];
    struct npy y = {0};
    snprintf(a, sizeof a, "%s/a.png", test_folder());
    snprintf(b, sizeof b, "%s/b.png", test_folder());
    snprintf(out, sizeof out, "%s/y.npy", test_folder());
    snprintf(weights, sizeof weights, "%s/w", test_folder());
    struct ran r = program_run("", WORDS("encode", "--net.width", "2", "--weights", weights, "--out", out, "--side",
                                         "32", "--extractor", extractor, "--precision", precision, a, b));
    EXPECT_INT(r.status, 0);
    if (r.status) test_failed(__FILE__, __LINE__, "%s", r.err);
    ran_free(&r);
    EXPECT_OK(npy_read(out, 1 << 20, &y));
    EXPECT_OK(npy_convert(&y, NPY_F64, "y"));
    EXPECT(y.rank == 4 && y.dim[0] == 2 && y.dim[1] == 2 && y.dim[2] == height && y.dim[3] == width);
    for (size_t i = 0; i < y.count; i++) EXPECT_NEAR(((double *)y.data)[i], copied(i < y.count / 2 ? 250 : 10), 2e-6);
    npy_free(&y);
}

TEST(encode_takes_picture_files_and_every_extractor)
{
    char path[512];
    snprintf(path, sizeof path, "%s/w", test_folder());
    REQUIRE(folder_make(path) == OK && copying_weights(path));
    snprintf(path, sizeof path, "%s/a.png", test_folder());
    REQUIRE(write_tone(path, 250));
    snprintf(path, sizeof path, "%s/b.png", test_folder());
    REQUIRE(write_tone(path, 10));
    expect_encoded("map", "f32", 2, 2);
    expect_encoded("map", "f64", 2, 2);
    expect_encoded("pyramid-2,1", "f32", 1, 5);
    expect_encoded("grid-2,1", "f32", 5, 1);
    expect_encoded("grid-2,1", "f64", 5, 1);
}

TEST(list_backbones_names_every_network_and_its_options)
{
    struct ran r = program_run("", WORDS("list", "backbones"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "conv4: ") && strstr(r.out, "conv4-19: ") && strstr(r.out, "resnet12: ") &&
           strstr(r.out, "wrn: "));
    EXPECT(strstr(r.out, "--net.width") && strstr(r.out, "--net.depth"));
    ran_free(&r);
}
