/* values.c - each op on numbers small enough to work out by hand: the output, and the gradients for a given dy. */
#include "tests/ops/world.h"
#include "tests/test.h"

static const double LN3 = 1.0986122886681098;

VALUE_TEST(add_stretches_and_sums_back)
{
    var *a = world_leaf(w, DIMS(2, 1), NUMBERS(1, 2)), *b = world_leaf(w, DIMS(3), NUMBERS(10, 20, 30));
    var *y = op_add(w->t, a, b);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 2, 3);
    EXPECT_NUMBERS(w, y->value, 11, 21, 31, 12, 22, 32);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 3, 4, 5, 6)));
    EXPECT_NUMBERS(w, a->grad, 6, 15);
    EXPECT_NUMBERS(w, b->grad, 5, 7, 9);
}

VALUE_TEST(sub_gives_the_second_minus)
{
    var *a = world_leaf(w, DIMS(2), NUMBERS(5, 7)), *b = world_leaf(w, DIMS(2), NUMBERS(1, 10));
    var *y = op_sub(w->t, a, b);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 4, -3);
    EXPECT_OK(world_back(w, y, NUMBERS(2, 3)));
    EXPECT_NUMBERS(w, a->grad, 2, 3);
    EXPECT_NUMBERS(w, b->grad, -2, -3);
}

VALUE_TEST(mul_crosses_the_factors)
{
    var *a = world_leaf(w, DIMS(2, 1), NUMBERS(1, 2)), *b = world_leaf(w, DIMS(3), NUMBERS(10, 20, 30));
    var *y = op_mul(w->t, a, b);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 10, 20, 30, 20, 40, 60);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 1, 1, 1, 1, 1)));
    EXPECT_NUMBERS(w, a->grad, 60, 60);
    EXPECT_NUMBERS(w, b->grad, 3, 3, 3);
}

VALUE_TEST(div_has_the_quotient_rule)
{
    var *a = world_leaf(w, DIMS(2, 1), NUMBERS(2, 4)), *b = world_leaf(w, DIMS(3), NUMBERS(1, 2, 4));
    var *y = op_div(w->t, a, b);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 2, 1, 0.5, 4, 2, 1);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 1, 1, 1, 1, 1)));
    EXPECT_NUMBERS(w, a->grad, 1.75, 1.75);
    EXPECT_NUMBERS(w, b->grad, -6, -1.5, -0.375);
}

VALUE_TEST(a_square_gets_both_gradients)
{
    var *x = world_leaf(w, DIMS(2), NUMBERS(3, -4)), *y = op_mul(w->t, x, x);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 9, 16);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 10)));
    EXPECT_NUMBERS(w, x->grad, 6, -80);
}

VALUE_TEST(exp_is_its_own_gradient)
{
    var *x = world_leaf(w, DIMS(2), NUMBERS(0, LN3)), *y = op_exp(w->t, x);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 1, 3);
    EXPECT_OK(world_back(w, y, NUMBERS(2, 2)));
    EXPECT_NUMBERS(w, x->grad, 2, 6);
}

VALUE_TEST(log_has_the_inverse_as_gradient)
{
    var *x = world_leaf(w, DIMS(2), NUMBERS(1, 4)), *y = op_log(w->t, x);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 0, 1.3862943611198906);
    EXPECT_OK(world_back(w, y, NUMBERS(3, 2)));
    EXPECT_NUMBERS(w, x->grad, 3, 0.5);
}

VALUE_TEST(sqrt_halves_the_inverse_root)
{
    var *x = world_leaf(w, DIMS(2), NUMBERS(4, 16)), *y = op_sqrt(w->t, x);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 2, 4);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2)));
    EXPECT_NUMBERS(w, x->grad, 0.25, 0.25);
}

