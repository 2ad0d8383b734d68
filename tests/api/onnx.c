/* onnx.c - networks as ONNX files, and models as networks. What the files compute is checked by tests/python/test_onnx.py, which
 * reads them with another library; here: what is written at all, refusals, failing allocations. */
#include "api/onnx.h"
#include "base/file.h"
#include "tests/api/own.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 3000 };

static const char *file_in_folder(void)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/net.onnx", test_folder());
    return path;
}

/* How often these bytes are in a file. */
static size_t occurrences_of(const char *path, const char *wanted, size_t length)
{
    char *bytes = NULL;
    size_t n = 0, found = 0;
    if (file_read(path, 1 << 26, &bytes, &n) != OK) return SIZE_MAX;
    const char *at = bytes, *end = bytes + n;
    while ((size_t)(end - at) >= length && (at = memchr(at, wanted[0], (size_t)(end - at) - length + 1)))
        found += !memcmp(at++, wanted, length);
    free(bytes);
    return found;
}

static size_t occurrences(const char *path, const char *word) { return occurrences_of(path, word, strlen(word)); }

static centra_status make(centra_session *s, const char *name, const char *key, const char *value,
                          centra_precision precision, centra_net **out)
{
    const centra_option o[] = {{key, value},
                               {"widen", "2"}}; /* the wide one's files are large and take long to write */
    return centra_net_new(s, name, o, strcmp(name, "wrn") ? 1 : 2, precision, 1, out);
}

TEST(every_network_can_be_written_as_onnx_with_its_norms_folded)
{
    static const struct {
        const char *net, *key, *value;
        size_t convolutions, norms;
    } nets[] = {{"conv4", "width", "4", 4, 0},
                {"conv4-19", "width", "4", 4, 0},
                {"resnet12", "widths", "4,4,8,8", 16, 0},
                {"mobilenetv2", "width", "0.25", 52, 0},
                {"resnet18", "width", "8", 20, 0},
                {"wrn", "depth", "10", 10, 4}}; /* norms behind a sum, or behind a convolution that others take too */
    centra_session *s = NULL;
    REQUIRE(centra_session_open(NULL, &s) == CENTRA_OK);
    EXPECT_INT(centra_net_count(), sizeof nets / sizeof nets[0]); /* a new network belongs here too */
    for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++) {
        centra_net *net = NULL;
        EXPECT_OK((status)make(s, nets[i].net, nets[i].key, nets[i].value, CENTRA_F32, &net));
        EXPECT_OK((status)centra_net_write_onnx(net, 96, file_in_folder()));
        EXPECT_INT(occurrences(file_in_folder(), "\x22\x04"
                                                 "Conv"),
                   nets[i].convolutions); /* field 4 of a node: its type */
        EXPECT_INT(occurrences(file_in_folder(), "BatchNormalization"), nets[i].norms);
        centra_net_free(net);
    }
    centra_session_close(s);
}

static tensor host(float *data, int rank, const size_t *dim)
{
    tensor x = {0};
    EXPECT_OK(tensor_make(&x, DT_F32, rank, dim, data));
    return x;
}

