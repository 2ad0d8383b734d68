/* explain.c - centra explain: the page, the pictures, JSON, and what is refused. */
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "image/picture.h"
#include "tests/api/scene.h"
#include "tests/app/program.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

static void path_of(char out[512], const char *name) { snprintf(out, 512, "%s/%s", test_folder(), name); }

static bool write_scene(size_t kind, uint64_t seed, const char *name)
{
    char path[512];
    centra_picture p = scene_make(kind, seed, scene_box(seed));
    const struct picture ours = {p.width, p.height, p.rgb};
    path_of(path, name);
    const bool good = p.rgb && picture_write_png(path, &ours) == OK;
    centra_picture_free(&p);
    return good;
}

/* Known pictures of two classes, one with a name that no page may take as it is, and a picture to ask about. */
static bool write_all(void)
{
    char path[512];
    path_of(path, "known/a&<i>a");
    if (folder_make(path) != OK) return false;
    path_of(path, "known/b");
    return folder_make(path) == OK && write_scene(0, 1, "known/a&<i>a/1.png") &&
           write_scene(0, 2, "known/a&<i>a/<script>.png") && write_scene(1, 3, "known/b/1.png") &&
           write_scene(1, 4, "known/b/2.png") && write_scene(0, 5, "<b>.jpg"); /* a PNG: content decides */
}

static char *read_page(const char *name)
{
    char path[512], *data = NULL;
    size_t bytes;
    path_of(path, name);
    return file_read(path, 64 << 20, &data, &bytes) == OK ? data : NULL;
}

/* Every src is a picture within the page, and nothing else could load anything. */
static void expect_self_contained(const char *page)
{
    size_t pictures = 0;
    for (const char *at = page; (at = strstr(at, "src=")); at++, pictures++)
        EXPECT(!strncmp(at, "src=\"data:image/png;base64,", 27));
    EXPECT(pictures >= 3 + 2 * 3);
    static const char *const loading[] = {"http:", "https:", "url(", "@import", "<script", "<link", "<iframe", "href="};
    for (size_t i = 0; i < sizeof loading / sizeof *loading; i++) EXPECT(!strstr(page, loading[i]));
}