VALUE_TEST(relu_is_flat_at_zero)
{
    var *x = world_leaf(w, DIMS(3), NUMBERS(-1, 0, 2)), *y = op_relu(w->t, x);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 0, 0, 2);
    EXPECT_OK(world_back(w, y, NUMBERS(5, 6, 7)));
    EXPECT_NUMBERS(w, x->grad, 0, 0, 7);
}

VALUE_TEST(affine_multiplies_and_adds)
{
    var *x = world_leaf(w, DIMS(2), NUMBERS(1, 2)), *y = op_affine(w->t, x, 3, -1);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 2, 5);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2)));
    EXPECT_NUMBERS(w, x->grad, 3, 6);
}

VALUE_TEST(sum_drops_its_axes)
{
    var *x = world_leaf(w, DIMS(2, 3), NUMBERS(1, 2, 3, 4, 5, 6)), *y = op_sum(w->t, x, 1u << 0, DROP_AXES);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 3);
    EXPECT_NUMBERS(w, y->value, 5, 7, 9);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 3)));
    EXPECT_NUMBERS(w, x->grad, 1, 2, 3, 1, 2, 3);
}

VALUE_TEST(mean_keeps_its_axes_when_asked)
{
    var *x = world_leaf(w, DIMS(2, 3), NUMBERS(1, 2, 3, 4, 5, 6)), *y = op_mean(w->t, x, 1u << 1, KEEP_AXES);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 2, 1);
    EXPECT_NUMBERS(w, y->value, 2, 5);
    EXPECT_OK(world_back(w, y, NUMBERS(3, 6)));
    EXPECT_NUMBERS(w, x->grad, 1, 1, 1, 2, 2, 2);
}

VALUE_TEST(softmax_sums_to_one)
{
    var *x = world_leaf(w, DIMS(1, 2), NUMBERS(0, LN3)), *y = op_softmax(w->t, x, -1);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 0.25, 0.75);
    EXPECT_OK(world_back(w, y, NUMBERS(0, 4)));
    EXPECT_NUMBERS(w, x->grad, -0.75, 0.75);
}

VALUE_TEST(log_softmax_along_the_first_axis)
{
    var *x = world_leaf(w, DIMS(2, 1), NUMBERS(0, LN3)), *y = op_log_softmax(w->t, x, 0);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, -1.3862943611198906, -0.2876820724517809);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 0)));
    EXPECT_NUMBERS(w, x->grad, 0.75, -0.75);
}

VALUE_TEST(l2norm_leaves_zero_vectors_alone)
{
    var *x = world_leaf(w, DIMS(2, 2), NUMBERS(3, 4, 0, 0)), *y = op_l2norm(w->t, x, 1);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 0.6, 0.8, 0, 0);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 0, 1, 0)));
    EXPECT_NUMBERS(w, x->grad, 0.128, -0.096, 0, 0);
}

VALUE_TEST(top_k_gives_ties_to_the_lowest_index)
{
    var *index = NULL, *x = world_leaf(w, DIMS(4), NUMBERS(3, 1, 3, 5)), *y = op_top_k(w->t, x, 0, 2, &index);
    REQUIRE(y && index);
    EXPECT_NUMBERS(w, y->value, 5, 3);
    EXPECT_NUMBERS(w, index->value, 3, 0);
    EXPECT(!index->needs_grad);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2)));
    EXPECT_NUMBERS(w, x->grad, 2, 0, 0, 1);
}

VALUE_TEST(max_drops_the_axis)
{
    var *x = world_leaf(w, DIMS(2, 2), NUMBERS(1, 4, 3, 2)), *y = op_max(w->t, x, 0);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 2);
    EXPECT_NUMBERS(w, y->value, 3, 4);
    EXPECT_OK(world_back(w, y, NUMBERS(7, 8)));
    EXPECT_NUMBERS(w, x->grad, 0, 8, 7, 0);
}

