/* half.c - numbers in 16 bits: every one of them, the places between two, and a whole file. */
#include "tests/test.h"
#include "weights/file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A number by the definition of binary16, apart from the reader's way. */
static double half_number(unsigned h)
{
    const int exponent = (int)(h >> 10 & 31);
    const double fraction = (double)(h & 1023) / 1024, sign = h >> 15 ? -1 : 1;
    return sign * (exponent ? (1 + fraction) * pow(2, exponent - 15) : fraction * pow(2, -14));
}

static status halve(const double *x, size_t n, arena *memory, struct named_array *out)
{
    *out = (struct named_array){
        .name = "w", .type = ARRAY_F64, .rank = 2, .dim = {n, 1}, .data = x, .bytes = n * sizeof *x};
    return arrays_halve("file", 1, out, memory);
}

static unsigned bits_at(const struct named_array *a, size_t i)
{
    return load_u16((const unsigned char *)a->data + 2 * i);
}

TEST(every_number_of_16_bits_stays_and_the_middle_of_two_goes_to_the_even_one)
{
    enum { NUMBERS_OF = 0x7bff }; /* below the largest, 65504 */
    double *x = malloc(2 * NUMBERS_OF * sizeof *x);
    arena *memory = arena_new(1 << 12);
    struct named_array a;
    REQUIRE(x && memory);
    for (unsigned sign = 0; sign <= 0x8000; sign += 0x8000) {
        for (unsigned h = 0; h < NUMBERS_OF; h++) {
            x[2 * h] = half_number(h + sign);
            x[2 * h + 1] = (half_number(h + sign) + half_number(h + 1 + sign)) / 2;
        }
        EXPECT_OK(halve(x, 2 * NUMBERS_OF, memory, &a));
        EXPECT_INT(a.type, ARRAY_F16);
        EXPECT_INT(a.bytes, 4 * NUMBERS_OF);
        size_t wrong = 0;
        for (unsigned h = 0; h < NUMBERS_OF; h++) {
            wrong += bits_at(&a, 2 * h) != h + sign;
            wrong += bits_at(&a, 2 * h + 1) != h + (h & 1) + sign;
        }
        EXPECT_INT(wrong, 0);
    }
    arena_free(memory);
    free(x);
}

/* All 65,536 of them, as both types: with a leading one and without, both zeros, infinite, not a number. */
TEST(every_number_of_16_bits_is_read_by_the_definition)
{
    enum { ALL = 1 << 16 };
    unsigned char *bits = malloc(2 * ALL);
    float *single = malloc(ALL * sizeof *single);
    double *twice = malloc(ALL * sizeof *twice);
    REQUIRE(bits && single && twice);
    for (unsigned h = 0; h < ALL; h++) {
        bits[2 * h] = (unsigned char)(h & 255);
        bits[2 * h + 1] = (unsigned char)(h >> 8);
    }
    const struct named_array a = {
        .name = "w", .type = ARRAY_F16, .rank = 1, .dim = {ALL}, .data = bits, .bytes = 2 * ALL};
    EXPECT_OK(named_array_get(&a, "file", DT_F32, 1, (const size_t[]){ALL}, single));
    EXPECT_OK(named_array_get(&a, "file", DT_F64, 1, (const size_t[]){ALL}, twice));
    size_t wrong = 0;
    for (unsigned h = 0; h < ALL; h++) {
        const bool past = (h & 0x7c00) == 0x7c00, number = !past || !(h & 1023);
        const double wanted = past ? (h >> 15 ? -INFINITY : INFINITY) : half_number(h);
        if (number) wrong += (double)single[h] != wanted || twice[h] != wanted;
        else wrong += !isnan(single[h]) || !isnan(twice[h]);
        wrong += number && !signbit(single[h]) != !(h >> 15);
    }
    EXPECT_INT(wrong, 0);
    free(bits);
    free(single);
    free(twice);
}

TEST(numbers_beside_a_middle_go_to_the_nearest_and_too_large_ones_are_refused)
{
    static const double x[] = {1 + 0.49 / 1024, 1 + 0.51 / 1024, 1e-9, 65504, 65519, -65519.9};
    static const unsigned wanted[] = {0x3c00, 0x3c01, 0, 0x7bff, 0x7bff, 0xfbff};
    static const double large[] = {1, 65520};
    const double lost[] = {NAN};
    struct named_array a;
    arena *memory = arena_new(1 << 12);
    REQUIRE(memory);
    EXPECT_OK(halve(x, 6, memory, &a));
    for (size_t i = 0; i < 6; i++) EXPECT_INT(bits_at(&a, i), wanted[i]);
    EXPECT_STATUS(halve(large, 2, memory, &a), ST_VALUE);
    EXPECT_TEXT(error_text(), "'file': element 1 of 'w' is 65520, too large for a 16-bit number");
    EXPECT_STATUS(halve(lost, 1, memory, &a), ST_VALUE);
    arena_free(memory);
}

/* Filters become half as large; vectors, whole numbers and what is said about them stay. */
TEST(a_file_in_16_bits_keeps_its_vectors_and_metadata)
{
    static const float filter[] = {0.1F, -2, 3, 1e-3F}, mean[] = {0.1F, 70000};
    static const int64_t count = 7;
    static const struct meta says[] = {{"backbone", "conv4"}};
    const struct named_array arrays[] = {
        {.name = "conv.weight", .type = ARRAY_F32, .rank = 4, .dim = {2, 2, 1, 1}, .data = filter, .bytes = 16},
        {.name = "norm.running_mean", .type = ARRAY_F32, .rank = 1, .dim = {2}, .data = mean, .bytes = 8},
        {.name = "steps", .type = ARRAY_I64, .rank = 2, .dim = {1, 1}, .data = &count, .bytes = 8}};
    char in[600], out[600];
    struct weights *w = NULL, *v = NULL;
    double seen[4];
    snprintf(in, sizeof in, "%s/in", test_folder());
    snprintf(out, sizeof out, "%s/out", test_folder());
    EXPECT_OK(weights_write(in, 3, arrays, 1, says));
    EXPECT_OK(weights_open(in, &w));
    REQUIRE(w);
    EXPECT_OK(weights_convert(w, WEIGHTS_HALF, out));
    EXPECT_OK(weights_open(out, &v));
    REQUIRE(v && weights_count(v) == 3);
    EXPECT_TEXT(weights_meta(v, "backbone"), "conv4");
    EXPECT_INT(weights_at(v, 0)->type, ARRAY_F16);
    EXPECT_OK(named_array_get(weights_at(v, 0), out, DT_F64, 4, (size_t[]){2, 2, 1, 1}, seen));
    for (size_t i = 0; i < 4; i++) EXPECT_NEAR(seen[i], (double)filter[i], fabs((double)filter[i]) / 2048);
    EXPECT(seen[0] != (double)filter[0]);
    EXPECT_INT(weights_at(v, 1)->type, ARRAY_F32);
    EXPECT(!memcmp(weights_at(v, 1)->data, mean, sizeof mean));
    EXPECT_INT(weights_at(v, 2)->type, ARRAY_I64);
    weights_close(w);
    weights_close(v);
}
