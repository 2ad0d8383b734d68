/* explain.c - explanations of scenes whose objects lie at known places, with the shipped model. */
#include "api/classifier.h"
#include "nets/extract.h"
#include "tests/api/scene.h"
#include "tests/test.h"
#include <stdlib.h>

enum { KINDS = 4, EACH = 5, ASKED = 12 };

/* What the maps and pairs of some queries have in their objects, on average. */
struct found {
    double area;                   /* of the picture: what an even map would have */
    double query, known, grad_cam; /* weight inside the boxes */
    double pairs;                  /* weight of pairs whose ends are both at the object and move with it */
    size_t right;
};

/* A cell of the last map sees about half of the picture's width, its own place in the middle: so the object also speaks
 * from cells beside it, up to one cell away. */
static struct scene_box with_rim(struct scene_box b)
{
    return (struct scene_box){b.left - 0.2, b.top - 0.2, b.side + 0.4};
}

/* Both ends at the objects, and at the same part of them to 1.2 cells. */
static bool joins(const centra_pair *p, size_t side, struct scene_box query, struct scene_box known)
{
    const double n = (double)side;
    const double across = (double)(p->known % side) - (double)(p->query % side) - n * (known.left - query.left);
    const double down = (double)(p->known / side) - (double)(p->query / side) - n * (known.top - query.top);
    return fabs(across) < 1.2 && fabs(down) < 1.2 && scene_covers(p->query, side, side, with_rim(query)) > 0.5 &&
           scene_covers(p->known, side, side, with_rim(known)) > 0.5;
}

static void look(const struct own *o, size_t kind, uint64_t seed, struct found *f, double *pair_weight)
{
    const struct scene_box box = scene_box(seed);
    centra_picture p = scene_make(kind, seed, box);
    centra_explanation *e = NULL;
    centra_why y;
    centra_why_class k;
    EXPECT_OK((status)centra_explain(o->classifier, o->support, &p, &e));
    centra_picture_free(&p);
    REQUIRE(e && centra_explanation_class(e, 0, &k) == CENTRA_OK);
    centra_explanation_why(e, &y);
    const struct scene_box known = scene_box(scene_seed(k.index, k.picture));
    f->right += y.guess.best == kind;
    f->area += box.side * box.side / ASKED;
    f->query += scene_inside(y.centrality, y.height, y.width, box) / ASKED;
    f->grad_cam += scene_inside(y.grad_cam, y.height, y.width, box) / ASKED;
    f->known += scene_inside(k.centrality, y.height, y.width, known) / ASKED;
    for (size_t i = 0; i < k.pair_count; i++) {
        *pair_weight += k.pairs[i].weight;
        if (joins(&k.pairs[i], y.width, box, known)) f->pairs += k.pairs[i].weight;
    }
    centra_explanation_free(e);
}

static struct found look_at_all(const char *head)
{
    struct own o;
    struct found f = {0};
    double weight = 0;
    if (!own_open(&o, head, 2)) return f;
    if (scene_fill(&o, KINDS, EACH))
        for (size_t i = 0; i < ASKED; i++) look(&o, i % KINDS, 5000 + i, &f, &weight);
    f.pairs /= weight;
    own_close(&o);
    return f;
}

TEST(maps_are_bright_where_the_object_is)
{
    static const char *const heads[] = {NULL, "mcl", "proto", "baseline"};
    for (size_t h = 0; h < 4; h++) {
        const struct found f = look_at_all(heads[h]);
        EXPECT_INT(f.right, ASKED);
        EXPECT(f.query > 1.4 * f.area);
        EXPECT(f.known > 1.4 * f.area);
        if (h != 1) EXPECT(f.grad_cam > 1.8 * f.area); /* mcl is so sure of these that its gradient says little */
    }
}

TEST(pairs_join_object_to_object)
{
    EXPECT(look_at_all(NULL).pairs > 0.45); /* by chance: a thirtieth */
    EXPECT(look_at_all("mcl").pairs > 0.7);
}

/* A support of scenes, and a query. */
struct stage {
    struct own own;
    centra_picture query;
};

static bool stage_open(struct stage *s, const char *head, size_t threads)
{
    const struct scene_box box = scene_box(9);
    *s = (struct stage){0};
    if (!own_open(&s->own, head, threads)) return false;
    s->query = scene_make(2, 9, box);
    return s->query.rgb && scene_fill(&s->own, 3, 2) &&
           centra_support_calibrate(s->own.support, s->own.classifier) == CENTRA_OK;
}

static void stage_close(struct stage *s)
{
    centra_picture_free(&s->query);
    own_close(&s->own);
}

