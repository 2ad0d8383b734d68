/* foreign.c - the known files of other projects: how each is recognised, its names as ours, its metadata as ours. */
#include "weights/foreign.h"
#include "base/option.h"
#include "base/plain.h"
#include "weights/file.h"
#include "weights/names.h"
#include <stdlib.h>
#include <string.h>

/* What a tensor of such a file is here. */
enum role {
    ROLE_SAME,    /* the tensor under the name that was found */
    ROLE_SHIFT,   /* the bias of a convolution whose norm was folded into it: the norm `name` */
    ROLE_DROPPED, /* nothing of ours */
    ROLE_UNKNOWN
};
typedef enum role (*rename_rule)(const char *in_file, char ours[NAME_TEXT]);

static bool begins(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

static bool ends(const char *s, const char *with)
{
    const size_t n = strlen(s), m = strlen(with);
    return n >= m && !strcmp(s + n - m, with);
}

static enum role named(char ours[NAME_TEXT], enum role role, const char *before, const char *after)
{
    const int n = plain_snprintf(ours, NAME_TEXT, "%s%s", before, after);
    return n > 0 && n < NAME_TEXT ? role : ROLE_UNKNOWN;
}

/* Networks whose norms are folded: stem, blockNN.expand, .depthwise, .project, head, classifier; weight and bias of each. */
static enum role folded_rule(const char *in_file, char ours[NAME_TEXT])
{
    const bool last = begins(in_file, "head.");
    const char *rest = last ? in_file + strlen("head") : in_file;
    char layer[NAME_TEXT];
    if (begins(in_file, "classifier.")) return ROLE_DROPPED;
    if (!last && !begins(in_file, "stem.") && !begins(in_file, "block")) return ROLE_UNKNOWN;
    if (ends(in_file, ".weight")) return named(ours, ROLE_SAME, last ? "last" : "", rest);
    if (!ends(in_file, ".bias") || named(layer, ROLE_SAME, last ? "last" : "", rest) != ROLE_SAME) return ROLE_UNKNOWN;
    layer[strlen(layer) - strlen(".bias")] = '\0';
    return named(ours, ROLE_SHIFT, layer, ".norm");
}

/* torchvision's mobilenet_v2: features.N of a convolution and a norm each; .conv of a block lists its layers. */
static enum role mobilenet_rule(const char *in_file, char ours[NAME_TEXT])
{
    static const struct {
        const char *layer, *ours;
    } ends_of_net[] = {{"features.0.0.", "stem."},
                       {"features.0.1.", "stem.norm."},
                       {"features.18.0.", "last."},
                       {"features.18.1.", "last.norm."}},
      first[] = {{"0.0.", "depthwise."}, {"0.1.", "depthwise.norm."}, {"1.", "project."}, {"2.", "project.norm."}},
      others[] = {{"0.0.", "expand."},         {"0.1.", "expand.norm."}, {"1.0.", "depthwise."},
                  {"1.1.", "depthwise.norm."}, {"2.", "project."},       {"3.", "project.norm."}};
    char block[NAME_TEXT];
    if (begins(in_file, "classifier.")) return ROLE_DROPPED;
    for (size_t i = 0; i < sizeof ends_of_net / sizeof *ends_of_net; i++)
        if (begins(in_file, ends_of_net[i].layer))
            return named(ours, ROLE_SAME, ends_of_net[i].ours, in_file + strlen(ends_of_net[i].layer));
    for (int number = 1; number <= 17; number++) {
        plain_snprintf(block, sizeof block, "features.%d.conv.", number);
        if (!begins(in_file, block)) continue;
        const char *rest = in_file + strlen(block);
        const size_t lines = number == 1 ? sizeof first / sizeof *first : sizeof others / sizeof *others;
        for (size_t i = 0; i < lines; i++) {
            const char *layer = number == 1 ? first[i].layer : others[i].layer;
            if (!begins(rest, layer)) continue;
            plain_snprintf(block, sizeof block, "block%02d.%s", number, number == 1 ? first[i].ours : others[i].ours);
            return named(ours, ROLE_SAME, block, rest + strlen(layer));
        }
    }
    return ROLE_UNKNOWN;
}

/* torchvision's resnet18, whose names are ours. */
static enum role resnet_rule(const char *in_file, char ours[NAME_TEXT])
{
    return begins(in_file, "fc.") ? ROLE_DROPPED : named(ours, ROLE_SAME, in_file, "");
}

#define IMAGENET_MEAN "0.485 0.456 0.406"
#define IMAGENET_STD "0.229 0.224 0.225"

/* All of `has` are there with that rank, and none of `lacks`. The width is the size of axis 0 of `by` over `unit`. */
static const struct known {
    struct foreign about;
    rename_rule rule;
    struct {
        const char *name;
        int rank;
    } has[3];
    const char *lacks[2], *by;
    double unit;
} known[] = {
    {{"MobileNetV2 with folded norms", "mobilenetv2", " net.border=tensorflow", "0.5 0.5 0.5", "0.5 0.5 0.5"},
     folded_rule,
     {{"stem.bias", 1}, {"block17.project.weight", 4}, {"head.weight", 4}},
     {"stem.norm.weight", "block18.project.weight"},
     "block17.project.weight",
     320},
    {{"torchvision mobilenet_v2", "mobilenetv2", "", IMAGENET_MEAN, IMAGENET_STD},
     mobilenet_rule,
     {{"features.0.0.weight", 4}, {"features.17.conv.2.weight", 4}, {"features.18.0.weight", 4}},
     {"features.19.0.weight", "features.1.conv.2.0.weight"},
     "features.17.conv.2.weight",
     320},
    {{"torchvision resnet18", "resnet18", "", IMAGENET_MEAN, IMAGENET_STD},
     resnet_rule,
     {{"conv1.weight", 4}, {"layer4.1.conv2.weight", 4}, {"fc.weight", 2}},
     {"layer1.2.conv1.weight", "layer1.0.conv3.weight"},
     "conv1.weight",
     1},
};
enum { KNOWN = sizeof known / sizeof *known };

static bool is_of(const struct known *k, const struct weights *w)
{
    for (size_t i = 0; i < sizeof k->has / sizeof *k->has; i++) {
        const struct named_array *a = weights_find(w, k->has[i].name);
        if (!a || a->rank != k->has[i].rank) return false;
    }
    for (size_t i = 0; i < sizeof k->lacks / sizeof *k->lacks; i++)
        if (weights_find(w, k->lacks[i])) return false;
    return true;
}

const struct foreign *foreign_at(size_t i) { return i < KNOWN ? &known[i].about : NULL; }

const struct foreign *foreign_find(const struct weights *w)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (is_of(&known[i], w)) return &known[i].about;
    return NULL;
}

