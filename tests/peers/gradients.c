/* gradients.c - gradients and running statistics of a step in parts, in double precision: whoever computes which part. */
#include "eval/model.h"
#include "tests/heads/rig.h"
#include "tests/peers/circle.h"
#include "tests/test.h"
#include "train/exchange.h"
#include "train/parts.h"
#include <stdlib.h>

/* Calls of a device that adds up with others, as they were made; the sums themselves go through the host's seam. */
enum { MOST_CALLS = 64 };
struct calls {
    struct peers *peers;
    char name[MOST_CALLS];    /* i: made an identity, j: joined, s: sum, b: backward pass over, w: wait, and
                                 d: download, y: sync */
    size_t count[MOST_CALLS]; /* of numbers, of a sum */
    size_t made;
    char id[DEVICE_PEERS_ID_BYTES];
};
static _Thread_local struct calls *now; /* of this rank */

static void called(char name, size_t count)
{
    if (now->made == MOST_CALLS) return;
    now->name[now->made] = name;
    now->count[now->made++] = count;
}

static status fake_id(struct device *d, void *id)
{
    (void)d;
    memset(id, 7, DEVICE_PEERS_ID_BYTES);
    called('i', 0);
    return OK;
}

static status fake_join(struct device *d, const void *id, int rank, int size)
{
    (void)d;
    memcpy(now->id, id, sizeof now->id);
    called('j', 0);
    return rank == now->peers->rank && size == now->peers->size ? OK : fail(ST_VALUE, "another rank");
}

static status fake_sum(struct device *d, dtype type, size_t count, void *memory)
{
    (void)d;
    called('s', count);
    return now->peers->sum(now->peers, type == DT_F64 ? PEERS_F64 : PEERS_F32, count, memory);
}

static status fake_wait(struct device *d)
{
    (void)d;
    called('w', 0);
    return now->peers->finish(now->peers);
}

static status fake_download(struct device *d, void *to, const void *from, size_t bytes)
{
    (void)d;
    called('d', 0);
    memcpy(to, from, bytes);
    return OK;
}

static status fake_sync(struct device *d)
{
    (void)d;
    called('y', 0);
    return OK;
}

static void add_up_on_devices(struct device *d, struct calls *calls, struct peers *p)
{
    now = calls;
    *calls = (struct calls){.peers = p};
    d->on_host = false;
    d->peers_id = fake_id;
    d->peers_join = fake_join;
    d->peers_sum = fake_sum;
    d->peers_wait = fake_wait;
    d->download = fake_download;
    d->sync = fake_sync;
}

enum { EPISODES = 4, WAY = 2, SHOT = 1, QUERY = 2, SIDE = 16, EACH = WAY * (SHOT + QUERY), MOST = 120000 };

struct sums {             /* of rank 0 */
    double grad[MOST];    /* all gradients, */
    double running[MOST]; /* and all buffers, one behind the other */
    size_t grads, runnings;
    const char *width;   /* of the network; NULL: 8 */
    struct calls *calls; /* [CIRCLE_MOST], of every rank; NULL: the host adds up */
};

/* The loss of one episode, over pictures that depend on its number alone. */
static var *loss_of(struct world *w, struct model *m, size_t episode)
{
    static const int32_t support_labels[] = {0, 1}, query_labels[] = {0, 1, 1, 0};
    double x[EACH * 3 * SIDE * SIDE];
    struct random r = {.seed = 11, .stream = episode};
    struct net_pass pass = {.mode = NET_TRAIN};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = random_normal(&r);
    var *in = world_constant(w, 4, (size_t[]){EACH, 3, SIDE, SIDE}, x);
    var *maps = extract(w->t, &m->extractor, m->net->forward(w->t, m->net_settings, m->params, &pass, in));
    if (!maps) return NULL;
    maps = op_reshape(w->t, maps, 3, (size_t[]){EACH, maps->value.dim[1], maps->value.dim[2] * maps->value.dim[3]});
    const struct episode e = {.support = op_slice(w->t, maps, 0, 0, WAY * SHOT),
                              .query = op_slice(w->t, maps, 0, WAY * SHOT, EACH),
                              .support_labels = op_labels(w->t, support_labels, WAY * SHOT, WAY),
                              .support_host = support_labels,
                              .query_labels = op_labels(w->t, query_labels, WAY * QUERY, WAY),
                              .way = WAY};
    struct head_result out = {0};
    if (tape_status(w->t) != OK) return NULL;
    m->head->forward(w->t, m->head_settings, m->params, &e, 0, &out);
    return out.loss;
}