/* What no network has yet: groups, a bias, a border on one side alone, relu6. */
TEST(a_depthwise_convolution_with_relu6_can_be_written_as_onnx)
{
    static float weight[3 * 9], bias[3] = {1, 2, 3};
    struct steps steps = {0};
    centra_session *s = NULL;
    centra_net *net = NULL;
    var x = {.value = {.type = DT_F32, .rank = 4, .dim = {1, 3, 8, 8}}};
    REQUIRE(centra_session_open(NULL, &s) == CENTRA_OK);
    REQUIRE(make(s, "conv4", "width", "4", CENTRA_F32, &net) == CENTRA_OK);
    EXPECT_OK(steps_input(&steps, &x));
    const struct step_conv conv = {.weight = host(weight, 4, (size_t[]){3, 1, 3, 3}),
                                   .bias = host(bias, 1, (size_t[]){3}),
                                   .stride = 2,
                                   .pad = {0, 0, 1, 1},
                                   .groups = 3};
    size_t y = steps_conv(&steps, steps_permute(&steps, x.step, (int[]){0, 2, 3, 1}), &conv);
    y = steps_permute(&steps, steps_clip(&steps, y, 0, 6), (int[]){0, 3, 1, 2});
    struct onnx_writer w = {.net = net, .steps = &steps};
    EXPECT_OK(onnx_write_steps(&w, y, file_in_folder()));
    const char *path = file_in_folder();
    EXPECT_INT(occurrences(path, "\x22\x04"
                                 "Clip"),
               1);
    /* attributes: name, then field 3 (one number) or field 8 (a list), then the type */
    static const char group[] = "group\x18\x03\xa0\x01\x02",
                      pads[] = "pads\x40\x00\x40\x00\x40\x01\x40\x01\xa0\x01\x07";
    EXPECT_INT(occurrences_of(path, group, sizeof group - 1), 1);
    EXPECT_INT(occurrences_of(path, pads, sizeof pads - 1), 1);
    EXPECT_INT(occurrences_of(path, (const char *)bias, sizeof bias), 1);
    centra_net_free(net);
    centra_session_close(s);
    steps_free(&steps);
}

/* Zeros that no convolution would add are not left out in silence. */
TEST(padding_that_no_convolution_takes_is_not_written_as_onnx)
{
    struct steps steps = {0};
    centra_session *s = NULL;
    centra_net *net = NULL;
    var x = {.value = {.type = DT_F32, .rank = 4, .dim = {1, 3, 8, 8}}};
    REQUIRE(centra_session_open(NULL, &s) == CENTRA_OK);
    REQUIRE(make(s, "conv4", "width", "4", CENTRA_F32, &net) == CENTRA_OK);
    EXPECT_OK(steps_input(&steps, &x));
    const size_t padded = steps_pad(&steps, x.step, (size_t[]){0, 0, 1, 1});
    EXPECT_INT(steps_at(&steps, padded)->dim[2], 9);
    const size_t y = steps_clip(&steps, padded, 0, 6);
    struct onnx_writer w = {.net = net, .steps = &steps};
    EXPECT_STATUS(onnx_write_steps(&w, y, file_in_folder()), ST_UNSUPPORTED);
    EXPECT(strstr(error_text(), "pads maps otherwise than for a convolution") != NULL);
    steps_free(&steps); /* and at the end of a network */
    EXPECT_OK(steps_input(&steps, &x));
    struct onnx_writer last = {.net = net, .steps = &steps};
    EXPECT_STATUS(onnx_write_steps(&last, steps_pad(&steps, x.step, (size_t[]){0, 0, 1, 1}), file_in_folder()),
                  ST_UNSUPPORTED);
    EXPECT(strstr(error_text(), "pads maps otherwise than for a convolution") != NULL);
    EXPECT(!file_exists(file_in_folder()));
    centra_net_free(net);
    centra_session_close(s);
    steps_free(&steps);
}

TEST(writing_onnx_refuses_in_words)
{
    centra_session *s = NULL;
    centra_net *net = NULL, *twice = NULL;
    REQUIRE(centra_session_open(NULL, &s) == CENTRA_OK);
    REQUIRE(make(s, "conv4", "width", "4", CENTRA_F32, &net) == CENTRA_OK);
    REQUIRE(make(s, "conv4", "width", "4", CENTRA_F64, &twice) == CENTRA_OK);
    EXPECT_STATUS((status)centra_net_write_onnx(twice, 0, file_in_folder()), ST_USAGE);
    EXPECT_TEXT(centra_message(), "ONNX files are written from networks in single precision");
    EXPECT_STATUS((status)centra_net_write_onnx(net, 5, file_in_folder()), ST_USAGE);
    EXPECT_TEXT(centra_message(), "a side of 5 pixels; it must lie between 8 and 4096");
    EXPECT_STATUS((status)centra_net_write_onnx(net, 8, file_in_folder()), ST_SHAPE); /* four halvings of 8 */
    EXPECT_STATUS((status)centra_net_write_onnx(net, 0, NULL), ST_USAGE);
    EXPECT_STATUS((status)centra_net_write_onnx(net, 0, "no/such/folder/net.onnx"), ST_IO);
    EXPECT(!file_exists(file_in_folder()));
    centra_net_free(net);
    centra_net_free(twice);
    centra_session_close(s);
}

