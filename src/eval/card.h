/* card.h - what a file of weights says about its model, so that it can be used without its recipe.
 *
 * Keys of the file's metadata and their values:
 *
 *     backbone   conv4                                   the network
 *     head       mcl-katz                                the head it was trained with; absent: none
 *     options    net.width=64 head.gamma=20 head.beta=10  of both, all of them
 *     extractor  grid-3,2                                what is taken of its maps; absent: map
 *     input      84                                      the side of its pictures
 *     pad        8                                       beyond the side before cropping
 *     transform  resize-crop                             how a picture becomes that (methods 6.2)
 *     mean, std  0.49 0.48 0.45                          of values / 255 */
#ifndef EVAL_CARD_H
#define EVAL_CARD_H
#include "base/arena.h"
#include "eval/model.h"
#include "image/transform.h"

enum { CARD_LINES = 9 };
extern const char *const card_transforms[]; /* by enum transform_kind, NULL behind the last */

struct card_line {
    const char *key;
    text value; /* owned */
};
/* Free with card_free, also after a failure. A model without a head has an empty "head". */
status card_write(const struct model *m, const struct transform *t, struct card_line out[CARD_LINES]);
void card_free(struct card_line lines[CARD_LINES]);

/* All that decides what features a file's weights give, in one line: how a picture becomes an input, extractor, network and
 * its options. */
void card_add_setup(const struct net *net, const void *net_settings, const struct extractor *e,
                    const struct transform *t, text *to);

/* The text of a key, or NULL. */
typedef const char *(*card_lookup)(void *context, const char *key);

/* What the metadata says; texts are the lookup's. Missing keys leave what was there before. */
struct card {
    const char *backbone, *head, *options, *extractor;
    struct transform transform;
};
/* `file` stands in messages. */
status card_read(const char *file, card_lookup get, void *context, struct card *inout);
/* Sets the options that begin with `prefix` ("net." or "head."); their texts live in `memory`. */
status card_options(const struct card *c, const char *prefix, const struct option *table, void *settings,
                    arena *memory);
#endif
