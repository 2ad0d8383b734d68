/* Tests of base/npy.h. */
#include "tests/test.h"
#include "base/npy.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A file in memory: magic, version, the length of the header and the header, then the numbers. */
struct image {
    unsigned char bytes[1024];
    size_t n;
};

static struct image image_of(int major, const char *header, const void *data, size_t bytes)
{
    struct image f = {.n = 6};
    size_t length = strlen(header);
    memcpy(f.bytes, "\x93NUMPY", 6);
    f.bytes[f.n++] = (unsigned char)major;
    f.bytes[f.n++] = 0;
    for (int i = 0; i < (major == 1 ? 2 : 4); i++) f.bytes[f.n++] = (unsigned char)(length >> (8 * i));
    memcpy(f.bytes + f.n, header, length);
    f.n += length;
    if (bytes) memcpy(f.bytes + f.n, data, bytes);
    f.n += bytes;
    return f;
}

static status parse(const struct image *f, struct npy *out)
{
    *out = (struct npy){0};
    void *exact = malloc(f->n + !f->n); /* so that a sanitizer sees a read beyond the end */
    if (!exact) return fail(ST_MEMORY, "test");
    memcpy(exact, f->bytes, f->n);
    status st = npy_parse("t.npy", exact, f->n, out);
    free(exact);
    return st;
}

TEST(npy_reads_versions_1_to_3)
{
    for (int major = 1; major <= 3; major++) {
        float x[3] = {1, -2.5f, 1e-40f};
        struct image f = image_of(major, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }   \n", x, sizeof x);
        struct npy a;
        EXPECT_OK(parse(&f, &a));
        EXPECT_INT(a.type, NPY_F32);
        EXPECT_INT(a.rank, 1);
        EXPECT_INT(a.dim[0], 3);
        EXPECT_INT(a.count, 3);
        EXPECT(a.data && !memcmp(a.data, x, sizeof x));
        npy_free(&a);
        npy_free(&a);
    }
}

TEST(npy_reads_every_type_in_both_byte_orders)
{
    static const struct {
        const char *type;
        size_t bytes;
        enum npy_type as;
        uint64_t bits; /* in the file, as a number of `bytes` bytes */
        double wanted;
    } cases[] = {
        {"f4", 4, NPY_F32, 0xc0490fdb, -3.14159274101257324},
        {"f8", 8, NPY_F64, UINT64_C(0x400921fb54442d18), 3.141592653589793},
        {"i1", 1, NPY_I64, 0x80, -128},
        {"i2", 2, NPY_I64, 0xfffe, -2},
        {"i4", 4, NPY_I64, 0x80000001, -2147483647.0},
        {"i8", 8, NPY_I64, UINT64_C(0xffffffffffffff00), -256},
        {"u1", 1, NPY_I64, 0xff, 255},
        {"u2", 2, NPY_I64, 0xfffe, 65534},
        {"u4", 4, NPY_I64, 0xfffffffe, 4294967294.0},
        {"u8", 8, NPY_I64, 0x0102030405, 4328719365.0},
        {"b1", 1, NPY_I64, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int big = 0; big < 2; big++) {
            char header[100];
            unsigned char data[8];
            size_t n = cases[i].bytes;
            const char *order = n == 1 && big ? "|" : big ? ">" : "<";
            snprintf(header, sizeof header, "{\"shape\": (), 'fortran_order': False, 'descr': '%s%s'}\n", order,
                     cases[i].type);
            for (size_t b = 0; b < n; b++) data[b] = (unsigned char)(cases[i].bits >> (8 * (big ? n - 1 - b : b)));
            struct image f = image_of(1, header, data, n);
            struct npy a;
            EXPECT_OK(parse(&f, &a));
            REQUIRE(a.data);
            EXPECT_INT(a.type, cases[i].as);
            EXPECT_INT(a.rank, 0);
            EXPECT_INT(a.count, 1);
            EXPECT_OK(npy_convert(&a, NPY_F64, "t.npy"));
            EXPECT_NEAR(*(double *)a.data, cases[i].wanted, 0);
            npy_free(&a);
        }
}

TEST(npy_reorders_fortran_arrays)
{
    int16_t x[24]; /* [2, 3, 4]: element (i, j, k) stands at i + 2 j + 6 k and is 100 i + 10 j + k */
    for (int i = 0; i < 24; i++) x[i] = (int16_t)(100 * (i % 2) + 10 * (i / 2 % 3) + i / 6);
    struct image f = image_of(2, "{'descr':'<i2','fortran_order':True,'shape':(2,3,4)}\n", x, sizeof x);
    struct npy a;
    EXPECT_OK(parse(&f, &a));
    REQUIRE(a.data);
    const int64_t *got = a.data;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) EXPECT_INT(*got++, 100 * i + 10 * j + k);
    npy_free(&a);
    float y[6] = {0, 3, 1, 4, 2, 5};
    f = image_of(1, "{'descr':'<f4','fortran_order':True,'shape':(2,3)}\n", y, sizeof y);
    EXPECT_OK(parse(&f, &a));
    REQUIRE(a.data);
    for (int i = 0; i < 6; i++) EXPECT_NEAR(((float *)a.data)[i], i, 0);
    npy_free(&a);
}

