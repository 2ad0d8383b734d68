/* norm_fold.c - a batch norm with running statistics as scale and shift, for the ops that fold one into a convolution.
 *
 * Those of a frozen norm are kept beside its gain and made once. */
#include "base/size.h"
#include "ops/norm.h"
#include "ops/steps.h"

status norm_fold(struct node *n, int first, const struct norm_running *of, tensor *scale, tensor *shift)
{
    struct conv_ready *kept = n->in[first]->ready;
    const size_t bytes = size_round_up(tensor_bytes(scale), 256);
    status st = OK;
    if (kept && !kept->memory) st = n->dev->alloc(n->dev, 2 * bytes, &kept->memory);
    if (kept && st == OK) {
        scale->data = kept->memory;
        shift->data = (char *)kept->memory + bytes;
    }
    if (st != OK || (kept && kept->made)) return st;
    st = N_PRIM(n, batch_fold, &of->mean, &of->variance, &n->in[first]->value, &n->in[first + 1]->value, of->epsilon,
                scale, shift);
    if (kept) kept->made = st == OK;
    return st;
}

bool norm_folds(struct node *n, int first, const struct norm_running *of, size_t channels)
{
    if (tape_get_mode(n->tape) != TAPE_INFERENCE) {
        node_fail(n, ST_USAGE, "it has no way back; use an inference tape, or the convolution and norm_act_pool");
        return false;
    }
    const tensor *each[] = {&n->in[first]->value, &n->in[first + 1]->value, &of->mean, &of->variance};
    for (int i = 0; i < 4; i++) {
        if (each[i]->type == n->type && each[i]->rank == 1 && each[i]->dim[0] == channels) continue;
        node_fail(n, ST_SHAPE, "the norm does not have one number for each of %zu channels", channels);
        return false;
    }
    return true;
}

size_t norm_steps(struct steps *to, size_t x, const struct node *n, int first, const struct norm_running *of)
{
    const struct norm_input norm = {.mean = &of->mean,
                                    .variance = &of->variance,
                                    .gain = &n->in[first]->value,
                                    .bias = &n->in[first + 1]->value,
                                    .epsilon = of->epsilon};
    return steps_norm(to, x, &norm);
}
