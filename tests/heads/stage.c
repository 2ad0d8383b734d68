/* stage.c - running heads on episodes of host numbers. */
#include "tests/heads/stage.h"
#include "tests/test.h"

bool stage_open(struct stage *s, const char *head, dtype type, size_t threads, size_t channels)
{
    status st = OK;
    struct random r = {.seed = 5};
    *s = (struct stage){0};
    if (!world_open(&s->w, threads, type, TAPE_TRAINING)) return false;
    TRY(head_find(head, &s->head));
    EXPECT(s->head->settings_bytes <= sizeof s->settings.bytes);
    options_default(s->head->options, s->settings.bytes);
    if (s->head->presets) s->head->presets(s->settings.bytes);
    s->p = params_new(s->w.dev);
    if (!s->p) st = fail(ST_MEMORY, "no memory for parameters");
    if (st == OK) st = head_start(s->head, channels, type, &r, s->p);
done:
    EXPECT_OK(st);
    if (st != OK) stage_close(s);
    return st == OK;
}

void stage_close(struct stage *s)
{
    params_free(s->p);
    world_close(&s->w);
}

void stage_set(struct stage *s, const char *name, const char *value)
{
    EXPECT_OK(option_set(s->head->options, "--head.", name, value, s->settings.bytes));
}

size_t play_support_count(const struct play *p) { return p->ns * p->channels * p->rs; }
size_t play_query_count(const struct play *p) { return p->nq * p->channels * p->rq; }

size_t stage_param_count(const struct stage *s)
{
    size_t n = 0;
    for (size_t i = 0; i < params_count(s->p); i++) n += tensor_count(&params_at(s->p, i)->value);
    return n;
}

void play_random(struct play *p, struct stage *s, struct random *r, size_t way, const size_t *shots, size_t channels,
                 size_t rs, size_t nq, size_t rq)
{
    size_t at = 0;
    *p = (struct play){.way = way, .channels = channels, .rs = rs, .nq = nq, .rq = rq};
    for (size_t c = 0; c < way; c++)
        for (size_t k = 0; k < shots[c]; k++) p->support_labels[p->ns++] = (int32_t)c;
    for (size_t i = p->ns; i > 1; i--) { /* shuffle */
        const size_t other = (size_t)random_below(r, i);
        const int32_t held = p->support_labels[i - 1];
        p->support_labels[i - 1] = p->support_labels[other];
        p->support_labels[other] = held;
    }
    for (size_t i = 0; i < nq; i++) p->query_labels[i] = (int32_t)random_below(r, way);
    for (size_t i = 0; i < play_support_count(p); i++) p->support[i] = 0.5 + random_normal(r);
    for (size_t i = 0; i < play_query_count(p); i++) p->query[i] = 0.5 + random_normal(r);
    EXPECT(channels <= STAGE_BASE_CHANNELS);
    if (s->head->base) /* others draw what they always drew */
        for (size_t i = 0; i < sizeof p->base / sizeof *p->base; i++) p->base[i] = 0.5 + random_normal(r);
    for (size_t i = 0; i < params_count(s->p); i++) {
        const tensor *x = &params_at(s->p, i)->value;
        EXPECT(world_read(&s->w, x, p->params + at));
        at += tensor_count(x);
    }
    for (size_t i = 0; i < at; i++) p->params[i] += 0.2 * random_normal(r);
}

static bool set_params(struct stage *s, const double *values)
{
    for (size_t i = 0; i < params_count(s->p); i++) {
        const tensor *x = &params_at(s->p, i)->value;
        const var *v = world_constant(&s->w, x->rank, x->dim, values);
        if (!v || s->w.dev->copy(s->w.dev, x->data, v->value.data, tensor_bytes(x)) != OK) return false;
        values += tensor_count(x);
    }
    return params_zero_grad(s->p) == OK;
}

static bool read_gradients(struct stage *s, const struct episode *e, struct outcome *out)
{
    double *at = out->d_params;
    bool read = world_read(&s->w, &e->support->grad, out->d_support) &&
                world_read(&s->w, &e->query->grad, out->d_query);
    for (size_t i = 0; read && i < params_count(s->p); i++) {
        const tensor *x = &params_at(s->p, i)->grad;
        read = world_read(&s->w, x, at);
        at += tensor_count(x);
    }
    return read;
}

const struct head_base *stage_base(struct stage *s, const struct play *p, struct head_base *memory)
{
    static size_t first[STAGE_BASE_CLASSES + 1];
    if (!s->head->base) return NULL;
    for (size_t i = 0; i <= STAGE_BASE_CLASSES; i++) first[i] = i * STAGE_BASE_EACH;
    const var *v = world_constant(&s->w, DIMS(STAGE_BASE_CLASSES * STAGE_BASE_EACH, p->channels), p->base);
    if (!v) return NULL;
    *memory = (struct head_base){.features = v->value, .classes = STAGE_BASE_CLASSES, .first = first};
    return memory;
}

bool stage_run(struct stage *s, const struct play *p, enum tape_mode mode, struct outcome *out)
{
    struct world *w = &s->w;
    struct head_result r = {0};
    tape_reset(w->t, mode);
    EXPECT(set_params(s, p->params));
    struct episode e = {.way = p->way};
    e.support = world_leaf(w, DIMS(p->ns, p->channels, p->rs), p->support);
    e.query = world_leaf(w, DIMS(p->nq, p->channels, p->rq), p->query);
    e.support_labels = op_labels(w->t, p->support_labels, p->ns, p->way);
    e.query_labels = op_labels(w->t, p->query_labels, p->nq, p->way);
    struct head_base base;
    e.base = stage_base(s, p, &base);
    const bool made = s->head->forward(w->t, s->settings.bytes, s->p, &e, 0, &r);
    EXPECT(made == (tape_status(w->t) == OK));
    if (mode == TAPE_TRAINING && made) tape_backward(w->t, r.loss);
    const status st = tape_status(w->t);
    EXPECT_OK(st);
    if (st != OK) return false;
    EXPECT_DIMS(r.scores->value, p->nq, p->way);
    bool read = world_read(w, &r.scores->value, out->scores) && world_read(w, &r.loss->value, &out->loss);
    if (mode == TAPE_TRAINING) read = read && read_gradients(s, &e, out);
    EXPECT(read);
    return read;
}
