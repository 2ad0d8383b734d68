/* foreign.c - files of other projects: known by their tensors, renamed, norms unfolded, metadata that makes them models. */
#include "tests/test.h"
#include "tests/weights/sample.h"
#include "weights/foreign.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 12 };

struct listed {
    const char *name;
    int rank;
    size_t first; /* the other axes are 1 */
};

/* A file of arrays of 0.5. */
static struct weights *file_of(const struct listed *list)
{
    static const float data[512] = {0.5f, 0.5f};
    char path[4200];
    struct named_array a[MOST];
    struct weights *w = NULL;
    size_t n = 0;
    const struct meta said[] = {{"licence", "Apache-2.0"}, {"mean", "0.5,0.5,0.5"}};
    snprintf(path, sizeof path, "%s/w", test_folder());
    for (; list[n].name; n++)
        a[n] = (struct named_array){.name = list[n].name,
                                    .type = ARRAY_F32,
                                    .rank = list[n].rank,
                                    .dim = {list[n].first, 1, 1, 1},
                                    .data = data,
                                    .bytes = list[n].first * sizeof *data};
    EXPECT_OK(weights_write(path, n, a, 2, said));
    EXPECT_OK(weights_open(path, &w));
    return w;
}
#define FILE_OF(...) file_of((const struct listed[]){__VA_ARGS__, {NULL, 0, 0}})

