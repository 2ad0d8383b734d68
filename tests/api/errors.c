/* errors.c - what the public calls say to bad input: the status and the sentence, and never the end of the process. */
#include "tests/api/sample.h"
#include "tests/test.h"
#include <stdio.h>

#define EXPECT_REFUSED(call, status_, sentence) \
    do { \
        EXPECT_STATUS((status)(call), (status)(status_)); \
        EXPECT_TEXT(centra_message(), sentence); \
    } while (0)

static const struct sample_shape tiny = {3, 1, 2, 4, 5, CENTRA_F32};

TEST(session_refuses_in_words)
{
    centra_session *s = NULL;
    EXPECT_REFUSED(centra_session_open(NULL, NULL), CENTRA_USAGE, "centra_session_open needs a place for the session");
    EXPECT_REFUSED(centra_session_open(&(centra_session_options){.threads = 257}, &s), CENTRA_USAGE,
                   "257 threads were asked for; there must be between 1 and 256");
    EXPECT_STATUS((status)centra_session_open(&(centra_session_options){.isa = "sse"}, &s), ST_USAGE);
    EXPECT(!strncmp(centra_message(), "there is no instruction set 'sse'", 33) && strstr(centra_message(), "portable"));
    EXPECT_REFUSED(centra_session_open(&(centra_session_options){.device = "gpu"}, &s), CENTRA_USAGE,
                   "there is no device 'gpu'; there is cpu");
    const centra_status st = centra_session_open(&(centra_session_options){.device = "cuda:77"}, &s);
    EXPECT(st != CENTRA_OK && strstr(centra_message(), "cuda:77"));
    EXPECT(!s); /* written only on success */
    centra_session_close(NULL);
    centra_head_free(NULL);
}

static void refuse_head(centra_session *s, const char *head, const char *name, const char *value, const char *sentence)
{
    centra_head *h = NULL;
    const centra_option option = {name, value};
    EXPECT_REFUSED(centra_head_new(s, head, name ? &option : NULL, name != NULL, &h), CENTRA_USAGE, sentence);
    EXPECT(!h);
    centra_head_free(h);
}

TEST(head_refuses_in_words)
{
    centra_session *s = NULL;
    centra_head *h = NULL;
    EXPECT_OK((status)centra_session_open(&(centra_session_options){.threads = 1}, &s));
    static const char need[] = "centra_head_new needs a session, a name and a place for the head";
    EXPECT_REFUSED(centra_head_new(NULL, "mcl", NULL, 0, &h), CENTRA_USAGE, need);
    EXPECT_REFUSED(centra_head_new(s, NULL, NULL, 0, &h), CENTRA_USAGE, need);
    EXPECT_REFUSED(centra_head_new(s, "mcl", NULL, 0, NULL), CENTRA_USAGE, need);
    EXPECT_REFUSED(centra_head_new(s, "mcl", NULL, 1, &h), CENTRA_USAGE, need);
    refuse_head(s, "mlc", NULL, NULL, "there is no head 'mlc'; did you mean 'mcl'?");
    refuse_head(s, "mcl-kats", NULL, NULL, "there is no head 'mcl-kats'; did you mean 'mcl-katz'?");
    refuse_head(s, "", NULL, NULL, "there is no head ''; 'centra list heads' shows what there is");
    refuse_head(s, "mcl", "gama", "2", "unknown option --head.gama, did you mean --head.gamma?");
    refuse_head(s, "mcl", "colour", "2",
                "unknown option --head.colour; there are --head.gamma, --head.beta, --head.alpha, --head.solver");
    refuse_head(s, "mcl-exact", "alpha", "0.5",
                "unknown option --head.alpha; there are --head.gamma, --head.beta, --head.solver");
    refuse_head(s, "mcl-katz", "alpha", "1",
                "--head.alpha is 1, but must lie between 0 and 1 (exclusive; default 0.5)");
    refuse_head(s, "mcl-katz", "alpha", "0",
                "--head.alpha is 0, but must lie between 0 and 1 (exclusive; default 0.5)");
    refuse_head(s, "mcl", "alpha", "-3", "--head.alpha is -3, but must lie between 0 and 1 (exclusive; default 0.999)");
    refuse_head(s, "mcl", "alpha", "nan",
                "--head.alpha is 'nan', but must be a number between 0 and 1 (exclusive; default 0.999)");
    refuse_head(s, "mcl", "gamma", "0",
                "--head.gamma is 0, but must lie between 0 and 10000000 (exclusive; default 20)");
    refuse_head(s, "mcl", "beta", "",
                "--head.beta is '', but must be a number between 0 and 10000000 (exclusive; default 10)");
    refuse_head(s, "mcl", "solver", "ful",
                "--head.solver is 'ful', but must be one of auto, full, block, reduced, deflated, qr, pinv, iterate "
                "(default auto); did you mean full?");
    centra_session_close(s);
}

