/* onnx.c - the wire format byte by byte, and a whole small model. */
#include "weights/onnx.h"
#include "base/file.h"
#include "tests/test.h"
#include "weights/onnx_wire.h"
#include <stdio.h>
#include <stdlib.h>

TEST(wire_writes_the_bytes_of_protocol_buffers)
{
    text t = {0}, inner = {0};
    wire_int(&t, 1, 150); /* the example of the format's own description: 08 96 01 */
    wire_string(&t, 2, "testing");
    wire_int(&inner, 1, 150);
    wire_message(&t, 3, &inner);
    wire_float(&t, 4, 1.0f);
    wire_int(&t, 20, UINT64_MAX); /* -1 as an int64 */
    static const unsigned char wanted[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't',  'e',  's',  't',  'i',  'n',  'g',
                                           0x1a, 0x03, 0x08, 0x96, 0x01, 0x25, 0,    0,    0x80, 0x3f, 0xa0, 0x01,
                                           0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    EXPECT_OK(text_status(&t));
    EXPECT_INT(t.length, sizeof wanted);
    EXPECT(t.length == sizeof wanted && !memcmp(t.data, wanted, sizeof wanted));
    EXPECT_INT(inner.length, 0);
    text_free(&t);
    text_free(&inner);
}

TEST(wire_knows_the_length_of_a_beginning)
{
    static const uint64_t counts[] = {0, 1, 127, 128, 16383, 16384, INT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        text t = {0};
        wire_begin(&t, 15, counts[i]);
        EXPECT_INT(wire_begin_bytes(counts[i]), t.length);
        text_free(&t);
    }
}

static status write_small(const char *path)
{
    struct onnx *m = NULL;
    status st = OK;
    TRY(onnx_new(&m));
    onnx_end(m, ONNX_INPUT, "x", 2, (size_t[]){1, 2});
    onnx_end(m, ONNX_OUTPUT, "y", 2, (size_t[]){1, 2});
    float *slope = onnx_constant(m, "c", 1, (size_t[]){2});
    if (slope) slope[0] = 1, slope[1] = -2;
    onnx_add(m, &(struct onnx_node){.type = "Mul", .output = "y", .input = {"x", "c"}});
    onnx_meta(m, "k", "v");
    TRY(onnx_write(m, "g", "0", path));
done:
    onnx_free(m);
    return st;
}

TEST(onnx_writes_a_small_model_byte_for_byte)
{
    char path[600], *bytes = NULL;
    size_t n = 0;
    static const char wanted[] = "\x08\x08" /* IR version 8 */
                                 "\x12\x06"
                                 "centra"
                                 "\x1a\x01"
                                 "0"                /* producer and its version */
                                 "\x42\x02\x10\x11" /* opset 17 */
                                 "\x72\x06\x0a\x01"
                                 "k"
                                 "\x12\x01"
                                 "v"
                                 "\x3a\x55" /* the graph: 85 bytes */
                                 "\x5a\x14\x0a\x01"
                                 "x"
                                 "\x12\x0f\x0a\x0d\x08\x01\x12\x09\x0a\x03\x12\x01"
                                 "n"
                                 "\x0a\x02\x08\x02"
                                 "\x62\x14\x0a\x01"
                                 "y"
                                 "\x12\x0f\x0a\x0d\x08\x01\x12\x09\x0a\x03\x12\x01"
                                 "n"
                                 "\x0a\x02\x08\x02"
                                 "\x0a\x11\x0a\x01"
                                 "x"
                                 "\x0a\x01"
                                 "c"
                                 "\x12\x01"
                                 "y"
                                 "\x1a\x01"
                                 "y"
                                 "\x22\x03"
                                 "Mul"
                                 "\x12\x01"
                                 "g"
                                 "\x2a\x11\x08\x02\x10\x01\x42\x01"
                                 "c"
                                 "\x4a\x08\0\0\x80\x3f\0\0\0\xc0";
    snprintf(path, sizeof path, "%s/small.onnx", test_folder());
    EXPECT_OK(write_small(path));
    REQUIRE(file_read(path, 4096, &bytes, &n) == OK);
    EXPECT_INT(n, sizeof wanted - 1);
    for (size_t i = 0; i < n && i < sizeof wanted - 1; i++)
        if (bytes[i] != wanted[i]) {
            test_failed(__FILE__, __LINE__, "byte %zu is %02x, wanted %02x", i, (unsigned char)bytes[i],
                        (unsigned char)wanted[i]);
            break;
        }
    free(bytes);
}

TEST(onnx_survives_failing_allocations)
{
    char path[600];
    const size_t live = alloc_live();
    bool done = false;
    size_t n = 1;
    snprintf(path, sizeof path, "%s/small.onnx", test_folder());
    for (; n < 200 && !done; n++) {
        alloc_fail_at(n);
        const status st = write_small(path);
        done = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, done ? OK : ST_MEMORY);
        EXPECT_INT(alloc_live(), live);
    }
    EXPECT(done && n > 8);
}
