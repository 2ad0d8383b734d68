/* weights.c - transcripts of centra weights. */
#include "tests/api/netfile.h"
#include "tests/app/program.h"
#include "tests/data/sample.h"
#include "tests/test.h"
#include <stdio.h>
#include <sys/stat.h>

#define FIXTURE(name) CENTRA_SOURCE_DIR "/tests/weights/fixtures/" name

TEST(weights_show_lists_names_types_shapes_and_the_same_fingerprint_after_converting)
{
    static const char *const kinds[][2] = {{FIXTURE("nested.pth"), "pth, 9"}, {"out.safetensors", "safetensors, 9"}};
    EXPECT_RUN(0, "", "", "weights", "convert", FIXTURE("nested.pth"), "out.safetensors");
    struct ran a = program_run("", WORDS("weights", "show", kinds[0][0]));
    struct ran b = program_run("", WORDS("weights", "show", kinds[1][0]));
    EXPECT_INT(a.status, 0);
    EXPECT_INT(b.status, 0);
    EXPECT(!strncmp(a.out, kinds[0][1], strlen(kinds[0][1])));
    EXPECT(!strncmp(b.out, kinds[1][1], strlen(kinds[1][1])));
    const char *x = strchr(a.out, ','), *y = strchr(b.out, ',');
    REQUIRE(x && y);
    EXPECT_TEXT(y, x);
    ran_free(&a);
    ran_free(&b);
}

/* A folder of arrays stays one where it has no best.safetensors; a path counts before a model's name. */
TEST(weights_take_a_runs_folder_and_the_name_of_a_model)
{
    sample_file("run/recipe.txt", "", 0);
    EXPECT_RUN(0, "", "", "weights", "convert", FIXTURE("nested.pth"), sample_path("run/best.safetensors"));
    struct ran folder = program_run("", WORDS("weights", "show", sample_path("run")));
    struct ran file = program_run("", WORDS("weights", "show", sample_path("run/best.safetensors")));
    struct ran name = program_run("", WORDS("weights", "show", "conv4-mini"));
    EXPECT_INT(folder.status, 0);
    EXPECT(!strncmp(file.out, "safetensors, 9 arrays", 21));
    EXPECT_TEXT(folder.out, file.out);
    EXPECT_INT(name.status, 0);
    EXPECT(strstr(name.out, "backbone: conv4\n"));
    ran_free(&folder);
    ran_free(&file);
    ran_free(&name);
}

TEST(weights_convert_to_a_folder_of_npy_keeps_every_array)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s/npy", test_folder());
    EXPECT_RUN(0, "", "", "weights", "convert", FIXTURE("nested.pth"), folder, "--to", "npy");
    struct ran r = program_run("", WORDS("weights", "show", folder));
    EXPECT_INT(r.status, 0);
    EXPECT(!strncmp(r.out, "npy folder, 9", 13));
    ran_free(&r);
}

/* As any folder that a program makes for its user: others may look into it as far as the umask lets them. */
TEST(weights_convert_makes_a_folder_that_others_can_read)
{
    struct stat about;
    const mode_t before = umask(022);
    EXPECT_RUN(0, "", "", "weights", "convert", FIXTURE("nested.pth"), "npy", "--to", "npy");
    umask(before);
    EXPECT_INT(stat(sample_path("npy"), &about), 0);
    EXPECT_INT(about.st_mode & 0777, 0755);
}

TEST(weights_convert_takes_a_folder_with_a_slash_behind_it)
{
    EXPECT_RUN(0, "", "", "weights", "convert", FIXTURE("nested.pth"), "npy/", "--to", "npy");
    EXPECT_REFUSED(1, "centra weights: 'npy/' cannot be made: it is there already", "weights", "convert",
                   FIXTURE("nested.pth"), "npy/", "--to", "npy");
}

TEST(weights_convert_writes_a_network_as_onnx)
{
    char path[512];
    snprintf(path, sizeof path, "%s/net.onnx", test_folder());
    EXPECT_RUN(0, "", "", "weights", "convert", "--to", "onnx",
               CENTRA_SOURCE_DIR "/tests/models/conv4-synth.safetensors", path);
    EXPECT_REFUSED(
        2, "centra weights: '" FIXTURE("nested.pth") "' does not say which network it is for; name it with --backbone",
        "weights", "convert", "--to", "onnx", FIXTURE("nested.pth"), path);
    EXPECT_REFUSED(2, "centra weights: --backbone, --side and --net options are for --to onnx alone", "weights",
                   "convert", FIXTURE("nested.pth"), path, "--side", "84");
}

TEST(weights_refuse_what_is_missing_or_too_much)
{
    EXPECT_REFUSED(2, "centra weights: a file to write is missing: centra weights convert IN OUT", "weights", "convert",
                   "a");
    EXPECT_REFUSED(2, "centra weights: one file is enough: centra weights show FILE", "weights", "show", "a", "b");
    EXPECT_REFUSED(1, "centra weights: cannot open 'none.pth': No such file or directory", "weights", "show",
                   "none.pth");
}

/* A terminal must not be steered by what a file says of itself; a recipe keeps its lines. */
TEST(weights_show_keeps_control_characters_to_itself)
{
    static const struct meta said[] = {{"no\nte", "free\x1b[2J\nfor all\x7f"}};
    char path[700];
    snprintf(path, sizeof path, "%s/x.safetensors", test_folder());
    REQUIRE(netfile_write(path, &(struct netfile){.net = "conv4", .options = "net.width=2", .metas = 1, .meta = said}));
    struct ran r = program_run("", WORDS("weights", "show", path));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "\nno?te: free?[2J\nfor all?\n"));
    ran_free(&r);
}
