/* score.c - centra score: answers for an episode made by hand, files written, and every bad input refused in one line.
 *
 * The episode: two channels; class 7 points along the first, class -3 along the second. */
#include "base/file.h"
#include "base/npy.h"
#include "base/text.h"
#include "tests/app/program.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

static const char *in_folder(const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", test_folder(), name);
    return path;
}

static void write_npy(const char *name, enum npy_type type, int rank, const size_t *dim, const void *data)
{
    char path[512];
    EXPECT_OK(npy_write(in_folder(name, path), type, rank, dim, data));
}

#define DIMS(...) ((const size_t[]){__VA_ARGS__})

static const float support[] = {1, 1, 0, 0, 0, 0, 1, 1};             /* [2, 2, 1, 2] */
static const double query[] = {5, 5, 0, 0, 0, 0, 2, 2, 3, 3, .1, 0}; /* [3, 2, 2] */
static const int64_t support_labels[] = {7, -3}, query_labels[] = {7, -3, 7};

static void write_episode(void)
{
    write_npy("S.npy", NPY_F32, 4, DIMS(2, 2, 1, 2), support);
    write_npy("L.npy", NPY_I64, 1, DIMS(2), support_labels);
    write_npy("Q.npy", NPY_F64, 3, DIMS(3, 2, 2), query);
    write_npy("T.npy", NPY_I64, 1, DIMS(3), query_labels);
}

#define SCORE "score", "--support", "S.npy", "--support-labels", "L.npy", "--query", "Q.npy"
#define EPISODE SCORE, "--query-labels", "T.npy"

TEST(score_table_shows_label_and_truth)
{
    static const char wanted[] = "query  label  probability  margin  true\n"
                                 "    0      7       1.0000  1.0000  7\n"
                                 "    1     -3       1.0000  1.0000  -3\n"
                                 "    2      7       1.0000  1.0000  7\n";
    write_episode();
    struct ran r = program_run("", WORDS(EPISODE, "--precision", "f64", "--head.beta", "20"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    EXPECT(!strncmp(r.out, wanted, strlen(wanted)));
    EXPECT(strstr(r.out, "\naccuracy 100.00 %, loss ") != NULL);
    ran_free(&r);
}

TEST(score_says_which_answers_are_wrong)
{
    static const int64_t other[] = {-3, -3, 7};
    write_episode();
    write_npy("T.npy", NPY_I64, 1, DIMS(3), other);
    struct ran r = program_run("", WORDS(EPISODE));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "    0      7       1.0000  1.0000  -3 (wrong)\n") != NULL);
    EXPECT(strstr(r.out, "\naccuracy 66.67 %, loss ") != NULL);
    ran_free(&r);
}

TEST(score_json_lines_name_the_classes)
{
    write_episode();
    struct ran r = program_run("", WORDS(EPISODE, "--json"));
    EXPECT_INT(r.status, 0);
    EXPECT(!strncmp(r.out, "{\"query\":0,\"label\":7,\"probability\":", 34));
    EXPECT(strstr(r.out, "\n{\"query\":1,\"label\":-3,\"probability\":") != NULL);
    EXPECT(strstr(r.out, "\n{\"accuracy\":100,\"loss\":") != NULL);
    ran_free(&r);
}

TEST(score_with_one_class_has_no_margin)
{
    static const int64_t same[] = {7, 7};
    write_episode();
    write_npy("L.npy", NPY_I64, 1, DIMS(2), same);
    EXPECT_RUN(0,
               "query  label  probability  margin\n"
               "    0      7       1.0000       -\n"
               "    1      7       1.0000       -\n"
               "    2      7       1.0000       -\n",
               "", SCORE);
}

static void expect_shape(const char *name, enum npy_type type, int rank, const size_t *dim, struct npy *out)
{
    char path[512];
    memset(out, 0, sizeof *out);
    EXPECT_OK(npy_read(in_folder(name, path), 1 << 20, out));
    EXPECT_INT(out->type, type);
    EXPECT_INT(out->rank, rank);
    for (int i = 0; i < rank && i < out->rank; i++) EXPECT_INT(out->dim[i], dim[i]);
}

