/* mobilenetv2.c - MobileNetV2: 17 inverted residual blocks of depthwise convolutions (224x224 gives 7x7).
 *
 * A block widens its map sixfold by a 1x1 convolution, meets neighbours channel by channel, and narrows it again without an
 * activation; where the shape stays, its input is added. Activations are relu6. Features may be taken from the last map
 * (1280 channels), from the end of block 17 (320) or of block 13 (96, twice as fine). All parameters are there whatever the
 * stage, so that one file serves each. */
#include "base/plain.h"
#include "base/size.h"
#include "nets/layers.h"

enum { BLOCKS = 17, EXPANSION = 6, FIRST_WIDTH = 32, LAST_WIDTH = 1280, SMALLEST_SIDE = 96 };
enum stage { STAGE_LAST, STAGE_17, STAGE_13 };
enum border { BORDER_SYMMETRIC, BORDER_TENSORFLOW };

struct mobilenetv2 {
    double width;
    int stage, border;
};

static const char *const stages[] = {"last", "block17", "block13", NULL};
static const char *const borders[] = {"symmetric", "tensorflow", NULL};

static const struct option mobilenetv2_options[] = {
    OPT_FLOAT(struct mobilenetv2, width, "width", 1, 0.1, 4,
              "factor on the channels of all blocks, rounded to multiples of 8"),
    OPT_NAME(struct mobilenetv2, stage, "stage", STAGE_LAST, stages,
             "where features are taken: last (7x7x1280 of 224x224), block17 (7x7x320), block13 (14x14x96)"),
    OPT_NAME(struct mobilenetv2, border, "border", BORDER_SYMMETRIC, borders,
             "zeros around maps of stride 2: as many on each side, or as TensorFlow's SAME has them"),
    OPT_END};

/* Channels, stride and count of the blocks (table 2 of the paper, with expansion 1 in the first). */
static const struct {
    size_t channels, stride;
    int count;
} plan[] = {{16, 1, 1}, {24, 2, 2}, {32, 2, 3}, {64, 2, 4}, {96, 1, 3}, {160, 2, 3}, {320, 1, 1}};

struct block {
    int number; /* from 1 */
    size_t in, hidden, out, stride;
};

/* The nearest multiple of 8, but not more than a tenth below. */
static size_t scaled(size_t channels, double width)
{
    const double wanted = (double)channels * width;
    size_t rounded = (size_t)(wanted + 4) / 8 * 8;
    if (rounded < 8) rounded = 8;
    return (double)rounded < 0.9 * wanted ? rounded + 8 : rounded;
}

static size_t last_channels(const struct mobilenetv2 *s) { return scaled(LAST_WIDTH, s->width > 1 ? s->width : 1); }

static struct block block_at(const struct mobilenetv2 *s, int number)
{
    size_t in = scaled(FIRST_WIDTH, s->width);
    int first = 1;
    for (int i = 0;; i++) {
        const size_t out = scaled(plan[i].channels, s->width);
        if (number >= first + plan[i].count) {
            first += plan[i].count;
            in = out;
            continue;
        }
        if (number > first) in = out;
        return (struct block){number, in, number == 1 ? in : EXPANSION * in, out, number == first ? plan[i].stride : 1};
    }
}

static const char *part(char name[LAYER_NAME], int number, const char *of)
{
    plain_snprintf(name, LAYER_NAME, "block%02d.%s", number, of);
    return name;
}

/* A convolution NAME with the norm NAME.norm. */
static status conv_params(struct layer_list *l, const char *name, size_t out, size_t in, size_t k)
{
    char norm[LAYER_NAME];
    plain_snprintf(norm, sizeof norm, "%s.norm", name);
    const status st = layer_conv_params(l, name, out, in, k, START_KAIMING);
    return st == OK ? layer_norm_params(l, norm, out) : st;
}

static status block_params(struct layer_list *l, const struct block *b)
{
    char name[LAYER_NAME];
    status st = OK;
    if (b->number > 1) TRY(conv_params(l, part(name, b->number, "expand"), b->hidden, b->in, 1));
    TRY(conv_params(l, part(name, b->number, "depthwise"), b->hidden, 1, 3));
    TRY(conv_params(l, part(name, b->number, "project"), b->out, b->hidden, 1));
done:
    return st;
}

static status mobilenetv2_params(const void *settings, dtype type, struct random *r, struct params *p)
{
    const struct mobilenetv2 *s = settings;
    struct layer_list l = {p, type, r};
    status st = OK;
    TRY(conv_params(&l, "stem", scaled(FIRST_WIDTH, s->width), 3, 3));
    for (int i = 1; i <= BLOCKS; i++) {
        const struct block b = block_at(s, i);
        TRY(block_params(&l, &b));
    }
    TRY(conv_params(&l, "last", last_channels(s), block_at(s, BLOCKS).out, 1));
done:
    return st;
}

static int blocks_of(const struct mobilenetv2 *s) { return s->stage == STAGE_13 ? 13 : BLOCKS; }

