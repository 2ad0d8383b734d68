/* refused.c - an op that is refused gives nothing, whatever memory happened to hold before: shapes that were not worked out are
 * not used. */
#include "tests/ops/world.h"
#include "tests/test.h"

struct given {
    struct world w;
    struct params *p;
    struct batch_norm bn; /* of two channels */
    var *line, *matrix, *cube, *map, *filter, *own, *five;
};

/* Leaves `value` where the next calls have their locals. */
__attribute__((noinline)) static void scribble(size_t value)
{
    volatile size_t memory[4096];
    for (size_t i = 0; i < 4096; i++) memory[i] = value;
    (void)memory[value];
}

static const struct depthwise_shape around = {1, 1, 1, 1, 1};
static const struct conv_norm plain = {.stride = 1, .pad = 1, .slope = 0.1};

static var *f_stride(struct given *g) { return op_conv2d(g->w.t, g->map, g->filter, 0, 1); }
static var *f_border(struct given *g) { return op_conv2d(g->w.t, g->map, g->filter, 1, 1 << 17); }
static var *f_rank(struct given *g) { return op_conv2d(g->w.t, g->cube, g->filter, 1, 1); }
static var *f_filter(struct given *g) { return op_conv2d(g->w.t, g->map, g->cube, 1, 1); }
static var *f_channels(struct given *g) { return op_conv2d(g->w.t, g->map, g->own, 1, 1); }
static var *f_norm(struct given *g) { return op_conv2d_norm(g->w.t, g->map, g->own, &g->bn, &plain); }
static var *f_norm_rank(struct given *g) { return op_conv2d_norm(g->w.t, g->cube, g->filter, &g->bn, &plain); }
static var *f_depthwise(struct given *g) { return op_depthwise(g->w.t, g->cube, g->own, &around); }
static var *f_depthwise_channels(struct given *g) { return op_depthwise(g->w.t, g->map, g->filter, &around); }
static var *f_depthwise_norm(struct given *g)
{
    return op_depthwise_norm(g->w.t, g->map, g->filter, &g->bn, &around, 6);
}
static var *f_matmul(struct given *g) { return op_matmul(g->w.t, g->line, false, g->matrix, false); }
static var *f_matmul_map(struct given *g) { return op_matmul(g->w.t, g->matrix, false, g->map, false); }
static var *f_matmul_batch(struct given *g) { return op_matmul(g->w.t, g->cube, false, g->five, false); }
static var *f_solve(struct given *g) { return op_solve(g->w.t, g->matrix, g->line); }
static var *f_solve_batch(struct given *g) { return op_solve(g->w.t, g->cube, g->five); }
static var *f_cholesky(struct given *g) { return op_cholesky_solve(g->w.t, g->map, g->matrix); }
static var *f_sqdist(struct given *g) { return op_sqdist(g->w.t, g->line, g->line); }
static var *f_sqdist_batch(struct given *g) { return op_sqdist(g->w.t, g->cube, g->five); }
static var *f_add(struct given *g) { return op_add(g->w.t, g->five, g->cube); }
static var *f_pool(struct given *g) { return op_max_pool(g->w.t, g->cube, &(struct pool_shape){2, 2, 0}); }
static var *f_pool2(struct given *g) { return op_max_pool2(g->w.t, g->cube); }
static var *f_adaptive(struct given *g) { return op_adaptive_pool(g->w.t, g->cube, 1, 1); }
static var *f_block(struct given *g) { return op_drop_block_at(g->w.t, g->cube, (const unsigned char *)"", 2); }
static var *f_pad(struct given *g) { return op_pad(g->w.t, g->line, &(struct pad){1, 1, 1, 1}); }
static var *f_gather(struct given *g) { return op_gather(g->w.t, g->cube, 7, world_index(&g->w, 1, (int32_t[]){0})); }
static var *f_slice(struct given *g) { return op_slice(g->w.t, g->cube, 1, 1, 9); }
static var *f_reshape(struct given *g) { return op_reshape(g->w.t, g->cube, DIMS(7)); }

static const struct {
    const char *name;
    var *(*call)(struct given *g);
} cases[] = {{"stride", f_stride},
             {"border", f_border},
             {"rank", f_rank},
             {"filter", f_filter},
             {"channels", f_channels},
             {"norm", f_norm},
             {"norm, rank", f_norm_rank},
             {"depthwise", f_depthwise},
             {"depthwise, channels", f_depthwise_channels},
             {"depthwise, norm", f_depthwise_norm},
             {"matmul", f_matmul},
             {"matmul, map", f_matmul_map},
             {"matmul, batch", f_matmul_batch},
             {"solve", f_solve},
             {"solve, batch", f_solve_batch},
             {"cholesky", f_cholesky},
             {"sqdist", f_sqdist},
             {"sqdist, batch", f_sqdist_batch},
             {"add", f_add},
             {"max_pool", f_pool},
             {"max_pool2", f_pool2},
             {"adaptive_pool", f_adaptive},
             {"drop_block", f_block},
             {"pad", f_pad},
             {"gather", f_gather},
             {"slice", f_slice},
             {"reshape", f_reshape}};

static void make(struct given *g)
{
    static const double x[64] = {1, 2, 3, 4};
    struct world *w = &g->w;
    tape_reset(w->t, TAPE_INFERENCE);
    g->line = world_constant(w, DIMS(2), x);
    g->matrix = world_constant(w, DIMS(2, 2), x);
    g->cube = world_constant(w, DIMS(3, 2, 2), x);
    g->five = world_constant(w, DIMS(5, 2, 2), x);
    g->map = world_constant(w, DIMS(1, 2, 2, 2), x);
    g->filter = world_constant(w, DIMS(2, 2, 1, 1), x);
    g->own = world_constant(w, DIMS(2, 1, 3, 3), x);
}

TEST(what_is_refused_gives_nothing)
{
    static const char *const names[] = {"gain", "bias", "mean", "variance"};
    struct given g = {0};
    REQUIRE(world_open(&g.w, 1, DT_F64, TAPE_INFERENCE));
    g.p = params_new(g.w.dev);
    struct param *of[4] = {NULL};
    for (int i = 0; i < 4 && g.p; i++) EXPECT_OK(params_add(g.p, names[i], DT_F64, 1, &(size_t){2}, &of[i]));
    g.bn = (struct batch_norm){of[0], of[1], of[2], of[3], 0.1, 1e-5};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t value = 0; value < 4; value++) {
            make(&g);
            scribble(value);
            const var *y = cases[i].call(&g);
            if (y || tape_status(g.w.t) == OK)
                test_failed(__FILE__, __LINE__, "%s, %zu in memory: it is taken", cases[i].name, value);
        }
    params_free(g.p);
    world_close(&g.w);
}
