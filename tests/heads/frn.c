/* frn.c - reconstruction worked out by hand, its auxiliary loss, and shots sorted by class. */
#include "heads/frn.h"
#include "heads/shots.h"
#include "tests/heads/case.h"
#include "tests/heads/rig.h"
#include "tests/heads/stage.h"
#include "tests/test.h"

/* One channel: class 0 is the feature 1, m times over, class 1 is 0; lambda = m, so Hat = 1/2 for class 0 and 0 for class 1.
 * The query (2, 4) leaves errors (1, 4) and (4, 16). */
static void expect_halves(size_t rs, double scale, double r1, double wanted0, double wanted1)
{
    static struct outcome out;
    struct stage s;
    struct play p = {.ns = 2, .way = 2, .channels = 1, .rs = rs, .nq = 1, .rq = 2};
    for (size_t i = 0; i < rs; i++) p.support[i] = 1;
    p.support_labels[1] = 1;
    p.query[0] = 2;
    p.query[1] = 4;
    p.params[0] = scale;
    p.params[2] = r1;
    REQUIRE(stage_open(&s, "frn", DT_F64, 1, 1));
    stage_set(&s, "epsilon", "0");
    if (stage_run(&s, &p, TAPE_TRAINING, &out)) {
        EXPECT_NEAR(out.scores[0], wanted0, 1e-13);
        EXPECT_NEAR(out.scores[1], wanted1, 1e-13);
    }
    stage_close(&s);
}

/* The largest difference, in parts of the largest number. */
static double relative(const double *seen, const double *wanted, size_t n)
{
    double off = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        off = fmax(off, fabs(seen[i] - wanted[i]));
        most = fmax(most, fabs(wanted[i]));
    }
    return off / most;
}

TEST(frn_reconstructs_by_the_worked_example)
{
    expect_halves(1, 1, 0, -2.5, -10); /* as many rows as channels: the rows are solved for */
    expect_halves(3, 1, 0, -2.5, -10); /* more rows: the channels are */
    expect_halves(1, 3, 0, -7.5, -30);
    expect_halves(1, 1, log(2), 0, -10); /* twice the half: no error */
    expect_halves(3, 1, log(2), 0, -10);
}

/* As many rows as channels, or nearly so, reconstruct queries so well that little is left: single precision must not lose it
 * in a difference of two large numbers. */
TEST(frn_in_single_precision_keeps_small_errors)
{
    static const size_t dims[][2] = {{9, 9}, {12, 12}, {12, 4}, {16, 15}, {24, 6}}; /* channels, rs */
    static const size_t shots[] = {1, 1, 1};
    static struct outcome out[2];
    static struct play p;
    struct random r = test_random();
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (size_t repeat = 0; repeat < 20; repeat++) {
            bool ran = true;
            for (int twice = 1; twice >= 0; twice--) {
                struct stage s;
                REQUIRE(stage_open(&s, "frn", twice ? DT_F64 : DT_F32, 1, dims[i][0]));
                if (twice) {
                    play_random(&p, &s, &r, 3, shots, dims[i][0], dims[i][1], 4, dims[i][1]);
                    for (size_t k = 0; k < play_support_count(&p); k++) p.support[k] = (double)(float)p.support[k];
                    for (size_t k = 0; k < play_query_count(&p); k++) p.query[k] = (double)(float)p.query[k];
                    for (size_t k = 0; k < stage_param_count(&s); k++) p.params[k] = (double)(float)p.params[k];
                }
                ran = stage_run(&s, &p, TAPE_TRAINING, &out[twice]) && ran;
                stage_close(&s);
            }
            REQUIRE(ran);
            EXPECT_ALL_NEAR(out[0].scores, out[1].scores, 4 * 3, 2e-6);
            EXPECT(relative(out[0].d_support, out[1].d_support, play_support_count(&p)) < 2e-5);
            EXPECT(relative(out[0].d_query, out[1].d_query, play_query_count(&p)) < 2e-5);
            EXPECT(relative(out[0].d_params, out[1].d_params, 3) < 2e-5);
        }
}

/* Both ways with fewer rows than channels, along a random direction of the support. */
TEST(frn_has_the_gradient_of_its_loss_with_few_rows_and_with_many)
{
    static const size_t rows[] = {3, 6, 7, 20}; /* of 24 channels: up to 6 are few */
    static const size_t shots[] = {1, 1, 1};
    static struct outcome out[3];
    static struct play p, moved;
    const double step = 1e-6;
    struct random r = test_random();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stage s;
        double along = 0;
        REQUIRE(stage_open(&s, "frn", DT_F64, 1, 24));
        play_random(&p, &s, &r, 3, shots, 24, rows[i], 4, rows[i]);
        REQUIRE(stage_run(&s, &p, TAPE_TRAINING, &out[0]));
        static double way[STAGE_MOST];
        for (size_t k = 0; k < play_support_count(&p); k++) {
            way[k] = random_normal(&r);
            along += way[k] * out[0].d_support[k];
        }
        for (int side = 1; side < 3; side++) {
            moved = p;
            for (size_t k = 0; k < play_support_count(&p); k++) moved.support[k] += (side == 1 ? step : -step) * way[k];
            REQUIRE(stage_run(&s, &moved, TAPE_TRAINING, &out[side]));
        }
        EXPECT_NEAR((out[1].loss - out[2].loss) / (2 * step), along, 1e-6 * (1 + fabs(along)));
        EXPECT(fabs(along) > 1e-4);
        stage_close(&s);
    }
}

