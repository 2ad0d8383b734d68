/* enter.c - a first layer from pictures as they come is pad, permute and conv2d_norm in one: the same numbers, told as the same
 * steps, and refused in words. What the device makes of it: tests/cpu/prims_enter.c. */
#include "ops/steps.h"
#include "tests/ops/world.h"
#include "tests/test.h"

enum { H = 6, W = 5, IN = 3, OUT = 2 };
static const struct pad border = {1, 0, 2, 1};
static const struct conv_norm how = {.stride = 2, .slope = 0.25, .ceiling = 0.5};

struct scene {
    struct world w;
    struct params *p;
    struct batch_norm bn;
    var *pictures, *weight;
};

static struct param *add(struct scene *s, const char *name, const double *x)
{
    struct param *out = NULL;
    const float two[OUT] = {(float)x[0], (float)x[1]};
    if (params_add(s->p, name, DT_F32, 1, (size_t[]){OUT}, &out) != OK) return NULL;
    EXPECT_OK(s->w.dev->upload(s->w.dev, out->value.data, two, sizeof two));
    return out;
}

/* False where the device does not offer it. */
static bool scene_open(struct scene *s)
{
    double x[2 * IN * H * W], k[OUT * IN * 9];
    *s = (struct scene){0};
    if (!world_open(&s->w, 1, DT_F32, TAPE_INFERENCE)) return false;
    s->p = params_new(s->w.dev);
    EXPECT(s->p);
    if (!s->p) return false;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (double)(i * 7 % 11) / 8 - 0.5;
    for (size_t i = 0; i < sizeof k / sizeof *k; i++) k[i] = (double)(i * 5 % 13) / 16 - 0.375;
    s->bn = (struct batch_norm){add(s, "gain", NUMBERS(0.5, -2)),
                                add(s, "bias", NUMBERS(0.25, 0.125)),
                                add(s, "mean", NUMBERS(0.5, -0.5)),
                                add(s, "variance", NUMBERS(2, 0.5)),
                                0.1,
                                1e-5};
    s->pictures = world_constant(&s->w, DIMS(2, IN, H, W), x);
    s->weight = world_constant(&s->w, DIMS(OUT, IN, 3, 3), k);
    if (s->pictures && s->weight && op_enter_norm_offered(s->w.t, s->pictures)) return true;
    test_skip("the device under test does not read pictures as they come");
    return false;
}

static void scene_close(struct scene *s)
{
    params_free(s->p);
    world_close(&s->w);
}

static var *enter(struct scene *s) { return op_enter_norm(s->w.t, s->pictures, s->weight, &s->bn, &border, &how); }

static var *by_parts(struct scene *s)
{
    var *maps = op_permute(s->w.t, op_pad(s->w.t, s->pictures, &border), (int[]){0, 2, 3, 1});
    return op_conv2d_norm(s->w.t, maps, s->weight, &s->bn, &how);
}

TEST(a_first_layer_of_pictures_is_its_parts)
{
    struct scene s;
    double want[2 * 4 * 2 * OUT], got[2 * 4 * 2 * OUT];
    if (scene_open(&s)) {
        var *a = by_parts(&s), *b = enter(&s);
        REQUIRE(a && b);
        EXPECT_DIMS(b->value, 2, 4, 2, OUT);
        REQUIRE(world_read(&s.w, &a->value, want) && world_read(&s.w, &b->value, got));
        for (size_t i = 0; i < sizeof got / sizeof *got; i++) EXPECT_NEAR(got[i], want[i], 0);
        bool low = false, cut = false; /* the activation's parts are all met */
        for (size_t i = 0; i < sizeof got / sizeof *got; i++) {
            low = low || got[i] < 0;
            cut = cut || got[i] == 0.5;
        }
        EXPECT(low && cut);
    }
    scene_close(&s);
}

TEST(a_first_layer_of_pictures_is_told_as_steps)
{
    struct scene s;
    struct steps told = {0};
    if (scene_open(&s)) {
        EXPECT_OK(steps_input(&told, s.pictures));
        tape_trace(s.w.t, &told);
        var *y = enter(&s);
        tape_trace(s.w.t, NULL);
        REQUIRE(y);
        static const enum step_kind wanted[] = {STEP_INPUT, STEP_PERMUTE,    STEP_CONV,
                                                STEP_NORM,  STEP_LEAKY_RELU, STEP_CLIP};
        REQUIRE(told.count == sizeof wanted / sizeof *wanted);
        for (size_t i = 0; i < told.count; i++) EXPECT_INT(steps_at(&told, i + 1)->kind, wanted[i]);
        const struct step *conv = steps_at(&told, 3), *last = steps_at(&told, y->step);
        EXPECT(conv->conv.pad[0] == 1 && conv->conv.pad[1] == 0 && conv->conv.pad[2] == 2 && conv->conv.pad[3] == 1);
        EXPECT(last->rank == 4 && last->dim[0] == 2 && last->dim[1] == 4 && last->dim[2] == 2 && last->dim[3] == OUT);
    }
    steps_free(&told);
    scene_close(&s);
}

TEST(a_first_layer_of_pictures_is_refused_in_words)
{
    static const struct {
        struct pad border;
        size_t pad;
        const char *says;
    } cases[] = {{{0, 0, 0, 0}, 1, "op conv2d_norm: a border of pictures is at most 65536, and the only one"},
                 {{1 << 17, 0, 0, 0}, 0, "op conv2d_norm: a border of pictures is at most 65536, and the only one"},
                 {{0, 1 << 17, 0, 0}, 0, "op conv2d_norm: a border of pictures is at most 65536, and the only one"},
                 {{0, 0, 1 << 17, 0}, 0, "op conv2d_norm: a border of pictures is at most 65536, and the only one"},
                 {{0, 0, 0, 1 << 17}, 0, "op conv2d_norm: a border of pictures is at most 65536, and the only one"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene s;
        if (scene_open(&s)) {
            const struct conv_norm with = {.stride = 1, .pad = cases[i].pad};
            EXPECT(!op_enter_norm(s.w.t, s.pictures, s.weight, &s.bn, &cases[i].border, &with));
            EXPECT(tape_status(s.w.t) == ST_USAGE);
            EXPECT_TEXT(error_text(), cases[i].says);
        }
        scene_close(&s);
    }
}

TEST(a_first_layer_of_pictures_does_not_fit_what_are_none)
{
    struct scene s;
    const double x[4] = {0};
    if (scene_open(&s)) {
        var *flat = world_constant(&s.w, DIMS(2, 2), x);
        EXPECT(!op_enter_norm(s.w.t, flat, s.weight, &s.bn, &border, &how));
        EXPECT(tape_status(s.w.t) == ST_SHAPE);
    }
    scene_close(&s);
}
