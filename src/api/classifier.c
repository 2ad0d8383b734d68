/* classifier.c - a model at work: its network and head on the session's device, and pictures to feature maps.
 *
 * Pictures are cut and normalised on all threads, then encoded in batches, so that memory does not grow with their number. */
#include "api/classifier.h"
#include "base/size.h"
#include <stdlib.h>
#include <string.h>

enum { BATCH_PIXELS = 32 * 84 * 84, FIRST_BATCH = 4 }; /* of a batch at most, unless one picture has more; pictures */
enum { BATCH_BYTES = 96 << 20 };                       /* of maps on the way, for the same */
/* Files that are read before the network goes on: of few, threads would wait for the last. */
enum { SHOWN_AT_ONCE = 16 };
enum { SMALL_BYTES = 16 << 20 }; /* of weights whose frozen form, four times as much, is no burden */

status block_reserve(struct block *b, size_t count, size_t each, const char *what)
{
    size_t bytes;
    if (!size_mul(count, each, &bytes)) return fail(ST_MEMORY, "%s of %zu pictures are too many", what, count);
    if (bytes <= b->bytes) return OK;
    free(b->data);
    b->bytes = 0;
    b->data = malloc(bytes);
    if (!b->data) return fail(ST_MEMORY, "no memory for %s of %zu pictures", what, count);
    b->bytes = bytes;
    return OK;
}

static void block_free(struct block *b)
{
    free(b->data);
    *b = (struct block){0};
}

static status open_net(centra_classifier *c)
{
    static const char *const ignore[] = {"head.", "pre.", NULL};
    const struct card *card = &c->model->card;
    size_t bytes = 0;
    status st = OK;
    TRY(model_new(c->session->dev, card->backbone, NULL, &c->net));
    TRY(card_options(card, "net.", c->net.net->options, c->net.net_settings, c->memory));
    TRY(model_extract(&c->net, c->model->info.extractor, &card->transform));
    params_free(c->net.params); /* nothing is trained here: no start values and no gradients */
    c->net.params = params_new_fixed(c->session->dev);
    if (!c->net.params) TRY(fail(ST_MEMORY, "no memory for the parameters of %s", card->backbone));
    TRY(c->net.net->params(c->net.net_settings, DT_F32, NULL, c->net.params));
    c->net.channels = c->net.net->channels(c->net.net_settings);
    TRY(weights_lend(c->model->file, c->net.params, "", ignore));
    for (size_t i = 0; i < params_count(c->net.params); i++) bytes += tensor_bytes(&params_at(c->net.params, i)->value);
    c->small = bytes <= SMALL_BYTES;
done:
    return st;
}

/* What is said last counts: defaults, the model's card if it is its head, the caller's options. */
static status set_head(centra_classifier *c, const centra_classifier_options *o)
{
    const struct head *h = c->head;
    status st = OK;
    options_default(h->options, c->head_settings);
    if (h->presets) h->presets(c->head_settings);
    if (c->model->card.head && !strcmp(h->name, c->model->card.head))
        TRY(card_options(&c->model->card, "head.", h->options, c->head_settings, c->memory));
    for (size_t i = 0; o && i < o->head_option_count; i++) {
        const centra_option *e = &o->head_options[i];
        void *kept;
        if (!e->name || !e->value) TRY(fail(ST_USAGE, "option %zu of %s has no name or no value", i, h->name));
        TRY(arena_take(c->memory, strlen(e->value) + 1, 1, &kept)); /* settings may point at it */
        memcpy(kept, e->value, strlen(e->value) + 1);
        TRY(option_set(h->options, "--head.", e->name, kept, c->head_settings));
    }
done:
    return st;
}

/* Known pictures are all that a classifier has. */
static status check_head(const centra_classifier *c)
{
    if (!c->head->base) return OK;
    return fail(ST_USAGE,
                "the head %s needs pictures of base classes, which there are none of here; choose another head",
                c->head->name);
}

