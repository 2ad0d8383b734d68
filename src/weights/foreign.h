/* foreign.h - files of other projects whose networks are ours under other names.
 *
 * Each is known by a few of its tensors. A converted file has our names, batch norms in their four parts, no classifier, and
 * the metadata that says what the network is and what it is shown (eval/card.h), so that it is a model like our own. */
#ifndef WEIGHTS_FOREIGN_H
#define WEIGHTS_FOREIGN_H
#include "weights/weights.h"

struct foreign {
    const char *name;     /* "torchvision mobilenet_v2" */
    const char *backbone; /* our network: "mobilenetv2" */
    const char *options;  /* of it, besides its width: "net.border=tensorflow" or "" */
    const char *mean, *std;
};

/* Which of the known files this is, by names and ranks of its tensors; NULL: none. */
const struct foreign *foreign_find(const struct weights *w);
/* All that are known; NULL behind the last. */
const struct foreign *foreign_at(size_t i);
/* The same weights as ours, in memory; `w` must stay open as long. Tensors that no rule knows keep their names, so that
 * loading lists them; those that are missing are not noticed here. */
status foreign_convert(const struct foreign *f, const struct weights *w, struct weights **out);
#endif
