/* eval.c - evaluations through centra.h: from files to accuracies, and what is refused. */
#include "centra.h"
#include "eval/card.h"
#include "tests/api/netfile.h"
#include "tests/data/sample.h"
#include "tests/eval/colours.h"
#include "tests/ops/world.h"
#include "tests/test.h"
#include "weights/weights.h"
#include <stdio.h>

enum { MOST_PARAMS = 64 };

struct heard {
    char lines[2000];
    size_t calls[2];
};

static void warn(void *context, const char *line)
{
    struct heard *h = context;
    const size_t n = strlen(h->lines);
    snprintf(h->lines + n, sizeof h->lines - n, "%s\n", line);
}

static int progress(void *context, centra_eval_phase phase, size_t done, size_t of)
{
    struct heard *h = context;
    EXPECT(done <= of);
    h->calls[phase]++;
    return 1;
}

static const centra_eval_head two[] = {{.name = "mcl-katz"}, {.name = "unidirectional"}};

/* 3-way 1-shot with 4 queries on a small random network. */
static centra_eval_options small(struct heard *h)
{
    static const centra_option width = {"width", "4"};
    *h = (struct heard){{0}, {0}};
    return (centra_eval_options){.backbone = "conv4",
                                 .net_options = &width,
                                 .net_option_count = 1,
                                 .heads = two,
                                 .head_count = 2,
                                 .data = sample_path("set"),
                                 .way = 3,
                                 .query = 4,
                                 .episodes = 40,
                                 .seed = 5,
                                 .warn = warn,
                                 .progress = progress,
                                 .context = h};
}

static centra_eval *run(const centra_eval_options *o, size_t threads)
{
    const centra_session_options so = {.threads = threads};
    centra_session *s = NULL;
    centra_eval *e = NULL;
    EXPECT_OK((status)centra_session_open(&so, &s));
    EXPECT_OK((status)centra_eval_run(s, o, &e));
    centra_session_close(s); /* results must not need the session */
    return e;
}

static status refused(const centra_eval_options *o)
{
    centra_session *s = NULL;
    centra_eval *e = NULL;
    EXPECT_OK((status)centra_session_open(NULL, &s));
    const status st = (status)centra_eval_run(s, o, &e);
    EXPECT(!e);
    centra_session_close(s);
    return st;
}

static void expect_same(const centra_eval *a, const centra_eval *b, size_t heads, size_t episodes)
{
    for (size_t h = 0; h < heads; h++) {
        centra_eval_row x, y;
        EXPECT_OK((status)centra_eval_head_row(a, h, &x));
        EXPECT_OK((status)centra_eval_head_row(b, h, &y));
        EXPECT(!memcmp(x.episodes, y.episodes, episodes * sizeof *x.episodes));
        EXPECT(!memcmp(&x.loss, &y.loss, sizeof x.loss));
    }
}

TEST(eval_gives_accuracies_intervals_classes_options_and_warnings)
{
    struct heard h;
    centra_eval_summary s;
    centra_eval_row row;
    centra_option option;
    const char *name;
    size_t asked, right, sum = 0;
    colour_set();
    const centra_eval_options o = small(&h);
    centra_eval *e = run(&o, 2);
    REQUIRE(e);
    centra_eval_summarise(e, &s);
    EXPECT_TEXT(s.backbone, "conv4");
    EXPECT_TEXT(s.split, "test");
    EXPECT(!s.weights && strlen(s.data_fingerprint) == 64);
    EXPECT_INT(s.classes, COLOUR_CLASSES + 1);
    EXPECT_INT(s.classes_left_out, 1);
    EXPECT(strstr(h.lines, "1 of 5 classes have fewer than 5 pictures") && strstr(h.lines, "random"));
    EXPECT(h.calls[0] && h.calls[1]);
    EXPECT_OK((status)centra_eval_head_row(e, 0, &row));
    EXPECT_TEXT(row.head, "mcl-katz");
    EXPECT(row.accuracy > 40 && row.accuracy <= 100 && row.ci95 > 0 && isnan(row.difference));
    EXPECT_OK((status)centra_eval_head_row(e, 1, &row));
    EXPECT(isfinite(row.difference) && isfinite(row.difference_ci95));
    for (size_t c = 0; centra_eval_head_class(e, 1, c, &name, &asked, &right) == CENTRA_OK; c++) {
        EXPECT(right <= asked && name[0] == 'c');
        sum += asked;
    }
    EXPECT_INT(sum, 40 * 12);
    EXPECT_OK((status)centra_eval_head_option(e, 0, 0, &option));
    EXPECT_TEXT(option.name, "gamma");
    EXPECT_TEXT(option.value, "20");
    EXPECT_INT(centra_eval_head_option(e, 0, 99, &option), CENTRA_USAGE);
    EXPECT_INT(centra_eval_head_row(e, 2, &row), CENTRA_USAGE);
    centra_eval_free(e);
}

