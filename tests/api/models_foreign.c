/* models_foreign.c - files of other projects as models: torchvision's names, and a trained MobileNetV2 where there is one. */
#include "base/file.h"
#include "tests/api/netfile.h"
#include "tests/api/own.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

static const char *at(const char *name)
{
    static char path[4][700];
    static unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", test_folder(), name);
    return p;
}

/* torchvision's name of our parameter of MobileNetV2, written down from its module list. */
static void torchvision_name(const char *ours, char out[NAME_TEXT])
{
    static const char *const layers[][3] = {/* ours, in the first block, in the others */
                                            {"expand.norm.", "", "0.1."},        {"expand.", "", "0.0."},
                                            {"depthwise.norm.", "0.1.", "1.1."}, {"depthwise.", "0.0.", "1.0."},
                                            {"project.norm.", "2.", "3."},       {"project.", "1.", "2."}};
    int number;
    if (sscanf(ours, "block%2d.", &number) != 1) {
        const char *rest = strchr(ours, '.') + 1;
        const bool norm = !strncmp(rest, "norm.", 5);
        snprintf(out, NAME_TEXT, "features.%d.%d.%s", ours[0] == 's' ? 0 : 18, norm, norm ? rest + 5 : rest);
        return;
    }
    const char *rest = ours + strlen("block01.");
    for (size_t i = 0; i < 6; i++) {
        const size_t n = strlen(layers[i][0]);
        if (strncmp(rest, layers[i][0], n)) continue;
        snprintf(out, NAME_TEXT, "features.%d.conv.%s%s", number, layers[i][number == 1 ? 1 : 2], rest + n);
        return;
    }
}

static const char *note_of(const centra_model *m, const char *key)
{
    const char *k, *value;
    for (size_t i = 0; centra_model_note(m, i, &k, &value) == CENTRA_OK; i++)
        if (!strcmp(k, key)) return value;
    return "";
}

static const struct netfile resnet = {.net = "resnet18", .options = "net.width=4", .also = "fc.weight"};
static const struct netfile mobile = {
    .net = "mobilenetv2", .options = "net.width=0.2", .rename = torchvision_name, .also = "classifier.1.weight"};

TEST(files_with_torchvisions_names_become_models_that_see_as_theirs)
{
    static const struct {
        const struct netfile *f;
        const char *options;
    } files[] = {{&resnet, "net.width=4"}, {&mobile, "net.width=0.2 net.stage=last net.border=symmetric"}};
    setenv("XDG_DATA_HOME", at("data"), 1);
    for (size_t i = 0; i < 2; i++) {
        const char *name = NULL;
        centra_model *m = NULL;
        centra_model_info about;
        REQUIRE(netfile_write(at("x.safetensors"), files[i].f));
        EXPECT_OK(
            (status)centra_model_add(at("x.safetensors"), &(centra_model_add_options){.name = files[i].f->net}, &name));
        EXPECT_OK((status)centra_model_open(name, &m));
        REQUIRE(m);
        centra_model_describe(m, &about);
        EXPECT_TEXT(about.backbone, files[i].f->net);
        EXPECT_TEXT(about.head, "mcl-ridge"); /* the file was trained with no head of ours */
        EXPECT_TEXT(note_of(m, "options"), files[i].options);
        EXPECT_TEXT(note_of(m, "transform"), "shorter-crop");
        EXPECT_TEXT(note_of(m, "pad"), "32");
        EXPECT_INT(about.side, 224);
        EXPECT(!strncmp(note_of(m, "mean"), "0.485", 5) && !strncmp(note_of(m, "std"), "0.229", 5));
        centra_model_close(m);
    }
}

TEST(files_that_are_nearly_torchvisions_are_refused_by_that_name)
{
    static const struct {
        const struct netfile *whole;
        const char *without, *said;
    } files[] = {
        {&resnet, "layer2.0.downsample.1.bias", "does not fit resnet18: 1 missing: layer2.0.downsample.1.bias"},
        {&resnet, "layer4.1.conv2.weight", "the nearest is torchvision resnet18: 1 missing: layer4.1.conv2.weight"},
        {&mobile, "block07.project.norm.weight", "does not fit mobilenetv2: 1 missing: block07.project.norm.weight"},
        {&mobile, "stem.weight", "the nearest is torchvision mobilenet_v2: 1 missing: stem.weight"},
    };
    setenv("XDG_DATA_HOME", at("data"), 1);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct netfile f = *files[i].whole;
        f.without = files[i].without;
        REQUIRE(netfile_write(at("x.safetensors"), &f));
        EXPECT_STATUS((status)centra_model_add(at("x.safetensors"), NULL, NULL), ST_FORMAT);
        if (!strstr(centra_message(), files[i].said))
            test_failed(__FILE__, __LINE__, "file %zu: \"%s\" lacks \"%s\"", i, centra_message(), files[i].said);
        EXPECT(!file_exists(at("data/centra/models/x.safetensors")));
    }
}