TEST(score_out_writes_every_array_in_its_shape)
{
    struct npy a;
    write_episode();
    EXPECT_RUN(0, NULL, "", EPISODE, "--gradients", "--centrality", "--precision", "f64", "--out", "made/for/it");
    expect_shape("made/for/it/scores.npy", NPY_F64, 2, DIMS(3, 2), &a);
    REQUIRE(a.data);
    EXPECT_NEAR(((double *)a.data)[0] + ((double *)a.data)[1], 1, 1e-12); /* class -3 comes first */
    EXPECT(((double *)a.data)[1] > 0.9);
    npy_free(&a);
    expect_shape("made/for/it/labels.npy", NPY_I64, 1, DIMS(2), &a);
    REQUIRE(a.data);
    EXPECT_INT(((int64_t *)a.data)[0], -3);
    EXPECT_INT(((int64_t *)a.data)[1], 7);
    npy_free(&a);
    expect_shape("made/for/it/loss.npy", NPY_F64, 0, NULL, &a);
    npy_free(&a);
    expect_shape("made/for/it/grad_support.npy", NPY_F64, 4, DIMS(2, 2, 1, 2), &a);
    npy_free(&a);
    expect_shape("made/for/it/grad_query.npy", NPY_F64, 3, DIMS(3, 2, 2), &a);
    npy_free(&a);
    expect_shape("made/for/it/centrality_support.npy", NPY_F64, 2, DIMS(3, 4), &a);
    npy_free(&a);
    expect_shape("made/for/it/centrality_query.npy", NPY_F64, 2, DIMS(3, 2), &a);
    npy_free(&a);
}

TEST(score_out_says_what_it_wrote)
{
    char path[512];
    write_episode();
    EXPECT_RUN(0, "3 queries of 2 classes scored with mcl; DIR/ has scores.npy, labels.npy\n", "", SCORE, "--head",
               "mcl", "--out", "DIR");
    EXPECT(!file_exists(in_folder("DIR/loss.npy", path)));
    EXPECT_RUN(0, "", "", SCORE, "--out", "DIR", "--quiet");
    EXPECT_RUN(0,
               "{\"head\":\"mcl-katz\",\"scores\":\"probabilities\",\"queries\":3,\"way\":2,\"out\":\"DIR\","
               "\"files\":[\"scores.npy\",\"labels.npy\"]}\n",
               "", SCORE, "--out", "DIR", "--json");
}

/* With scale 0 every class scores the same, whatever the features. */
TEST(score_takes_a_heads_parameters_and_writes_their_gradients)
{
    struct npy a;
    char path[512];
    write_episode();
    EXPECT_OK(folder_make(in_folder("P", path)));
    write_npy("P/head.scale.npy", NPY_F64, 1, DIMS(1), (double[]){0});
    write_npy("P/head.r.npy", NPY_F64, 1, DIMS(2), (double[]){0, 0});
    EXPECT_RUN(
        0,
        "3 queries of 2 classes scored with frn, accuracy 33.33 %, loss 0.693147; DIR/ has scores.npy, labels.npy, "
        "loss.npy, grad_support.npy, grad_query.npy, grad_params/head.scale.npy, grad_params/head.r.npy\n",
        "", EPISODE, "--head", "frn", "--weights", "P", "--gradients", "--out", "DIR");
    expect_shape("DIR/grad_params/head.r.npy", NPY_F32, 1, DIMS(2), &a);
    npy_free(&a);
    expect_shape("DIR/grad_params/head.scale.npy", NPY_F32, 1, DIMS(1), &a);
    REQUIRE(a.data);
    EXPECT(((float *)a.data)[0] < 0); /* a larger scale would help */
    npy_free(&a);
    EXPECT_RUN(0, NULL, "", EPISODE, "--head", "frn", "--gradients", "--out", "START"); /* start values */
    write_npy("P/head.scale.npy", NPY_F64, 1, DIMS(1), (double[]){NAN});
    EXPECT_REFUSED(1, "centra score: the parameter head.scale has a number that is not finite", SCORE, "--head", "frn",
                   "--weights", "P");
    EXPECT_INT(remove(in_folder("P/head.r.npy", path)), 0);
    EXPECT_REFUSED(1, "centra score: 'P' is for another network: missing head.r", SCORE, "--head", "frn", "--weights",
                   "P");
}

TEST(score_writes_the_gradient_of_every_parameter)
{
    write_episode();
    struct ran r = program_run("", WORDS(EPISODE, "--head", "gnn", "--gradients", "--out", "DIR", "--json"));
    size_t written = 0;
    EXPECT_INT(r.status, 0);
    for (const char *at = r.out; (at = strstr(at, "\"grad_params/")); at++) written++;
    EXPECT_INT(written, 53);
    ran_free(&r);
}

TEST(score_results_do_not_depend_on_threads)
{
    write_episode();
    struct ran one = program_run("", WORDS(EPISODE, "--json", "--threads", "1"));
    struct ran three = program_run("", WORDS(EPISODE, "--json", "--threads=3"));
    EXPECT_INT(one.status, 0);
    EXPECT_TEXT(three.out, one.out);
    ran_free(&one);
    ran_free(&three);
}