VALUE_TEST(reshape_does_not_copy)
{
    var *x = world_leaf(w, DIMS(2, 3), NUMBERS(1, 2, 3, 4, 5, 6)), *y = op_reshape(w->t, x, DIMS(3, 2));
    REQUIRE(y);
    EXPECT_DIMS(y->value, 3, 2);
    EXPECT(y->value.data == x->value.data);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 3, 4, 5, 6)));
    EXPECT_NUMBERS(w, x->grad, 1, 2, 3, 4, 5, 6);
}

VALUE_TEST(permute_transposes)
{
    var *x = world_leaf(w, DIMS(2, 3), NUMBERS(1, 2, 3, 4, 5, 6)), *y = op_permute(w->t, x, (int[]){-1, 0});
    REQUIRE(y);
    EXPECT_DIMS(y->value, 3, 2);
    EXPECT_NUMBERS(w, y->value, 1, 4, 2, 5, 3, 6);
    EXPECT_OK(world_back(w, y, NUMBERS(10, 20, 30, 40, 50, 60)));
    EXPECT_NUMBERS(w, x->grad, 10, 30, 50, 20, 40, 60);
}

VALUE_TEST(concat_lays_inputs_side_by_side)
{
    var *a = world_leaf(w, DIMS(2, 1), NUMBERS(1, 2)), *b = world_leaf(w, DIMS(2, 2), NUMBERS(3, 4, 5, 6));
    var *y = op_concat(w->t, 3, (var *[]){a, b, a}, 1);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 2, 4);
    EXPECT_NUMBERS(w, y->value, 1, 3, 4, 1, 2, 5, 6, 2);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 3, 10, 4, 5, 6, 20)));
    EXPECT_NUMBERS(w, a->grad, 11, 24);
    EXPECT_NUMBERS(w, b->grad, 2, 3, 5, 6);
}

/* More than ten are joined in groups. */
VALUE_TEST(concat_takes_any_number_of_inputs)
{
    enum { COUNT = 123 };
    var *one[COUNT];
    double values[COUNT], back[COUNT], first, last;
    var *a = world_leaf(w, DIMS(1), NUMBERS(7)), *b = world_leaf(w, DIMS(1), NUMBERS(8));
    for (int i = 0; i < COUNT; i++) {
        one[i] = i % 2 ? b : a;
        values[i] = i % 2 ? 8 : 7;
        back[i] = i;
    }
    var *y = op_concat(w->t, COUNT, one, 0);
    REQUIRE(y);
    EXPECT_DIMS(y->value, COUNT);
    double seen[COUNT];
    REQUIRE(world_read(w, &y->value, seen));
    for (int i = 0; i < COUNT; i++) EXPECT(seen[i] == values[i]);
    EXPECT_OK(world_back(w, y, back));
    REQUIRE(world_read(w, &a->grad, &first) && world_read(w, &b->grad, &last));
    EXPECT(first == 61 * 62 && last == 61 * 61); /* the even and the odd numbers up to 122 */
}

VALUE_TEST(slice_takes_a_part)
{
    var *x = world_leaf(w, DIMS(2, 3), NUMBERS(1, 2, 3, 4, 5, 6)), *y = op_slice(w->t, x, -1, 1, 3);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 2, 2);
    EXPECT_NUMBERS(w, y->value, 2, 3, 5, 6);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 3, 4)));
    EXPECT_NUMBERS(w, x->grad, 0, 1, 2, 0, 3, 4);
}

VALUE_TEST(gather_adds_for_repeats)
{
    const tensor *index = world_index(w, 3, (int32_t[]){1, 1, 0});
    var *x = world_leaf(w, DIMS(2, 2), NUMBERS(1, 2, 3, 4)), *y = op_gather(w->t, x, 0, index);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 3, 2);
    EXPECT_NUMBERS(w, y->value, 3, 4, 3, 4, 1, 2);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 3, 4, 5, 6)));
    EXPECT_NUMBERS(w, x->grad, 5, 6, 4, 6);
}

