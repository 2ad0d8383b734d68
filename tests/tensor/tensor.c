/* tensor.c - shapes and sizes, and what all devices share. */
#include "tensor/tensor.h"
#include "tensor/device.h"
#include "tests/test.h"
#include <stdio.h>

TEST(tensor_counts_and_spans)
{
    tensor x;
    EXPECT_OK(tensor_make(&x, DT_F64, 3, (size_t[]){2, 3, 4}, NULL));
    EXPECT_INT(tensor_count(&x), 24);
    EXPECT_INT(tensor_bytes(&x), 192);
    EXPECT_INT(tensor_span(&x, 1, 3), 12);
    EXPECT_INT(tensor_span(&x, 2, 2), 1);
}

TEST(tensor_of_rank_zero_is_one_number)
{
    tensor x;
    char text[SHAPE_TEXT];
    EXPECT_OK(tensor_make(&x, DT_F32, 0, NULL, NULL));
    EXPECT_INT(tensor_count(&x), 1);
    EXPECT_INT(tensor_bytes(&x), 4);
    EXPECT_TEXT(tensor_shape_text(&x, text), "[]");
}

TEST(tensor_refuses_what_cannot_be_addressed)
{
    tensor x = {.rank = -7};
    const size_t big = (size_t)1 << 40;
    EXPECT_STATUS(tensor_make(&x, DT_F32, MAX_RANK + 1, (size_t[]){1, 1, 1, 1, 1, 1, 1}, NULL), ST_SHAPE);
    EXPECT_TEXT(error_text(), "a tensor of rank 7 is not possible; the rank may be 0 to 6");
    EXPECT_STATUS(tensor_make(&x, DT_F32, -1, NULL, NULL), ST_SHAPE);
    EXPECT_STATUS(tensor_make(&x, DT_F32, 3, (size_t[]){2, big, big}, NULL), ST_SHAPE);
    EXPECT_TEXT(error_text(), "a tensor of shape [2, 1099511627776, 1099511627776] is too large to address");
    EXPECT_STATUS(tensor_make(&x, DT_F32, 3, (size_t[]){0, big, big}, NULL), ST_SHAPE);
    EXPECT_STATUS(tensor_make(&x, DT_F64, 1, (size_t[]){SIZE_MAX / 8}, NULL), ST_SHAPE);
    EXPECT_INT(x.rank, -7); /* untouched */
}

TEST(tensor_shape_text_holds_the_longest_shape)
{
    tensor x = {.rank = MAX_RANK};
    char text[SHAPE_TEXT];
    for (int i = 0; i < MAX_RANK; i++) x.dim[i] = SIZE_MAX;
    EXPECT_INT(strlen(tensor_shape_text(&x, text)), 6 * 20 + 5 * 2 + 2);
    x = (tensor){.rank = 2, .dim = {75, 5}};
    EXPECT_TEXT(tensor_shape_text(&x, text), "[75, 5]");
}

TEST(tensor_same_shape_ignores_what_lies_behind_the_rank)
{
    tensor a = {.rank = 2, .dim = {2, 3, 9}}, b = {.rank = 2, .dim = {2, 3}}, c = {.rank = 3, .dim = {2, 3, 1}};
    tensor d = {.rank = 2, .dim = {2, 4}};
    EXPECT(tensor_same_shape(&a, &b));
    EXPECT(!tensor_same_shape(&b, &c));
    EXPECT(!tensor_same_shape(&b, &d));
}

TEST(types_have_names_and_sizes)
{
    EXPECT_TEXT(dtype_name(DT_F32), "f32");
    EXPECT_TEXT(dtype_name(DT_F64), "f64");
    EXPECT_TEXT(dtype_name(DT_I32), "i32");
    EXPECT_INT(dtype_bytes(DT_I32), 4);
    EXPECT_INT(dtype_bytes(DT_F64), 8);
}

TEST(a_missing_primitive_is_named)
{
    struct device d = {.abi = DEVICE_ABI};
    tensor x = {.type = DT_F64};
    snprintf(d.name, sizeof d.name, "cuda:1");
    EXPECT_STATUS(PRIM_CALL(&d, DT_F64, fill, (&d, 1, &x)), ST_UNSUPPORTED);
    EXPECT_TEXT(error_text(), "device cuda:1 has no primitive fill for f64; use another device, such as cpu");
}