/* A head with parameters of its own needs a file that was trained with it. */
static status load_head(centra_classifier *c)
{
    static const char *const all[] = {"", NULL};
    const centra_model *m = c->model;
    status st = OK;
    c->head_params = params_new(c->session->dev);
    if (!c->head_params) return fail(ST_MEMORY, "no memory for the parameters of %s", c->head->name);
    TRY(model_start_head(c->head, c->net.channels, DT_F32, 0, c->head_params));
    if (!params_count(c->head_params)) return OK;
    for (size_t i = 0; i < params_count(c->head_params); i++)
        if (!weights_find(m->file, params_at(c->head_params, i)->name) &&
            (!m->card.head || strcmp(m->card.head, c->head->name)))
            TRY(fail(ST_USAGE, "the model %s was not trained with the head %s and has no parameters for it",
                     m->info.name, c->head->name));
    TRY(weights_load(m->file, c->head_params, "head.", all));
done:
    return st;
}

static status write_words(centra_classifier *c)
{
    text t = {0};
    text_add(&t, c->head->name);
    options_text(c->head->options, "", c->head_settings, &t);
    const status st = text_status(&t);
    if (st == OK) c->words = t.data;
    else text_free(&t);
    return st;
}

static status open_head(centra_classifier *c, const centra_classifier_options *o)
{
    status st = OK;
    TRY(head_find(o && o->head ? o->head : c->model->info.head, &c->head));
    TRY(check_head(c));
    c->head_settings = calloc(1, size_max(1, c->head->settings_bytes));
    if (!c->head_settings) TRY(fail(ST_MEMORY, "no memory for the settings of %s", c->head->name));
    TRY(set_head(c, o));
    TRY(load_head(c));
    TRY(write_words(c));
done:
    return st;
}

centra_status centra_classifier_new(centra_session *session, const centra_model *model,
                                    const centra_classifier_options *options, centra_classifier **out)
{
    status st = OK;
    if (!session || !model || !out || (options && options->head_option_count && !options->head_options))
        return (centra_status)fail(ST_USAGE, "centra_classifier_new needs a session, a model and a place");
    centra_classifier *c = calloc(1, sizeof *c);
    if (!c) return (centra_status)fail(ST_MEMORY, "no memory for a classifier");
    c->session = session;
    c->model = model;
    c->memory = arena_new(1 << 10);
    if (!c->memory) TRY(fail(ST_MEMORY, "no memory for a classifier"));
    TRY(open_net(c));
    TRY(open_head(c, options));
    *out = c;
    c = NULL;
done:
    centra_classifier_free(c);
    return (centra_status)st;
}

void centra_classifier_free(centra_classifier *c)
{
    if (!c) return;
    model_free(&c->net);
    params_free(c->head_params);
    free(c->head_settings);
    free(c->words);
    arena_free(c->memory);
    block_free(&c->input);
    block_free(&c->features);
    block_free(&c->scores);
    block_free(&c->chances);
    block_free(&c->best);
    block_free(&c->alike);
    block_free(&c->likeness);
    block_free(&c->sights);
    free(c);
}

/* Encoding */

struct showing {
    const struct transform *transform;
    const struct extractor *extractor;
    struct sight *sight;
    float *input;
    size_t each;  /* numbers of one picture */
    size_t least; /* sides of a file's picture; 0: as it is */
};

/* Only what is much larger than the square that is cut: the last reduction, by our own weights, is then by four or more, and
 * the pixels differ by a fifth of a level on average. Cells need all of a picture. */
static size_t least_side(const struct transform *t, const struct extractor *e)
{
    return e->kind == EXTRACT_GRID ? 0 : 4 * (t->side + t->pad);
}

static status show(const struct showing *w, const struct sight *s, const struct picture *p, float *to)
{
    const struct extractor *e = w->extractor;
    status st = OK;
    if (s->seen) TRY(transform_apply_bytes(w->transform, p, NULL, s->seen));
    if (e->kind == EXTRACT_GRID) st = transform_cells(w->transform, p, e->count, e->sizes, NULL, to);
    else if (!s->seen) st = transform_apply(w->transform, p, NULL, to);
    else transform_normalise(w->transform, s->seen, w->transform->side * w->transform->side, to);
done:
    return st;
}

/* A file is decoded and cut in one piece, so that no more pictures lie in memory than there are threads. */
static status show_piece(void *context, size_t piece, size_t worker)
{
    const struct showing *w = context;
    struct sight *s = &w->sight[piece];
    float *to = w->input + piece * w->each;
    struct picture file = {0};
    (void)worker;
    s->error.st = OK;
    if (s->picture) return show(w, s, s->picture, to);
    status st = picture_read_least(s->path, true, w->least, &file);
    if (st == OK) st = show(w, s, &file, to);
    picture_free(&file);
    if (st == OK || st == ST_MEMORY) return st;
    error_take(st, &s->error);
    memset(to, 0, w->each * sizeof *to);
    return OK;
}