VALUE_TEST(matmul_multiplies)
{
    var *a = world_leaf(w, DIMS(2, 2), NUMBERS(1, 2, 3, 4)), *b = world_leaf(w, DIMS(2, 1), NUMBERS(5, 6));
    var *y = op_matmul(w->t, a, false, b, false);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 2, 1);
    EXPECT_NUMBERS(w, y->value, 17, 39);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 10)));
    EXPECT_NUMBERS(w, a->grad, 5, 6, 50, 60);
    EXPECT_NUMBERS(w, b->grad, 31, 42);
}

VALUE_TEST(matmul_transposes_and_stretches)
{
    var *a = world_leaf(w, DIMS(2, 2), NUMBERS(1, 2, 3, 4));    /* transposed: 1 3, 2 4 */
    var *b = world_leaf(w, DIMS(2, 1, 2), NUMBERS(5, 6, 1, 0)); /* two rows, transposed to columns */
    var *y = op_matmul(w->t, a, true, b, true);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 2, 2, 1);
    EXPECT_NUMBERS(w, y->value, 23, 34, 1, 2);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 0, 0, 1)));
    EXPECT_NUMBERS(w, a->grad, 5, 1, 6, 0); /* b dy^T: (5 0, 6 0) + (0 1, 0 0) */
    EXPECT_NUMBERS(w, b->grad, 1, 3, 2, 4);
}

VALUE_TEST(linear_adds_the_bias_to_each_row)
{
    var *x = world_leaf(w, DIMS(1, 2), NUMBERS(1, 2)), *weight = world_leaf(w, DIMS(2, 2), NUMBERS(3, 4, 5, 6));
    var *bias = world_leaf(w, DIMS(2), NUMBERS(10, 20)), *y = op_linear(w->t, x, weight, bias);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 21, 37);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 1)));
    EXPECT_NUMBERS(w, x->grad, 8, 10);
    EXPECT_NUMBERS(w, weight->grad, 1, 2, 1, 2);
    EXPECT_NUMBERS(w, bias->grad, 1, 1);
}

VALUE_TEST(cosine_takes_all_pairs)
{
    var *a = world_leaf(w, DIMS(1, 2), NUMBERS(1, 0)), *b = world_leaf(w, DIMS(2, 2), NUMBERS(0, 2, 3, 4));
    var *y = op_cosine(w->t, a, b);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 1, 2);
    EXPECT_NUMBERS(w, y->value, 0, 0.6);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 1)));
    EXPECT_NUMBERS(w, a->grad, 0, 1.8);
    EXPECT_NUMBERS(w, b->grad, 0.5, 0, 0.128, -0.096);
}

VALUE_TEST(sqdist_takes_all_pairs)
{
    var *a = world_leaf(w, DIMS(2, 2), NUMBERS(0, 0, 1, 1)), *b = world_leaf(w, DIMS(1, 2), NUMBERS(3, 4));
    var *y = op_sqdist(w->t, a, b);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 2, 1);
    EXPECT_NUMBERS(w, y->value, 25, 13);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 1)));
    EXPECT_NUMBERS(w, a->grad, -6, -8, -4, -6);
    EXPECT_NUMBERS(w, b->grad, 10, 14);
}

VALUE_TEST(solve_pivots)
{
    var *a = world_leaf(w, DIMS(2, 2), NUMBERS(0, 2, 4, 0)), *b = world_leaf(w, DIMS(2, 1), NUMBERS(2, 4));
    var *y = op_solve(w->t, a, b);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 1, 1);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2)));
    EXPECT_NUMBERS(w, b->grad, 1, 0.25);
    EXPECT_NUMBERS(w, a->grad, -1, -1, -0.25, -0.25);
}