/* A name or value that is not there at all. */
TEST(head_refuses_options_without_name_or_value)
{
    centra_session *s = NULL;
    centra_head *h = NULL;
    EXPECT_OK((status)centra_session_open(&(centra_session_options){.threads = 1}, &s));
    static const char sentence[] = "option 0 of mcl has no name or no value";
    EXPECT_REFUSED(centra_head_new(s, "mcl", &(centra_option){NULL, "1"}, 1, &h), CENTRA_USAGE, sentence);
    EXPECT_REFUSED(centra_head_new(s, "mcl", &(centra_option){"gamma", NULL}, 1, &h), CENTRA_USAGE, sentence);
    EXPECT(!h);
    centra_session_close(s);
}

TEST(solvers_that_do_not_fit_alpha_are_refused_in_words)
{
    static const struct {
        const char *head, *solver, *sentence;
    } cases[] = {
        {"mcl-katz", "qr",
         "op walk_nll: the solvers qr and pinv find the stationary distribution only; alpha is 0.5, they need 1"},
        {"mcl-exact", "full",
         "op walk_nll: the solvers full, block and reduced need alpha below 1; use deflated, qr or auto"}};
    struct sample x;
    centra_session *s = NULL;
    REQUIRE(sample_make(&tiny, 1, &x));
    EXPECT_OK((status)centra_session_open(&(centra_session_options){.threads = 1}, &s));
    for (size_t i = 0; i < 2; i++) {
        centra_head *h = NULL;
        EXPECT_OK((status)centra_head_new(s, cases[i].head, &(centra_option){"solver", cases[i].solver}, 1, &h));
        if (h) EXPECT_REFUSED(centra_head_score(h, &x.e, &x.r), CENTRA_VALUE, cases[i].sentence);
        centra_head_free(h);
    }
    sample_free(&x);
    centra_session_close(s);
}

TEST(score_refuses_what_is_missing)
{
    static const char need[] = "an episode needs support features, support labels and query features";
    struct desk d;
    struct sample x;
    REQUIRE(desk_open(&d, "mcl", NULL, 1) && sample_make(&tiny, 1, &x));
    static const char all[] = "centra_head_score needs a head, an episode and a result";
    EXPECT_REFUSED(centra_head_score(NULL, &x.e, &x.r), CENTRA_USAGE, all);
    EXPECT_REFUSED(centra_head_score(d.head, NULL, &x.r), CENTRA_USAGE, all);
    EXPECT_REFUSED(centra_head_score(d.head, &x.e, NULL), CENTRA_USAGE, all);
    const centra_episode whole = x.e;
    x.e.support = NULL;
    EXPECT_REFUSED(centra_head_score(d.head, &x.e, &x.r), CENTRA_USAGE, need);
    x.e = whole, x.e.support_labels = NULL;
    EXPECT_REFUSED(centra_head_score(d.head, &x.e, &x.r), CENTRA_USAGE, need);
    x.e = whole, x.e.query = NULL;
    EXPECT_REFUSED(centra_head_score(d.head, &x.e, &x.r), CENTRA_USAGE, need);
    x.e = whole, x.e.query_labels = NULL;
    EXPECT_REFUSED(centra_head_score(d.head, &x.e, &x.r), CENTRA_USAGE, "a loss and its gradients need query labels");
    x.e = whole, x.e.precision = (centra_precision)2;
    EXPECT_REFUSED(centra_head_score(d.head, &x.e, &x.r), CENTRA_USAGE,
                   "precision 2 does not exist; use CENTRA_F32 or CENTRA_F64");
    x.e = whole;
    EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
    size_t way;
    EXPECT_REFUSED(centra_episode_way(NULL, &way), CENTRA_USAGE, "an episode needs support labels");
    EXPECT_REFUSED(centra_episode_way(&x.e, NULL), CENTRA_USAGE, "an episode needs support labels");
    sample_free(&x);
    desk_close(&d);
}

