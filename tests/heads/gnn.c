/* gnn.c - the graph network beside a plain reading of its definition, node by node and pair by pair. */
#include "tests/heads/rig.h"
#include "tests/heads/stage.h"
#include "tests/test.h"
#include <stdio.h>

enum { WAY_MOST = 5, ROWS = 64, WIDE = 96, LOOKS = 3, NQ = 3, RQ = 2, RS = 2 };

struct rows { /* [n, c] */
    size_t n, c;
    double at[ROWS][WIDE];
};

static struct stage s; /* whose parameters the plain one reads */

static size_t read_param(const char *layer, const char *what, double *out)
{
    char name[64];
    snprintf(name, sizeof name, "head.%s.%s", layer, what);
    const struct param *p = params_find(s.p, name);
    if (p && world_read(&s.w, &p->value, out)) return p->value.dim[0];
    test_failed(__FILE__, __LINE__, "%s cannot be read", name);
    return 0;
}

/* y = x w^T */
static void multiply(struct rows *x, const char *layer)
{
    static double w[WIDE * WIDE];
    static struct rows y;
    y = (struct rows){.n = x->n, .c = read_param(layer, "weight", w)};
    for (size_t i = 0; i < x->n; i++)
        for (size_t o = 0; o < y.c; o++)
            for (size_t k = 0; k < x->c; k++) y.at[i][o] += w[o * x->c + k] * x->at[i][k];
    *x = y;
}

/* Each column to mean 0 and variance 1 over the rows of the graph, then gain, shift and activation. */
static void normalise(struct rows *x, const char *layer, double slope)
{
    double gain[WIDE], shift[WIDE];
    read_param(layer, "gain", gain);
    read_param(layer, "shift", shift);
    for (size_t k = 0; k < x->c; k++) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < x->n; i++) mean += x->at[i][k] / (double)x->n;
        for (size_t i = 0; i < x->n; i++) variance += pow(x->at[i][k] - mean, 2) / (double)x->n;
        for (size_t i = 0; i < x->n; i++) {
            const double y = (x->at[i][k] - mean) / sqrt(variance + 1e-5) * gain[k] + shift[k];
            x->at[i][k] = y > 0 ? y : slope * y;
        }
    }
}

/* Beside each node what it sees of the others. */
static void look(struct rows *x, int number)
{
    static struct rows pairs, seen;
    char layer[16];
    double bias;
    pairs = (struct rows){.n = x->n * x->n, .c = x->c};
    for (size_t i = 0; i < pairs.n; i++)
        for (size_t k = 0; k < x->c; k++) pairs.at[i][k] = fabs(x->at[i / x->n][k] - x->at[i % x->n][k]);
    for (int l = 0; l < 5; l++) {
        snprintf(layer, sizeof layer, "edge%d.%d", number, l);
        multiply(&pairs, layer);
        if (l < 4) normalise(&pairs, layer, 0.01);
    }
    read_param(layer, "bias", &bias);
    seen = (struct rows){.n = x->n, .c = 2 * x->c};
    for (size_t i = 0; i < x->n; i++) {
        double sum = 0;
        for (size_t j = 0; j < x->n; j++) sum += i == j ? 0 : exp(pairs.at[i * x->n + j][0] + bias);
        for (size_t k = 0; k < x->c; k++) {
            seen.at[i][k] = x->at[i][k];
            for (size_t j = 0; j < x->n; j++)
                if (i != j) seen.at[i][x->c + k] += exp(pairs.at[i * x->n + j][0] + bias) / sum * x->at[j][k];
        }
    }
    *x = seen;
}

static double pooled(const double *map, size_t locations)
{
    double sum = 0;
    for (size_t l = 0; l < locations; l++) sum += map[l] / (double)locations;
    return sum;
}

/* Shots by class, then the query, after the first layer and with their labels. */
static void nodes(const struct play *p, size_t q, struct rows *x)
{
    int32_t label[ROWS];
    *x = (struct rows){.c = p->channels};
    for (int32_t c = 0; c < (int32_t)p->way; c++)
        for (size_t i = 0; i < p->ns; i++) {
            if (p->support_labels[i] != c) continue;
            for (size_t k = 0; k < p->channels; k++)
                x->at[x->n][k] = pooled(p->support + (i * p->channels + k) * RS, RS);
            label[x->n++] = c;
        }
    for (size_t k = 0; k < p->channels; k++) x->at[x->n][k] = pooled(p->query + (q * p->channels + k) * RQ, RQ);
    label[x->n++] = -1;
    multiply(x, "enter");
    normalise(x, "enter", 1);
    for (size_t i = 0; i < x->n; i++)
        for (int32_t c = 0; c < WAY_MOST; c++) x->at[i][x->c + (size_t)c] = label[i] == c;
    x->c += WAY_MOST;
}

static void plain_scores(const struct play *p, size_t q, double *scores)
{
    static struct rows x, seen;
    double bias[WAY_MOST];
    nodes(p, q, &x);
    for (int i = 0; i < LOOKS; i++) {
        char layer[16];
        seen = x;
        look(&seen, i);
        snprintf(layer, sizeof layer, "grow%d", i);
        if (i == LOOKS - 1) break;
        multiply(&seen, layer);
        normalise(&seen, layer, 0.01);
        for (size_t n = 0; n < x.n; n++) memcpy(x.at[n] + x.c, seen.at[n], seen.c * sizeof(double));
        x.c += seen.c;
    }
    multiply(&seen, "last");
    read_param("last", "bias", bias);
    for (size_t c = 0; c < p->way; c++) scores[c] = seen.at[seen.n - 1][c] + bias[c];
}

static void compare(size_t way, const size_t *shots, size_t channels, struct random *r)
{
    static struct play p;
    static struct outcome out;
    double wanted[NQ * WAY_MOST], loss = 0;
    REQUIRE(stage_open(&s, "gnn", DT_F64, 1, channels));
    play_random(&p, &s, r, way, shots, channels, RS, NQ, RQ);
    if (stage_run(&s, &p, TAPE_TRAINING, &out)) {
        for (size_t q = 0; q < NQ; q++) {
            double sum = 0;
            plain_scores(&p, q, wanted + q * way);
            for (size_t c = 0; c < way; c++) sum += exp(wanted[q * way + c]);
            loss += (log(sum) - wanted[q * way + (size_t)p.query_labels[q]]) / NQ;
        }
        EXPECT_ALL_NEAR(out.scores, wanted, NQ * way, 1e-9);
        EXPECT_NEAR(out.loss, loss, 1e-9);
    }
    stage_close(&s);
}

TEST(gnn_scores_as_its_definition_says)
{
    struct random r = test_random();
    compare(2, (size_t[]){1, 2}, 4, &r);
    compare(3, (size_t[]){2, 1, 1}, 3, &r);
    compare(5, (size_t[]){1, 1, 1, 1, 1}, 2, &r);
    compare(1, (size_t[]){2}, 5, &r);
}
