/* optimiser.h - one step of learning: SGD with Nesterov momentum, SGD as torch has it, Adam (methods 7.5).
 *
 * State lies beside the parameters on their device and is saved with a checkpoint by name. All parameters form one
 * group; those that are not trained (running statistics) are left alone. */
#ifndef TRAIN_OPTIMISER_H
#define TRAIN_OPTIMISER_H
#include "tensor/params.h"

enum optimiser_kind { OPTIMISER_SGD, OPTIMISER_ADAM };

struct optimiser_settings {
    enum optimiser_kind kind;
    double decay;               /* added to the gradient as decay * value; SGD 5e-4, Adam 0 */
    double momentum, dampening; /* SGD: 0.9, 0; the first step has no dampening */
    bool nesterov;
    double beta1, beta2, epsilon; /* Adam: 0.5, 0.9, 1e-8 */
};

struct optimiser;
/* `p` is borrowed; nothing may be added to it afterwards. */
status optimiser_new(struct params *p, const struct optimiser_settings *s, struct optimiser **out);
void optimiser_free(struct optimiser *o);
/* Changes every trained value by its gradient. */
status optimiser_step(struct optimiser *o, double rate);
/* Steps taken so far; a checkpoint keeps them beside the state. */
uint64_t optimiser_steps(const struct optimiser *o);
void optimiser_set_steps(struct optimiser *o, uint64_t steps);
/* The state as named tensors ("momentum.NAME", "m.NAME", "v.NAME"), for checkpoints. */
struct params *optimiser_state(struct optimiser *o);
#endif
