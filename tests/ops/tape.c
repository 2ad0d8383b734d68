/* tape.c - what the tape promises: sticky failure, gradients where they belong, and no allocation from step 2 on. */
#include "ops/tape.h"
#include "tests/device.h"
#include "tests/ops/world.h"
#include "tests/test.h"

/* A small classifier: every kind of record, and a loss. */
static var *record(struct world *w)
{
    double x[24], weight[12];
    for (int i = 0; i < 24; i++) x[i] = 0.1 * i - 1;
    for (int i = 0; i < 12; i++) weight[i] = 0.3 - 0.05 * i;
    var *in = world_leaf(w, DIMS(6, 4), x), *fc = world_leaf(w, DIMS(3, 4), weight);
    var *r, *h = op_l2norm(w->t, op_relu(w->t, in), -1);
    var *q = op_qr(w->t, op_add(w->t, in, op_exp(w->t, in)), &r);
    h = op_add(w->t, h, q);
    return op_cross_entropy(w->t, op_linear(w->t, h, fc, NULL), op_labels(w->t, (int32_t[]){0, 1, 2, 0, 1, 2}, 6, 3));
}

TEST(tape_allocates_nothing_from_step_2_on)
{
    struct world w;
    REQUIRE(world_open(&w, 2, DT_F32, TAPE_TRAINING));
    size_t used = 0;
    for (int step = 0; step < 4; step++) {
        const size_t before = alloc_count();
        tape_reset(w.t, TAPE_TRAINING);
        EXPECT_OK(tape_backward(w.t, record(&w)));
        if (step) EXPECT_INT(alloc_count() - before, 0);
        if (step) EXPECT_INT(tape_bytes_used(w.t), used);
        used = tape_bytes_used(w.t);
    }
    EXPECT(used > 0 && used <= tape_bytes_held(w.t));
    world_close(&w);
}

TEST(what_is_released_is_used_again_in_inference_only)
{
    const double x[64] = {1, 2, 3};
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_INFERENCE));
    for (int mode = TAPE_INFERENCE; mode <= TAPE_TRAINING; mode++) {
        tape_reset(w.t, (enum tape_mode)mode);
        var *in = world_constant(&w, DIMS(512), NUMBERS([511] = 5)), *few = world_constant(&w, DIMS(64), x);
        var *a = op_relu(w.t, in);
        REQUIRE(in && few && a);
        const void *first = a->value.data;
        const size_t used = tape_bytes_used(w.t);
        tape_release(w.t, a);
        var *small = op_relu(w.t, few), *b = op_relu(w.t, in), *c = op_relu(w.t, in);
        REQUIRE(small && b && c);
        EXPECT_NUMBERS(&w, small->value, 1, 2, 3, [63] = 0);
        EXPECT_NUMBERS(&w, b->value, [511] = 5);
        EXPECT(small->value.data != first); /* most of the memory would lie idle */
        EXPECT((b->value.data == first) == (mode == TAPE_INFERENCE) && c->value.data != first);
        EXPECT_INT(tape_bytes_used(w.t) - used, 256 + (mode == TAPE_INFERENCE ? 2048 : 2 * 2048));
        EXPECT((a->value.data == NULL) == (mode == TAPE_INFERENCE));
    }
    tape_reset(w.t, TAPE_INFERENCE); /* memory keeps its size when something smaller has lain there */
    var *many = world_constant(&w, DIMS(512), NUMBERS([511] = 5));
    var *half = world_constant(&w, DIMS(256), NUMBERS([255] = 4)), *large = op_relu(w.t, many);
    REQUIRE(half && large);
    const void *memory = large->value.data;
    tape_release(w.t, large);
    var *smaller = op_relu(w.t, half);
    REQUIRE(smaller && smaller->value.data == memory);
    tape_release(w.t, smaller);
    large = op_relu(w.t, many);
    REQUIRE(large && large->value.data == memory);
    EXPECT_NUMBERS(&w, large->value, [511] = 5);
    tape_reset(w.t,
               TAPE_INFERENCE); /* a quarter of the memory may be used, less may not; the smallest that fits is taken */
    var *whole = op_relu(w.t, world_constant(&w, DIMS(256), NUMBERS([255] = 1))),
        *mid = op_relu(w.t, world_constant(&w, DIMS(128), NUMBERS([127] = 1)));
    REQUIRE(whole && mid);
    const void *at[] = {whole->value.data, mid->value.data};
    var *few = world_constant(&w, DIMS(64), x), *fewer = world_constant(&w, DIMS(63), x);
    tape_release(w.t, mid);
    tape_release(w.t, whole);
    const var *second = op_relu(w.t, few), *third = op_relu(w.t, few), *none = op_relu(w.t, fewer);
    REQUIRE(second && third && none);
    EXPECT(second->value.data == at[1] && third->value.data == at[0] && none->value.data != at[0]);
    tape_reset(w.t, TAPE_INFERENCE); /* what was released before is forgotten */
    var *a = op_relu(w.t, world_constant(&w, DIMS(64), x));
    tape_release(w.t, NULL);
    EXPECT(a && tape_status(w.t) == OK);
    world_close(&w);
}