static void keep_sums(const struct model *m, struct sums *s)
{
    s->grads = s->runnings = 0;
    for (size_t i = 0; i < params_count(m->params); i++) {
        const struct param *p = params_at(m->params, i);
        const tensor *x = p->trained ? &p->grad : &p->value;
        double *to = p->trained ? s->grad + s->grads : s->running + s->runnings;
        memcpy(to, x->data, tensor_bytes(x));
        *(p->trained ? &s->grads : &s->runnings) += tensor_count(x);
    }
}

static status teach(struct world *w, struct model *m, struct running *r, struct exchange *e, struct peers *p)
{
    status st = OK;
    void *changes;
    size_t bytes;
    const size_t first = peers_first(EPISODES, (size_t)p->rank, (size_t)p->size);
    const size_t end = peers_first(EPISODES, (size_t)p->rank + 1, (size_t)p->size);
    TRY(params_zero_grad(m->params));
    TRY(running_begin(r));
    for (size_t i = first; i < end; i++) {
        tape_reset(w->t, TAPE_TRAINING);
        if (i + 1 == end) exchange_watch(e, w->t);
        var *loss = loss_of(w, m, i);
        TRY(tape_status(w->t));
        TRY(tape_backward(w->t, op_affine(w->t, loss, 1.0 / EPISODES, 0)));
        if (now && i + 1 == end) called('b', 0);
        TRY(running_part(r, 1.0 / EPISODES));
    }
    TRY(running_changes(r, &changes, &bytes));
    TRY(exchange_end(e, changes, bytes, NULL, 0));
    TRY(running_end(r));
done:
    return st;
}

static status share_step(void *context, struct peers *p)
{
    struct sums *s = context;
    struct world w;
    struct model m = {0};
    struct running *r = NULL;
    struct exchange *e = NULL;
    status st = OK;
    if (!rig_open(&w, NULL, 1, DT_F64)) return fail(ST_IO, "no device");
    TRY(model_new(w.dev, "conv4", "mcl-katz", &m));
    TRY(option_set(m.net->options, "net.", "width", s->width ? s->width : "8", m.net_settings));
    m.channels = m.net->channels(m.net_settings);
    TRY(model_start(&m, DT_F64, 3));
    if (s->calls) add_up_on_devices(w.dev, &s->calls[p->rank], p);
    TRY(running_new(m.params, &r));
    TRY(exchange_new(p, m.params, &e));
    TRY(teach(&w, &m, r, e, p));
    if (p->rank == 0) keep_sums(&m, s);
done:
    exchange_free(e);
    running_free(r);
    if (m.net) model_free(&m);
    world_close(&w);
    return st;
}

TEST(gradients_of_parts_are_the_same_whoever_computes_them)
{
    struct sums *one = calloc(1, sizeof *one), *many = calloc(1, sizeof *many);
    REQUIRE(one && many);
    EXPECT_OK(share_step(one, peers_alone()));
    EXPECT(one->grads > 1000 && one->runnings >= 64);
    for (int size = 2; size <= 5; size++) { /* with 5, one has nothing to do */
        double largest = 0;
        memset(many, 0, sizeof *many);
        EXPECT(circle_run(size, share_step, many, NULL));
        EXPECT(many->grads == one->grads && many->runnings == one->runnings);
        for (size_t i = 0; i < one->grads; i++) largest = fmax(largest, fabs(one->grad[i]));
        EXPECT(largest > 1e-4);
        for (size_t i = 0; i < one->grads; i++) EXPECT_NEAR(many->grad[i], one->grad[i], 1e-12 * largest);
        for (size_t i = 0; i < one->runnings; i++) EXPECT_NEAR(many->running[i], one->running[i], 1e-12);
    }
    free(one);
    free(many);
}

