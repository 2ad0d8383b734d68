/* threads.c - ops on shapes large enough to be cut into pieces: the bits do not depend on the number of threads. */
#include "tests/ops/world.h"
#include "tests/test.h"
#include <stdlib.h>

enum { ROWS = 300, WIDE = 640, WAY = 5 };

static var *noise(struct world *w, struct random *r, int rank, const size_t *dim)
{
    size_t n = 1;
    for (int i = 0; i < rank; i++) n *= dim[i];
    double *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = random_unit(r) - 0.5;
    var *v = x ? world_leaf(w, rank, dim, x) : NULL;
    free(x);
    return v;
}

/* A loss through every op that the heads lean on; leaves: a [300, 640], b [640, 640], maps [300, 64, 10, 10]. */
static var *long_loss(struct world *w, var *const *leaf)
{
    tape *t = w->t;
    int32_t labels[ROWS];
    for (int i = 0; i < ROWS; i++) labels[i] = i % WAY;
    const tensor *l = op_labels(t, labels, ROWS, WAY);
    var *pooled = op_reshape(t, op_adaptive_pool(t, op_relu(t, leaf[2]), 5, 2), DIMS(ROWS, WIDE));
    var *h = op_softmax(t, op_matmul(t, op_add(t, leaf[0], pooled), false, leaf[1], true), -1);
    h = op_l2norm(t, op_mul(t, h, op_exp(t, op_mean(t, leaf[0], 1, KEEP_AXES))), 1);
    var *gram = op_affine(t, op_matmul(t, leaf[1], true, leaf[1], false), 0.01, 0);
    h = op_add(t, h, op_permute(t, op_solve(t, gram, op_permute(t, leaf[0], (int[]){1, 0})), (int[]){1, 0}));
    var *mean = op_class_mean(t, op_gather(t, h, 0, l), op_labels(t, labels, ROWS, WAY), WAY);
    var *scores = op_affine(t, op_sqdist(t, h, mean), -1, 0);
    scores = op_add(t, scores, op_sum(t, op_top_k(t, op_cosine(t, h, leaf[1]), 1, 3, NULL), 2, KEEP_AXES));
    return op_nll(t, op_log_softmax(t, scores, 1), l);
}

/* The bytes of loss and gradients; NULL after a failure. */
static unsigned char *run(size_t threads, size_t *bytes)
{
    struct world w;
    struct random r = test_random();
    unsigned char *out = NULL;
    if (!world_open(&w, threads, DT_F32, TAPE_TRAINING)) return NULL;
    var *leaf[3] = {noise(&w, &r, DIMS(ROWS, WIDE)), noise(&w, &r, DIMS(WIDE, WIDE)),
                    noise(&w, &r, DIMS(ROWS, 64, 10, 10))};
    var *loss = long_loss(&w, leaf);
    EXPECT_OK(loss ? tape_backward(w.t, loss) : tape_status(w.t));
    if (tape_status(w.t) == OK) {
        const tensor *parts[] = {&loss->value, &leaf[0]->grad, &leaf[1]->grad, &leaf[2]->grad};
        *bytes = 0;
        for (int i = 0; i < 4; i++) *bytes += tensor_bytes(parts[i]);
        out = malloc(*bytes);
        for (size_t i = 0, at = 0; out && i < 4; at += tensor_bytes(parts[i++]))
            EXPECT_OK(w.dev->download(w.dev, out + at, parts[i]->data, tensor_bytes(parts[i])));
    }
    world_close(&w);
    return out;
}

TEST(bits_do_not_depend_on_the_number_of_threads)
{
    size_t bytes = 0, other = 0;
    unsigned char *one = run(1, &bytes);
    REQUIRE(one);
    float loss;
    memcpy(&loss, one, sizeof loss);
    EXPECT(isfinite(loss));
    for (size_t threads = 2; threads <= 3; threads++) {
        unsigned char *many = run(threads, &other);
        EXPECT(many && other == bytes && !memcmp(one, many, bytes));
        free(many);
    }
    free(one);
}