static void expect_names(const struct weights *w, const char *const *names)
{
    size_t n = 0;
    for (; names[n]; n++)
        if (!weights_find(w, names[n])) test_failed(__FILE__, __LINE__, "there is no '%s'", names[n]);
    EXPECT_INT(weights_count(w), n);
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct weights *converted(struct weights *w, const char *name)
{
    struct weights *ours = NULL;
    const struct foreign *f = w ? foreign_find(w) : NULL;
    if (!f) {
        test_failed(__FILE__, __LINE__, "the file was not recognised as %s", name);
        return NULL;
    }
    EXPECT_TEXT(f->name, name);
    EXPECT_OK(foreign_convert(f, w, &ours));
    return ours;
}

TEST(folded_mobilenets_get_norms_that_only_shift)
{
    struct weights *w = FILE_OF({"stem.weight", 4, 16}, {"stem.bias", 1, 16}, {"block17.project.weight", 4, 240},
                                {"block17.project.bias", 1, 240}, {"head.weight", 4, 2}, {"head.bias", 1, 2},
                                {"classifier.weight", 2, 3}, {"stranger", 1, 1});
    struct weights *ours = converted(w, "MobileNetV2 with folded norms");
    if (!ours) goto done;
    expect_names(ours, NAMES("stem.weight", "stem.norm.weight", "stem.norm.bias", "stem.norm.running_mean",
                             "stem.norm.running_var", "block17.project.weight", "block17.project.norm.weight",
                             "block17.project.norm.bias", "block17.project.norm.running_mean",
                             "block17.project.norm.running_var", "last.weight", "last.norm.weight", "last.norm.bias",
                             "last.norm.running_mean", "last.norm.running_var", "stranger"));
    static const struct {
        const char *part;
        double value;
    } norm[] = {{"weight", 1}, {"bias", 0.5}, {"running_mean", 0}, {"running_var", 1 - 1e-5}};
    for (size_t i = 0; i < 4; i++) {
        char name[64];
        float v[2] = {9, 9};
        snprintf(name, sizeof name, "last.norm.%s", norm[i].part);
        const struct named_array *a = weights_find(ours, name);
        if (a) EXPECT_OK(named_array_get(a, "w", DT_F32, 1, (size_t[]){2}, v));
        EXPECT_NEAR((double)v[1], norm[i].value, 1e-7);
    }
    EXPECT_TEXT(weights_meta(ours, "backbone"), "mobilenetv2");
    EXPECT_TEXT(weights_meta(ours, "options"), "net.width=0.75 net.border=tensorflow");
    EXPECT_TEXT(weights_meta(ours, "mean"), "0.5 0.5 0.5");
    EXPECT_TEXT(weights_meta(ours, "input"), "224");
    EXPECT_TEXT(weights_meta(ours, "pad"), "32");
    EXPECT_TEXT(weights_meta(ours, "transform"), "shorter-crop");
    EXPECT_TEXT(weights_meta(ours, "licence"), "Apache-2.0"); /* what the file says itself is kept */
done:
    weights_close(ours);
    weights_close(w);
}

TEST(torchvision_mobilenets_get_our_names)
{
    struct weights *w = FILE_OF({"features.0.0.weight", 4, 32}, {"features.0.1.running_var", 1, 32},
                                {"features.0.1.num_batches_tracked", 1, 1}, {"features.1.conv.0.0.weight", 4, 3},
                                {"features.1.conv.1.weight", 4, 3}, {"features.1.conv.2.bias", 1, 3},
                                {"features.2.conv.0.0.weight", 4, 3}, {"features.11.conv.1.1.weight", 1, 3},
                                {"features.17.conv.2.weight", 4, 320}, {"features.17.conv.3.bias", 1, 3},
                                {"features.18.0.weight", 4, 3}, {"classifier.1.weight", 2, 3});
    struct weights *ours = converted(w, "torchvision mobilenet_v2");
    if (!ours) goto done;
    expect_names(ours,
                 NAMES("stem.weight", "stem.norm.running_var", "block01.depthwise.weight", "block01.project.weight",
                       "block01.project.norm.bias", "block02.expand.weight", "block11.depthwise.norm.weight",
                       "block17.project.weight", "block17.project.norm.bias", "last.weight"));
    EXPECT_TEXT(weights_meta(ours, "options"), "net.width=1");
    EXPECT_TEXT(weights_meta(ours, "std"), "0.229 0.224 0.225");
done:
    weights_close(ours);
    weights_close(w);
}

TEST(torchvision_resnets_keep_their_names_and_lose_their_classifier)
{
    struct weights *w = FILE_OF({"conv1.weight", 4, 64}, {"layer1.0.bn1.weight", 1, 3}, {"layer4.1.conv2.weight", 4, 3},
                                {"fc.weight", 2, 3}, {"fc.bias", 1, 3});
    struct weights *ours = converted(w, "torchvision resnet18");
    if (!ours) goto done;
    expect_names(ours, NAMES("conv1.weight", "layer1.0.bn1.weight", "layer4.1.conv2.weight"));
    EXPECT_TEXT(weights_meta(ours, "options"), "net.width=64");
done:
    weights_close(ours);
    weights_close(w);
}

TEST(other_files_are_not_taken_for_known_ones)
{
    struct weights *w = FILE_OF({"conv1.weight", 4, 64}, {"layer4.1.conv2.weight", 4, 3}, {"fc.weight", 2, 3},
                                {"layer1.2.conv1.weight", 4, 3}); /* a deeper one */
    EXPECT(w && !foreign_find(w));
    weights_close(w);
    w = FILE_OF({"conv1.weight", 1, 64}, {"layer4.1.conv2.weight", 4, 3}, {"fc.weight", 2, 3});
    EXPECT(w && !foreign_find(w));
    weights_close(w);
}

TEST(a_folded_bias_with_two_axes_is_refused)
{
    struct weights *w = FILE_OF({"stem.bias", 1, 3}, {"block17.project.weight", 4, 320}, {"head.weight", 4, 2},
                                {"head.bias", 2, 2}),
                   *ours = NULL;
    const struct foreign *f = w ? foreign_find(w) : NULL;
    EXPECT(f);
    if (f) EXPECT_STATUS(foreign_convert(f, w, &ours), ST_FORMAT);
    EXPECT(strstr(error_text(), "'head.bias' is no bias: it must have one axis"));
    EXPECT(!ours);
    weights_close(w);
}

TEST(conversion_of_foreign_files_survives_every_failed_allocation)
{
    struct weights *w = FILE_OF({"stem.bias", 1, 3}, {"block17.project.weight", 4, 320}, {"head.weight", 4, 2});
    const struct foreign *f = w ? foreign_find(w) : NULL;
    REQUIRE(f);
    for (size_t n = 1; n < 200; n++) {
        struct weights *ours = NULL;
        const size_t live = alloc_live();
        alloc_fail_at(n);
        const status st = foreign_convert(f, w, &ours);
        alloc_fail_at(0);
        const bool failed = alloc_did_fail();
        weights_close(ours);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
        EXPECT_STATUS(st, ST_MEMORY);
    }
    weights_close(w);
}