TEST(tape_survives_every_failed_allocation)
{
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        const size_t live = alloc_live();
        struct world w;
        REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
        tape_free(w.t);
        w.t = NULL;
        alloc_fail_at(n);
        status st = tape_new(w.dev, TAPE_TRAINING, &w.t);
        if (st == OK) {
            var *loss = record(&w);
            st = loss ? tape_backward(w.t, loss) : tape_status(w.t);
        }
        failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        world_close(&w);
        EXPECT_INT(alloc_live(), live);
        REQUIRE(n < 200);
    }
}

TEST(tape_keeps_no_records_for_inference)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    var *x = world_leaf(&w, DIMS(2), NUMBERS(1, 2)), *y = op_sum(w.t, op_mul(w.t, x, x), 1, DROP_AXES);
    REQUIRE(y);
    EXPECT_NUMBERS(&w, y->value, 5);
    EXPECT(!x->needs_grad && !y->needs_grad && !y->node);
    EXPECT_STATUS(tape_backward(w.t, y), ST_USAGE);
    EXPECT_TEXT(error_text(), "an inference tape keeps no records to go back through; use a training tape");
    world_close(&w);
}

TEST(tape_keeps_no_record_of_what_needs_no_gradient)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    var *c = world_constant(&w, DIMS(1), NUMBERS(3)), *x = world_leaf(&w, DIMS(1), NUMBERS(2));
    var *square = op_mul(w.t, c, c), *y = op_mul(w.t, square, x);
    REQUIRE(y);
    EXPECT(!square->needs_grad && !square->node && y->needs_grad && y->node);
    EXPECT_OK(tape_backward(w.t, y));
    EXPECT_NUMBERS(&w, x->grad, 9);
    EXPECT(!square->grad.data && !c->grad.data);
    world_close(&w);
}

TEST(tape_failure_is_sticky)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    var *a = world_leaf(&w, DIMS(2), NUMBERS(1, 2)), *b = world_leaf(&w, DIMS(3), NUMBERS(1, 2, 3));
    EXPECT(!op_add(w.t, a, b));
    (void)fail(ST_IO, "something else happened since");
    EXPECT(!op_reshape(w.t, a, DIMS(7)));
    EXPECT(!tape_fail(w.t, fail(ST_IO, "a later failure")));
    EXPECT(!op_exp(w.t, a));
    EXPECT(!tape_constant(w.t, &a->value));
    EXPECT(!tape_param(w.t, NULL));
    EXPECT(!op_labels(w.t, (int32_t[]){0}, 1, 1));
    EXPECT_STATUS(tape_backward(w.t, a), ST_SHAPE);
    EXPECT_STATUS(tape_status(w.t), ST_SHAPE);
    EXPECT_TEXT(error_text(),
                "op binary: cannot add shapes [2] and [3]: sizes must be equal or 1, counted from the last");
    tape_reset(w.t, TAPE_TRAINING);
    EXPECT_OK(tape_status(w.t));
    EXPECT(world_leaf(&w, DIMS(1), NUMBERS(1)));
    world_close(&w);
}