static double sum_of(const float *map, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        EXPECT(map[i] >= 0);
        sum += (double)map[i];
    }
    return sum;
}

static void expect_class(const centra_explanation *e, size_t rank, const centra_why *y, const double *probabilities,
                         double *strongest)
{
    centra_why_class k;
    EXPECT_OK((status)centra_explanation_class(e, rank, &k));
    EXPECT(k.index < 3 && k.picture < 2);
    EXPECT_NEAR(k.probability, probabilities[k.index], 0);
    EXPECT_NEAR(sum_of(k.centrality, y->height * y->width), 1, 1e-5);
    EXPECT(k.pair_count >= 1 && k.pair_count <= 8);
    for (size_t i = 0; i < k.pair_count; i++) {
        EXPECT(k.pairs[i].query < y->height * y->width && k.pairs[i].known < y->height * y->width);
        EXPECT(k.pairs[i].weight > 0 && (!i || k.pairs[i].weight <= k.pairs[i - 1].weight));
        *strongest = fmax(*strongest, k.pairs[i].weight);
    }
}

static void expect_same_as_classify(const char *head)
{
    struct stage s;
    centra_explanation *e = NULL;
    centra_guess guess;
    centra_why y;
    centra_why_class k, before = {.probability = 2};
    double probabilities[3], strongest = 0;
    REQUIRE(stage_open(&s, head, 1));
    EXPECT_OK((status)centra_classify(s.own.classifier, s.own.support, &s.query, 1, probabilities, &guess));
    REQUIRE(centra_explain(s.own.classifier, s.own.support, &s.query, &e) == CENTRA_OK);
    centra_explanation_why(e, &y);
    EXPECT(!memcmp(&y.guess, &guess, sizeof guess));
    EXPECT_INT(y.classes, 3);
    EXPECT_INT(y.height * y.width, 25);
    EXPECT_NEAR(sum_of(y.centrality, 25), 1, 1e-5);
    EXPECT_NEAR(sum_of(y.grad_cam, 25), 1, 1e-5);
    for (size_t rank = 0; rank < 3; rank++, before = k) {
        expect_class(e, rank, &y, probabilities, &strongest);
        EXPECT_OK((status)centra_explanation_class(e, rank, &k));
        EXPECT(k.probability <= before.probability);
        if (!rank) EXPECT_INT(k.index, guess.best);
    }
    EXPECT_NEAR(strongest, 1, 1e-12);
    EXPECT_STATUS((status)centra_explanation_class(e, 3, &k), ST_USAGE);
    centra_explanation_free(e);
    stage_close(&s);
}

TEST(explanations_tell_what_guesses_tell)
{
    expect_same_as_classify(NULL);
    expect_same_as_classify("proto");
    expect_same_as_classify("baseline++");
}

TEST(explained_picture_is_what_the_network_sees)
{
    struct stage s;
    centra_explanation *e = NULL;
    centra_picture seen = {0};
    centra_why y;
    REQUIRE(stage_open(&s, NULL, 1));
    REQUIRE(centra_explain(s.own.classifier, s.own.support, &s.query, &e) == CENTRA_OK);
    centra_explanation_why(e, &y);
    EXPECT_OK((status)centra_picture_seen(&s.query, 84, &seen));
    EXPECT(y.seen.width == 84 && y.seen.height == 84 && !memcmp(y.seen.rgb, seen.rgb, 84 * 84 * 3));
    centra_picture_free(&seen);
    centra_explanation_free(e);
    stage_close(&s);
}

TEST(explanations_do_not_depend_on_threads)
{
    struct stage s[2];
    centra_explanation *e[2] = {0};
    centra_why y[2];
    for (size_t i = 0; i < 2; i++) {
        REQUIRE(stage_open(&s[i], NULL, 1 + 2 * i));
        REQUIRE(centra_explain(s[i].own.classifier, s[i].own.support, &s[i].query, &e[i]) == CENTRA_OK);
        centra_explanation_why(e[i], &y[i]);
    }
    EXPECT(!memcmp(y[0].centrality, y[1].centrality, 25 * sizeof(float)));
    EXPECT(!memcmp(y[0].grad_cam, y[1].grad_cam, 25 * sizeof(float)));
    for (size_t rank = 0; rank < 3; rank++) {
        centra_why_class a, b;
        REQUIRE(centra_explanation_class(e[0], rank, &a) == CENTRA_OK);
        REQUIRE(centra_explanation_class(e[1], rank, &b) == CENTRA_OK);
        REQUIRE(a.pair_count == b.pair_count);
        EXPECT(!memcmp(a.pairs, b.pairs, a.pair_count * sizeof *a.pairs));
    }
    for (size_t i = 0; i < 2; i++) {
        centra_explanation_free(e[i]);
        stage_close(&s[i]);
    }
}