VALUE_TEST(cholesky_solve_has_a_symmetric_gradient)
{
    var *a = world_leaf(w, DIMS(2, 2), NUMBERS(2, 0, 0, 4)), *b = world_leaf(w, DIMS(2, 1), NUMBERS(2, 8));
    var *y = op_cholesky_solve(w->t, a, b);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 1, 2);
    EXPECT_OK(world_back(w, y, NUMBERS(2, 4)));
    EXPECT_NUMBERS(w, b->grad, 1, 1);
    EXPECT_NUMBERS(w, a->grad, -1, -1.5, -1.5, -2);
}

VALUE_TEST(qr_of_a_column_is_its_direction_and_length)
{
    var *r = NULL, *x = world_leaf(w, DIMS(2, 1), NUMBERS(3, 4)), *q = op_qr(w->t, x, &r);
    REQUIRE(q && r);
    EXPECT_NUMBERS(w, q->value, 0.6, 0.8);
    EXPECT_NUMBERS(w, r->value, 5);
    const var *dq = world_constant(w, DIMS(2, 1), NUMBERS(1, 0)), *dr = world_constant(w, DIMS(1, 1), NUMBERS(2));
    REQUIRE(dq && dr);
    EXPECT_OK(tape_backward_from(w->t, 2, (var *[]){q, r}, (const tensor *[]){&dq->value, &dr->value}));
    EXPECT_NUMBERS(w, x->grad, 1.328, 1.504);
}

VALUE_TEST(qr_without_a_gradient_on_q)
{
    var *r = NULL, *x = world_leaf(w, DIMS(2, 1), NUMBERS(3, 4));
    REQUIRE(op_qr(w->t, x, &r) && r);
    EXPECT_OK(world_back(w, r, NUMBERS(5)));
    EXPECT_NUMBERS(w, x->grad, 3, 4);
}

VALUE_TEST(class_mean_averages_rows_of_a_label)
{
    const tensor *labels = op_labels(w->t, (int32_t[]){1, 0, 1}, 3, 2);
    var *x = world_leaf(w, DIMS(3, 2), NUMBERS(1, 2, 3, 4, 5, 6)), *y = op_class_mean(w->t, x, labels, 2);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 2, 2);
    EXPECT_NUMBERS(w, y->value, 3, 4, 3, 4);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 3, 4)));
    EXPECT_NUMBERS(w, x->grad, 1.5, 2, 1, 2, 1.5, 2);
}

VALUE_TEST(cross_entropy_is_the_mean_over_rows)
{
    const tensor *labels = op_labels(w->t, (int32_t[]){1, 0}, 2, 2);
    var *x = world_leaf(w, DIMS(2, 2), NUMBERS(0, LN3, 0, 0)), *y = op_cross_entropy(w->t, x, labels);
    REQUIRE(y);
    EXPECT_INT(y->value.rank, 0);
    EXPECT_NUMBERS(w, y->value, (0.2876820724517809 + 0.6931471805599453) / 2);
    EXPECT_OK(tape_backward(w->t, y));
    EXPECT_NUMBERS(w, x->grad, 0.125, -0.125, -0.25, 0.25);
}

VALUE_TEST(nll_picks_the_labels)
{
    const tensor *labels = op_labels(w->t, (int32_t[]){1, 0}, 2, 2);
    var *x = world_leaf(w, DIMS(2, 2), NUMBERS(-1, -2, -3, -4)), *y = op_nll(w->t, x, labels);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 2.5);
    EXPECT_OK(tape_backward(w->t, y));
    EXPECT_NUMBERS(w, x->grad, 0, -0.5, -0.5, 0);
}

VALUE_TEST(adaptive_pool_cells_may_overlap)
{
    var *x = world_leaf(w, DIMS(1, 1, 1, 3), NUMBERS(1, 2, 3)), *y = op_adaptive_pool(w->t, x, 1, 2);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 1, 1, 1, 2);
    EXPECT_NUMBERS(w, y->value, 1.5, 2.5);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2)));
    EXPECT_NUMBERS(w, x->grad, 0.5, 1.5, 1);
}
