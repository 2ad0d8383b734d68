/* resnet12.c - ResNet-12: four residual blocks of three 3x3 convolutions, each followed by pooling (84x84 gives 5x5).
 *
 * With drop > 0, in training, elements are dropped after the first two blocks and squares (DropBlock) after the last
 * two, whose rate grows over the first 40,000 passes. With ft, in training, the norms at the end of each block are
 * stretched and shifted at random (nets/featurewise.h). */
#include "base/plain.h"
#include "base/size.h"
#include "nets/featurewise.h"
#include "nets/layers.h"
#include <math.h>

enum { STAGES = 4, SMALLEST_SIDE = 16, RAMP_CALLS = 20 * 2000 };

struct resnet12 {
    const char *widths;
    double drop;
    int64_t block;
    struct featurewise ft;
};

static const struct option resnet12_options[] = {
    OPT_TEXT(struct resnet12, widths, "widths", "64,160,320,640", "N,N,N,N", "channels of the four blocks"),
    OPT_FLOAT(struct resnet12, drop, "drop", 0, 0, 0.9,
              "share of the features dropped in training (0.1 in pre-training)"),
    OPT_INT(struct resnet12, block, "block", 5, 1, 64, "side of the squares that DropBlock erases"),
    OPT_FLAG(struct resnet12, ft.on, "ft", "feature-wise transformation in training, for other domains"),
    OPT_FLOAT(struct resnet12, ft.gain, "ft-gain", 0.3, 0, 100, "spread of its random gains"),
    OPT_FLOAT(struct resnet12, ft.bias, "ft-bias", 0.5, 0, 100, "spread of its random shifts"),
    OPT_END};

/* The four numbers of `s`; false when it is something else. */
static bool parse_widths(const char *s, size_t width[STAGES])
{
    for (int i = 0; i < STAGES; i++) {
        size_t v = 0;
        if (*s < '1' || *s > '9') return false;
        for (; *s >= '0' && *s <= '9' && v <= 4096; s++) v = 10 * v + (size_t)(*s - '0');
        if (v > 4096 || *s != (i + 1 < STAGES ? ',' : '\0')) return false;
        width[i] = v;
        s++;
    }
    return true;
}

static status read_widths(const struct resnet12 *s, size_t width[STAGES])
{
    if (parse_widths(s->widths, width)) return OK;
    return fail(ST_USAGE, "widths is '%s', but must be four numbers from 1 to 4096 with commas: 64,160,320,640",
                s->widths);
}

static const char *part(char name[LAYER_NAME], int stage, const char *of)
{
    plain_snprintf(name, LAYER_NAME, "layer%d.0.%s", stage + 1, of);
    return name;
}

static status stage_params(struct layer_list *l, int stage, size_t in, size_t out)
{
    static const char *const convs[] = {"conv1", "conv2", "conv3", "downsample.0"};
    static const char *const norms[] = {"bn1", "bn2", "bn3", "downsample.1"};
    char name[LAYER_NAME];
    status st = OK;
    for (int i = 0; i < 4 && st == OK; i++) {
        const bool from_input = i == 0 || i == 3;
        st = layer_conv_params(l, part(name, stage, convs[i]), out, from_input ? in : out, i == 3 ? 1 : 3,
                               START_KAIMING);
        if (st == OK) st = layer_norm_params(l, part(name, stage, norms[i]), out);
    }
    return st;
}

static status resnet12_params(const void *settings, dtype type, struct random *r, struct params *p)
{
    size_t width[STAGES];
    struct layer_list l = {p, type, r};
    status st = read_widths(settings, width);
    for (int i = 0; i < STAGES && st == OK; i++) st = stage_params(&l, i, i ? width[i - 1] : 3, width[i]);
    return st;
}

static size_t resnet12_channels(const void *settings)
{
    size_t width[STAGES];
    return parse_widths(((const struct resnet12 *)settings)->widths, width) ? width[STAGES - 1] : 0;
}

static bool resnet12_draws(const void *settings)
{
    const struct resnet12 *s = settings;
    return s->drop > 0 || s->ft.on;
}

static const struct layer_after inside = {.momentum = 0.1, .slope = 0.1};
static const struct layer_after end = {.momentum = 0.1, .slope = 0.1, .pool = true};

static var *conv(const struct layer_pass *l, int stage, const char *of, var *x)
{
    char name[LAYER_NAME];
    return layer_conv(l, part(name, stage, of), x, 1, BORDER_SAME);
}

