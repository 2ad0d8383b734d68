/* norm_sync.c - batch norms whose batch lies on several processes: statistics of all of it, and the same gradient.
 *
 * With z the gradient behind the norm, x' what came in brought to mean 0 and variance 1, and N the numbers of a channel
 * in the whole batch, the way back is gain / sigma (z - sum z / N - x' sum(z x') / N). The device gives the first term and the
 * two sums, of which all processes give theirs; the rest is a batch norm of the same input with other gains. Everything
 * is added in the order of the ranks, in double. */
#include "base/size.h"
#include "ops/norm.h"
#include "ops/ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number_at(const tensor *x, const void *host, size_t i)
{
    return x->type == DT_F32 ? (double)((const float *)host)[i] : ((const double *)host)[i];
}

/* The numbers of a vector on the device, as double. */
static status fetch(struct node *n, const tensor *x, double *out)
{
    void *host;
    status st = tape_host(n->tape, tensor_bytes(x), &host);
    if (st == OK) st = n->dev->download(n->dev, host, x->data, tensor_bytes(x));
    for (size_t i = 0; i < tensor_count(x) && st == OK; i++) out[i] = number_at(x, host, i);
    return st;
}

static status put(struct node *n, const double *from, const tensor *x)
{
    void *host;
    status st = tape_host(n->tape, tensor_bytes(x), &host);
    for (size_t i = 0; i < tensor_count(x) && st == OK; i++) {
        if (x->type == DT_F32) ((float *)host)[i] = (float)from[i];
        else ((double *)host)[i] = from[i];
    }
    return st == OK ? n->dev->upload(n->dev, x->data, host, tensor_bytes(x)) : st;
}

/* `count` numbers of each process, [size, count]. */
static status gather(struct node *n, const double *mine, size_t count, double **all)
{
    struct peers *p = tape_peers(n->tape);
    const size_t size = (size_t)p->size;
    void *memory, *bytes;
    status st = OK;
    TRY(tape_host(n->tape, size * count * sizeof(double), &memory));
    TRY(tape_host(n->tape, size * sizeof(size_t), &bytes));
    for (size_t r = 0; r < size; r++) ((size_t *)bytes)[r] = count * sizeof(double);
    TRY(p->gather(p, bytes, mine, memory));
    *all = memory;
done:
    return st;
}

/* Mean and variance of channel c over all processes; all is [size, 2 * channels + 1], the last one numbers a channel. */
static void combine(const double *all, size_t size, size_t channels, size_t c, double *mean, double *variance)
{
    const size_t each = 2 * channels + 1;
    double total = 0, sum = 0, square = 0;
    for (size_t r = 0; r < size; r++) {
        total += all[r * each + 2 * channels];
        sum += all[r * each + 2 * channels] * all[r * each + c];
    }
    *mean = sum / total;
    for (size_t r = 0; r < size; r++) {
        const double away = all[r * each + c] - *mean;
        square += all[r * each + 2 * channels] * (all[r * each + channels + c] + away * away);
    }
    *variance = square / total;
}

status norm_sync_statistics(struct node *n, const tensor *x, tensor *mean, tensor *variance, double *total)
{
    const size_t channels = tensor_count(mean), each = 2 * channels + 1, size = (size_t)tape_peers(n->tape)->size;
    void *memory;
    double *mine, *all;
    status st = OK;
    TRY(tape_host(n->tape, each * sizeof(double), &memory));
    mine = memory;
    TRY(fetch(n, mean, mine));
    TRY(fetch(n, variance, mine + channels));
    mine[2 * channels] = (double)tensor_span(x, 0, x->rank - 1);
    TRY(gather(n, mine, each, &all));
    *total = 0;
    for (size_t r = 0; r < size; r++) *total += all[r * each + 2 * channels];
    for (size_t c = 0; c < channels; c++) combine(all, size, channels, c, &mine[c], &mine[channels + c]);
    TRY(put(n, mine, mean));
    TRY(put(n, mine + channels, variance));
done:
    return st;
}

/* gain and bias of the batch norm that is the rest of the gradient: -gain sum(z x') / (N sigma), -gain sum z / (N sigma). */
static status rest_of(struct node *n, const struct norm_input *in, const tensor *dgain, const tensor *dbias,
                      tensor *gain, tensor *bias)
{
    const size_t channels = tensor_count(dgain), each = 2 * channels + 1, size = (size_t)tape_peers(n->tape)->size;
    void *memory;
    double *mine, *all;
    status st = OK;
    TRY(tape_host(n->tape, (each + 2 * channels) * sizeof(double), &memory));
    mine = memory;
    double *old = mine + each, *variance = old + channels;
    TRY(fetch(n, dgain, mine));
    TRY(fetch(n, dbias, mine + channels));
    TRY(fetch(n, in->gain, old));
    TRY(fetch(n, in->variance, variance));
    mine[2 * channels] = (double)tensor_span(in->x, 0, in->x->rank - 1);
    TRY(gather(n, mine, each, &all));
    for (size_t i = 0; i < each; i++) {
        mine[i] = 0;
        for (size_t r = 0; r < size; r++) mine[i] += all[r * each + i];
    }
    for (size_t c = 0; c < channels; c++) {
        const double scale = -old[c] / (mine[2 * channels] * sqrt(variance[c] + in->epsilon));
        mine[c] *= scale;
        mine[channels + c] *= scale;
    }
    TRY(put(n, mine, gain));
    TRY(put(n, mine + channels, bias));
done:
    return st;
}

status norm_sync_gradient(struct node *n, const struct norm_input *in, const tensor *dgain, const tensor *dbias,
                          tensor *dx)
{
    const size_t channels = tensor_count(dgain);
    tensor gain, bias, rest;
    status st = OK;
    TRY(tape_tensor(n->tape, n->type, 1, &channels, &gain));
    TRY(tape_tensor(n->tape, n->type, 1, &channels, &bias));
    TRY(rest_of(n, in, dgain, dbias, &gain, &bias));
    if (!dx) goto done; /* the others wanted our sums all the same */
    TRY(tape_tensor(n->tape, n->type, in->x->rank, in->x->dim, &rest));
    TRY(N_PRIM(n, batch_norm, in->x, in->mean, in->variance, &gain, &bias, in->epsilon, &rest));
    TRY(N_PRIM(n, axpy, 1, &rest, dx));
done:
    return st;
}
