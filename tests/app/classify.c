/* classify.c - centra classify: what it says, what it sorts, what it refuses, on pictures made here. */
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "image/picture.h"
#include "tests/api/own.h"
#include "tests/app/program.h"
#include "tests/image/sample.h"
#include "tests/image/bomb.h"
#include "tests/test.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Paths below the test's folder, a few at a time. */
static const char *at(const char *name)
{
    static char paths[8][600];
    static size_t next;
    char *p = paths[next++ % 8];
    snprintf(p, sizeof paths[0], "%s/%s", test_folder(), name);
    return p;
}

static void put_bytes(const char *path, const void *bytes, size_t n)
{
    struct file_writer w;
    EXPECT_OK(file_begin(path, &w));
    file_put(&w, bytes, n);
    EXPECT_OK(file_commit(&w));
}

static void put_picture(const char *path, size_t kind, uint64_t seed)
{
    centra_picture p = own_picture(kind, seed, 110, 80);
    EXPECT_OK(picture_write_png(path, &(struct picture){p.width, p.height, p.rgb}));
    centra_picture_free(&p);
}

/* known/red, known/green, known/blue with `each` pictures, and new/ with two of each and one in new/below. */
static void make_folders(size_t each)
{
    static const char *const names[] = {"red", "green", "blue"};
    char path[700];
    for (size_t k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s/known/%s", test_folder(), names[k]);
        EXPECT_OK(folder_make(path));
        for (size_t i = 0; i < each; i++) {
            snprintf(path, sizeof path, "%s/known/%s/%zu.png", test_folder(), names[k], i);
            put_picture(path, k, i);
        }
    }
    EXPECT_OK(folder_make(at("new/below")));
    put_picture(at("new/a.png"), 0, 100);
    put_picture(at("new/b.PNG"), 1, 101);
    put_picture(at("new/below/c.png"), 2, 102);
    put_bytes(at("new/notes.txt"), "x", 1);
}

#define MODEL "--model", own_model_path()

TEST(classify_labels_a_folder)
{
    make_folders(4);
    struct ran r = program_run("", WORDS("classify", MODEL, "--support", at("known"), "--csv", at("new")));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    EXPECT(strstr(r.out, "file,label,probability,familiarity,unknown\n"));
    EXPECT(strstr(r.out, "/new/a.png,red,0."));
    EXPECT(strstr(r.out, "/new/b.PNG,green,0."));
    EXPECT(strstr(r.out, "/new/below/c.png,blue,0."));
    EXPECT(!strstr(r.out, "notes"));
    ran_free(&r);
    r = program_run("", WORDS("classify", MODEL, "--support", at("known"), at("new/a.png")));
    EXPECT(strstr(r.out, "file ") && strstr(r.out, "class  probability  familiarity\n") && strstr(r.out, "  red  "));
    ran_free(&r);
}

TEST(classify_speaks_json_lines)
{
    make_folders(4);
    arena *memory = arena_new(1 << 12);
    const struct json *j = NULL;
    struct ran r = program_run("", WORDS("classify", MODEL, "--support", at("known"), "--json", "--top", "2",
                                         at("new/a.png"), at("new/b.PNG")));
    EXPECT_INT(r.status, 0);
    char *end = strchr(r.out, '\n');
    REQUIRE(end && memory);
    EXPECT_OK(json_parse("line", r.out, (size_t)(end - r.out), memory, &j));
    EXPECT_TEXT(json_member(j, "label")->string, "red");
    EXPECT(json_member(j, "probability")->real > 0.4 && json_member(j, "probability")->real <= 1);
    EXPECT(json_member(j, "familiarity")->real >= 0);
    EXPECT(json_member(j, "unknown")->kind == JSON_BOOL);
    EXPECT_INT(json_member(j, "top")->count, 2);
    EXPECT_TEXT(json_member(json_member(j, "top")->first, "label")->string, "red");
    EXPECT_OK(json_parse("line", end + 1, strlen(end + 1), memory, &j));
    EXPECT_TEXT(json_member(j, "label")->string, "green");
    arena_free(memory);
    ran_free(&r);
}