TEST(guesses_are_the_same_after_an_explanation)
{
    struct stage s;
    centra_explanation *e = NULL;
    double before[3], after[3];
    REQUIRE(stage_open(&s, NULL, 1));
    EXPECT_OK((status)centra_classify(s.own.classifier, s.own.support, &s.query, 1, before, NULL));
    EXPECT_OK((status)centra_explain(s.own.classifier, s.own.support, &s.query, &e));
    EXPECT_OK((status)centra_classify(s.own.classifier, s.own.support, &s.query, 1, after, NULL));
    EXPECT(!memcmp(before, after, sizeof before));
    centra_explanation_free(e);
    stage_close(&s);
}

TEST(sheets_show_every_part_of_an_explanation)
{
    struct stage s;
    centra_explanation *e = NULL;
    centra_picture sheet[5] = {0};
    REQUIRE(stage_open(&s, NULL, 1));
    const centra_support *known = s.own.support;
    REQUIRE(centra_explain(s.own.classifier, known, &s.query, &e) == CENTRA_OK);
    for (int kind = 0; kind < 4; kind++) {
        EXPECT_OK((status)centra_explanation_sheet(e, known, (centra_sheet)kind, 1, &sheet[kind]));
        EXPECT(sheet[kind].width >= 2 * 252 && sheet[kind].height >= 252);
    }
    EXPECT_OK((status)centra_explanation_sheet(e, known, CENTRA_SHEET_PAIRS, 0, &sheet[4]));
    const size_t bytes = 3 * sheet[3].width * sheet[3].height;
    EXPECT(sheet[3].rgb && sheet[4].rgb && memcmp(sheet[3].rgb, sheet[4].rgb, bytes)); /* another class, other lines */
    EXPECT_STATUS((status)centra_explanation_sheet(e, known, CENTRA_SHEET_KNOWN, 3, &sheet[0]), ST_USAGE);
    EXPECT_STATUS((status)centra_explanation_sheet(e, known, (centra_sheet)4, 0, &sheet[0]), ST_USAGE);
    EXPECT_STATUS((status)centra_explanation_sheet(e, NULL, CENTRA_SHEET_QUERY, 0, &sheet[0]), ST_USAGE);
    for (size_t i = 0; i < 5; i++) centra_picture_free(&sheet[i]);
    centra_explanation_free(e);
    stage_close(&s);
}

TEST(explain_refuses_in_a_sentence)
{
    struct own o;
    centra_explanation *e = NULL;
    const centra_picture empty = {0};
    REQUIRE(own_open(&o, NULL, 1) && scene_fill(&o, 1, 2));
    centra_picture p = scene_make(0, 3, scene_box(3));
    REQUIRE(p.rgb);
    EXPECT_STATUS((status)centra_explain(o.classifier, o.support, &empty, &e), ST_USAGE);
    EXPECT_STATUS((status)centra_explain(NULL, o.support, &p, &e), ST_USAGE);
    EXPECT_STATUS((status)centra_explain(o.classifier, o.support, &p, &e), ST_USAGE);
    EXPECT(strstr(centra_message(), "only the class 'kind 0'"));
    REQUIRE(scene_fill(&o, 2, 1));
    o.model->extractor.kind = EXTRACT_GRID; /* as if it were a model with a grid */
    EXPECT_STATUS((status)centra_explain(o.classifier, o.support, &p, &e), ST_UNSUPPORTED);
    EXPECT(strstr(centra_message(), "extractor map"));
    o.model->extractor.kind = EXTRACT_MAP;
    EXPECT(!e);
    centra_picture_free(&p);
    own_close(&o);
}

TEST(explain_loses_nothing_without_memory)
{
    struct stage s;
    centra_explanation *e = NULL;
    REQUIRE(stage_open(&s, NULL, 1));
    for (size_t n = 1;; n++) {
        alloc_fail_at(n);
        const status st = (status)centra_explain(s.own.classifier, s.own.support, &s.query, &e);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        if (!failed) break;
        EXPECT_STATUS(st, ST_MEMORY);
        EXPECT(!e);
    }
    centra_explanation_free(e);
    const size_t live = alloc_live(); /* what classifier and session keep has grown to its size */
    EXPECT_OK((status)centra_explain(s.own.classifier, s.own.support, &s.query, &e));
    centra_explanation_free(e);
    EXPECT_INT(alloc_live(), live);
    stage_close(&s);
}