TEST(adding_anothers_file_survives_failing_allocations)
{
    setenv("XDG_DATA_HOME", at("data"), 1);
    REQUIRE(netfile_write(at("x.safetensors"), &resnet));
    const size_t live = alloc_live();
    bool done = false;
    size_t n = 1;
    for (; n < 20000 && !done; n++) {
        alloc_fail_at(n);
        const status st = (status)centra_model_add(at("x.safetensors"), NULL, NULL);
        done = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, done ? OK : ST_MEMORY);
        EXPECT(file_exists(at("data/centra/models/x.safetensors")) == done);
        EXPECT_INT(alloc_live(), live);
    }
    EXPECT(done && n > 100);
}

/* The trained MobileNetV2 of the folder of trained networks, or NULL after skipping the test. */
static const char *trained(void)
{
    static char path[700];
    const char *given = getenv("CENTRA_MODELS_SHARED"), *data = getenv("CENTRA_DATA");
    static const char file[] = "mobilenetv2-imagenet.safetensors";
    if (given && *given) snprintf(path, sizeof path, "%s/%s", given, file);
    else if (data && *data) snprintf(path, sizeof path, "%s/../models/%s", data, file);
    else snprintf(path, sizeof path, "%s/../shared/models/%s", CENTRA_SOURCE_DIR, file);
    if (file_exists(path)) return path;
    test_skip("no trained networks: set CENTRA_MODELS_SHARED to the folder that has them");
    return NULL;
}

/* From the file to guesses; and packs know the stage that their features are from. */
TEST(a_trained_mobilenetv2_is_added_and_classifies)
{
    static const centra_option stage = {"stage", "block17"};
    const centra_model_add_options other = {.name = "b17", .net_options = &stage, .net_option_count = 1};
    struct own o = {0};
    centra_model *b17 = NULL;
    centra_support *seen = NULL;
    unsigned char *bytes = NULL;
    size_t n = 0, right = 0;
    const char *path = trained();
    if (!path) return;
    setenv("XDG_DATA_HOME", at("data"), 1);
    EXPECT_OK((status)centra_model_add(path, &(centra_model_add_options){.name = "mobile"}, NULL));
    EXPECT_OK((status)centra_model_add(path, &other, NULL));
    EXPECT_OK((status)centra_model_open("mobile", &o.model));
    EXPECT_OK((status)centra_model_open("b17", &b17));
    EXPECT_OK((status)centra_session_open(NULL, &o.session));
    EXPECT_OK((status)centra_classifier_new(o.session, o.model, NULL, &o.classifier));
    EXPECT_OK((status)centra_support_new(o.model, &o.support));
    REQUIRE(o.support && b17);
    EXPECT_TEXT(note_of(o.model, "options"), "net.width=1 net.stage=last net.border=tensorflow");
    EXPECT_TEXT(note_of(o.model, "licence"), "Apache-2.0");
    REQUIRE(own_fill(&o, 4, 2, 1));
    for (size_t k = 0; k < 4; k++) {
        centra_picture p = own_picture(k, 77, 300, 240);
        centra_guess g;
        EXPECT_OK((status)centra_classify(o.classifier, o.support, &p, 1, NULL, &g));
        right += g.best == k;
        centra_picture_free(&p);
    }
    EXPECT_INT(right, 4);
    EXPECT_OK((status)centra_support_write(o.support, &bytes, &n));
    EXPECT_STATUS((status)centra_support_parse(b17, "x.pack", bytes, n, &seen), ST_USAGE);
    EXPECT(strstr(centra_message(),
                  "set up otherwise: mobilenetv2 width=1 stage=last border=tensorflow, not mobilenetv2 "
                  "width=1 stage=block17 border=tensorflow;"));
    centra_free(bytes);
    centra_model_close(b17);
    own_close(&o);
}