static size_t mobilenetv2_channels(const void *settings)
{
    const struct mobilenetv2 *s = settings;
    return s->stage == STAGE_LAST ? last_channels(s) : block_at(s, blocks_of(s)).out;
}

static const struct layer_after relu6 = {.momentum = 0.1, .ceiling = 6}, bare = {.momentum = 0.1, .slope = 1};

/* Zeros before and after `size` for a filter of 3: in all as many as give size / stride outputs, rounded up, the smaller half
 * before; or one on each side. */
static void borders_of(int border, size_t size, size_t stride, size_t *before, size_t *after)
{
    *before = *after = 1;
    if (border == BORDER_SYMMETRIC || !size) return;
    const size_t covered = (size + stride - 1) / stride * stride - stride + 3,
                 all = covered > size ? covered - size : 0;
    *before = all / 2;
    *after = all - all / 2;
}

static var *stem_forward(const struct layer_pass *l, const struct mobilenetv2 *s, var *pictures)
{
    struct pad p;
    if (!pictures) return NULL;
    borders_of(s->border, pictures->value.dim[2], 2, &p.top, &p.bottom);
    borders_of(s->border, pictures->value.dim[3], 2, &p.left, &p.right);
    return layer_enter_norm(l, "stem", "stem.norm", pictures, 2, &p, &relu6);
}

static var *pointwise(const struct layer_pass *l, const char *name, var *x, const struct layer_after *after)
{
    char norm[LAYER_NAME];
    plain_snprintf(norm, sizeof norm, "%s.norm", name);
    return layer_conv_norm(l, name, norm, x, 1, BORDER_NONE, after);
}

static var *block_forward(const struct layer_pass *l, const struct mobilenetv2 *s, int number, var *x)
{
    char name[LAYER_NAME], norm[LAYER_NAME];
    const struct block b = block_at(s, number);
    struct depthwise_shape shape = {.stride = b.stride};
    if (!x) return NULL;
    borders_of(s->border, x->value.dim[1], b.stride, &shape.top, &shape.bottom);
    borders_of(s->border, x->value.dim[2], b.stride, &shape.left, &shape.right);
    const bool residual = b.stride == 1 && b.in == b.out;
    if (layer_folds(l)) {
        char expand[LAYER_NAME], project[LAYER_NAME];
        const struct layer_bottleneck whole = {number > 1 ? part(expand, number, "expand") : NULL,
                                               part(name, number, "depthwise"),
                                               part(project, number, "project"),
                                               shape,
                                               relu6.ceiling,
                                               residual};
        return layer_bottleneck(l, &whole, x);
    }
    var *y = number > 1 ? pointwise(l, part(name, number, "expand"), x, &relu6) : x;
    part(norm, number, "depthwise.norm");
    y = layer_depthwise_norm(l, part(name, number, "depthwise"), norm, y, &shape, &relu6);
    y = pointwise(l, part(name, number, "project"), y, &bare);
    return residual ? op_add(l->t, x, y) : y;
}

static bool fits(tape *t, const var *x)
{
    if (!x || tape_status(t) != OK) return false;
    const tensor *v = &x->value;
    if (tape_device(t)->maths == MATHS_BF16 && v->type == DT_F32) {
        tape_fail(t, fail(ST_UNSUPPORTED, "mobilenetv2 has no form in bf16; use --maths tf32 or f32"));
        return false;
    }
    return layer_fits(t, "mobilenetv2", SMALLEST_SIDE, x);
}

/* Blocks [from, to]. */
static var *blocks(const struct layer_pass *l, const struct mobilenetv2 *s, int from, int to, var *x)
{
    for (int i = from; i <= to; i++) {
        var *y = block_forward(l, s, i, x);
        tape_release(l->t, x);
        x = y;
    }
    return x;
}

/* The stem and the blocks before 28x28 write 3 MB a picture, those behind 1: of FEW pictures one layer finds in the cache what
 * the one before has left there. */
enum { EARLY = 4, FEW = 4 };

static var *early_blocks(const struct layer_pass *l, const void *settings, var *pictures)
{
    return blocks(l, settings, 1, EARLY, stem_forward(l, settings, pictures));
}

static var *mobilenetv2_forward(tape *t, const void *settings, struct params *p, struct net_pass *pass, var *x)
{
    const struct mobilenetv2 *s = settings;
    const struct layer_pass l = {t, p, pass};
    if (!fits(t, x)) return NULL;
    x = blocks(&l, s, EARLY + 1, blocks_of(s), layer_in_parts(&l, early_blocks, s, FEW, x));
    if (s->stage == STAGE_LAST) x = pointwise(&l, "last", x, &relu6);
    return layer_leave(t, x);
}

const struct net mobilenetv2_net = {
    .name = "mobilenetv2",
    .title = "inverted residual blocks of depthwise convolutions",
    .paper = "Sandler et al., MobileNetV2: inverted residuals and linear bottlenecks, CVPR 2018",
    .options = mobilenetv2_options,
    .settings_bytes = sizeof(struct mobilenetv2),
    .least = SMALLEST_SIDE,
    .params = mobilenetv2_params,
    .channels = mobilenetv2_channels,
    .forward = mobilenetv2_forward,
};