TEST(frn_without_parameters_uses_their_start)
{
    struct stage s;
    struct head_result r = {0};
    double scores[2];
    REQUIRE(stage_open(&s, "frn", DT_F64, 1, 1));
    stage_set(&s, "epsilon", "0");
    struct episode e = {.support = world_constant(&s.w, DIMS(2, 1, 1), NUMBERS(1, 0)),
                        .support_labels = op_labels(s.w.t, (int32_t[]){0, 1}, 2, 2),
                        .query = world_constant(&s.w, DIMS(1, 1, 2), NUMBERS(2, 4)),
                        .way = 2};
    EXPECT(s.head->forward(s.w.t, s.settings.bytes, NULL, &e, 0, &r) && !r.loss);
    REQUIRE(r.scores && world_read(&s.w, &r.scores->value, scores));
    EXPECT_NEAR(scores[0], -2.5, 1e-13);
    EXPECT_NEAR(scores[1], -10, 1e-13);
    stage_close(&s);
}

VALUE_TEST(frn_pushes_classes_apart_by_the_worked_example)
{
    static const size_t first[] = {0, 1, 2};
    double seen[2];
    var *rows = world_leaf(w, DIMS(2, 2), NUMBERS(3, 0, 1, 1));
    var *each = frn_aux_loss(w->t, FRN_AUX_ROWS, rows, first, 2);
    var *whole = frn_aux_loss(w->t, FRN_AUX_WHOLE, rows, first, 2);
    REQUIRE(each && whole && world_read(w, &each->value, &seen[0]) && world_read(w, &whole->value, &seen[1]));
    EXPECT_NEAR(seen[0], 0.03 * 0.5, 1e-8);
    EXPECT_NEAR(seen[1], 0.03 * 9 / 121, 1e-9);
}

static void check_aux(const struct golden *g)
{
    static const size_t first[] = {0, 5, 10, 15, 20};
    struct npy support;
    struct world w;
    double loss, gradient[120];
    if (!golden_read(g, "support.npy", &support) || !rig_open(&w, g->isa, 2, g->type)) return;
    REQUIRE(support.count == 120 && support.dim[0] == 4);
    var *rows = world_leaf(&w, DIMS(20, 6), support.data);
    var *aux = frn_aux_loss(w.t, FRN_AUX_WHOLE, rows, first, 4);
    EXPECT_OK(aux ? tape_backward(w.t, aux) : tape_status(w.t));
    if (aux && world_read(&w, &aux->value, &loss) && world_read(&w, &rows->grad, gradient)) {
        golden_expect(g, "loss.npy", &loss, 1);
        golden_expect(g, "grad_support.npy", gradient, 120);
        golden_expect_only(g, (const char *[]){"loss.npy", "grad_support.npy", NULL});
    }
    npy_free(&support);
    world_close(&w);
}

TEST(frn_auxiliary_loss_gives_the_recorded_numbers) { for_golden("frn_aux", check_aux); }

VALUE_TEST(shots_are_sorted_by_class_and_stay_in_their_order)
{
    struct shots s;
    struct episode e = {.support = world_leaf(w, DIMS(5, 1, 1), NUMBERS(10, 20, 30, 40, 50)),
                        .support_labels = op_labels(w->t, (int32_t[]){2, 0, 1, 2, 0}, 5, 3),
                        .way = 3};
    REQUIRE(shots_sort(w->t, &e, &s));
    EXPECT_NUMBERS(w, s.support->value, 20, 50, 30, 10, 40);
    EXPECT(!s.equal && s.first[0] == 0 && s.first[1] == 2 && s.first[2] == 3 && s.first[3] == 5);
    e.support_labels = op_labels(w->t, (int32_t[]){0, 0, 0, 2, 2}, 5, 3);
    EXPECT(!shots_sort(w->t, &e, &s));
    EXPECT_STATUS(tape_status(w->t), ST_VALUE);
    tape_reset(w->t, TAPE_TRAINING); /* the failure was meant */
}

/* 0.03 times the sum over pairs of classes of |S_i S_j^T|^2, S scaled as a whole or row by row. */
static double plain_aux(const struct play *p, int kind)
{
    double whole = 0, sum = 0;
    const size_t c = p->channels, rs = p->rs;
    for (size_t i = 0; i < play_support_count(p); i++) whole += p->support[i] * p->support[i];
    for (size_t a = 0; a < p->ns * rs; a++)
        for (size_t b = 0; b < p->ns * rs; b++) {
            double dot = 0, aa = 0, bb = 0;
            if (p->support_labels[a / rs] >= p->support_labels[b / rs]) continue;
            for (size_t k = 0; k < c; k++) {
                const double x = p->support[(a / rs * c + k) * rs + a % rs],
                             y = p->support[(b / rs * c + k) * rs + b % rs];
                dot += x * y;
                aa += x * x;
                bb += y * y;
            }
            sum += 0.03 * dot * dot / (kind == 1 ? whole * whole : aa * bb);
        }
    return sum;
}

TEST(frn_pushes_the_rows_of_classes_apart)
{
    static const size_t shots[][3] = {{2, 2, 2}, {1, 3, 2}};
    struct random r = test_random();
    for (int i = 0; i < 4; i++) {
        static struct play p;
        static struct outcome with, without;
        struct stage s;
        REQUIRE(stage_open(&s, "frn", DT_F64, 1, 5));
        play_random(&p, &s, &r, 3, shots[i % 2], 5, 2, 3, 4);
        REQUIRE(stage_run(&s, &p, TAPE_TRAINING, &without));
        stage_set(&s, "aux", i / 2 ? "2" : "1");
        REQUIRE(stage_run(&s, &p, TAPE_TRAINING, &with));
        EXPECT_NEAR(with.loss - without.loss, plain_aux(&p, i / 2 ? 2 : 1), 1e-12);
        EXPECT_ALL_NEAR(with.scores, without.scores, 9, 1e-14);
        stage_close(&s);
    }
}