TEST(npy_reads_arrays_without_elements)
{
    struct image f = image_of(1, "{'descr':'<f8','fortran_order':True,'shape':(3,0,2)}\n", NULL, 0);
    struct npy a;
    EXPECT_OK(parse(&f, &a));
    EXPECT_INT(a.count, 0);
    EXPECT_INT(a.rank, 3);
    EXPECT(a.data);
    EXPECT_OK(npy_convert(&a, NPY_F32, "t.npy"));
    npy_free(&a);
}

struct refusal {
    const char *header;
    size_t bytes; /* of zeros behind it */
    status st;
    const char *part; /* of the sentence */
};

static void expect_refusal(const struct image *f, status st, const char *part)
{
    size_t live = alloc_live();
    struct npy a;
    EXPECT_STATUS(parse(f, &a), st);
    if (!strstr(error_text(), part))
        test_failed(__FILE__, __LINE__, "\"%s\" does not contain \"%s\"", error_text(), part);
    EXPECT(a.data == NULL);
    EXPECT_INT(alloc_live(), live);
}

TEST(npy_refuses_bad_headers_by_name)
{
    static const struct refusal cases[] = {
        {"{'descr':'<f2','fortran_order':False,'shape':(2,)}\n", 4, ST_UNSUPPORTED, "'<f2' (half precision)"},
        {"{'descr':'<f16','fortran_order':False,'shape':(1,)}\n", 16, ST_UNSUPPORTED, "'<f16' (a long float)"},
        {"{'descr':'<c8','fortran_order':False,'shape':(1,)}\n", 8, ST_UNSUPPORTED, "'<c8' (complex numbers)"},
        {"{'descr':'|O','fortran_order':False,'shape':(1,)}\n", 8, ST_UNSUPPORTED, "'|O' (Python objects)"},
        {"{'descr':'<U5','fortran_order':False,'shape':(1,)}\n", 20, ST_UNSUPPORTED, "'<U5' (texts)"},
        {"{'descr':'|S5','fortran_order':False,'shape':(1,)}\n", 5, ST_UNSUPPORTED, "'|S5' (texts)"},
        {"{'descr':'|V5','fortran_order':False,'shape':(1,)}\n", 5, ST_UNSUPPORTED, "'|V5' (raw bytes or records)"},
        {"{'descr':'<M8[ns]','fortran_order':False,'shape':(1,)}\n", 8, ST_UNSUPPORTED, "(times)"},
        {"{'descr':'<i3','fortran_order':False,'shape':(1,)}\n", 3, ST_UNSUPPORTED, "'<i3' (unknown)"},
        {"{'descr':'','fortran_order':False,'shape':(1,)}\n", 3, ST_UNSUPPORTED, "'' (unknown)"},
        {"{'descr':[('a','<f4')],'fortran_order':False,'shape':(1,)}\n", 4, ST_UNSUPPORTED, "structured arrays"},
        {"{'descr':'|f4','fortran_order':False,'shape':(1,)}\n", 4, ST_FORMAT, "does not say its byte order"},
        {"{'descr':'f4','fortran_order':False,'shape':(1,)}\n", 4, ST_FORMAT, "does not say its byte order"},
        {"{'descr':'<f4','fortran_order':False,'shape':(2,)}\n", 7, ST_FORMAT,
         "promises 8 bytes of numbers, 7 are there"},
        {"{'descr':'<f4','fortran_order':False,'shape':(2,)}\n", 9, ST_FORMAT, "1 bytes too many"},
        {"{'descr':'<f4','fortran_order':False,'shape':(2)}\n", 8, ST_FORMAT, "a comma is missing in the shape"},
        {"{'descr':'<f4','fortran_order':False,'shape':(2 1)}\n", 8, ST_FORMAT, "a comma is missing in the shape"},
        {"{'descr':'<f4','fortran_order':False,'shape':(,)}\n", 8, ST_FORMAT, "something else than whole numbers"},
        {"{'descr':'<f4','fortran_order':False,'shape':(-2,)}\n", 8, ST_FORMAT, "something else than whole numbers"},
        {"{'descr':'<f4','fortran_order':False,'shape':(2L,)}\n", 8, ST_FORMAT, "a comma is missing in the shape"},
        {"{'descr':'<f4','fortran_order':False,'shape':(02,)}\n", 8, ST_FORMAT, "begins with 0"},
        {"{'descr':'<f4','fortran_order':False,'shape':2}\n", 8, ST_FORMAT, "does not begin with ("},
        {"{'descr':'<f4','fortran_order':False,'shape':(18446744073709551616,)}\n", 8, ST_FORMAT,
         "a dimension is too large"},
        {"{'descr':'<f4','fortran_order':False,'shape':(4611686018427387904,)}\n", 8, ST_FORMAT,
         "more elements than can be"},
        {"{'descr':'<f4','fortran_order':False,'shape':(4294967296,4294967296)}\n", 0, ST_FORMAT,
         "more elements than can be"},
        {"{'descr':'<f4','fortran_order':False,'shape':(0,4294967296,4294967296)}\n", 0, ST_FORMAT,
         "more elements than can"},
        {"{'descr':'<f4','fortran_order':False,'shape':(4611686018427387903,)}\n", 8, ST_FORMAT, "is cut short"},
        {"{'descr':'<f4','fortran_order':False,'shape':(1,1,1,1,1,1,1,1,1)}\n", 4, ST_UNSUPPORTED,
         "more than 8 dimensions"},
        {"{'descr':'<f4','fortran_order':0,'shape':(1,)}\n", 4, ST_FORMAT, "neither True nor False"},
        {"{'descr':'<f4','fortran_order':False}\n", 4, ST_FORMAT, "is missing"},
        {"{}\n", 4, ST_FORMAT, "is missing"},
        {"{'descr':'<f4','descr':'<f4','fortran_order':False,'shape':(1,)}\n", 4, ST_FORMAT, "the key 'descr' twice"},
        {"{'descr':'<f4','fortran_order':False,'shape':(1,),'x':1}\n", 4, ST_FORMAT, "the unknown key 'x'"},
        {"{'descr':'<f4','fortran_order':False,'shape':(1,)} x\n", 4, ST_FORMAT, "something stands behind }"},
        {"{'descr':'<f4','fortran_order':False,'shape':(1,)}", 4, ST_FORMAT, "does not end with a newline"},
        {"{'descr':'<f4' 'fortran_order':False,'shape':(1,)}\n", 4, ST_FORMAT, "a comma is missing"},
        {"{'descr' '<f4','fortran_order':False,'shape':(1,)}\n", 4, ST_FORMAT, "a colon is missing"},
        {"{descr:'<f4','fortran_order':False,'shape':(1,)}\n", 4, ST_FORMAT, "a text in quotes is missing"},
        {"{'descr':'<\\x66','fortran_order':False,'shape':(1,)}\n", 4, ST_FORMAT,
         "a character that no key or type has"},
        {"{'descr':'<f4", 0, ST_FORMAT, "a text does not end"},
        {"{'a key that is longer than any key that we know of':1}\n", 0, ST_FORMAT, "longer than any key"},
        {"['descr']\n", 4, ST_FORMAT, "does not begin with {"},
        {"", 4, ST_FORMAT, "does not begin with {"},
        {"{", 0, ST_FORMAT, "a text in quotes is missing"},
    };
    static const unsigned char zeros[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct image f = image_of(1, cases[i].header, zeros, cases[i].bytes);
        expect_refusal(&f, cases[i].st, cases[i].part);
    }
}

