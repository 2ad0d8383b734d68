/* safetensors.c - reading and writing safetensors: round trips, and a table of files that are refused. */
#include "base/file.h"
#include "tests/test.h"
#include "tests/weights/sample.h"
#include <stdio.h>
#include <stdlib.h>

/* A file of that header and `n` bytes of data, 1, 2, 3, ... */
static status parse_header(const char *header, size_t n, struct weights **out)
{
    unsigned char bytes[2048];
    size_t length = strlen(header);
    *out = NULL;
    for (size_t i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)length >> (8 * i));
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < n; i++) bytes[8 + length + i] = (unsigned char)(i + 1);
    return parse_exactly(bytes, 8 + length + n, out);
}

static const char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

TEST(safetensors_gives_back_what_was_written)
{
    struct sample s;
    struct weights *w = NULL;
    const struct meta meta[] = {{"backbone", "conv4"}, {"note", "\"quoted\" \xc3\xa9\n"}};
    sample_arrays(&s);
    EXPECT_OK(weights_write(path_of("a.safetensors"), SAMPLE_COUNT, s.array, 2, meta));
    EXPECT_OK(weights_open(path_of("a.safetensors"), &w));
    REQUIRE(w);
    EXPECT_TEXT(weights_kind(w), "safetensors");
    EXPECT_INT(weights_count(w), SAMPLE_COUNT);
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        const struct named_array *a = weights_find(w, s.array[i].name), *b = &s.array[i];
        REQUIRE(a);
        EXPECT_INT(a->type, b->type);
        EXPECT_INT(a->rank, b->rank);
        EXPECT(!memcmp(a->dim, b->dim, sizeof a->dim));
        EXPECT_INT(a->bytes, b->bytes);
        EXPECT(!memcmp(a->data, b->data, b->bytes));
        if (i) EXPECT(strcmp(weights_at(w, i - 1)->name, weights_at(w, i)->name) < 0);
    }
    EXPECT(!weights_find(w, "layer1"));
    EXPECT_INT(weights_meta_count(w), 2);
    EXPECT_TEXT(weights_meta(w, "note"), meta[1].value);
    EXPECT(!weights_meta(w, "other"));
    const char *key, *value;
    weights_meta_at(w, 0, &key, &value);
    EXPECT_TEXT(key, "backbone");
    EXPECT_TEXT(value, "conv4");
    weights_close(w);
}

TEST(safetensors_data_begin_at_a_multiple_of_64_and_names_are_sorted)
{
    const unsigned char data[2] = {7, 9};
    const struct named_array arrays[] = {
        {.name = "b", .type = ARRAY_U8, .rank = 1, .dim = {1}, .data = data + 1, .bytes = 1},
        {.name = "a", .type = ARRAY_U8, .rank = 0, .data = data, .bytes = 1},
    };
    char *bytes = NULL;
    size_t n = 0;
    EXPECT_OK(weights_write(path_of("b.safetensors"), 2, arrays, 0, NULL));
    EXPECT_OK(file_read(path_of("b.safetensors"), 4096, &bytes, &n));
    REQUIRE(bytes && n == 130);
    EXPECT(bytes[0] == 120 && bytes[128] == 7 && bytes[129] == 9);
    bytes[96] = 0;
    EXPECT(!strncmp(bytes + 8, "{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},\"b\":{", 56));
    free(bytes);
    EXPECT_STATUS(weights_write(path_of("c"), 2, (struct named_array[]){arrays[0], arrays[0]}, 0, NULL), ST_USAGE);
    EXPECT(!file_exists(path_of("c")));
}

TEST(fingerprints_depend_on_everything_but_the_order_and_metadata)
{
    char first[65], hex[65];
    struct weights *w;
    static const struct {
        const char *header;
        bool same;
    } cases[] = {
        {"{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]},\"a\":{\"dtype\":\"U8\",\"shape\":[2],"
         "\"data_offsets\":[0,2]},\"__metadata__\":{\"x\":\"y\"}}",
         true},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[2],"
         "\"data_offsets\":[0,2]}}",
         false},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"c\":{\"dtype\":\"U8\",\"shape\":[2],"
         "\"data_offsets\":[2,4]}}",
         false},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"b\":{\"dtype\":\"U8\",\"shape\":[1,2],"
         "\"data_offsets\":[2,4]}}",
         false},
        {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]},\"b\":{\"dtype\":\"U8\",\"shape\":[2],"
         "\"data_offsets\":[2,4]}}",
         false},
    };
    EXPECT_OK(parse_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"b\":{\"dtype\":\"U8\","
                           "\"shape\":[2],\"data_offsets\":[2,4]}}",
                           4, &w));
    REQUIRE(w);
    EXPECT_OK(weights_fingerprint(w, first));
    weights_close(w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPECT_OK(parse_header(cases[i].header, 4, &w));
        REQUIRE(w);
        EXPECT_OK(weights_fingerprint(w, hex));
        EXPECT(!strcmp(hex, first) == cases[i].same);
        weights_close(w);
    }
}

#define ARRAY(name, type, shape, from, to) \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"

