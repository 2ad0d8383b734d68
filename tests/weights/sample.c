/* sample.c - the arrays of the fixtures, and a writer of zip archives that can lie. */
#include "tests/weights/sample.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

/* bit patterns of v = k / 8 - 1.5 are exact in every type here */
static uint64_t bits_of(enum array_type type, double v)
{
    uint64_t wide;
    uint32_t narrow;
    float f = (float)v;
    memcpy(&wide, &v, 8);
    memcpy(&narrow, &f, 4);
    switch (type) {
    case ARRAY_F32: return narrow;
    case ARRAY_F64: return wide;
    case ARRAY_BF16: return narrow >> 16;
    case ARRAY_F16: /* sign, exponent with another bias, upper 10 bits of the fraction; none is subnormal */
        if (v == 0) return 0;
        return (narrow >> 31) << 15 | ((narrow >> 23 & 255) - 112) << 10 | (narrow >> 13 & 1023);
    case ARRAY_BOOL: return v > 15;
    default: return (uint64_t)v;
    }
}

static const struct {
    const char *name;
    enum array_type type;
    int rank;
    size_t dim[2];
} list[SAMPLE_COUNT] = {
    {"layer1.0.weight", ARRAY_F32, 2, {2, 3}},
    {"turned", ARRAY_F32, 2, {3, 2}},
    {"f64", ARRAY_F64, 1, {3, 0}},
    {"f16", ARRAY_F16, 1, {4, 0}},
    {"bf16", ARRAY_BF16, 1, {4, 0}},
    {"bn.num_batches_tracked", ARRAY_I64, 0, {0, 0}},
    {"i32", ARRAY_I32, 1, {2, 0}},
    {"u8", ARRAY_U8, 1, {3, 0}},
    {"bool", ARRAY_BOOL, 1, {3, 0}},
};

double sample_number(const struct named_array *a, size_t i)
{
    for (size_t start = 0; start < SAMPLE_COUNT; start++)
        if (!strcmp(list[start].name, a->name)) {
            double k = (double)((start + 7 * i) % 31);
            if (a->type == ARRAY_BOOL) return k > 15;
            return a->type >= ARRAY_I64 ? k : k / 8 - 1.5;
        }
    return NAN;
}

void sample_arrays(struct sample *s)
{
    *s = (struct sample){0};
    for (size_t k = 0; k < SAMPLE_COUNT; k++) {
        struct named_array *a = &s->array[k];
        size_t count = 1, item = array_type_bytes(list[k].type);
        *a = (struct named_array){.name = list[k].name, .type = list[k].type, .rank = list[k].rank, .data = s->data[k]};
        for (int d = 0; d < a->rank; d++) count *= a->dim[d] = list[k].dim[d];
        for (size_t i = 0; i < count; i++) {
            double v = (double)((k + 7 * i) % 31);
            uint64_t bits = bits_of(a->type, a->type >= ARRAY_I64 ? v : v / 8 - 1.5);
            for (size_t b = 0; b < item; b++) s->data[k][i * item + b] = (unsigned char)(bits >> (8 * b));
        }
        a->bytes = count * item;
    }
}

void sample_fingerprint(char hex[65])
{
    struct sample s;
    struct weights *w = NULL;
    char path[4096];
    hex[0] = 0;
    sample_arrays(&s);
    snprintf(path, sizeof path, "%s/sample.safetensors", test_folder());
    EXPECT_OK(weights_write(path, SAMPLE_COUNT, s.array, 0, NULL));
    EXPECT_OK(weights_open(path, &w));
    REQUIRE(w);
    EXPECT_OK(weights_fingerprint(w, hex));
    weights_close(w);
}

const char *fixture(const char *name)
{
    static _Thread_local char path[4096];
    snprintf(path, sizeof path, "%s/tests/weights/fixtures/%s", CENTRA_SOURCE_DIR, name);
    return path;
}

static void put(text *t, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++, v >>= 8) text_add_bytes(t, &(unsigned char){(unsigned char)v}, 1);
}

static uint32_t crc_of(const unsigned char *b, size_t n)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < 8 * n; i++) { /* bit by bit */
        uint32_t bit = (crc ^ (uint32_t)b[i / 8] >> (i % 8)) & 1;
        crc = crc >> 1 ^ (bit ? 0xedb88320 : 0);
    }
    return ~crc;
}

void archive_add(struct archive *z, const char *name, const void *data, size_t n, const struct archive_lie *lie)
{
    struct archive_lie truth = {0};
    if (!lie) lie = &truth;
    size_t at = z->bytes.length, length = strlen(name), size = n + lie->size;
    uint32_t crc = crc_of(data, n) + lie->crc;
    text_add_bytes(&z->bytes, "PK\3\4", 4);
    put(&z->bytes, 0, 22); /* sizes stand only in the directory, as PyTorch does it */
    put(&z->bytes, length, 2);
    put(&z->bytes, 0, 2);
    text_add(&z->bytes, name);
    text_add_bytes(&z->bytes, data, n);
    text_add_bytes(&z->directory, "PK\1\2", 4);
    put(&z->directory, 0, 4);
    put(&z->directory, (uint64_t)lie->flags, 2);
    put(&z->directory, (uint64_t)lie->method, 2);
    put(&z->directory, 0, 4);
    put(&z->directory, crc, 4);
    put(&z->directory, size, 4);
    put(&z->directory, size, 4);
    put(&z->directory, length, 2);
    put(&z->directory, 0, 12);
    put(&z->directory, at + lie->offset, 4);
    text_add(&z->directory, name);
    z->count++;
}

void archive_end(struct archive *z)
{
    size_t at = z->bytes.length;
    text_add_bytes(&z->bytes, z->directory.data, z->directory.length);
    text_add_bytes(&z->bytes, "PK\5\6", 4);
    put(&z->bytes, 0, 4);
    put(&z->bytes, z->count, 2);
    put(&z->bytes, z->count, 2);
    put(&z->bytes, z->directory.length, 4);
    put(&z->bytes, at, 4);
    put(&z->bytes, 0, 2);
}

void archive_free(struct archive *z)
{
    text_free(&z->bytes);
    text_free(&z->directory);
}

status parse_exactly(const void *bytes, size_t n, struct weights **out)
{
    void *exact = malloc(n + !n);
    if (!exact) return fail(ST_MEMORY, "no memory for the test");
    memcpy(exact, bytes, n);
    status st = weights_parse("t", exact, n, out);
    free(exact);
    return st;
}