TEST(npy_refuses_files_that_are_none)
{
    struct image good = image_of(3, "{'descr':'<f4','fortran_order':False,'shape':(1,)}\n", "\0\0\0\0", 4), f;
    for (size_t n = 0; n < good.n; n++) { /* every way to be cut short */
        f = good;
        f.n = n;
        expect_refusal(&f, ST_FORMAT,
                       n < 10           ? "is not a NumPy array file"
                       : n < good.n - 4 ? "cut short within its header"
                                        : "is cut short");
    }
    f = good;
    f.bytes[0] = 'N';
    expect_refusal(&f, ST_FORMAT, "is not a NumPy array file");
    f = good;
    f.bytes[6] = 4;
    expect_refusal(&f, ST_UNSUPPORTED, "version 4.0");
    f = good;
    f.bytes[7] = 1;
    expect_refusal(&f, ST_UNSUPPORTED, "version 3.1");
    f = good;
    f.bytes[11] = 0x80;
    expect_refusal(&f, ST_FORMAT, "at most 65536");
}

TEST(npy_refuses_values_that_do_not_fit)
{
    struct image f = image_of(1, "{'descr':'<u8','fortran_order':False,'shape':(2,)}\n",
                              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80", 16);
    expect_refusal(&f, ST_VALUE, "element 1 is 9223372036854775808");
    f = image_of(1, "{'descr':'|b1','fortran_order':False,'shape':(2,)}\n", "\1\2", 2);
    expect_refusal(&f, ST_FORMAT, "element 1 of a bool array is 2");
    double x[2] = {INFINITY, 1e39};
    f = image_of(1, "{'descr':'<f8','fortran_order':False,'shape':(2,)}\n", x, sizeof x);
    struct npy a;
    REQUIRE(parse(&f, &a) == OK);
    EXPECT_STATUS(npy_convert(&a, NPY_F32, "t.npy"), ST_VALUE);
    EXPECT(strstr(error_text(), "element 1 is 1e+39"));
    EXPECT_INT(a.type, NPY_F64); /* unchanged */
    EXPECT_NEAR(((double *)a.data)[1], 1e39, 0);
    EXPECT_STATUS(npy_convert(&a, NPY_I64, "t.npy"), ST_VALUE);
    npy_free(&a);
}

TEST(npy_converts_between_types)
{
    int64_t x[4] = {0, -5, (int64_t)1 << 53,
                    INT64_C(0x1000001000000001)}; /* the last one is rounded wrongly by way of double */
    struct image f = image_of(1, "{'descr':'<i8','fortran_order':False,'shape':(4,)}\n", x, sizeof x);
    for (int type = NPY_F32; type <= NPY_F64; type++) {
        struct npy a;
        REQUIRE(parse(&f, &a) == OK);
        EXPECT_OK(npy_convert(&a, (enum npy_type)type, "t.npy"));
        EXPECT_INT(a.type, type);
        for (int i = 0; i < 4; i++) {
            if (type == NPY_F32) EXPECT_NEAR(((float *)a.data)[i], (float)x[i], 0);
            else EXPECT_NEAR(((double *)a.data)[i], (double)x[i], 0);
        }
        npy_free(&a);
    }
    float y[3] = {NAN, -INFINITY, 0.1f};
    f = image_of(1, "{'descr':'<f4','fortran_order':False,'shape':(3,)}\n", y, sizeof y);
    struct npy a;
    REQUIRE(parse(&f, &a) == OK);
    EXPECT_OK(npy_convert(&a, NPY_F64, "t.npy"));
    EXPECT(isnan(((double *)a.data)[0]));
    EXPECT_OK(npy_convert(&a, NPY_F32, "t.npy"));
    EXPECT(isnan(((float *)a.data)[0]));
    EXPECT(((float *)a.data)[1] == -INFINITY);
    EXPECT_NEAR(((float *)a.data)[2], 0.1f, 0);
    npy_free(&a);
}

TEST(npy_reads_back_what_it_wrote)
{
    static const size_t dim[NPY_MAX_RANK] = {2, 3, 1, 2, 1, 1, 1, 2};
    static double data[1500];
    char path[4096];
    for (size_t i = 0; i < 1500; i++) data[i] = (double)i / 7; /* any bits will do for the other types too */
    snprintf(path, sizeof path, "%s/a.npy", test_folder());
    for (int type = NPY_F32; type <= NPY_I64; type++)
        for (int rank = 0; rank <= NPY_MAX_RANK; rank++) {
            struct npy a = {0};
            REQUIRE(npy_write(path, (enum npy_type)type, rank, dim, data) == OK);
            REQUIRE(npy_read(path, 4096, &a) == OK);
            EXPECT_INT(a.type, type);
            EXPECT_INT(a.rank, rank);
            for (int d = 0; d < rank; d++) EXPECT_INT(a.dim[d], dim[d]);
            EXPECT(!memcmp(a.data, data, a.count * (type == NPY_F32 ? 4 : 8)));
            npy_free(&a);
        }
    size_t many = 1500; /* more than one chunk */
    struct npy a = {0};
    REQUIRE(npy_write(path, NPY_F64, 1, &many, data) == OK);
    REQUIRE(npy_read(path, 1 << 20, &a) == OK);
    EXPECT(a.count == many && !memcmp(a.data, data, sizeof data));
    npy_free(&a);
    EXPECT_STATUS(npy_read(path, 1000, &a), ST_VALUE);
}

TEST(npy_writes_the_bytes_that_numpy_writes)
{
    static const char header[] = "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    size_t dim = 2;
    float x[2] = {1, 2};
    char path[4096], *seen = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/a.npy", test_folder());
    REQUIRE(npy_write(path, NPY_F32, 1, &dim, x) == OK);
    REQUIRE(file_read(path, 1000, &seen, &n) == OK);
    EXPECT_INT(n, 128 + 8);
    EXPECT(!memcmp(seen, header, sizeof header - 1));
    for (size_t i = sizeof header - 1; i < 127; i++) EXPECT_INT(seen[i], ' ');
    EXPECT_INT(seen[127], '\n');
    EXPECT(!memcmp(seen + 128, "\0\0\x80\x3f\0\0\0\x40", 8));
    free(seen);
}

TEST(npy_calls_survive_each_failing_allocation)
{
    char path[4096];
    float x[4] = {1, 2, 3, 4};
    size_t dim = 4;
    snprintf(path, sizeof path, "%s/a.npy", test_folder());
    REQUIRE(npy_write(path, NPY_F32, 1, &dim, x) == OK);
    for (size_t n = 1;; n++) {
        size_t live = alloc_live();
        struct npy a = {0};
        alloc_fail_at(n);
        status st = npy_read(path, 1000, &a);
        if (st == OK) st = npy_convert(&a, NPY_F64, path);
        if (st == OK) st = npy_write(path, NPY_F32, 1, &dim, x);
        bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        npy_free(&a);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
        REQUIRE(n < 30);
    }
}