TEST(score_refuses_sizes_that_do_not_fit)
{
    struct desk d;
    struct sample x;
    REQUIRE(desk_open(&d, "mcl", NULL, 1) && sample_make(&tiny, 1, &x));
    const centra_episode whole = x.e;
    size_t *const sizes[] = {&x.e.support_count, &x.e.query_count, &x.e.channels, &x.e.support_locations,
                             &x.e.query_locations};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        x.e = whole;
        *sizes[i] = 0;
        EXPECT_STATUS((status)centra_head_score(d.head, &x.e, &x.r), ST_SHAPE);
        EXPECT(strstr(centra_message(), "is empty"));
    }
    x.e = whole, x.e.query_count = 0;
    EXPECT_REFUSED(centra_head_score(d.head, &x.e, &x.r), CENTRA_SHAPE,
                   "an episode of 3 support and 0 query pictures, 4 channels, 5 and 5 locations is empty");
    x.e = whole, x.e.channels = SIZE_MAX / 8;
    EXPECT_STATUS((status)centra_head_score(d.head, &x.e, &x.r), ST_SHAPE);
    x.e = whole, x.e.query_locations = SIZE_MAX / 2;
    EXPECT_STATUS((status)centra_head_score(d.head, &x.e, &x.r), ST_SHAPE);
    x.e = whole, x.e.support_count = SIZE_MAX;
    EXPECT_STATUS((status)centra_head_score(d.head, &x.e, &x.r), ST_SHAPE);
    x.e = whole;
    EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r)); /* the head is none the worse */
    sample_free(&x);
    desk_close(&d);
}

TEST(score_names_a_query_label_that_the_support_lacks)
{
    struct desk d;
    struct sample x;
    REQUIRE(desk_open(&d, "mcl", NULL, 1) && sample_make(&tiny, 1, &x));
    const int64_t labels[] = {7, -9};
    x.e.query_labels = labels;
    EXPECT_REFUSED(centra_head_score(d.head, &x.e, &x.r), CENTRA_VALUE,
                   "query label -9 (picture 1) is not among the 3 support classes");
    sample_free(&x);
    desk_close(&d);
}

/* One number that is not finite, at each place in turn. */
static void check_place(struct desk *d, struct sample *x, bool support, size_t at, double value)
{
    const void *array = support ? x->e.support : x->e.query;
    const double keep = sample_at(x, array, at);
    char sentence[256];
    snprintf(sentence, sizeof sentence,
             "the %s feature of picture %zu, channel %zu, location %zu is %s; features must be finite",
             support ? "support" : "query", at / 20, at / 5 % 4, at % 5, isnan(value) ? "not a number" : "infinite");
    sample_put(x, array, at, value);
    const centra_result scores = {.scores = x->r.scores}, centralities = {.centrality_query = x->r.centrality_query};
    const centra_result gradients = {.grad_support = x->r.grad_support},
                        *wants[] = {&x->r, &scores, &centralities, &gradients};
    for (int i = 0; i < 4; i++) EXPECT_REFUSED(centra_head_score(d->head, &x->e, wants[i]), CENTRA_VALUE, sentence);
    sample_put(x, array, at, keep);
}

TEST(score_names_the_feature_that_is_not_finite)
{
    static const char *const heads[] = {"mcl", "mcl-katz", "mcl-exact", "unidirectional"};
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; centra_isa_name(i / 8); i++) { /* instruction set, precision, head */
        struct sample_shape shape = tiny;
        struct desk d;
        struct sample x;
        shape.precision = i / 4 % 2 ? CENTRA_F64 : CENTRA_F32;
        REQUIRE(desk_open(&d, heads[i % 4], centra_isa_name(i / 8), 1) && sample_make(&shape, i, &x));
        for (size_t k = 0; k < 3; k++) {
            for (size_t at = 0; at < 60; at += 7) check_place(&d, &x, true, at, bad[k]);
            for (size_t at = 0; at < 40; at += 3) check_place(&d, &x, false, at, bad[k]);
        }
        EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
        sample_free(&x);
        desk_close(&d);
    }
}
