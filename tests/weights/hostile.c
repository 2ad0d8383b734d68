/* hostile.c - .pth files made by hand: pickles and archives that are refused, each for its own reason. */
#include "tests/test.h"
#include "tests/weights/sample.h"
#include <stdlib.h>

/* A .pth whose pickle is that and which has one storage of 16 bytes. */
static status parse_pickle(const void *pickle, size_t n, struct weights **out)
{
    struct archive z = {0};
    const char storage[16] = {0};
    *out = NULL;
    archive_add(&z, "x/data.pkl", pickle, n, NULL);
    archive_add(&z, "x/data/0", storage, sizeof storage, NULL);
    archive_end(&z);
    status st = parse_exactly(z.bytes.data, z.bytes.length, out);
    archive_free(&z);
    return st;
}

/* Pieces of pickles. */
#define GLOBAL(module, name) "c" module "\n" name "\n"
#define STRING(length, s) "X" length "\0\0\0" s
#define STORAGE_OF(type, key, count) \
    "(" STRING("\7", "storage") GLOBAL("torch", type) key STRING("\3", "cpu") "K" count "tQ"
#define STORAGE STORAGE_OF("FloatStorage", STRING("\1", "0"), "\4")
#define TENSOR_OF(storage, offset, sizes, strides) \
    GLOBAL("torch._utils", "_rebuild_tensor_v2") \
    "(" storage "K" offset sizes strides "\x89" \
    "NtR"
#define TENSOR TENSOR_OF(STORAGE, "\0", "K\4\x85", "K\1\x85")
#define FILE_OF(value) "\x80\2}" STRING("\1", "a") value "s."

static void expect_refused(const char *what, const void *pickle, size_t n, const char *says)
{
    struct weights *w;
    EXPECT_STATUS(parse_pickle(pickle, n, &w), ST_FORMAT);
    EXPECT(!w);
    if (!strstr(error_text(), says))
        test_failed(__FILE__, __LINE__, "%s says \"%s\", wanted \"%s\"", what, error_text(), says);
}

#define REFUSED(pickle, says) expect_refused(#pickle, pickle, sizeof(pickle) - 1, says)

TEST(a_pickle_made_by_hand_is_read)
{
    struct weights *w;
    static const char good[] = FILE_OF(TENSOR);
    EXPECT_OK(parse_pickle(good, sizeof good - 1, &w));
    REQUIRE(w);
    EXPECT_INT(weights_at(w, 0)->dim[0], 4);
    weights_close(w);
}

TEST(globals_and_opcodes_that_no_state_dict_needs_are_refused_by_name)
{
    REFUSED("\x80\2" GLOBAL("os", "system") STRING("\4", "true") "\x85R.",
            "its pickle uses os.system, which is refused");
    REFUSED("\x80\4\x8c\2os\x8c\6system\x93.", "its pickle uses os.system, which is refused");
    REFUSED("\x80\2" GLOBAL("builtins", "eval") ".", "uses builtins.eval,");
    REFUSED("\x80\2" GLOBAL("torch", "load") ".", "uses torch.load,");
    REFUSED("\x80\2" GLOBAL("collections", "OrderedDict.x\33[2J") ".", "uses collections.OrderedDict.x?[2J,");
    REFUSED("(S'true'\nios\nsystem\n.", "has the opcode STRING,");
    REFUSED("(ios\nsystem\n.", "has the opcode INST,");
    REFUSED("\x80\2(o.", "has the opcode OBJ,");
    REFUSED("\x80\2)\x81.", "has the opcode NEWOBJ,");
    REFUSED("\x80\2\x82\1.", "has the opcode EXT1,");
    REFUSED("\x80\2N2.", "has the opcode DUP,");
    REFUSED("\x80\2\xff.", "byte 2 of its pickle is 0xff, which is no opcode");
}

