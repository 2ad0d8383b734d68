/* shared.c - a norm whose batch lies on three processes, with different numbers of rows: what one of them gives is its part of what
 * one process gives for all rows. The others are numbers here, worked out plainly. */
#include "ops/norm.h"
#include "peers/peers.h"
#include "tests/device.h"
#include "tests/ops/world.h"
#include "tests/test.h"

enum { C = 3, RANKS = 3, ROWS = 9, NORMS = 2, EACH = 2 * C + 1 };
static const size_t first[RANKS + 1] = {0, 2, 5, 9};
static const double slope = 0.25;

struct batch { /* of all ranks */
    double x[NORMS][ROWS][C], dy[ROWS][C], gain[NORMS][C], bias[NORMS][C];
    double mean[NORMS][C], variance[NORMS][C]; /* of all rows */
};

struct fake {
    struct peers p; /* first: what the tape is given */
    const struct batch *b;
    int calls;
};

static double epsilon_of(int norm) { return norm ? 1e-3 : 1e-5; }
static double scaled(const struct batch *b, int k, size_t i, size_t c) /* to mean 0 and variance 1 */
{
    return (b->x[k][i][c] - b->mean[k][c]) / sqrt(b->variance[k][c] + epsilon_of(k));
}
static double behind(const struct batch *b, size_t i, size_t c) /* the gradient behind both norms */
{
    double u = 0;
    for (int k = 0; k < NORMS; k++) u += b->gain[k][c] * scaled(b, k, i, c) + b->bias[k][c];
    return b->dy[i][c] * (u > 0 ? 1 : slope);
}

static void statistics(const struct batch *b, int k, size_t from, size_t to, double *mean, double *variance)
{
    for (size_t c = 0; c < C; c++) {
        mean[c] = variance[c] = 0;
        for (size_t i = from; i < to; i++) mean[c] += b->x[k][i][c] / (double)(to - from);
        for (size_t i = from; i < to; i++) variance[c] += pow(b->x[k][i][c] - mean[c], 2) / (double)(to - from);
    }
}

/* The four calls of a step: statistics of both norms, then the sums of both on the way back. */
static status fake_gather(struct peers *p, const size_t *bytes, const void *mine, void *all)
{
    struct fake *f = (struct fake *)p;
    const int k = f->calls % 2;
    const bool back = f->calls >= 2;
    f->calls++;
    for (size_t r = 0; r < RANKS; r++) {
        double *to = (double *)all + r * EACH;
        EXPECT_INT(bytes[r], EACH * sizeof(double));
        statistics(f->b, k, first[r], first[r + 1], to, to + C);
        for (size_t c = 0; c < C && back; c++) {
            to[c] = to[C + c] = 0;
            for (size_t i = first[r]; i < first[r + 1]; i++) {
                to[c] += behind(f->b, i, c) * scaled(f->b, k, i, c);
                to[C + c] += behind(f->b, i, c);
            }
        }
        to[2 * C] = (double)(first[r + 1] - first[r]);
        for (size_t i = 0; i < EACH && r == (size_t)p->rank; i++) EXPECT_NEAR(((const double *)mine)[i], to[i], 1e-12);
    }
    return OK;
}

struct side {
    double y[ROWS * C], dx[NORMS][ROWS * C], dgain[NORMS][C], dbias[NORMS][C], running[NORMS][2][C];
};

static bool run(const struct batch *b, size_t from, size_t to, struct peers *peers, struct side *out)
{
    struct world w;
    struct param p[NORMS][4];
    struct batch_norm bn[NORMS];
    var *x[NORMS];
    if (!world_open(&w, 1, DT_F64, TAPE_TRAINING)) return false;
    tape_share(w.t, peers);
    for (int k = 0; k < NORMS; k++) {
        const double *start[] = {b->gain[k], b->bias[k], (double[]){0.5, 0, -1}, (double[]){1, 2, 3}};
        for (int i = 0; i < 4; i++) {
            var *v = world_leaf(&w, DIMS(C), start[i]);
            EXPECT_OK(w.dev->zero(w.dev, v->grad.data, tensor_bytes(&v->grad)));
            p[k][i] = (struct param){.name = "norm", .value = v->value, .grad = v->grad, .trained = i < 2};
        }
        bn[k] = (struct batch_norm){&p[k][0], &p[k][1], &p[k][2], &p[k][3], 0.1, epsilon_of(k)};
        x[k] = world_leaf(&w, DIMS(to - from, C), b->x[k][from]);
    }
    var *y = op_norm_act_pool(w.t, x[0], &bn[0], x[1], &bn[1], &(struct norm_act){slope, false, true, 0});
    bool read = y && world_read(&w, &y->value, out->y) && world_back(&w, y, b->dy[from]) == OK;
    for (int k = 0; k < NORMS && read; k++) {
        read = world_read(&w, &x[k]->grad, out->dx[k]) && world_read(&w, &p[k][0].grad, out->dgain[k]) &&
               world_read(&w, &p[k][1].grad, out->dbias[k]);
        for (int i = 0; i < 2 && read; i++) read = world_read(&w, &p[k][2 + i].value, out->running[k][i]);
    }
    EXPECT_OK(tape_status(w.t));
    world_close(&w);
    return read;
}

TEST(norms_over_processes_are_those_of_the_whole_batch)
{
    struct random r = test_random();
    static struct batch b;
    static struct side whole, part;
    double dgain[NORMS][C] = {{0}}, dbias[NORMS][C] = {{0}};
    if (test_is_for_cpu()) return;
    for (size_t i = 0; i < sizeof b.x / sizeof(double); i++) (&b.x[0][0][0])[i] = 1 + random_normal(&r);
    for (size_t i = 0; i < ROWS * C; i++) b.dy[i / C][i % C] = random_normal(&r);
    for (size_t i = 0; i < NORMS * C; i++) {
        b.gain[i / C][i % C] = 0.5 + random_unit(&r);
        b.bias[i / C][i % C] = random_normal(&r);
    }
    for (int k = 0; k < NORMS; k++) statistics(&b, k, 0, ROWS, b.mean[k], b.variance[k]);
    REQUIRE(run(&b, 0, ROWS, NULL, &whole));
    for (int rank = 0; rank < RANKS; rank++) {
        struct fake f = {.p = {.rank = rank, .size = RANKS, .gather = fake_gather}, .b = &b};
        const size_t at = first[rank] * C, n = (first[rank + 1] - first[rank]) * C;
        REQUIRE(run(&b, first[rank], first[rank + 1], &f.p, &part));
        EXPECT_INT(f.calls, 4);
        for (size_t i = 0; i < n; i++) EXPECT_NEAR(part.y[i], whole.y[at + i], 1e-12);
        for (int k = 0; k < NORMS; k++) {
            for (size_t i = 0; i < n; i++) EXPECT_NEAR(part.dx[k][i], whole.dx[k][at + i], 1e-11);
            for (size_t c = 0; c < C; c++) {
                dgain[k][c] += part.dgain[k][c];
                dbias[k][c] += part.dbias[k][c];
                EXPECT_NEAR(part.running[k][0][c], whole.running[k][0][c], 1e-13);
                EXPECT_NEAR(part.running[k][1][c], whole.running[k][1][c], 1e-13);
            }
        }
    }
    for (int k = 0; k < NORMS; k++)
        for (size_t c = 0; c < C; c++) {
            EXPECT_NEAR(dgain[k][c], whole.dgain[k][c], 1e-11);
            EXPECT_NEAR(dbias[k][c], whole.dbias[k][c], 1e-11);
        }
}
