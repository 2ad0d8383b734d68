/* resnet18.c - ResNet-18: a 7x7 convolution and pooling, then four stages of two residual blocks (224x224 gives 7x7x512).
 *
 * Names and shapes are those of torchvision's files. A block is relu(bn2(conv2(relu(bn1(conv1(x))))) + shortcut(x)); the
 * stride sits in conv1, and the shortcut is x itself or, where the shape changes, a 1x1 convolution with a norm. */
#include "base/plain.h"
#include "nets/layers.h"

enum { STAGES = 4, BLOCKS = 2, SMALLEST_SIDE = 32 };
static const struct layer_after relu = {.momentum = 0.1}, bare = {.momentum = 0.1, .slope = 1};
static const struct pool_shape stem_pool = {3, 2, 1};

struct resnet18 {
    int64_t width;
};

static const struct option resnet18_options[] = {
    OPT_INT(struct resnet18, width, "width", 64, 1, 512,
            "channels of the first stage; each later one has twice as many"),
    OPT_END};

struct block { /* where a block stands */
    int stage, number;
    size_t in, out, stride;
};

static struct block block_at(const struct resnet18 *s, int stage, int number)
{
    const size_t out = (size_t)s->width << stage;
    const bool first = stage && !number;
    return (struct block){stage, number, first ? out / 2 : out, out, first ? 2 : 1};
}

static bool reshapes(const struct block *b) { return b->stride != 1; }

static const char *part(char name[LAYER_NAME], const struct block *b, const char *of)
{
    plain_snprintf(name, LAYER_NAME, "layer%d.%d.%s", b->stage + 1, b->number, of);
    return name;
}

static status block_params(struct layer_list *l, const struct block *b)
{
    char name[LAYER_NAME];
    status st = OK;
    TRY(layer_conv_params(l, part(name, b, "conv1"), b->out, b->in, 3, START_KAIMING));
    TRY(layer_norm_params(l, part(name, b, "bn1"), b->out));
    TRY(layer_conv_params(l, part(name, b, "conv2"), b->out, b->out, 3, START_KAIMING));
    TRY(layer_norm_params(l, part(name, b, "bn2"), b->out));
    if (!reshapes(b)) goto done;
    TRY(layer_conv_params(l, part(name, b, "downsample.0"), b->out, b->in, 1, START_KAIMING));
    TRY(layer_norm_params(l, part(name, b, "downsample.1"), b->out));
done:
    return st;
}

static status resnet18_params(const void *settings, dtype type, struct random *r, struct params *p)
{
    const struct resnet18 *s = settings;
    struct layer_list l = {p, type, r};
    status st = OK;
    TRY(layer_conv_params(&l, "conv1", (size_t)s->width, 3, 7, START_KAIMING));
    TRY(layer_norm_params(&l, "bn1", (size_t)s->width));
    for (int i = 0; i < STAGES * BLOCKS; i++) {
        const struct block b = block_at(s, i / BLOCKS, i % BLOCKS);
        TRY(block_params(&l, &b));
    }
done:
    return st;
}

static size_t resnet18_channels(const void *settings)
{
    return (size_t)((const struct resnet18 *)settings)->width << (STAGES - 1);
}

static var *conv_norm(const struct layer_pass *l, const struct block *b, const char *conv, const char *norm, var *x,
                      size_t stride, const struct layer_after *after)
{
    char first[LAYER_NAME], second[LAYER_NAME];
    return layer_conv_norm(l, part(first, b, conv), part(second, b, norm), x, stride, BORDER_SAME, after);
}

static var *block_forward(const struct layer_pass *l, const struct block *b, var *x)
{
    var *y = conv_norm(l, b, "conv1", "bn1", x, b->stride, &relu);
    y = conv_norm(l, b, "conv2", "bn2", y, 1, &bare);
    if (reshapes(b)) x = conv_norm(l, b, "downsample.0", "downsample.1", x, b->stride, &bare);
    return op_relu(l->t, op_add(l->t, y, x));
}

static bool fits(tape *t, const var *x)
{
    if (!x || tape_status(t) != OK) return false;
    const tensor *v = &x->value;
    if (tape_device(t)->maths == MATHS_BF16 && v->type == DT_F32) {
        tape_fail(t, fail(ST_UNSUPPORTED, "resnet18 has no form in bf16; use --maths tf32 or f32"));
        return false;
    }
    return layer_fits(t, "resnet18", SMALLEST_SIDE, x);
}

static var *resnet18_forward(tape *t, const void *settings, struct params *p, struct net_pass *pass, var *x)
{
    const struct resnet18 *s = settings;
    const struct layer_pass l = {t, p, pass};
    if (!fits(t, x)) return NULL;
    x = layer_enter_norm(&l, "conv1", "bn1", x, 2, &(struct pad){3, 3, 3, 3}, &relu);
    x = op_max_pool(t, x, &stem_pool);
    for (int i = 0; i < STAGES * BLOCKS; i++) {
        const struct block b = block_at(s, i / BLOCKS, i % BLOCKS);
        x = block_forward(&l, &b, x);
    }
    return layer_leave(t, x);
}

const struct net resnet18_net = {
    .name = "resnet18",
    .title = "eight residual blocks in four stages, for pictures of 224x224",
    .paper = "He et al., Deep residual learning for image recognition, CVPR 2016",
    .options = resnet18_options,
    .settings_bytes = sizeof(struct resnet18),
    .least = SMALLEST_SIDE,
    .params = resnet18_params,
    .channels = resnet18_channels,
    .forward = resnet18_forward,
};