TEST(tape_names_the_op_of_a_failed_primitive)
{
    struct world w;
    if (test_is_for_cpu()) return; /* others tell it when they are waited for */
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    var *a = world_leaf(&w, DIMS(1, 1), NUMBERS(0)), *b = world_leaf(&w, DIMS(1, 1), NUMBERS(1));
    EXPECT(!op_solve(w.t, a, b));
    EXPECT_STATUS(tape_status(w.t), ST_NUMERIC);
    EXPECT(!strncmp(error_text(), "op solve: ", 10));

    tape_reset(w.t, TAPE_TRAINING);
    w.dev->prim[DT_F64].unary_grad = NULL;
    var *x = world_leaf(&w, DIMS(1), NUMBERS(1));
    EXPECT_STATUS(tape_backward(w.t, op_exp(w.t, x)), ST_UNSUPPORTED);
    EXPECT_TEXT(error_text(), "op unary, backward: device cpu has no primitive unary_grad for f64; use another device, "
                              "such as cpu");
    world_close(&w);
}

TEST(tape_backward_wants_one_number_once)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    var *x = world_leaf(&w, DIMS(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
    EXPECT_STATUS(tape_backward(w.t, op_exp(w.t, x)), ST_SHAPE);
    EXPECT_TEXT(error_text(), "the loss has shape [2, 3]; backward starts from one number (sum or average it first)");

    tape_reset(w.t, TAPE_TRAINING);
    x = world_leaf(&w, DIMS(1), NUMBERS(1));
    var *y = op_exp(w.t, x);
    EXPECT_OK(tape_backward(w.t, y));
    EXPECT_STATUS(tape_backward(w.t, y), ST_USAGE);
    EXPECT_TEXT(error_text(), "backward has already run on this recording; reset the tape and record again");

    tape_reset(w.t, TAPE_TRAINING);
    EXPECT_STATUS(tape_backward(w.t, NULL), ST_USAGE);
    EXPECT_TEXT(error_text(), "there is no loss to go back from; was the episode given labels?");
    world_close(&w);
}

TEST(leaf_gradients_add_or_overwrite_as_asked)
{
    struct world w;
    double g[2] = {100, 100};
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    const var *value = world_constant(&w, DIMS(2), NUMBERS(1, 2)), *held[3];
    for (int i = 0; i < 3; i++) held[i] = world_constant(&w, DIMS(2), g);
    REQUIRE(value && held[0] && held[1] && held[2]);
    var *adds = tape_leaf(w.t, &value->value, &held[0]->value, GRAD_ADDS);
    var *overwrites = tape_leaf(w.t, &value->value, &held[1]->value, GRAD_OVERWRITES);
    var *unreached = tape_leaf(w.t, &value->value, &held[2]->value, GRAD_OVERWRITES);
    var *loss = op_sum(w.t, op_mul(w.t, adds, overwrites), 1, DROP_AXES);
    REQUIRE(loss && op_exp(w.t, unreached));
    EXPECT_OK(tape_backward(w.t, loss));
    EXPECT_NUMBERS(&w, held[0]->value, 101, 102);
    EXPECT_NUMBERS(&w, held[1]->value, 1, 2);
    EXPECT_NUMBERS(&w, held[2]->value, 0, 0);
    world_close(&w);
}

TEST(param_gradients_add_up_over_steps)
{
    struct world w;
    struct param *p = NULL;
    const double three = 3;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    struct params *list = params_new(w.dev);
    REQUIRE(list && params_add(list, "scale", DT_F64, 0, NULL, &p) == OK);
    EXPECT_OK(w.dev->upload(w.dev, p->value.data, &three, sizeof three));
    for (int step = 0; step < 3; step++) {
        tape_reset(w.t, TAPE_TRAINING);
        var *v = tape_param(w.t, p);
        EXPECT_OK(tape_backward(w.t, op_mul(w.t, v, v)));
    }
    EXPECT_NUMBERS(&w, p->grad, 18);
    params_free(list);
    world_close(&w);
}

TEST(a_loss_that_is_a_leaf_has_gradient_one)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    const var *value = world_constant(&w, DIMS(1), NUMBERS(5)), *held = world_constant(&w, DIMS(1), NUMBERS(10));
    REQUIRE(value && held);
    EXPECT_OK(tape_backward(w.t, tape_leaf(w.t, &value->value, &held->value, GRAD_ADDS)));
    EXPECT_NUMBERS(&w, held->value, 11);
    world_close(&w);
}