TEST(explain_writes_a_page_that_needs_nothing_else_and_trusts_no_name)
{
    REQUIRE(write_all());
    struct ran r = program_run(
        "", WORDS("explain", "--model", own_model_path(), "--support", "known", "--out", "why", "<b>.jpg"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    EXPECT(strstr(r.out, "<b>.jpg") && strstr(r.out, "a&<i>a") && strstr(r.out, "written to why/index.html\n"));
    ran_free(&r);
    char *page = read_page("why/index.html");
    REQUIRE(page);
    expect_self_contained(page);
    EXPECT(strstr(page, "<h2>&lt;b&gt;.jpg</h2>"));
    EXPECT(strstr(page, "a&amp;&lt;i&gt;a"));
    EXPECT(!strstr(page, "<b>.jpg") && !strstr(page, "<i>a"));
    EXPECT(strstr(page, "<svg") && strstr(page, "<line ") && strstr(page, "prefers-color-scheme:dark"));
    EXPECT(strstr(page, "Familiarity "));
    EXPECT(!strncmp(page + strlen(page) - 8, "</html>\n", 8));
    free(page);
}

/* With a bound that every picture is below of, and with none. */
TEST(explain_calls_strangers_none_of_these_as_classify_does)
{
    REQUIRE(write_all());
    for (int strange = 0; strange < 2; strange++) {
        struct ran r = program_run("", WORDS("explain", "--unknown-below", strange ? "1" : "0", "--model",
                                             own_model_path(), "--support", "known", "--out", "why", "<b>.jpg"));
        EXPECT_INT(r.status, 0);
        EXPECT((strstr(r.out, "none of these") != NULL) == strange && (strstr(r.out, "a&<i>a") == NULL) == strange);
        ran_free(&r);
        char *page = read_page("why/index.html");
        REQUIRE(page);
        EXPECT((strstr(page, "<p class=\"told\">none of these</p>") != NULL) == strange);
        EXPECT((strstr(page, "If it had to be one of them: a&amp;&lt;i&gt;a, ") != NULL) == strange);
        free(page);
        r = program_run("", WORDS("explain", "--json", "--unknown-below", strange ? "1" : "0", "--model",
                                  own_model_path(), "--support", "known", "--out", "why", "<b>.jpg"));
        EXPECT(strstr(r.out, strange ? "\"unknown\":true" : "\"unknown\":false"));
        ran_free(&r);
    }
    EXPECT_REFUSED(2, "centra explain: --unknown-below is '2', but must be between 0 and 1 (default 0.05)", "explain",
                   "--unknown-below", "2", "--support", "known", "--out", "why", "<b>.jpg");
}

static void expect_map(const struct json *map)
{
    double sum = 0;
    EXPECT_INT(map ? map->count : 0, 25);
    for (const struct json *v = map ? map->first : NULL; v; v = v->next) sum += v->real;
    EXPECT_NEAR(sum, 1, 1e-5);
}

static void expect_files(const struct json *files, size_t count)
{
    EXPECT_INT(files ? files->count : 0, count);
    for (const struct json *f = files ? files->first : NULL; f; f = f->next) {
        char path[512];
        struct picture p = {0};
        snprintf(path, sizeof path, "%s/why/%s", test_folder(), f->string);
        EXPECT_OK(picture_read(path, true, &p));
        EXPECT(p.width > 500 && p.height > 250);
        picture_free(&p);
    }
}

static double real_of(const struct json *o, const char *key)
{
    const struct json *v = json_member(o, key);
    return v ? v->real : NAN;
}

TEST(explain_json_names_pictures_that_can_be_read)
{
    REQUIRE(write_all());
    struct ran r = program_run("", WORDS("explain", "--json", "--top", "1", "--model", own_model_path(), "--support",
                                         "known", "--out", "why", "<b>.jpg"));
    EXPECT_INT(r.status, 0);
    arena *memory = arena_new(1 << 16);
    const struct json *o = NULL;
    REQUIRE(memory && json_parse("output", r.out, strlen(r.out), memory, &o) == OK);
    const struct json *classes = json_member(o, "classes"), *label = json_member(o, "label");
    REQUIRE(classes && classes->count == 1 && label);
    EXPECT_TEXT(label->string, "a&<i>a");
    EXPECT_NEAR(real_of(o, "probability"), real_of(classes->first, "probability"), 0);
    EXPECT(real_of(o, "probability") > 0.5 && real_of(o, "familiarity") >= 0);
    expect_map(json_member(o, "centrality"));
    expect_map(json_member(o, "grad_cam"));
    expect_map(json_member(classes->first, "centrality"));
    const struct json *pairs = json_member(classes->first, "pairs");
    EXPECT(pairs && pairs->count >= 1 && real_of(pairs->first, "weight") > 0);
    expect_files(json_member(o, "files"), 4);
    arena_free(memory);
    ran_free(&r);
}

TEST(explain_reports_what_it_cannot_read_and_goes_on)
{
    char path[512];
    struct file_writer w;
    REQUIRE(write_all());
    path_of(path, "text.jpg");
    REQUIRE(file_begin(path, &w) == OK);
    file_put(&w, "no picture", 10);
    REQUIRE(file_commit(&w) == OK);
    struct ran r = program_run("", WORDS("explain", "--model", own_model_path(), "--support", "known", "--out", "why",
                                         "text.jpg", "missing.png", "<b>.jpg"));
    EXPECT_INT(r.status, 1);
    EXPECT(strstr(r.err, "'text.jpg'") && strstr(r.err, "'missing.png'"));
    EXPECT(strstr(r.err, "2 of 3 pictures could not be read"));
    EXPECT(strstr(r.out, "<b>.jpg"));
    ran_free(&r);
    char *page = read_page("why/index.html");
    EXPECT(page && strstr(page, "<h2>&lt;b&gt;.jpg</h2>"));
    free(page);
}

TEST(explain_refuses_in_one_line)
{
    EXPECT_REFUSED(
        2, "centra explain: --support is missing: the known pictures: a folder with a folder for each class, or a pack",
        "explain", "a.png");
    EXPECT_REFUSED(
        2, "centra explain: --out is missing: the folder for the page and the pictures; made where it is missing",
        "explain", "--support", "known", "a.png");
    struct ran r = program_run(
        "", WORDS("explain", "--model", own_model_path(), "--support", "nothing-here", "--out", "why", "a.png"));
    EXPECT_INT(r.status, 1);
    EXPECT_TEXT(r.err, "centra explain: cannot read 'nothing-here': No such file or directory\n");
    ran_free(&r);
}

TEST(classify_draws_heatmaps_and_overwrites_none)
{
    char path[512];
    struct picture p = {0};
    REQUIRE(write_all());
    for (int again = 0; again < 2; again++) {
        struct ran r = program_run(
            "", WORDS("classify", "--model", own_model_path(), "--support", "known", "--heatmap", "maps", "<b>.jpg"));
        EXPECT_INT(r.status, 0);
        EXPECT_TEXT(r.err, "");
        ran_free(&r);
        path_of(path, again ? "maps/_b_-2.png" : "maps/_b_.png");
        EXPECT_OK(picture_read(path, true, &p));
        EXPECT(p.width > 500 && p.height > 250);
        picture_free(&p);
    }
}

/* A name may be as long as the system allows; those of the pages' pictures are longer. */
TEST(explain_takes_a_picture_with_the_longest_name)
{
    char name[256];
    REQUIRE(write_all());
    memset(name, 'n', 251);
    memcpy(name + 251, ".png", 5);
    REQUIRE(write_scene(0, 50, name));
    struct ran r = program_run(
        "", WORDS("explain", "--model", own_model_path(), "--support", "known", "--out", "why", name));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    ran_free(&r);
}
