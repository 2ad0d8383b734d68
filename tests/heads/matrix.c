/* matrix.c - the small constant matrices that heads are made of. */
#include "heads/matrix.h"
#include "tests/ops/world.h"
#include "tests/test.h"

VALUE_TEST(constant_matrices_have_their_numbers)
{
    const var *full = matrix_filled(w->t, w->type, 2, (size_t[]){2, 3}, 1.5);
    const var *one = matrix_identity(w->t, w->type, 3);
    const var *hot = matrix_one_hot(w->t, w->type, (size_t[]){0, 1, 3}, 2);
    REQUIRE(full && one && hot);
    EXPECT_DIMS(full->value, 2, 3);
    EXPECT_NUMBERS(w, full->value, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5);
    EXPECT_NUMBERS(w, one->value, 1, 0, 0, 0, 1, 0, 0, 0, 1);
    EXPECT_DIMS(hot->value, 3, 2);
    EXPECT_NUMBERS(w, hot->value, 1, 0, 0, 1, 0, 1);
}
