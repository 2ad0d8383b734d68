/* encode.c - centra encode and centra list backbones: what is refused, in which words. */
#include "base/npy.h"
#include "base/text.h"
#include "tests/app/program.h"
#include "tests/test.h"

TEST(encode_refuses_in_one_line)
{
    EXPECT_REFUSED(2, "centra encode: --weights is missing: its parameters: safetensors, .pth or a folder of .npy",
                   "encode");
    EXPECT_REFUSED(2, "centra encode: there is no network 'resnet21'; did you mean 'resnet12'?", "encode", "--backbone",
                   "resnet21", "--weights", "w", "--input", "x.npy", "--out", "y.npy");
    EXPECT_REFUSED(2, "centra encode: unknown option --net.widht, did you mean --net.width?", "encode", "--net.widht",
                   "3", "--weights", "w", "--input", "x.npy", "--out", "y.npy");
    EXPECT_REFUSED(2, "centra encode: unknown option --nt.width; options of a network are written --net.KEY VALUE",
                   "encode", "--nt.width", "3");
}

TEST(list_backbones_names_every_network_and_its_options)
{
    struct ran r = program_run("", WORDS("list", "backbones"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "conv4: ") && strstr(r.out, "conv4-19: ") && strstr(r.out, "resnet12: ") &&
           strstr(r.out, "wrn: "));
    EXPECT(strstr(r.out, "--net.width") && strstr(r.out, "--net.depth"));
    ran_free(&r);
}