TEST(eval_is_the_same_for_any_threads_and_when_its_episodes_are_played_again)
{
    struct heard h;
    colour_set();
    centra_eval_options o = small(&h);
    o.save_episodes = sample_path("episodes.jsonl");
    centra_eval *one = run(&o, 1);
    o.save_episodes = NULL;
    centra_eval *three = run(&o, 3);
    o.episodes_from = sample_path("episodes.jsonl");
    o.way = o.episodes = o.query = 0;
    o.seed = 5;
    centra_eval *again = run(&o, 2);
    REQUIRE(one && three && again);
    expect_same(one, three, 2, 40);
    expect_same(one, again, 2, 40);
    centra_eval_summary s;
    centra_eval_summarise(again, &s);
    EXPECT(s.way == 3 && s.shot == 1 && s.query == 4 && s.episodes == 40);
    sample_grey("set/test/c0/0.ppm", 1);
    EXPECT_STATUS(refused(&o), ST_VALUE);
    EXPECT(strstr(error_text(), "other data"));
    centra_eval_free(one);
    centra_eval_free(three);
    centra_eval_free(again);
}

TEST(eval_options_reach_the_heads_that_have_them)
{
    struct heard h;
    centra_option option;
    static const centra_option shared[] = {{"gamma", "7"}, {"alpha", "0.25"}}, own = {"gamma", "9"};
    const centra_eval_head heads[] = {{.name = "mcl-katz"}, {"unidirectional", &own, 1}};
    colour_set();
    centra_eval_options o = small(&h);
    o.heads = heads;
    o.head_options = shared;
    o.head_option_count = 2;
    centra_eval *e = run(&o, 1);
    REQUIRE(e);
    EXPECT_OK((status)centra_eval_head_option(e, 0, 0, &option));
    EXPECT_TEXT(option.value, "7");
    EXPECT_OK((status)centra_eval_head_option(e, 0, 2, &option));
    EXPECT_TEXT(option.value, "0.25");
    EXPECT_OK((status)centra_eval_head_option(e, 1, 0, &option));
    EXPECT_TEXT(option.value, "9");
    centra_eval_free(e);
    o.head_options = &(centra_option){"gama", "7"};
    o.head_option_count = 1;
    EXPECT_STATUS(refused(&o), ST_USAGE);
    EXPECT(strstr(error_text(), "gamma"));
}

/* A run's folder with a Conv-4 of 4 channels for pictures of side 32, trained with mcl at gamma 33. */
static bool write_run(void)
{
    struct world w;
    struct model m = {0};
    struct card_line lines[CARD_LINES];
    struct meta metas[CARD_LINES];
    struct named_array arrays[MOST_PARAMS];
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, 32, 4);
    status st = OK;
    if (!world_open(&w, 1, DT_F32, TAPE_INFERENCE)) return false;
    TRY(model_new(w.dev, "conv4", "mcl", &m));
    TRY(option_set(m.net->options, "", "width", "4", m.net_settings));
    TRY(option_set(m.head->options, "", "gamma", "33", m.head_settings));
    TRY(model_start(&m, DT_F32, 9));
    TRY(card_write(&m, &t, lines));
    for (size_t i = 0; i < CARD_LINES; i++) metas[i] = (struct meta){lines[i].key, text_string(&lines[i].value)};
    for (size_t i = 0; i < params_count(m.params); i++) {
        const struct param *p = params_at(m.params, i);
        arrays[i] = (struct named_array){p->name, ARRAY_F32,     p->value.rank,
                                         {0},     p->value.data, tensor_bytes(&p->value)};
        memcpy(arrays[i].dim, p->value.dim, sizeof arrays[i].dim);
    }
    sample_file("run/recipe.txt", "", 0);
    TRY(weights_write(sample_path("run/best.safetensors"), params_count(m.params), arrays, CARD_LINES, metas));
    card_free(lines);
done:
    EXPECT_OK(st);
    model_free(&m);
    world_close(&w);
    return st == OK;
}