/* The rules of NCCL: everybody joins by one identity and makes the same calls in the same order; and ours, that nobody waits
 * for the device in a step: no download and no sync, but one wait in the device's own queue, behind all sums; and that
 * gradients of a large network set out before the backward pass is over, those of a small one behind it. */
static void check_calls(const char *width, bool along)
{
    struct sums *one = calloc(1, sizeof *one), *many = calloc(1, sizeof *many);
    struct calls *calls = calloc(CIRCLE_MOST, sizeof *calls);
    REQUIRE(one && many && calls);
    one->width = many->width = width;
    EXPECT_OK(share_step(one, peers_alone()));
    many->calls = calls;
    EXPECT(circle_run(3, share_step, many, NULL));
    for (size_t i = 0; i < one->grads; i++) EXPECT_NEAR(many->grad[i], one->grad[i], 1e-12);
    EXPECT(calls[0].name[0] == 'i' && calls[0].name[1] == 'j' && calls[0].id[5] == 7);
    for (int r = 0; r < 3; r++) {
        const size_t skip = r ? 1 : 0; /* rank 0 made the identity */
        EXPECT_INT(calls[r].made + skip, calls[0].made);
        EXPECT(memcmp(calls[r].id, calls[0].id, sizeof calls[r].id) == 0);
        for (size_t i = 0; i < calls[r].made; i++) {
            EXPECT_INT(calls[r].name[i], calls[0].name[i + skip]);
            EXPECT_INT(calls[r].count[i], calls[0].count[i + skip]);
            EXPECT(strchr("ijsbw", calls[r].name[i]) != NULL);
        }
        const char *back = memchr(calls[r].name, 'b', calls[r].made), *sum = memchr(calls[r].name, 's', calls[r].made);
        EXPECT(back && sum && (sum < back) == along);
        EXPECT_INT(calls[r].name[calls[r].made - 1], 'w');
    }
    free(calls);
    free(one);
    free(many);
}

TEST(devices_that_add_up_among_themselves_make_the_same_calls_and_wait_for_nothing)
{
    check_calls("64", true);
    check_calls("8", false);
}

/* Gradients as they were when they were called final. */
struct seen {
    const struct param *param[64];
    double first[64];
    size_t count;
};

static void note(void *context, struct param *p)
{
    struct seen *s = context;
    s->param[s->count] = p;
    s->first[s->count++] = ((const double *)p->grad.data)[0];
}

TEST(a_gradient_that_is_called_final_is_not_added_to_any_more)
{
    struct world w;
    struct model m = {0};
    struct seen s = {0};
    size_t trained = 0;
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    REQUIRE(model_new(w.dev, "conv4", "mcl-katz", &m) == OK);
    REQUIRE(option_set(m.net->options, "net.", "width", "8", m.net_settings) == OK);
    m.channels = m.net->channels(m.net_settings);
    REQUIRE(model_start(&m, DT_F64, 3) == OK);
    tape_watch(w.t, note, &s);
    var *sum = op_add(w.t, loss_of(&w, &m, 0), loss_of(&w, &m, 1)); /* every parameter is used twice */
    EXPECT_OK(tape_backward(w.t, sum));
    for (size_t i = 0; i < params_count(m.params); i++) trained += params_at(m.params, i)->trained;
    EXPECT_INT(s.count, trained);
    for (size_t i = 0; i < s.count; i++) {
        EXPECT(s.first[i] == ((const double *)s.param[i]->grad.data)[0] && s.param[i]->pending == 0);
        for (size_t k = 0; k < i; k++) EXPECT(s.param[k] != s.param[i]);
    }
    EXPECT(strstr(s.param[0]->name, "layer4") != NULL && strstr(s.param[s.count - 1]->name, "layer1") != NULL);
    model_free(&m);
    world_close(&w);
}
