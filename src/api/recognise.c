/* recognise.c - networks by the names of their arrays: each is laid out on paper, and the file compared with it. */
#include "api/recognise.h"
#include "base/plain.h"
#include "base/size.h"
#include "weights/foreign.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const beside_network[] = {"head.", "pre.", NULL};

/* A device that only pretends to have memory, so that parameters are names and shapes and nothing more. */

static char paper;

static status paper_alloc(struct device *d, size_t bytes, void **out)
{
    (void)d, (void)bytes;
    *out = &paper;
    return OK;
}
static void paper_release(struct device *d, void *memory) { (void)d, (void)memory; }
static status paper_upload(struct device *d, void *to, const void *from, size_t bytes)
{
    (void)d, (void)to, (void)from, (void)bytes;
    return OK;
}
static status paper_zero(struct device *d, void *memory, size_t bytes)
{
    (void)d, (void)memory, (void)bytes;
    return OK;
}

static struct device paper_device(void)
{
    return (struct device){
        .name = "paper", .alloc = paper_alloc, .release = paper_release, .upload = paper_upload, .zero = paper_zero};
}

/* The options of a network, as far as its arrays tell them. */

/* Axis `axis` of our array of that name; 0: there is none. */
static size_t extent(const struct weights *w, const char *name, int axis)
{
    const struct named_array *a = weights_find_ours(w, name);
    return a && axis < a->rank ? a->dim[axis] : 0;
}

static void conv4_options(const struct weights *w, text *to)
{
    const size_t width = extent(w, "layer1.0.weight", 0);
    if (width) text_addf(to, "net.width=%zu", width);
}

static void resnet12_options(const struct weights *w, text *to)
{
    char name[64];
    size_t width[4];
    for (size_t i = 0; i < 4; i++) {
        plain_snprintf(name, sizeof name, "layer%zu.0.conv1.weight", i + 1);
        if (!(width[i] = extent(w, name, 0))) return;
    }
    text_addf(to, "net.widths=%zu,%zu,%zu,%zu", width[0], width[1], width[2], width[3]);
}

static void wrn_options(const struct weights *w, text *to)
{
    char name[64];
    size_t blocks = 0;
    const size_t width = extent(w, "layer1.0.conv1.weight", 0);
    do plain_snprintf(name, sizeof name, "layer1.%zu.conv1.weight", blocks);
    while (extent(w, name, 0) && ++blocks);
    if (blocks && width >= 16) text_addf(to, "net.depth=%zu net.widen=%zu", 6 * blocks + 4, width / 16);
}

/* How pictures become inputs where the file does not say: as those were trained that people share. */
#define PAPER TRANSFORM_RESIZE_CROP, 84, 8
static const struct known {
    const char *net;
    void (*options)(const struct weights *w, text *to); /* as a card has them; NULL: the defaults */
    enum transform_kind transform;
    size_t side, pad;
} known[] = {
    {"conv4", conv4_options, PAPER}, /* files of other projects: weights/foreign.c */
    {"conv4-19", conv4_options, PAPER},
    {"resnet12", resnet12_options, PAPER},
    {"wrn", wrn_options, PAPER},
};
enum { KNOWN = sizeof known / sizeof *known };

void recognised_free(struct recognised *r)
{
    model_free(&r->model);
    arena_free(r->memory);
    *r = (struct recognised){0};
}

/* The network with the options that the file tells; ST_USAGE where it has no such options. */
static status candidate(const struct weights *w, const struct known *k, struct recognised *out)
{
    status st = OK;
    text options = {0};
    struct device d = paper_device();
    *out = (struct recognised){.transform = transform_standard(k->transform, k->side, k->pad)};
    out->memory = arena_new(1 << 10);
    if (!out->memory) return fail(ST_MEMORY, "no memory to recognise a network");
    TRY(model_new(&d, k->net, NULL, &out->model));
    params_free(out->model.params); /* laid out anew for each comparison */
    out->model.params = NULL;
    if (k->options) k->options(w, &options);
    TRY(text_status(&options));
    const struct card card = {.options = text_string(&options)};
    TRY(card_options(&card, "net.", out->model.net->options, out->model.net_settings, out->memory));
done:
    text_free(&options);
    return st;
}

static status lay_out(const struct model *m, const struct head *head, struct device *d, struct params **out)
{
    struct random r = {0};
    struct params *p = params_new_fixed(d);
    status st = OK;
    if (!p) return fail(ST_MEMORY, "no memory to recognise a network");
    TRY(m->net->params(m->net_settings, DT_F32, NULL, p));
    if (head) TRY(head_start(head, m->net->channels(m->net_settings), DT_F32, &r, p));
    *out = p;
    p = NULL;
done:
    params_free(p);
    return st;
}