/* conv4 of width 8 in a file that says no head. */
TEST(eval_takes_the_standard_head_where_the_weights_name_none)
{
    static const struct meta says[] = {{"backbone", "conv4"}, {"options", "net.width=8"}, {"input", "16"}};
    struct heard h;
    centra_eval_row row;
    colour_set();
    REQUIRE(netfile_write(sample_path("plain.safetensors"),
                          &(struct netfile){.net = "conv4", .options = "net.width=8", .metas = 3, .meta = says}));
    centra_eval_options o = small(&h);
    o.backbone = NULL;
    o.heads = NULL;
    o.net_option_count = o.head_count = 0;
    o.weights = sample_path("plain.safetensors");
    centra_eval *e = run(&o, 1);
    REQUIRE(e);
    EXPECT_OK((status)centra_eval_head_row(e, 0, &row));
    EXPECT_TEXT(row.head, "mcl-ridge");
    centra_eval_free(e);
}

TEST(eval_takes_network_head_and_options_from_a_runs_folder)
{
    struct heard h;
    centra_eval_summary s;
    centra_eval_row row;
    centra_option option;
    colour_set();
    REQUIRE(write_run());
    centra_eval_options o = small(&h);
    o.backbone = NULL;
    o.heads = NULL;
    o.net_option_count = o.head_count = 0;
    o.weights = sample_path("run");
    centra_eval *e = run(&o, 1);
    REQUIRE(e);
    centra_eval_summarise(e, &s);
    EXPECT_TEXT(s.backbone, "conv4");
    EXPECT(s.weights && strstr(s.weights, "run/best.safetensors"));
    EXPECT(!strstr(h.lines, "random"));
    EXPECT_OK((status)centra_eval_head_row(e, 0, &row));
    EXPECT_TEXT(row.head, "mcl");
    EXPECT_OK((status)centra_eval_head_option(e, 0, 0, &option));
    EXPECT_TEXT(option.value, "33");
    centra_eval_free(e);
}

TEST(eval_with_shuffled_labels_is_near_one_in_way)
{
    struct heard h;
    centra_eval_row row;
    colour_set();
    centra_eval_options o = small(&h);
    o.shuffle_labels = 1;
    o.episodes = 1000;
    centra_eval *e = run(&o, 2);
    REQUIRE(e);
    EXPECT_OK((status)centra_eval_head_row(e, 0, &row));
    EXPECT_NEAR(row.accuracy, 100.0 / 3, 1.5 * row.ci95);
    centra_eval_free(e);
}

TEST(eval_refuses_what_cannot_be_with_what_would_be_right)
{
    struct heard h;
    colour_set();
    centra_eval_options o = small(&h);
    o.way = 5;
    EXPECT_STATUS(refused(&o), ST_VALUE);
    EXPECT(strstr(error_text(), "4") && strstr(error_text(), "5"));
    EXPECT(!h.calls[0]); /* said before anything is encoded */
    o = small(&h);
    o.split = "val";
    EXPECT(refused(&o) != OK);
    EXPECT(strstr(error_text(), "test"));
    o = small(&h);
    o.backbone = NULL;
    EXPECT_STATUS(refused(&o), ST_USAGE);
    o = small(&h);
    o.head_count = 0;
    EXPECT_STATUS(refused(&o), ST_USAGE);
    EXPECT(strstr(error_text(), "neither a head nor weights are named"));
    sample_file("set/test/c1/3.ppm", "nothing", 7);
    o = small(&h);
    o.strict = 1;
    EXPECT(refused(&o) != OK);
    EXPECT(strstr(error_text(), "c1/3.ppm"));
    o.strict = 0;
    centra_eval *e = run(&o, 1);
    EXPECT(strstr(h.lines, "c1/3.ppm") && strstr(h.lines, "1 of 26 pictures cannot be read"));
    centra_eval_free(e);
}

TEST(eval_survives_each_failing_allocation)
{
    static const centra_session_options one = {.threads = 1};
    centra_session *s = NULL;
    centra_eval *e = NULL;
    const centra_eval_head head = {.name = "mcl-katz"};
    colour_set();
    REQUIRE(write_run());
    const centra_eval_options o = {.weights = sample_path("run"),
                                   .data = sample_path("set"),
                                   .heads = &head,
                                   .head_count = 1,
                                   .way = 2,
                                   .query = 2,
                                   .episodes = 2};
    REQUIRE(centra_session_open(&one, &s) == CENTRA_OK);
    REQUIRE(centra_eval_run(s, &o, &e) == CENTRA_OK); /* the device has its scratch memory now */
    centra_eval_free(e);
    const size_t live = alloc_live();
    for (size_t n = 1;; n++) {
        e = NULL;
        alloc_fail_at(n);
        const status st = (status)centra_eval_run(s, &o, &e);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        centra_eval_free(e);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
        REQUIRE(n < 2000);
    }
    centra_session_close(s);
}
