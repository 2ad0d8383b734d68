/* cuts.c - rows that are computed some at a time: which chunks the body is given, and what drawing ops take of a stream. */
#include "tests/ops/world.h"
#include "tests/test.h"

enum { ROWS_MOST = 9 };
static size_t begun[64], rows_of[64], calls;

static var *body(tape *t, const void *context, var *const *shared, var *each, size_t first)
{
    (void)context;
    begun[calls] = first;
    rows_of[calls++] = each->value.dim[0];
    return op_matmul(t, each, false, shared[0], false);
}

/* Every row once, in order, in chunks that are not empty, not longer than allowed, and nearly alike. */
static void expect_cut(size_t rows, size_t most, size_t from, size_t to)
{
    size_t next = 0, shortest = rows, longest = 0;
    for (size_t i = from; i < to; i++) {
        EXPECT_INT(begun[i], next);
        next += rows_of[i];
        shortest = rows_of[i] < shortest ? rows_of[i] : shortest;
        longest = rows_of[i] > longest ? rows_of[i] : longest;
    }
    EXPECT_INT(next, rows);
    EXPECT(shortest > 0 && longest <= most);
    EXPECT_INT(to - from, (rows + most - 1) / most); /* as few as can be */
}

TEST(chunks_are_cut_into_few_of_nearly_the_same_size)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    for (size_t rows = 1; rows <= ROWS_MOST; rows++)
        for (size_t most = 1; most <= rows + 1; most++) {
            double x[2 * ROWS_MOST], dy[3 * ROWS_MOST], y[3 * ROWS_MOST], dx[2 * ROWS_MOST], dm[6], wanted[6] = {0};
            static const double matrix[6] = {1, 2, 3, 4, 5, 6};
            for (size_t i = 0; i < 2 * rows; i++) x[i] = (double)i - 3;
            for (size_t i = 0; i < 3 * rows; i++) dy[i] = (double)(i * i % 7) - 2;
            tape_reset(w.t, TAPE_TRAINING);
            calls = 0;
            const struct chunks c = {.rows = most, .columns = 3, .body = body};
            var *m = world_leaf(&w, DIMS(2, 3), matrix), *each = world_leaf(&w, DIMS(rows, 2), x);
            var *out = op_chunks(w.t, &c, 1, &m, each);
            REQUIRE(out && world_read(&w, &out->value, y));
            EXPECT_DIMS(out->value, rows, 3);
            const size_t forward = calls;
            expect_cut(rows, most, 0, forward);
            EXPECT_OK(world_back(&w, out, dy));
            if (forward > 1) expect_cut(rows, most, forward, calls);
            REQUIRE(world_read(&w, &each->grad, dx) && world_read(&w, &m->grad, dm));
            for (size_t i = 0; i < rows; i++)
                for (size_t k = 0; k < 3; k++) {
                    EXPECT_NEAR(y[i * 3 + k], x[2 * i] * matrix[k] + x[2 * i + 1] * matrix[3 + k], 1e-12);
                    wanted[k] += x[2 * i] * dy[i * 3 + k];
                    wanted[3 + k] += x[2 * i + 1] * dy[i * 3 + k];
                }
            for (size_t i = 0; i < 2 * rows; i++) {
                const double *g = dy + i / 2 * 3, *v = matrix + i % 2 * 3;
                EXPECT_NEAR(dx[i], g[0] * v[0] + g[1] * v[1] + g[2] * v[2], 1e-12);
            }
            for (size_t k = 0; k < 6; k++) EXPECT_NEAR(dm[k], wanted[k], 1e-12);
        }
    world_close(&w);
}

static var *other_columns(tape *t, const void *context, var *const *shared, var *each, size_t first)
{
    (void)context, (void)shared, (void)first;
    return op_slice(t, each, 1, 0, 1);
}

TEST(chunks_of_another_shape_are_refused)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    const struct chunks c = {.rows = 1, .columns = 3, .body = other_columns};
    EXPECT(!op_chunks(w.t, &c, 0, NULL, world_leaf(&w, DIMS(2, 2), NUMBERS(1, 2, 3, 4))));
    EXPECT_STATUS(tape_status(w.t), ST_SHAPE);
    EXPECT_TEXT(error_text(), "op chunks: a chunk of 1 rows became [1, 1]; it must become [1, 3]");
    world_close(&w);
}

static void expect_drawn(const struct random *r, size_t numbers)
{
    struct random same = {.seed = 2};
    for (size_t i = 0; i < numbers; i++) (void)random_unit(&same);
    EXPECT_INT(r->index, same.index);
}

/* One number a place, so that what is drawn next does not depend on how it was asked. */
TEST(masks_draw_one_number_for_each_place)
{
    struct world w;
    double x[2 * 5 * 4 * 3] = {0};
    struct random r = {.seed = 2};
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    var *maps = world_constant(&w, DIMS(2, 5, 4, 3), x);
    EXPECT(op_dropout(w.t, maps, 0.5, &r));
    expect_drawn(&r, 2 * 5 * 4 * 3);
    r.index = 0;
    EXPECT(op_drop_block(w.t, maps, 0.1, 2, &r));
    expect_drawn(&r, 2 * 4 * 3 * 3); /* the corners of squares that fit */
    world_close(&w);
}