TEST(safetensors_that_contradict_themselves_are_refused)
{
    static const struct {
        const char *header, *says;
    } cases[] = {
        {"{" ARRAY("a", "U8", "[2]", "0", "2") "," ARRAY("b", "U8", "[3]", "1", "4") "}", "'b' overlaps 'a'"},
        {"{" ARRAY("a", "U8", "[2]", "0", "2") "," ARRAY("b", "U8", "[1]", "3", "4") "}",
         "covers the 1 bytes before 'b'"},
        {"{" ARRAY("a", "U8", "[3]", "0", "3") "}", "has 1 bytes behind its last array"},
        {"{" ARRAY("a", "U8", "[5]", "0", "5") "}", "'a' lies outside of the file's 4 bytes"},
        {"{" ARRAY("a", "U8", "[2]", "2", "0") "}", "'a' lies outside"},
        {"{" ARRAY("a", "U8", "[2]", "0", "4") "}", "'a' has 4 bytes where its type and shape need 2"},
        {"{" ARRAY("a", "U8", "[2]", "0", "4") "," ARRAY("a", "U8", "[2]", "0", "4") "}", "a"},
        {"{" ARRAY("a", "F8_E4M3", "[4]", "0", "4") "}", "'a' has type F8_E4M3; F32,"},
        {"{" ARRAY("a", "U8", "[1,1,1,1,1,1,4]", "0", "4") "}", "'a' has 7 axes; at most 6 are read"},
        {"{" ARRAY("a", "F32", "[4611686018427387904,4]", "0", "4") "}", "'a' is larger than any memory"},
        {"{" ARRAY("a", "F32", "[0,4611686018427387904,4]", "0", "0") "}", "'a' is larger than any memory"},
        {"{" ARRAY("a", "U8", "[-4]", "0", "4") "}", "element 0 of \"shape\" of array 'a' is no size"},
        {"{" ARRAY("a", "U8", "[4.0]", "0", "4") "}", "is no size"},
        {"{" ARRAY("a", "U8", "4", "0", "4") "}", "'a' has no \"shape\""},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,2,4]}}", "'a' lies outside"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", "needs \"dtype\""},
        {"{\"a\":{\"dtype\":1,\"shape\":[4],\"data_offsets\":[0,4]}}", "'a' has no \"dtype\""},
        {"{\"a\":4}", "needs \"dtype\""},
        {"{\"__metadata__\":[]}", "is no object"},
        {"{\"__metadata__\":{\"epoch\":3}}", "metadata 'epoch' is not a text"},
        {"{} x", "t"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weights *w;
        EXPECT_STATUS(parse_header(cases[i].header, 4, &w), ST_FORMAT);
        EXPECT(!w);
        if (!strstr(error_text(), cases[i].says))
            test_failed(__FILE__, __LINE__, "%s says \"%s\", wanted \"%s\"", cases[i].header, error_text(),
                        cases[i].says);
    }
}

TEST(safetensors_with_a_wrong_length_and_unknown_files_are_refused)
{
    static const unsigned char huge[] = {0, 0, 0, 0, 0, 0, 0, 0x80, '{', '}'},
                               more[] = {3, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    struct weights *w = NULL;
    EXPECT_STATUS(parse_exactly(huge, sizeof huge, &w), ST_FORMAT);
    EXPECT_TEXT(error_text(), "'t': its header claims 9223372036854775808 bytes; at most 16777216 are read");
    EXPECT_STATUS(parse_exactly(more, sizeof more, &w), ST_FORMAT);
    EXPECT_TEXT(error_text(), "'t' is cut short: its header has 3 bytes, 2 are there");
    EXPECT_STATUS(parse_exactly("GIF89a....", 10, &w), ST_FORMAT);
    EXPECT_TEXT(error_text(),
                "'t' holds no weights that are known here: give a safetensors or PyTorch file, or a folder "
                "of .npy");
    EXPECT_STATUS(weights_open(path_of("none"), &w), ST_IO);
    EXPECT(!w);
}

TEST(safetensors_may_be_empty_and_arrays_too)
{
    struct weights *w;
    EXPECT_OK(parse_header("{}", 0, &w));
    REQUIRE(w);
    EXPECT_INT(weights_count(w), 0);
    EXPECT(!weights_find(w, "a"));
    weights_close(w);
    EXPECT_OK(parse_header("{" ARRAY("b", "U8", "[4]", "0", "4") "," ARRAY("a", "F32", "[0,3]", "0", "0") "}", 4, &w));
    REQUIRE(w);
    EXPECT_INT(weights_at(w, 0)->bytes, 0);
    weights_close(w);
}

TEST(safetensors_survive_failing_allocations)
{
    struct sample s;
    const size_t live = alloc_live();
    bool done = false;
    size_t n = 1;
    sample_arrays(&s);
    for (; n < 1000 && !done; n++) {
        struct weights *w = NULL;
        alloc_fail_at(n);
        status st = weights_write(path_of("d.safetensors"), SAMPLE_COUNT, s.array, 0, NULL);
        if (st == OK) st = weights_open(path_of("d.safetensors"), &w);
        done = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, done ? OK : ST_MEMORY);
        weights_close(w);
        EXPECT_INT(alloc_live(), live);
    }
    EXPECT(done && n > 5);
}