static var *conv_norm(const struct layer_pass *l, int stage, const char *conv_of, const char *norm_of, var *x)
{
    char first[LAYER_NAME], second[LAYER_NAME];
    return layer_conv_norm(l, part(first, stage, conv_of), part(second, stage, norm_of), x, 1, BORDER_SAME, &inside);
}

/* In inference the maps of a block lie in the memory of two, and large pictures or batches fit where they would not. */
static var *stage_infer(const struct layer_pass *l, int stage, var *x)
{
    char main[LAYER_NAME], side[LAYER_NAME], side_conv[LAYER_NAME];
    var *first = conv_norm(l, stage, "conv1", "bn1", x);
    var *second = conv_norm(l, stage, "conv2", "bn2", first);
    tape_release(l->t, first);
    var *third = conv(l, stage, "conv3", second);
    tape_release(l->t, second);
    const struct layer_shortcut way = {part(side_conv, stage, "downsample.0"), part(side, stage, "downsample.1"), x};
    var *y = layer_norm_shortcut(l, part(main, stage, "bn3"), third, &way, &end);
    tape_release(l->t, third);
    return y;
}

/* The chance that a position is the corner of an erased square, so that about drop of the map goes at the ramp's end. */
static double seed_rate(const struct resnet12 *s, const struct net_pass *pass, const tensor *x)
{
    const double ramp = fmin(s->drop, s->drop / RAMP_CALLS * ((double)pass->calls + 1)), side = (double)s->block;
    const double h = (double)x->dim[1], w = (double)x->dim[2];
    return fmin(1, ramp / (side * side) * h * w / ((h - side + 1) * (w - side + 1)));
}

static var *drop(const struct layer_pass *l, const struct resnet12 *s, int stage, var *x)
{
    if (!x || s->drop == 0 || l->pass->mode != NET_TRAIN) return x;
    if (stage < 2) return op_dropout(l->t, x, s->drop, &l->pass->random);
    const size_t block = (size_t)s->block;
    const bool fits = x->value.dim[1] >= block && x->value.dim[2] >= block;
    return op_drop_block(l->t, x, fits ? seed_rate(s, l->pass, &x->value) : 0, block, &l->pass->random);
}

static var *stage_forward(const struct layer_pass *l, const struct resnet12 *s, int stage, var *x)
{
    char main[LAYER_NAME], side[LAYER_NAME];
    if (l->pass->mode == NET_EVAL) return stage_infer(l, stage, x);
    var *a = conv_norm(l, stage, "conv1", "bn1", x);
    a = conv_norm(l, stage, "conv2", "bn2", a);
    a = conv(l, stage, "conv3", a);
    part(main, stage, "bn3");
    part(side, stage, "downsample.1");
    var *shortcut = conv(l, stage, "downsample.0", x);
    return drop(l, s, stage, featurewise_norm_both(l, &s->ft, main, a, side, shortcut, &end));
}

static var *stages(const struct layer_pass *l, const struct resnet12 *s, int from, int to, var *x)
{
    for (int i = from; i < to; i++) {
        var *y = stage_forward(l, s, i, x);
        tape_release(l->t, x);
        x = y;
    }
    return x;
}

/* Late stages have many weights and small maps, which n pictures should meet together; early ones take as many at a time as need
 * the memory there that all of them need in the third, where a map has a sixteenth of the places. */
enum { EARLY = 2 };

static size_t at_a_time(const struct resnet12 *s, const var *pictures)
{
    size_t width[STAGES];
    if (!pictures || !parse_widths(s->widths, width)) return 0;
    return size_div_up(pictures->value.dim[0] * width[2], 16 * width[0]);
}

static var *early_stages(const struct layer_pass *l, const void *settings, var *pictures)
{
    return stages(l, settings, 0, EARLY, layer_enter(l->t, pictures));
}

static var *resnet12_forward(tape *t, const void *settings, struct params *p, struct net_pass *pass, var *x)
{
    const struct layer_pass l = {t, p, pass};
    if (!layer_fits(t, "resnet12", SMALLEST_SIDE, x)) return NULL;
    return layer_leave(
        t, stages(&l, settings, EARLY, STAGES, layer_in_parts(&l, early_stages, settings, at_a_time(settings, x), x)));
}

const struct net resnet12_net = {
    .name = "resnet12",
    .title = "four residual blocks, each followed by pooling",
    .paper = "Lee et al., Meta-learning with differentiable convex optimization, CVPR 2019",
    .options = resnet12_options,
    .settings_bytes = sizeof(struct resnet12),
    .least = SMALLEST_SIDE,
    .params = resnet12_params,
    .channels = resnet12_channels,
    .draws = resnet12_draws,
    .forward = resnet12_forward,
};