/* A norm that only adds `shift`: gain 1, mean 0 and a variance which, with EPSILON of every norm here (nets/layers.c), is
 * divided by as 1. */
static status add_shift(struct weights *to, const char *norm, const struct named_array *shift)
{
    static const struct {
        const char *part;
        float value;
    } parts[] = {{"weight", 1}, {"running_mean", 0}, {"running_var", 1 - 1e-5f}};
    status st = OK;
    const size_t channels = shift->rank == 1 ? shift->dim[0] : 0;
    char name[NAME_TEXT];
    struct named_array a = *shift;
    if (!channels || channels > SIZE_MAX / sizeof(float))
        return fail(ST_FORMAT, "'%s': '%.100s' is no bias: it must have one axis", to->path, shift->name);
    for (size_t i = 0; i <= sizeof parts / sizeof *parts; i++) {
        const bool own = i == sizeof parts / sizeof *parts;
        plain_snprintf(name, sizeof name, "%s.%s", norm, own ? "bias" : parts[i].part);
        TRY(weights_text(to, name, strlen(name), &a.name));
        if (own) {
            a.data = shift->data;
            a.bytes = shift->bytes;
            a.type = shift->type;
        } else {
            void *values;
            TRY(arena_take(to->memory, channels, sizeof(float), &values));
            for (size_t c = 0; c < channels; c++) ((float *)values)[c] = parts[i].value;
            a.data = values;
            a.bytes = channels * sizeof(float);
            a.type = ARRAY_F32;
        }
        TRY(weights_add(to, &a));
    }
done:
    return st;
}

static status add_array(struct weights *to, rename_rule rule, const struct named_array *from)
{
    char name[NAME_TEXT];
    struct named_array a = *from;
    status st = OK;
    if (name_is_idle(from->name)) return OK;
    switch (rule(from->name, name)) {
    case ROLE_DROPPED: return OK;
    case ROLE_UNKNOWN: return weights_add(to, from);
    case ROLE_SHIFT: return add_shift(to, name, from);
    case ROLE_SAME: break;
    }
    TRY(weights_text(to, name, strlen(name), &a.name));
    TRY(weights_add(to, &a));
done:
    return st;
}

/* Our metadata, then the file's own under other keys. */
static status add_meta(struct weights *to, const struct known *k, const struct weights *w)
{
    char options[128], width[NUMBER_BYTES];
    status st = OK;
    void *memory;
    const struct named_array *by = weights_find(w, k->by);
    number_text((double)(by ? by->dim[0] : 0) / k->unit, width);
    plain_snprintf(options, sizeof options, "net.width=%s%s", width, k->about.options);
    const struct meta ours[] = {{"backbone", k->about.backbone},
                                {"options", options},
                                {"input", "224"},
                                {"pad", "32"},
                                {"transform", "shorter-crop"},
                                {"mean", k->about.mean},
                                {"std", k->about.std},
                                {"converted_from", k->about.name}};
    enum { OURS = sizeof ours / sizeof *ours };
    TRY(arena_take(to->memory, OURS + w->metas, sizeof *to->meta, &memory));
    to->meta = memory;
    for (size_t i = 0; i < OURS; i++) {
        struct meta *m = &to->meta[to->metas++];
        *m = ours[i];
        TRY(weights_text(to, ours[i].value, strlen(ours[i].value), &m->value));
    }
    for (size_t i = 0; i < w->metas; i++)
        if (!weights_meta(to, w->meta[i].key)) to->meta[to->metas++] = w->meta[i];
done:
    return st;
}

status foreign_convert(const struct foreign *f, const struct weights *w, struct weights **out)
{
    status st = OK;
    struct weights *to = NULL;
    const struct known *k = (const struct known *)(const void *)f; /* its first member */
    TRY(weights_new(w->path, &to));
    to->kind = w->kind;
    for (size_t i = 0; i < w->count; i++) TRY(add_array(to, k->rule, &w->array[i]));
    TRY(weights_sort(to));
    TRY(add_meta(to, k, w));
    *out = to;
    to = NULL;
done:
    weights_close(to);
    return st;
}
