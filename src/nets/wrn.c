/* wrn.c - the wide residual network: three stages of pre-activation blocks, then average pooling to 5x5.
 *
 * A block is conv2(relu(bn2(conv1(relu(bn1(x)))))) + shortcut(x); the stride sits in conv2, and the shortcut is a 1x1
 * convolution of the raw x where the shape changes. The last batch norm has a momentum of its own, as released. */
#include "base/plain.h"
#include "nets/layers.h"

enum { STAGES = 3, FIRST_WIDTH = 16, SIDE = 5 };
static const struct layer_after relu = {.momentum = 0.1}, last_relu = {.momentum = 0.9};

struct wrn {
    int64_t depth, widen;
};

static const struct option wrn_options[] = {
    OPT_INT(struct wrn, depth, "depth", 28, 10, 1000, "convolutions on the longest way: 6 n + 4"),
    OPT_INT(struct wrn, widen, "widen", 10, 1, 64, "factor on the widths 16, 32 and 64 of the stages"), OPT_END};

struct block { /* where a block stands */
    int stage;
    int64_t number; /* in its stage */
    size_t in, out, stride;
};

static bool reshapes(const struct block *b) { return b->stride != 1 || b->in != b->out; }

static const char *part(char name[LAYER_NAME], const struct block *b, const char *of)
{
    plain_snprintf(name, LAYER_NAME, "layer%d.%d.%s", b->stage + 1, (int)b->number, of);
    return name;
}

static struct block block_at(const struct wrn *s, int stage, int64_t number)
{
    const size_t out = (size_t)s->widen * ((size_t)FIRST_WIDTH << stage);
    const size_t before = stage ? out / 2 : FIRST_WIDTH;
    return (struct block){stage, number, number ? out : before, out, number || !stage ? 1 : 2};
}

static int64_t blocks_of(const struct wrn *s) { return (s->depth - 4) / 6; }

static status block_params(struct layer_list *l, const struct block *b)
{
    char name[LAYER_NAME];
    status st = OK;
    TRY(layer_norm_params(l, part(name, b, "bn1"), b->in));
    TRY(layer_conv_params(l, part(name, b, "conv1"), b->out, b->in, 3, START_FAN_IN));
    TRY(layer_norm_params(l, part(name, b, "bn2"), b->out));
    TRY(layer_conv_params(l, part(name, b, "conv2"), b->out, b->out, 3, START_FAN_IN));
    if (reshapes(b)) TRY(layer_conv_params(l, part(name, b, "shortcut.0"), b->out, b->in, 1, START_FAN_IN));
done:
    return st;
}

static size_t wrn_channels(const void *settings) { return block_at(settings, STAGES - 1, 0).out; }

static status wrn_params(const void *settings, dtype type, struct random *r, struct params *p)
{
    const struct wrn *s = settings;
    struct layer_list l = {p, type, r};
    status st = OK;
    if ((s->depth - 4) % 6)
        return fail(ST_USAGE, "depth is %d, but must be 6 n + 4: 10, 16, 22, 28, 34, ...", (int)s->depth);
    TRY(layer_conv_params(&l, "conv1", FIRST_WIDTH, 3, 3, START_FAN_IN));
    for (int stage = 0; stage < STAGES; stage++)
        for (int64_t i = 0; i < blocks_of(s); i++) {
            const struct block b = block_at(s, stage, i);
            TRY(block_params(&l, &b));
        }
    TRY(layer_norm_params(&l, "bn1", wrn_channels(s)));
done:
    return st;
}

static var *block_forward(const struct layer_pass *l, const struct block *b, var *x)
{
    char name[LAYER_NAME], second[LAYER_NAME];
    part(second, b, "bn2");
    var *in = layer_norm(l, part(name, b, "bn1"), x, &relu);
    var *first = layer_conv_norm(l, part(name, b, "conv1"), second, in, 1, BORDER_SAME, &relu);
    tape_release(l->t, in);
    var *a = layer_conv(l, part(name, b, "conv2"), first, b->stride, BORDER_SAME);
    tape_release(l->t, first);
    var *shortcut = reshapes(b) ? layer_conv(l, part(name, b, "shortcut.0"), x, b->stride, BORDER_NONE) : x;
    var *y = op_add(l->t, a, shortcut);
    tape_release(l->t, a);
    if (shortcut != x) tape_release(l->t, shortcut);
    tape_release(l->t, x);
    return y;
}

static var *wrn_forward(tape *t, const void *settings, struct params *p, struct net_pass *pass, var *x)
{
    const struct wrn *s = settings;
    const struct layer_pass l = {t, p, pass};
    x = layer_conv(&l, "conv1", layer_enter(t, x), 1, BORDER_SAME);
    for (int stage = 0; stage < STAGES; stage++)
        for (int64_t i = 0; i < blocks_of(s); i++) {
            const struct block b = block_at(s, stage, i);
            x = block_forward(&l, &b, x);
        }
    x = layer_norm(&l, "bn1", x, &last_relu);
    return op_adaptive_pool(t, layer_leave(t, x), SIDE, SIDE);
}

const struct net wrn_net = {
    .name = "wrn",
    .title = "wide residual network, averaged to 5x5",
    .paper = "Zagoruyko and Komodakis, Wide residual networks, BMVC 2016",
    .options = wrn_options,
    .settings_bytes = sizeof(struct wrn),
    .least = 1,
    .params = wrn_params,
    .channels = wrn_channels,
    .forward = wrn_forward,
};
