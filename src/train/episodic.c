/* episodic.c - the loss of a step of episodes (methods 5.6, 7.3), and of a batch in pre-training (7.1, 7.2).
 *
 * Support and query pictures of all episodes are normalised each by their own statistics, support first; or by the same
 * with bn-joint, as FRN does. They go through the network together, which is quicker than one after the other, unless it draws
 * random numbers for each pass. The loss is the mean over all queries of all episodes. */
#include "heads/mirror.h"
#include "train/trainer.h"

static void encode_both(struct trainer *t, const struct pass *p, size_t times, var **support, var **query)
{
    const struct lesson *l = p->lesson;
    const struct model *m = &t->model;
    const size_t mirrored = times > 1 ? l->support : 0, supports = l->support * times;
    const bool joint = t->settings->net.bn_joint;
    if (!joint && m->net->draws && m->net->draws(m->net_settings)) {
        *support = trainer_encode(t, p, 0, l->support, &(struct through){.part = 0, .parts = 2}, mirrored);
        *query = trainer_encode(t, p, l->support, l->queries, &(struct through){.part = 1, .parts = 2}, 0);
        return;
    }
    const struct through how = {.parts = 1, .first = joint ? 0 : supports};
    var *both = trainer_encode(t, p, 0, l->support + l->queries, &how, mirrored);
    *support = op_slice(t->tape, both, 0, 0, supports);
    *query = op_slice(t->tape, both, 0, supports, supports + l->queries);
}

/* The maps of episode b. */
static var *part(tape *t, var *maps, size_t b, size_t episodes, size_t each)
{
    return episodes == 1 ? maps : op_slice(t, maps, 0, b * each, (b + 1) * each);
}

var *episodic_loss(struct trainer *t, const struct pass *p)
{
    const struct lesson *l = p->lesson;
    const size_t times = mirror_wanted(t->model.head, (size_t)t->settings->train.shot) ? 2 : 1;
    const size_t way = (size_t)t->settings->train.way, nq = l->queries / l->episodes;
    const size_t ns = l->support / l->episodes * times;
    var *support = NULL, *query = NULL, *sum = NULL;
    encode_both(t, p, times, &support, &query);
    const tensor *support_labels = op_labels(t->tape, t->support_labels, ns, way);
    for (size_t b = 0; b < l->episodes; b++) {
        const struct episode e = {.support = part(t->tape, support, b, l->episodes, ns),
                                  .support_labels = support_labels,
                                  .support_host = t->support_labels,
                                  .query = part(t->tape, query, b, l->episodes, nq),
                                  .query_labels = op_labels(t->tape, l->labels + b * nq, nq, way),
                                  .way = way};
        struct head_result r = {0};
        if (tape_status(t->tape) != OK ||
            !t->model.head->forward(t->tape, t->model.head_settings, t->model.params, &e, 0, &r))
            return NULL;
        t->scores[b] = r.scores;
        t->labels[b] = e.query_labels;
        sum = b ? op_add(t->tape, sum, r.loss) : r.loss;
    }
    return l->episodes == 1 ? sum : op_affine(t->tape, sum, 1.0 / (double)l->episodes, 0);
}

/* The loss with the distance from what the teacher says of the same pictures. */
static var *with_teacher(struct trainer *t, const var *pictures, var *maps, var *loss)
{
    const struct distil_settings *s = &t->settings->distil;
    struct guidance said = {0};
    if (!loss) return NULL;
    const status st = teacher_features(t->teacher, &pictures->value, t->cells, &said);
    if (st != OK) return tape_fail(t->tape, st);
    var *distance = distil_loss(t->tape, t->model.params, maps, &said.pooled);
    loss = op_add(t->tape, loss, op_affine(t->tape, distance, s->weight, 0));
    if (!t->cells) return loss;
    distance = distil_places_loss(t->tape, t->model.params, maps, &said.places);
    return op_add(t->tape, loss, op_affine(t->tape, distance, s->places, 0));
}

var *pretrain_loss(struct trainer *t, const struct pass *p)
{
    const struct lesson *l = p->lesson;
    var *pictures = trainer_pictures(t, p, 0, l->queries);
    var *maps = trainer_maps(t, p, pictures, &(struct through){.parts = 1});
    const tensor *labels = op_labels(t->tape, l->labels, l->queries, t->classes);
    t->labels[0] = labels;
    if (!maps || !labels) return NULL;
    var *loss = t->pretrain->loss(t->tape, t->pretrain_settings, t->model.params, maps, labels, &t->scores[0]);
    return t->teacher ? with_teacher(t, pictures, maps, loss) : loss;
}