/* A pack says what its folder says, and its classes come and go without the others' files. */
TEST(classify_packs_are_changed_without_encoding_again)
{
    make_folders(3);
    struct ran a = program_run("", WORDS("classify", MODEL, "--support", at("known"), "--csv", "--top", "3",
                                         "--save-pack", at("k.pack"), at("new")));
    struct ran b = program_run("",
                               WORDS("classify", MODEL, "--support", at("k.pack"), "--csv", "--top", "3", at("new")));
    EXPECT_INT(a.status, 0);
    EXPECT_INT(b.status, 0);
    EXPECT_TEXT(a.out, b.out);
    ran_free(&a);
    ran_free(&b);
    EXPECT_OK(folder_make(at("more")));
    EXPECT_INT(rename(at("known/red"), at("more/red")), 0);
    EXPECT_OK(folder_make(at("gone")));
    EXPECT_INT(rename(at("known"), at("gone/known")), 0);
    EXPECT_RUN(0, "", "", "classify", MODEL, "--support", at("k.pack"), "--remove", "red", "--save-pack", at("k.pack"));
    b = program_run("", WORDS("classify", MODEL, "--support", at("k.pack"), "--csv", at("new/a.png")));
    EXPECT(!strstr(b.out, "red"));
    ran_free(&b);
    b = program_run("", WORDS("classify", MODEL, "--support", at("k.pack"), "--add", at("more"), "--csv", "--top", "3",
                              at("new/a.png")));
    EXPECT(strstr(b.out, ",red,"));
    ran_free(&b);
    EXPECT_REFUSED(2, "centra classify: there is no class 'pink' among the 2 of the support", "classify", MODEL,
                   "--support", at("k.pack"), "--remove", "pink", at("new/a.png"));
}

static size_t entries(const char *folder)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    if (d) closedir(d);
    return n;
}

static bool exists(const char *name) { return access(at(name), F_OK) == 0; }

TEST(classify_sorts_copies_and_overwrites_nothing)
{
    make_folders(4);
    EXPECT_OK(folder_make(at("sorted/red")));
    put_bytes(at("sorted/red/a.png"), "mine", 4);
    for (int i = 0; i < 2; i++) { /* the second time everything is there already */
        struct ran r = program_run("", WORDS("classify", MODEL, "--support", at("known"), "--unknown-below", "0",
                                             "--csv", "--copy-to", at("sorted"), at("new")));
        EXPECT_INT(r.status, 0);
        EXPECT_TEXT(r.err, "");
        ran_free(&r);
    }
    char *bytes = NULL;
    size_t n = 0;
    EXPECT_OK(file_read(at("sorted/red/a.png"), 1 << 20, &bytes, &n));
    EXPECT(n == 4 && !memcmp(bytes, "mine", 4));
    free(bytes);
    EXPECT(exists("sorted/red/a (2).png") && !exists("sorted/red/a (3).png"));
    EXPECT(exists("sorted/green/b.PNG") && !exists("sorted/green/b (2).PNG"));
    EXPECT(exists("sorted/blue/c.png"));
    EXPECT_INT(entries(at("sorted/red")), 2); /* and nothing half done */
    EXPECT(exists("new/a.png") && exists("new/below/c.png"));
    struct ran r = program_run("", WORDS("classify", MODEL, "--support", at("known"), "--unknown-below", "1",
                                         "--copy-to", at("strange"), at("new/a.png")));
    EXPECT(strstr(r.out, "none of these"));
    EXPECT(exists("strange/none of these/a.png"));
    ran_free(&r);
}

/* With one picture a class there is nothing to leave out: no familiarity, and nothing is unknown unless asked. */
TEST(classify_with_one_picture_a_class_says_unknown_only_when_asked)
{
    make_folders(1);
    struct ran r = program_run("", WORDS("classify", MODEL, "--support", at("known"), "--csv", at("new/a.png")));
    EXPECT(strstr(r.out, ",,no\n"));
    ran_free(&r);
    r = program_run(
        "", WORDS("classify", MODEL, "--support", at("known"), "--csv", "--unknown-below", "1", at("new/a.png")));
    EXPECT(strstr(r.out, ",,yes\n"));
    ran_free(&r);
}

TEST(classify_walks_links_that_lead_back_once)
{
    make_folders(2);
    EXPECT_INT(symlink("..", at("new/below/up")), 0);
    EXPECT_INT(symlink(".", at("new/self")), 0);
    struct ran r = program_run("", WORDS("classify", MODEL, "--support", at("known"), "--csv", at("new")));
    size_t lines = 0;
    for (const char *s = r.out; (s = strchr(s, '\n')); s++) lines++;
    EXPECT_INT(r.status, 0);
    EXPECT_INT(lines, 4); /* names, and three pictures */
    ran_free(&r);
}