static status compare(const struct weights *w, const struct model *m, const struct head *head, struct weights_fit *out)
{
    struct device d = paper_device();
    struct params *p = NULL;
    const bool whole = head && head_param_count(head); /* then what the file has of a head must be this one's */
    status st = lay_out(m, head, &d, &p);
    if (st == OK) st = weights_compare(w, p, whole ? beside_network + 1 : beside_network, out);
    params_free(p);
    return st;
}

static size_t distance(const struct weights_fit *f) { return f->missing + f->extra + f->misfits; }

/* Not a number, or infinite: somewhere in training things went wrong, or the file is damaged. */
static status check_finite(const struct weights *w, const char *file)
{
    for (size_t i = 0; i < weights_count(w); i++) {
        const struct named_array *a = weights_at(w, i);
        if (!named_array_finite(a))
            return fail(ST_VALUE, "'%.120s': '%.100s' has a value that is not finite; no network can use it", file,
                        a->name);
    }
    return OK;
}

status recognised_check(const struct weights *w, const char *file, const struct model *m, const struct head *head)
{
    struct weights_fit fit = {0};
    status st = OK;
    TRY(compare(w, m, head, &fit));
    if (distance(&fit))
        TRY(fail(ST_FORMAT, "'%.120s' does not fit %s%s%s: %s", file, m->net->name, head ? " and the head " : "",
                 head ? head->name : "", text_string(&fit.words)));
    TRY(check_finite(w, file));
done:
    text_free(&fit.words);
    return st;
}

static status refuse(const char *file, const char *nearest, const struct weights_fit *fit)
{
    if (fit->missing >= fit->params)
        return fail(ST_FORMAT,
                    "'%.120s' has no array of any network that is known here; centra list backbones shows them", file);
    return fail(ST_FORMAT, "'%.120s' is for no network that is known here; the nearest is %s: %s", file, nearest,
                text_string(&fit->words));
}

/* The candidate that fits better takes the place of the best so far. */
static status try_one(const struct weights *w, const struct known *k, struct recognised *best,
                      struct weights_fit *least)
{
    struct recognised now = {0};
    struct weights_fit fit = {0};
    status st = OK;
    st = candidate(w, k, &now);
    if (st == ST_USAGE) goto done; /* no options give such shapes */
    if (st == OK) st = compare(w, &now.model, NULL, &fit);
    if (st != OK) goto done;
    if (!best->model.net || distance(&fit) < distance(least)) {
        const struct recognised worse = *best;
        const struct weights_fit more = *least;
        *best = now, *least = fit;
        now = worse, fit = more;
    }
done:
    text_free(&fit.words);
    recognised_free(&now);
    return st == ST_USAGE ? OK : st;
}

/* How far the file is from one of another project that it nearly is; a smaller distance takes the place of `least`. */
static status try_foreign(const struct weights *w, const struct foreign *f, struct weights_fit *least,
                          const char **nearest)
{
    struct weights *ours = NULL;
    struct recognised now = {0};
    struct weights_fit fit = {0};
    status st = foreign_convert(f, w, &ours);
    if (st == OK) st = candidate(w, &(struct known){.net = f->backbone}, &now);
    if (st != OK) goto done;
    const struct card card = {.options = weights_meta(ours, "options")};
    if (card_options(&card, "net.", now.model.net->options, now.model.net_settings, now.memory) == ST_MEMORY)
        TRY(fail(ST_MEMORY, "no memory to recognise a network")); /* else a width that it cannot tell: the usual one */
    TRY(compare(ours, &now.model, NULL, &fit));
    if (distance(&fit) < distance(least)) {
        const struct weights_fit more = *least;
        *least = fit, fit = more;
        *nearest = f->name;
    }
done:
    text_free(&fit.words);
    recognised_free(&now);
    weights_close(ours);
    return st == ST_MEMORY ? st : OK; /* what cannot be converted is far away */
}

status recognise(const struct weights *w, const char *file, struct recognised *out)
{
    struct recognised best = {0};
    struct weights_fit least = {0};
    status st = OK;
    for (size_t i = 0; i < KNOWN; i++) TRY(try_one(w, &known[i], &best, &least));
    if (!best.model.net || distance(&least)) {
        const char *nearest = best.model.net ? best.model.net->name : "none";
        for (size_t i = 0; foreign_at(i); i++) TRY(try_foreign(w, foreign_at(i), &least, &nearest));
        TRY(refuse(file, nearest, &least));
    }
    *out = best;
    best = (struct recognised){0};
done:
    text_free(&least.words);
    recognised_free(&best);
    return st;
}