TEST(pickles_that_misuse_the_stack_are_refused)
{
    REFUSED("\x80\2.", "it ends without exactly one value");
    REFUSED("\x80\2(.", "it ends without exactly one value");
    REFUSED("\x80\2NN.", "it ends without exactly one value");
    REFUSED("\x80\2t.", "a mark is missing");
    REFUSED("\x80\2u.", "a mark is missing");
    REFUSED("\x80\2(0.", "a value is missing");
    REFUSED("\x80\2(\x85.", "a tuple's values are missing");
    REFUSED("\x80\2N\x86.", "a tuple's values are missing");
    REFUSED("\x80\2}s.", "values are missing");
    REFUSED("\x80\2N(Na.", "what is no list or dict");
    REFUSED("\x80\2}(Nu.", "what is no list or dict");
    REFUSED("\x80\2(u.", "what is no list or dict");
    REFUSED("\x80\2)(NNu.", "what is no list or dict");
    REFUSED("\x80\2h\5.", "a value that it has not kept");
    REFUSED("\x80\2Nq\3h\2.", "a value that it has not kept");
    REFUSED("\x80\2Nr\xff\xff\xff\xff.", "beyond all limits");
    REFUSED("\x80\2X\xff\xff\xff\xff.", "it is cut short");
    REFUSED("\x80\2" STRING("\3", "a\0b") ".", "a text has a NUL inside");
    REFUSED("\x80\2cos", "it is cut short");
    REFUSED("\x80\2NNb.", "attributes are given to what is no dict");
    REFUSED("\x80\2NNR.", "it calls what is no function");
    REFUSED("\x80\2" GLOBAL("collections", "OrderedDict") "NR.", "it calls what is no function");
    REFUSED("\x80\2" GLOBAL("torch", "FloatStorage") ")R.", "it makes a storage");
    REFUSED("\x80\2NQ.", "a storage is described by other values");
}

TEST(tensors_that_do_not_fit_their_storage_are_refused)
{
    REFUSED(FILE_OF(TENSOR_OF(STORAGE, "\1", "K\4\x85", "K\1\x85")), "reaches beyond its storage");
    REFUSED(FILE_OF(TENSOR_OF(STORAGE, "\0", "K\2\x85", "K\4\x85")), "reaches beyond its storage");
    REFUSED(FILE_OF(TENSOR_OF(STORAGE, "\0", "J\xff\xff\xff\xff\x85", "K\1\x85")), "reaches beyond its storage");
    REFUSED(FILE_OF(TENSOR_OF(STORAGE, "\0", "K\4\x85", "J\xff\xff\xff\xff\x85")), "reaches beyond its storage");
    REFUSED(FILE_OF(TENSOR_OF(STORAGE, "\0",
                              "\x8a\10\0\0\0\0\0\0\0\x7f"
                              "\x8a\10\0\0\0\0\0\0\0\x7f\x86",
                              "K\0K\0\x86")),
            "reaches beyond its storage"); /* a product that does not fit, all on one element */
    REFUSED(FILE_OF(TENSOR_OF(STORAGE, "\0", "\x8a\6\0\0\0\0\0\1\x85", "K\0\x85")),
            "more than 4 times the bytes of the file"); /* 2^40 times the same element */
    REFUSED(FILE_OF(TENSOR_OF(STORAGE, "\0", "(K\1K\1K\1K\1K\1K\1K\1t", "(K\1K\1K\1K\1K\1K\1K\1t")), "has 7 axes");
    REFUSED(FILE_OF(TENSOR_OF(STORAGE, "\0", "K\4\x85", ")")), "a tensor is described by other values");
    REFUSED(FILE_OF(TENSOR_OF("N", "\0", "K\4\x85", "K\1\x85")), "a tensor is described by other values");
    REFUSED(FILE_OF(TENSOR_OF(STORAGE_OF("FloatStorage", STRING("\1", "1"), "\4"), "\0", ")", ")")),
            "'x/data/1' is missing");
    REFUSED(FILE_OF(TENSOR_OF(STORAGE_OF("FloatStorage", STRING("\1", "0"), "\5"), "\0", ")", ")")),
            "'x/data/0' has 16 bytes where its tensors need 20");
    REFUSED(FILE_OF(TENSOR_OF(STORAGE_OF("FloatStorage", "K\0", "\4"), "\0", ")", ")")), "a storage is described");
}

TEST(dicts_whose_tensors_cannot_be_named_are_refused)
{
    REFUSED("\x80\2K\1.", "holds no dict of tensors");
    REFUSED("\x80\2}.", "holds no tensors");
    REFUSED(FILE_OF("]" TENSOR "a"), "holds no tensors");
    REFUSED("\x80\2}K\1" TENSOR "s.", "a tensor whose name is no text");
    REFUSED("\x80\2}" STRING("\1", "a") TENSOR "s" STRING("\1", "a") TENSOR "s.", "two arrays called 'a'");
    REFUSED("\x80\2}" STRING("\1", "a") TENSOR "s" STRING("\1", "b") "}" STRING("\1", "c") TENSOR "ss.",
            "tensors in more than one dict");
    REFUSED(FILE_OF("}" STRING("\1", "b") TENSOR "s" STRING("\1", "c") "}" STRING("\1", "d") TENSOR "ss"),
            "tensors in dicts of dicts");
}