static void png_header(const char *path, uint8_t high, uint8_t low)
{
    static const uint8_t end[] = {0, 0, 0, 1, 'I', 'D', 'A', 'T', 0,    0x28, 0x38, 0x7d, 0xe8,
                                  0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};
    uint8_t header[33 + sizeof end] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R'};
    header[24] = 8;
    header[25] = 2;
    memcpy(header + 33, end, sizeof end);
    header[18] = header[22] = high;
    header[19] = header[23] = low;
    uint32_t crc = 0xffffffff;
    for (size_t i = 12; i < 29; i++) {
        crc ^= header[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    for (int i = 0; i < 4; i++) header[29 + i] = (uint8_t)(~crc >> (24 - 8 * i));
    put_bytes(path, header, sizeof header);
}

/* Three pictures that are none, among good ones: a line each, and the others are done. */
TEST(classify_reports_what_cannot_be_read_and_goes_on)
{
    make_folders(2);
    put_bytes(at("new/text.jpg"), "not a picture at all", 20);
    png_header(at("new/huge.png"), 0xc3, 0x50); /* 50,000 x 50,000 */
    struct ran r = program_run(
        "", WORDS("classify", MODEL, "--support", at("known"), "--csv", "--quiet", at("new"), at("nowhere.jpg")));
    EXPECT_INT(r.status, 1);
    EXPECT(strstr(r.out, "/a.png,") && strstr(r.out, "/b.PNG,") && strstr(r.out, "/c.png,"));
    EXPECT(!strstr(r.out, "text.jpg") && !strstr(r.out, "huge.png"));
    EXPECT(strstr(r.err, "text.jpg' is no picture that can be read: not JPEG, PNG, WebP, PPM or PGM\n"));
    EXPECT(strstr(r.err, "huge.png'"));
    EXPECT(strstr(r.err, "50000 x 50000"));
    EXPECT(strstr(r.err, "nowhere.jpg"));
    EXPECT(strstr(r.err, "centra classify: 3 of 6 pictures could not be read; the others are done\n"));
    ran_free(&r);
}

/* Ten kilobytes that are a valid WebP of 805 MB: one line, and the others are done. */
TEST(classify_refuses_a_webp_bomb)
{
    struct sample_file bomb = bomb_webp(16383, 16383, 10 << 10);
    make_folders(1);
    put_bytes(at("new/bomb.webp"), bomb.bytes, bomb.n);
    struct ran r = program_run("", WORDS("classify", MODEL, "--support", at("known"), "--csv", "--quiet", at("new")));
    EXPECT_INT(r.status, 1);
    EXPECT(strstr(r.out, "/a.png,") && strstr(r.out, "/c.png,") && !strstr(r.out, "bomb"));
    EXPECT(strstr(r.err, "bomb.webp'"));
    EXPECT(strstr(r.err, "16383 x 16383") || strstr(r.err, "this build cannot read WebP"));
    EXPECT(strstr(r.err, "centra classify: 1 of 4 pictures could not be read; the others are done\n"));
    ran_free(&r);
    r = program_run("", WORDS("classify", MODEL, "--support", at("known"), at("new/bomb.webp")));
    EXPECT_INT(r.status, 1);
    EXPECT_TEXT(r.out, "");
    EXPECT(strstr(r.err, "bomb.webp'") && strchr(r.err, '\n') == r.err + strlen(r.err) - 1); /* one line */
    ran_free(&r);
    free(bomb.bytes);
}

static void expect_refused(int code, const char *says, const char *const *words)
{
    struct ran r = program_run("", words);
    EXPECT_INT(r.status, code);
    EXPECT_TEXT(r.out, "");
    if (!strstr(r.err, says)) test_failed(__FILE__, __LINE__, "'%s' is not in '%s'", says, r.err);
    ran_free(&r);
}

TEST(classify_refuses_supports_that_are_none)
{
    make_folders(1);
    EXPECT_OK(folder_make(at("empty")));
    expect_refused(1, "/empty' has no class folders; make a folder for each class and put its pictures there\n",
                   WORDS("classify", MODEL, "--support", at("empty"), at("new/a.png")));
    EXPECT_OK(folder_make(at("known/void")));
    expect_refused(1, "known' has no pictures; put some into it, or take the folder away\n",
                   WORDS("classify", MODEL, "--support", at("known"), at("new/a.png")));
    put_bytes(at("known/void/x.jpg"), "text", 4);
    expect_refused(1, "known' has no picture that can be read\n",
                   WORDS("classify", MODEL, "--support", at("known"), at("new/a.png")));
    EXPECT_OK(folder_make(at("one")));
    EXPECT_INT(rename(at("known/red"), at("one/red")), 0);
    expect_refused(2, "there is only the class 'red'; give at least two, so that there is something to tell apart\n",
                   WORDS("classify", MODEL, "--support", at("one"), at("new/a.png")));
    expect_refused(1, "No such file", WORDS("classify", MODEL, "--support", at("nothing"), at("new/a.png")));
    EXPECT_OK(folder_make(at("one/b\xe4r")));
    put_picture(at("one/b\xe4r/0.png"), 1, 1);
    expect_refused(2, "the name of the class 'b\xe4r' is not UTF-8\n",
                   WORDS("classify", MODEL, "--support", at("one"), at("new/a.png")));
}

/* There is no option here that could give what such a head needs. */
TEST(classify_refuses_a_head_that_needs_base_classes)
{
    make_folders(1);
    EXPECT_REFUSED(2,
                   "centra classify: the head centroid needs pictures of base classes, which there are none of here; "
                   "choose another head",
                   "classify", MODEL, "--head", "centroid", "--support", at("known"), at("new/a.png"));
}

TEST(classify_refuses_packs_that_are_none)
{
    char *bytes = NULL;
    size_t n = 0;
    make_folders(1);
    EXPECT_RUN(0, "", "", "classify", MODEL, "--support", at("known"), "--save-pack", at("k.pack"));
    EXPECT_OK(file_read(at("k.pack"), 1 << 24, &bytes, &n));
    put_bytes(at("half.pack"), bytes, n / 2);
    free(bytes);
    expect_refused(1, "half.pack'", WORDS("classify", MODEL, "--support", at("half.pack"), at("new/a.png")));
    expect_refused(1, "is no pack of known pictures\n",
                   WORDS("classify", MODEL, "--support", own_model_path(), at("new/a.png")));
    expect_refused(1, "notes.txt' is no pack of known pictures\n", /* not even arrays */
                   WORDS("classify", MODEL, "--support", at("new/notes.txt"), at("new/a.png")));
}

TEST(classify_refuses_wrong_usage_in_one_line)
{
    make_folders(1);
    EXPECT_REFUSED(2,
                   "centra classify: --support is missing: the known pictures: a folder with a folder for each class, "
                   "or a pack",
                   "classify", "x.jpg");
    EXPECT_REFUSED(2, "centra classify: nothing to classify: name pictures or folders of them, or give --save-pack",
                   "classify", "--support", "x");
    EXPECT_REFUSED(2, "centra classify: --unknown-below is '2', but must be between 0 and 1 (default 0.05)", "classify",
                   "--support", "x", "--unknown-below", "2", "y.jpg");
    EXPECT_REFUSED(2, "centra classify: either --json or --csv, not both", "classify", "--support", "x", "--json",
                   "--csv", "y.jpg");
    EXPECT_REFUSED(2,
                   "centra classify: there is no model 'mushrooms': it is no file, no run's folder and none that "
                   "centra list models shows",
                   "classify", "--model", "mushrooms", "--support", at("known"), "y.jpg");
    EXPECT_REFUSED(2, "centra classify: there is no model 'conv5-mini', did you mean conv4-mini?", "classify",
                   "--model", "conv5-mini", "--support", at("known"), "y.jpg");
    EXPECT_REFUSED(2, "centra classify: unknown option --head.gama, did you mean --head.gamma?", "classify", MODEL,
                   "--head.gama", "3", "--support", at("known"), "y.jpg");
    EXPECT_OK(folder_make(at("bare")));
    EXPECT_REFUSED(1, "centra classify: there are no pictures in what was named", "classify", "--support", at("known"),
                   at("bare"));
}

TEST(list_models_shows_what_came_along)
{
    struct ran r = program_run("", WORDS("list", "models"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "model") && strstr(r.out, "trained on") &&
           strstr(r.out, "\nconv4-mini          conv4     mcl-katz"));
    ran_free(&r);
    r = program_run("", WORDS("list", "models", "--json"));
    EXPECT(strstr(r.out, "\"name\": \"conv4-mini\""));
    ran_free(&r);
}

/* Names of files are anybody's: in the table they neither steer a terminal nor begin another line. */
TEST(classify_shows_names_without_their_control_characters)
{
    make_folders(2);
    put_picture(at("new/x\x1b[2J\ny.png"), 0, 200);
    struct ran r = program_run("", WORDS("classify", MODEL, "--support", at("known"), at("new/x\x1b[2J\ny.png")));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "/new/x?[2J?y.png  "));
    ran_free(&r);
}

/* A table is read by people who go and look at the file: its path is whole, however long. */
TEST(classify_shows_long_paths_whole)
{
    char folder[300] = "new/", path[700];
    make_folders(2);
    memset(folder + 4, 'd', 240);
    EXPECT_OK(folder_make(at(folder)));
    snprintf(path, sizeof path, "%s/%s/the-picture.png", test_folder(), folder);
    put_picture(path, 0, 300);
    struct ran r = program_run("", WORDS("classify", MODEL, "--support", at("known"), path));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "ddd/the-picture.png  "));
    ran_free(&r);
}
