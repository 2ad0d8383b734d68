/* centroid_fit.c - the fit of the head centroid: z' = layer z + shift, and a direction for each class.
 *
 * First the classifier alone, on the shots as they are. Then rounds of three steps by Adam (Kingma and Ba, ICLR 2015), for which
 * the same number of related pictures is drawn for every class:
 *   a. layer and shift: cross entropy of minus the squared distances of the related pictures to the means of the shots;
 *   b. the directions: cross entropy of the related pictures' cosines under the class that they are related to;
 *   c. all of them: cross entropy of the shots' cosines.
 * Each step is a recording of its own on a second tape, so that a fit needs the memory of one step. */
#include "base/size.h"
#include "heads/angular.h"
#include "heads/centroid.h"
#include "heads/matrix.h"
#include "heads/related.h"
#include "ops/host.h"
#include <math.h>

enum { LAYER, SHIFT, WEIGHT, LEARNED };

struct learner {
    tensor *value, grad, mean, square; /* the last two: Adam's moments */
    double rate;
    size_t steps;
};

struct fit {
    const struct centroid *s;
    const struct centroid_task *k;
    tape *t; /* owned */
    struct learner of[LEARNED];
    bool aligning;                 /* behind the first fit */
    const int32_t *rows, *classes; /* [drawn]: related pictures of the round, and the class of each */
    size_t drawn;
};

static status prepare(tape *t, tensor *value, double rate, struct learner *l)
{
    status st = OK;
    struct device *d = tape_device(t);
    *l = (struct learner){.value = value, .rate = rate};
    TRY(tape_tensor(t, value->type, value->rank, value->dim, &l->grad));
    TRY(tape_tensor(t, value->type, value->rank, value->dim, &l->mean));
    TRY(tape_tensor(t, value->type, value->rank, value->dim, &l->square));
    TRY(d->zero(d, l->mean.data, tensor_bytes(&l->mean)));
    TRY(d->zero(d, l->square.data, tensor_bytes(&l->square)));
done:
    return st;
}

static status learn(struct device *d, struct learner *l)
{
    const double n = (double)++l->steps, beta1 = 0.9, beta2 = 0.999;
    const struct adam_args a = {l->rate, beta1, beta2, 1e-8, 0, 1 - pow(beta1, n), 1 - pow(beta2, n)};
    const struct learned of = {.grad = &l->grad, .state = {&l->mean, &l->square}, .value = l->value};
    return PRIM_CALL(d, l->value->type, adam_step, (d, &a, 1, &of));
}

/* One step of the learners in `which` (1 << LAYER ...); the others are constants. */
static status step(struct fit *f, unsigned which, var *(*loss_of)(struct fit *f, var *const *v))
{
    status st = OK;
    tape *t = f->t;
    var *v[LEARNED];
    tape_reset(t, TAPE_TRAINING);
    for (unsigned i = 0; i < LEARNED; i++) {
        const struct learner *l = &f->of[i];
        v[i] = which >> i & 1 ? tape_leaf(t, l->value, &l->grad, GRAD_OVERWRITES) : tape_constant(t, l->value);
    }
    var *loss = loss_of(f, v);
    TRY(tape_status(t));
    TRY(tape_backward(t, loss));
    for (unsigned i = 0; i < LEARNED; i++)
        if (which >> i & 1) TRY(learn(tape_device(t), &f->of[i]));
done:
    return st;
}

static var *passed(const struct fit *f, var *const *v, var *x)
{
    return f->aligning ? op_linear(f->t, x, v[LAYER], v[SHIFT]) : x;
}

static var *related_pictures(const struct fit *f)
{
    const var *index = tape_upload(f->t, DT_I32, 1, &f->drawn, f->rows);
    return index ? op_gather(f->t, tape_constant(f->t, &f->k->base->features), 0, &index->value) : NULL;
}

static var *angular_loss(const struct fit *f, var *const *v, var *x, const tensor *labels)
{
    const double scale = f->aligning ? f->s->align_scale : f->s->scale;
    var *cosines = op_cosine(f->t, passed(f, v, x), v[WEIGHT]);
    return op_cross_entropy(f->t, angular_logits(f->t, cosines, labels, scale, f->s->margin), labels);
}

static var *loss_of_shots(struct fit *f, var *const *v)
{
    return angular_loss(f, v, tape_constant(f->t, f->k->support), f->k->support_labels);
}

static var *loss_of_related(struct fit *f, var *const *v)
{
    return angular_loss(f, v, related_pictures(f), op_labels(f->t, f->classes, f->drawn, f->k->way));
}

static var *loss_of_centroids(struct fit *f, var *const *v)
{
    var *shots = passed(f, v, tape_constant(f->t, f->k->support));
    var *means = op_class_mean(f->t, shots, f->k->support_labels, f->k->way);
    var *distances = op_sqdist(f->t, passed(f, v, related_pictures(f)), means);
    return op_cross_entropy(f->t, op_affine(f->t, distances, -1, 0), op_labels(f->t, f->classes, f->drawn, f->k->way));
}