TEST(backward_may_start_from_several_vars)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    var *x = world_leaf(&w, DIMS(2), NUMBERS(1, 2)), *y = op_affine(w.t, x, 2, 0), *z = op_affine(w.t, y, 10, 0);
    const var *dy = world_constant(&w, DIMS(2), NUMBERS(1, 1)), *dz = world_constant(&w, DIMS(2), NUMBERS(1, 3));
    REQUIRE(z && dy && dz);
    const tensor *gradients[] = {&dz->value, &dy->value, &dy->value};
    EXPECT_OK(tape_backward_from(w.t, 3, (var *[]){z, y, y}, gradients));
    EXPECT_NUMBERS(&w, x->grad, 24, 64);
    world_close(&w);
}

TEST(a_gradient_of_another_shape_is_refused)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    var *x = world_leaf(&w, DIMS(2), NUMBERS(1, 2));
    const var *g = world_constant(&w, DIMS(3), NUMBERS(1, 2, 3));
    REQUIRE(x && g);
    EXPECT_STATUS(tape_backward_from(w.t, 1, &x, (const tensor *[]){&g->value}), ST_SHAPE);
    EXPECT_TEXT(error_text(), "the gradient buffer is f64 [3] but the value is f64 [2]; they must be alike");
    const tensor value = x->value, buffer = g->value; /* the reset takes the vars */
    tape_reset(w.t, TAPE_TRAINING);
    EXPECT(!tape_leaf(w.t, &value, &buffer, GRAD_ADDS));
    EXPECT_STATUS(tape_status(w.t), ST_SHAPE);
    world_close(&w);
}

TEST(a_group_of_one_is_nobody_to_share_with)
{
    struct world w;
    struct peers one = {.size = 1}, two = {.size = 2};
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    EXPECT(!tape_peers(w.t));
    tape_share(w.t, &two);
    EXPECT(tape_peers(w.t) == &two);
    tape_share(w.t, &one);
    EXPECT(!tape_peers(w.t));
    tape_share(w.t, NULL);
    EXPECT(!tape_peers(w.t));
    world_close(&w);
}

TEST(a_linear_layer_says_what_is_missing)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    for (int missing = 0; missing < 2; missing++) {
        tape_reset(w.t, TAPE_TRAINING);
        var *x = world_leaf(&w, DIMS(1, 2), NUMBERS(1, 2)),
            *weight = world_leaf(&w, DIMS(3, 2), NUMBERS(1, 2, 3, 4, 5, 6));
        EXPECT(!op_linear(w.t, missing ? x : NULL, missing ? NULL : weight, NULL));
        EXPECT_STATUS(tape_status(w.t), ST_USAGE);
        EXPECT(strstr(error_text(), "is missing"));
    }
    world_close(&w);
}

/* The loss alone: whoever differentiates the masses takes op_walk's. */
TEST(values_beside_the_loss_of_a_walk_have_no_gradient)
{
    struct world w;
    struct walk_vars out;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    var *proto = world_leaf(&w, DIMS(2, 2, 1), NUMBERS(1, 0, 1, 1)),
        *query = world_leaf(&w, DIMS(1, 2, 1), NUMBERS(1, 2));
    const struct walk how = {.gamma = 4, .beta = 3, .alpha = 0.5, .solver = WALK_AUTO};
    const var *loss = op_walk_nll(w.t, proto, query, op_labels(w.t, (int32_t[]){1}, 1, 2), &how,
                                  WALK_PROB | WALK_LOG_PROB | WALK_PI_SUPPORT | WALK_PI_QUERY, &out);
    REQUIRE(loss && out.prob && out.log_prob && out.pi_support && out.pi_query);
    EXPECT(loss->needs_grad && !out.prob->needs_grad && !out.log_prob->needs_grad);
    EXPECT(!out.pi_support->needs_grad && !out.pi_query->needs_grad);
    world_close(&w);
}