TEST(writing_onnx_survives_failing_allocations)
{
    const size_t live = alloc_live();
    centra_session *s = NULL;
    centra_net *net = NULL;
    bool done = false;
    size_t n = 1;
    REQUIRE(centra_session_open(&(centra_session_options){.threads = 1}, &s) == CENTRA_OK);
    REQUIRE(make(s, "wrn", "depth", "10", CENTRA_F32, &net) == CENTRA_OK);
    EXPECT_OK((status)centra_net_write_onnx(net, 12, file_in_folder()));
    const size_t after = alloc_live();
    for (; n < MOST && !done; n++) {
        alloc_fail_at(n);
        const centra_status st = centra_net_write_onnx(net, 12, file_in_folder());
        done = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT(st == (done ? CENTRA_OK : CENTRA_MEMORY));
        EXPECT_INT(alloc_live(), after);
    }
    EXPECT(done && n > 50);
    centra_net_free(net);
    centra_session_close(s);
    EXPECT_INT(alloc_live(), live);
}

/* The same features as by the network's name and the file of weights. */
TEST(a_models_network_encodes_what_the_model_is_shown)
{
    struct own o;
    centra_net *net = NULL, *by_name = NULL;
    const void *features;
    size_t dim[4], other[4];
    REQUIRE(own_open(&o, NULL, 1));
    centra_picture p = own_picture(1, 1, 120, 90);
    static float input[3 * 84 * 84], standard[3 * 84 * 84], kept[64 * 25];
    EXPECT_OK((status)centra_model_input(o.model, &p, NULL, input));
    EXPECT_OK((status)centra_picture_input(&p, 84, standard));
    EXPECT(!memcmp(input, standard, sizeof input));
    EXPECT_OK((status)centra_model_net(o.session, o.model, NULL, 0, CENTRA_F32, &net));
    EXPECT_OK((status)centra_net_encode(net, input, 1, 84, 84, &features, dim));
    REQUIRE(dim[1] * dim[2] * dim[3] <= 64 * 25);
    memcpy(kept, features, dim[1] * dim[2] * dim[3] * sizeof(float));
    char width[16];
    snprintf(width, sizeof width, "%zu", dim[1]);
    EXPECT_OK((status)make(o.session, "conv4", "width", width, CENTRA_F32, &by_name));
    EXPECT_OK((status)centra_net_load(by_name, own_model_path()));
    EXPECT_OK((status)centra_net_encode(by_name, input, 1, 84, 84, &features, other));
    EXPECT(!memcmp(dim, other, sizeof dim) && !memcmp(kept, features, dim[1] * dim[2] * dim[3] * sizeof(float)));
    EXPECT_STATUS((status)centra_model_input(o.model, &p, NULL, NULL), ST_USAGE);
    EXPECT_STATUS((status)centra_model_net(o.session, NULL, NULL, 0, CENTRA_F32, &net), ST_USAGE);
    centra_picture_free(&p);
    centra_net_free(net);
    centra_net_free(by_name);
    own_close(&o);
}

TEST(a_models_network_survives_failing_allocations)
{
    struct own o;
    bool done = false;
    size_t n = 1;
    REQUIRE(own_open(&o, NULL, 1));
    const size_t live = alloc_live();
    for (; n < MOST && !done; n++) {
        centra_net *net = NULL;
        alloc_fail_at(n);
        const centra_status st = centra_model_net(o.session, o.model, NULL, 0, CENTRA_F32, &net);
        done = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT(st == (done ? CENTRA_OK : CENTRA_MEMORY) && done == (net != NULL));
        centra_net_free(net);
        EXPECT_INT(alloc_live(), live);
    }
    EXPECT(done && n > 5);
    own_close(&o);
}