TEST(score_refuses_wrong_usage)
{
    write_episode();
    EXPECT_REFUSED(
        2, "centra score: --support is missing: features of the support pictures, .npy [n, C, h, w] or [n, C, r]",
        "score");
    EXPECT_REFUSED(2, "centra score: --query is missing: features of the query pictures, shaped as the support's",
                   "score", "--support", "S.npy", "--support-labels", "L.npy");
    EXPECT_REFUSED(2, "centra score: --head.alpha is 1.5, but must lie between 0 and 1 (exclusive; default 0.5)", SCORE,
                   "--head.alpha", "1.5");
    EXPECT_REFUSED(2, "centra score: --head.alpha is 0, but must lie between 0 and 1 (exclusive; default 0.5)", SCORE,
                   "--head.alpha=0");
    EXPECT_REFUSED(2, "centra score: unknown option --head.gama, did you mean --head.gamma?", SCORE, "--head.gama",
                   "20");
    EXPECT_REFUSED(2, "centra score: --head.gamma needs a value", SCORE, "--head.gamma");
    EXPECT_REFUSED(2, "centra score: there is no head 'mcl-kats'; did you mean 'mcl-katz'?", SCORE, "--head",
                   "mcl-kats");
    EXPECT_REFUSED(2,
                   "centra score: --precision is 'f16', but must be one of f32, f64 (default f32); did you mean f32?",
                   SCORE, "--precision", "f16");
    EXPECT_REFUSED(2, "centra score: --gradients needs --query-labels: the gradients are those of the loss", SCORE,
                   "--gradients", "--out", "DIR");
    EXPECT_REFUSED(2, "centra score: --centrality needs --out, the folder to write to", SCORE, "--centrality");
    EXPECT_REFUSED(2, "centra score: --weights: the head mcl-katz has no parameters to load", SCORE, "--weights", "w");
    EXPECT_REFUSED(2, "centra score: unexpected argument 'S.npy'; centra help score says what it takes", SCORE,
                   "S.npy");
}

TEST(score_refuses_arrays_that_do_not_fit)
{
    static const double zeros[64] = {0};
    write_episode();
    write_npy("flat.npy", NPY_F64, 2, DIMS(3, 4), query);
    write_npy("none.npy", NPY_F64, 4, DIMS(0, 2, 1, 2), zeros);
    write_npy("wide.npy", NPY_F64, 3, DIMS(3, 4, 1), zeros);
    write_npy("float.npy", NPY_F32, 1, DIMS(2), support);
    write_npy("square.npy", NPY_I64, 2, DIMS(1, 2), support_labels);
    write_npy("other.npy", NPY_I64, 1, DIMS(3), (const int64_t[]){7, 8, 7});
    EXPECT_REFUSED(
        1,
        "centra score: 'flat.npy' has the shape [3, 4], but features must be [pictures, channels, height, width] "
        "or [pictures, channels, locations]",
        SCORE, "--query", "flat.npy");
    EXPECT_REFUSED(1, "centra score: 'none.npy' has the shape [0, 2, 1, 2]: there are no features in it", SCORE,
                   "--query", "none.npy");
    EXPECT_REFUSED(1,
                   "centra score: 'wide.npy' has 4 channels (shape [3, 4, 1]), but 'S.npy' has 2 (shape [2, 2, 1, 2])",
                   SCORE, "--query", "wide.npy");
    EXPECT_REFUSED(1, "centra score: 'float.npy' holds floating-point numbers (f4), but labels must be integers", SCORE,
                   "--support-labels", "float.npy");
    EXPECT_REFUSED(1, "centra score: 'square.npy' has the shape [1, 2], but labels must be [pictures], here [2]", SCORE,
                   "--support-labels", "square.npy");
    EXPECT_REFUSED(1, "centra score: 'T.npy' has 3 labels, but 'S.npy' has 2 pictures", SCORE, "--support-labels",
                   "T.npy");
    EXPECT_REFUSED(1, "centra score: 'L.npy' has 2 labels, but 'Q.npy' has 3 pictures", SCORE, "--query-labels",
                   "L.npy");
    EXPECT_REFUSED(1, "centra score: 'other.npy' gives query 1 the label 8, which is none of the 2 classes in 'L.npy'",
                   SCORE, "--query-labels", "other.npy");
}

/* One line, the exit status, and a word that names the trouble. */
static void expect_trouble(int line, int code, const char *word, const char *const *words)
{
    struct ran r = program_run("", words);
    if (r.status != code) test_failed(__FILE__, line, "exit status %d, wanted %d: %s", r.status, code, r.err);
    if (!strstr(r.err, word)) test_failed(__FILE__, line, "'%s' is not in: %s", word, r.err);
    if (strchr(r.err, '\n') != r.err + strlen(r.err) - 1) test_failed(__FILE__, line, "not one line: %s", r.err);
    EXPECT_TEXT(r.out, "");
    ran_free(&r);
}