static size_t cells_of(const centra_classifier *c) { return extractor_cells(&c->net.extractor); }

size_t classifier_batch(const centra_classifier *c)
{
    const size_t side = c->model->info.side;
    return size_max(1, BATCH_PIXELS / (side * side * cells_of(c)));
}

/* What a picture takes is known after the first few: a batch of a large network has fewer of them. Those that are left are
 * shared out evenly, as small batches cost more a picture. */
static size_t next_batch(const centra_classifier *c, size_t left)
{
    const size_t fit = c->picture_bytes ? size_max(1, BATCH_BYTES / c->picture_bytes) : FIRST_BATCH;
    const size_t most = size_min(fit, classifier_batch(c)), batches = size_max(1, size_div_up(left, most));
    return size_max(1, c->picture_bytes ? size_div_up(left, batches) : size_min(left, most));
}

var *classifier_lend(tape *t, int rank, const size_t *dim, const float *data)
{
    tensor x;
    if (!tape_device(t)->on_host) return tape_upload(t, DT_F32, rank, dim, data);
    const status st = tensor_make(&x, DT_F32, rank, dim, (void *)(uintptr_t)data); /* a constant is only read */
    return st == OK ? tape_constant(t, &x) : tape_fail(t, st);
}

/* One batch through the network; the map is the tape's. */
static status forward(centra_classifier *c, const float *input, size_t count, var **out)
{
    const size_t side = c->model->info.side, dim[] = {count * cells_of(c), 3, side, side};
    struct net_pass pass = {.mode = NET_EVAL};
    tape *t = c->session->tape;
    if (c->batches++ >= PARAMS_FREEZE_PAYS && c->small) params_freeze(c->net.params);
    tape_reset(t, TAPE_INFERENCE);
    var *x = classifier_lend(t, 4, dim, input);
    *out = extract(t, &c->net.extractor, c->net.net->forward(t, c->net.net_settings, c->net.params, &pass, x));
    return tape_status(t);
}

static size_t input_numbers(const centra_classifier *c)
{
    return cells_of(c) * 3 * c->model->info.side * c->model->info.side;
}

/* Reads and cuts the first `count` pictures of the list into c->input. */
static status show_all(centra_classifier *c, struct sight *sights, size_t count)
{
    const struct transform *transform = &c->model->card.transform;
    const struct extractor *e = &c->net.extractor;
    struct showing w = {transform, e, sights, c->input.data, input_numbers(c), least_side(transform, e)};
    return pool_run(c->session->threads, count, show_piece, &w);
}

/* One batch into c->features from row `row` of `rows` on. */
static status encode_batch(centra_classifier *c, const float *input, size_t count, size_t row, size_t rows,
                           struct maps *out)
{
    struct device *d = c->session->dev;
    status st = OK;
    var *v;
    TRY(forward(c, input, count, &v));
    const size_t bytes = tensor_bytes(&v->value), one = bytes / count;
    c->picture_bytes = size_max(c->picture_bytes, tape_bytes_used(c->session->tape) / count);
    if (row == 0) {
        memcpy(out->dim, v->value.dim + 1, sizeof out->dim);
        TRY(block_reserve(&c->features, rows, one, "the features"));
        out->features = c->features.data;
    }
    TRY(d->download(d, (char *)c->features.data + row * one, v->value.data, bytes));
done:
    return st;
}

status classifier_encode(centra_classifier *c, struct sight *sights, size_t count, struct maps *out)
{
    const size_t at_once = size_min(count, size_max(classifier_batch(c), SHOWN_AT_ONCE / cells_of(c)));
    status st = OK;
    TRY(block_reserve(&c->input, at_once, input_numbers(c) * sizeof(float), "the pixels"));
    for (size_t first = 0; first < count; first += at_once) {
        const size_t shown = size_min(at_once, count - first);
        const float *input = c->input.data;
        TRY(show_all(c, sights + first, shown));
        for (size_t row = 0, n; row < shown; row += n) {
            n = next_batch(c, shown - row);
            TRY(encode_batch(c, input + row * input_numbers(c), n, first + row, count, out));
        }
    }
done:
    return st;
}