/* The base pictures that the classifier of the shots takes for the classes. */
static status relate(tape *t, const struct fit *f, struct related *out)
{
    status st = OK;
    double *scores;
    const struct head_base *base = f->k->base;
    var *directions = op_l2norm(t, tape_constant(t, f->of[WEIGHT].value), 1);
    const var *alike = op_matmul(t, tape_constant(t, &base->features), false, directions, true);
    TRY(tape_status(t));
    TRY(host_read(t, &alike->value, &scores));
    st = related_choose(t, base, f->k->way, scores, (size_t)f->s->related, out);
done:
    return st;
}

/* As many as the smallest class that has any can give. */
static size_t pictures_each(const struct related *r, size_t way, size_t most)
{
    size_t n = most;
    for (size_t c = 0; c < way; c++)
        if (r->first[c + 1] > r->first[c]) n = size_min(n, r->first[c + 1] - r->first[c]);
    return n;
}

/* `each` different pictures of every class that has related ones; `pool` is changed in its order only. */
static size_t draw(const struct related *r, size_t way, size_t each, const struct random *round, uint32_t *pool,
                   int32_t *rows, int32_t *classes)
{
    size_t n = 0;
    for (size_t c = 0; c < way; c++) {
        const size_t first = r->first[c], have = r->first[c + 1] - first;
        struct random own = random_branch(round, r->by_base[c]);
        for (size_t i = first; i < first + have; i++) pool[i] = r->rows[i];
        for (size_t i = 0; i < each && i < have; i++, n++) {
            const size_t other = first + i + (size_t)random_below(&own, have - i);
            const uint32_t held = pool[first + i];
            pool[first + i] = pool[other];
            pool[other] = held;
            rows[n] = (int32_t)pool[first + i];
            classes[n] = (int32_t)c;
        }
    }
    return n;
}

static status align(tape *t, struct fit *f)
{
    status st = OK;
    struct related r;
    void *pool, *rows, *classes;
    const unsigned body = 1u << LAYER | 1u << SHIFT, all = body | 1u << WEIGHT;
    const struct random root = {.seed = (uint64_t)f->s->seed, .stream = 1};
    TRY(relate(t, f, &r));
    const size_t way = f->k->way, each = pictures_each(&r, way, (size_t)f->s->draw);
    TRY(tape_host(t, r.first[way] * sizeof(uint32_t), &pool));
    TRY(tape_host(t, way * each * sizeof(int32_t), &rows));
    TRY(tape_host(t, way * each * sizeof(int32_t), &classes));
    f->rows = rows;
    f->classes = classes;
    f->aligning = true;
    for (size_t i = 0; i < (size_t)f->s->rounds; i++) {
        const struct random round = random_branch(&root, i);
        f->drawn = draw(&r, way, each, &round, pool, rows, classes);
        if (f->drawn) TRY(step(f, body, loss_of_centroids));
        if (f->drawn) TRY(step(f, 1u << WEIGHT, loss_of_related));
        TRY(step(f, all, loss_of_shots));
    }
done:
    return st;
}

/* The layer as the identity and the shift as zero. */
static status identity(tape *t, dtype type, size_t channels, struct centroid_fitted *f)
{
    status st = OK;
    struct device *d = tape_device(t);
    const var *one = matrix_identity(t, type, channels);
    TRY(tape_status(t));
    TRY(tape_tensor(t, type, 2, one->value.dim, &f->layer));
    TRY(d->copy(d, f->layer.data, one->value.data, tensor_bytes(&f->layer)));
    TRY(tape_tensor(t, type, 1, &channels, &f->shift));
    TRY(d->zero(d, f->shift.data, tensor_bytes(&f->shift)));
done:
    return st;
}

status centroid_fit(tape *t, const struct centroid *s, const struct centroid_task *k, struct centroid_fitted *out)
{
    status st = OK;
    struct fit f = {.s = s, .k = k};
    TRY(identity(t, k->support->type, k->support->dim[1], out));
    TRY(prepare(t, &out->layer, s->layer_rate, &f.of[LAYER]));
    TRY(prepare(t, &out->shift, s->layer_rate, &f.of[SHIFT]));
    TRY(prepare(t, &out->weight, s->rate, &f.of[WEIGHT]));
    TRY(tape_new(tape_device(t), TAPE_TRAINING, &f.t));
    for (size_t i = 0; i < (size_t)s->steps; i++) TRY(step(&f, 1u << WEIGHT, loss_of_shots));
    TRY(align(t, &f));
    st = tape_device(t)->sync(tape_device(t)); /* what went wrong on the way is told here */
done:
    tape_free(f.t);
    return st;
}