TEST(a_dict_that_holds_itself_is_read)
{
    struct weights *w;
    static const char ring[] = "\x80\2}q\0" STRING("\1", "a") TENSOR "s" STRING("\1", "b") "h\0s.";
    EXPECT_OK(parse_pickle(ring, sizeof ring - 1, &w));
    REQUIRE(w);
    EXPECT_INT(weights_count(w), 1);
    weights_close(w);
}

/* `unit` many times between a beginning and an end. */
static void expect_bomb(const char *unit, size_t times, const char *says)
{
    text t = {0};
    text_add_bytes(&t, "\x80\2", 2);
    for (size_t i = 0; i < times; i++) text_add(&t, unit);
    text_add(&t, ".");
    expect_refused(unit, t.data, t.length, says);
    text_free(&t);
}

TEST(pickles_that_grow_without_end_are_stopped)
{
    expect_bomb("(", (1 << 20) + 1, "its stack or memo grows beyond all limits");
    expect_bomb("N", (1 << 20) + 1, "more than 1048576 values");
    expect_bomb("N0", 9 << 20, "more than 1048576 values");
    expect_bomb("\x80\2", 9 << 20, "it is cut short"); /* only the first 16 MB are looked at */
}

/* An archive with a good pickle and storage, and a lie about the latter. */
static void expect_archive(struct archive_lie lie, const char *second, const char *says)
{
    static const char pickle[] = FILE_OF(TENSOR);
    const char storage[16] = {0};
    struct archive z = {0};
    struct weights *w = NULL;
    archive_add(&z, "x/data.pkl", pickle, sizeof pickle - 1, NULL);
    archive_add(&z, second, storage, sizeof storage, &lie);
    archive_end(&z);
    EXPECT_STATUS(parse_exactly(z.bytes.data, z.bytes.length, &w), ST_FORMAT);
    if (!strstr(error_text(), says))
        test_failed(__FILE__, __LINE__, "an archive is refused with \"%s\", wanted \"%s\"", error_text(), says);
    weights_close(w);
    archive_free(&z);
}

TEST(archives_that_contradict_themselves_are_refused)
{
    const char *good = "x/data/0";
    expect_archive((struct archive_lie){.crc = 1}, good, "were damaged (their CRC-32 differs)");
    expect_archive((struct archive_lie){.size = 1}, good, "'x/data/0' has 17 bytes, 16 are there");
    expect_archive((struct archive_lie){.size = 0xffffffef}, good,
                   "the sizes of member 'x/data/0' contradict"); /* no zip64 */
    expect_archive((struct archive_lie){.offset = 1}, good, "has no header where the directory says");
    expect_archive((struct archive_lie){.offset = 0xf0000000}, good, "has no header where the directory says");
    expect_archive((struct archive_lie){.method = 8}, good, "is compressed; save it again with torch.save");
    expect_archive((struct archive_lie){.flags = 1}, good, "is encrypted");
    expect_archive((struct archive_lie){0}, "x/data.pkl", "two members are called 'x/data.pkl'");
    expect_archive((struct archive_lie){0}, "y/data/0", "'x/data/0' is missing");
    expect_archive((struct archive_lie){0}, "x/byteorder", "written by a big-endian machine");
}

TEST(archives_whose_members_overlap_are_refused)
{
    static const char pickle[] = FILE_OF(TENSOR);
    const char storage[16] = {0};
    struct archive z = {0}, inner = {0};
    struct weights *w = NULL;
    archive_add(&inner, "x/data/0", storage, sizeof storage, NULL); /* a whole member within another's data */
    archive_add(&z, "x/data.pkl", pickle, sizeof pickle - 1, NULL);
    archive_add(&z, "x/more", inner.bytes.data, inner.bytes.length, NULL);
    const size_t inside = z.bytes.length - inner.bytes.length;
    const uint32_t offset = (uint32_t)inside;
    text_add_bytes(&z.directory, inner.directory.data, 42);
    for (int i = 0; i < 4; i++) text_add_bytes(&z.directory, &(unsigned char){(unsigned char)(offset >> (8 * i))}, 1);
    text_add(&z.directory, "x/data/0");
    z.count++;
    archive_end(&z);
    EXPECT_STATUS(parse_exactly(z.bytes.data, z.bytes.length, &w), ST_FORMAT);
    EXPECT_TEXT(error_text(), "'t': members 'x/more' and 'x/data/0' overlap");
    weights_close(w);
    archive_free(&z);
    archive_free(&inner);
}