TEST(score_refuses_features_that_are_not_finite)
{
    double bad[12];
    write_episode();
    memcpy(bad, query, sizeof bad);
    bad[5] = NAN;
    write_npy("nan.npy", NPY_F64, 3, DIMS(3, 2, 2), bad);
    bad[5] = -INFINITY;
    write_npy("inf.npy", NPY_F64, 3, DIMS(3, 2, 2), bad);
    bad[5] = 1e300; /* finite, but not in f32 */
    write_npy("huge.npy", NPY_F64, 3, DIMS(3, 2, 2), bad);
    expect_trouble(__LINE__, 1, "not a number", WORDS(SCORE, "--query", "nan.npy"));
    /* heads that solve a system find out there, and still the feature is named */
    for (const char *const *head = WORDS("frn", "label-prop", "metaopt", "deepemd", "r2d2"); *head; head++)
        expect_trouble(__LINE__, 1, "the query feature of picture 1, channel 0, location 1 is not a number",
                       WORDS(SCORE, "--head", *head, "--query", "nan.npy"));
    expect_trouble(__LINE__, 1, "inf", WORDS(SCORE, "--query", "inf.npy"));
    expect_trouble(__LINE__, 1, "", WORDS(SCORE, "--query", "huge.npy"));
}

TEST(score_refuses_files_that_are_missing_or_broken)
{
    char path[512];
    write_episode();
    FILE *f = fopen(in_folder("broken.npy", path), "w");
    REQUIRE(f);
    fputs("\x93NUMPY\x01", f);
    fclose(f);
    expect_trouble(__LINE__, 1, "'gone.npy'", WORDS(SCORE, "--query", "gone.npy"));
    expect_trouble(__LINE__, 1, "'broken.npy'", WORDS(SCORE, "--query", "broken.npy"));
    expect_trouble(__LINE__, 1, "'.'", WORDS(SCORE, "--support", "."));
    expect_trouble(__LINE__, 1, "S.npy", WORDS(SCORE, "--out", "S.npy/below"));
}

TEST(score_accepts_what_the_documentation_promises)
{
    static const double zeros[12] = {0};
    write_episode();
    write_npy("zero.npy", NPY_F64, 3, DIMS(3, 2, 2), zeros);
    write_npy("one.npy", NPY_F64, 3, DIMS(6, 2, 1), query);
    write_npy("ints.npy", NPY_I64, 3, DIMS(1, 2, 1), support_labels);
    EXPECT_RUN(0, NULL, "", SCORE, "--query", "zero.npy");
    EXPECT_RUN(0, NULL, "", SCORE, "--query", "one.npy"); /* another number of locations than the support has */
    EXPECT_RUN(0, NULL, "", SCORE, "--query", "ints.npy");
    EXPECT_RUN(0, NULL, "", SCORE, "--head.gamma", "1e6");
    EXPECT_RUN(0, NULL, "", SCORE, "--head", "unidirectional", "--no-json", "--device", "cpu");
}

TEST(score_takes_base_pictures_for_heads_that_look_at_them)
{
    write_episode();
    write_npy("B.npy", NPY_F64, 3, DIMS(3, 1, 4), query);
    struct ran r = program_run("", WORDS(EPISODE, "--head", "centroid", "--base", "S.npy", "--base-labels", "L.npy"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "accuracy 100.00"));
    EXPECT_TEXT(r.err, "");
    ran_free(&r);
    EXPECT_REFUSED(2,
                   "centra score: the head centroid needs pictures of base classes, those that the network was trained "
                   "on; give them with --base",
                   EPISODE, "--head", "centroid");
    EXPECT_REFUSED(2, "centra score: --base needs --base-labels", EPISODE, "--head", "centroid", "--base", "S.npy");
    EXPECT_REFUSED(2, "centra score: --base-labels needs --base", EPISODE, "--head", "centroid", "--base-labels",
                   "L.npy");
    EXPECT_REFUSED(2, "centra score: --base: the head mcl-katz does not look at base classes", EPISODE, "--base",
                   "S.npy", "--base-labels", "L.npy");
    EXPECT_REFUSED(1, "centra score: the base features have 1 channels, but those of the episode have 2", EPISODE,
                   "--head", "centroid", "--base", "B.npy", "--base-labels", "T.npy");
    EXPECT_REFUSED(1, "centra score: 'L.npy' has 2 labels, but 'Q.npy' has 3 pictures", EPISODE, "--head", "centroid",
                   "--base", "Q.npy", "--base-labels", "L.npy");
}
