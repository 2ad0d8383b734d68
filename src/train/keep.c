/* keep.c - writing the model that a run keeps. */
#include "train/keep.h"
#include "base/plain.h"
#include "train/arrays.h"
#include <inttypes.h>

enum { FACTS = 8 };

static size_t list_facts(const struct keep_facts *f, char number[4][NUMBER_BYTES], struct meta *out)
{
    size_t n = 0;
    plain_snprintf(number[0], NUMBER_BYTES, "%zu", f->classes);
    plain_snprintf(number[1], NUMBER_BYTES, "%" PRIu64, f->epochs);
    out[n++] = (struct meta){"centra.version", f->version ? f->version : ""};
    out[n++] = (struct meta){"recipe", f->recipe};
    out[n++] = (struct meta){"data", f->set ? f->set : ""};
    out[n++] = (struct meta){"data_fingerprint", f->fingerprint};
    out[n++] = (struct meta){"classes", number[0]};
    out[n++] = (struct meta){"epochs", number[1]};
    if (f->accuracy->count == 0) return n;
    number_text(100 * f->accuracy->mean, number[2]);
    number_text(100 * f->accuracy->half, number[3]);
    out[n++] = (struct meta){"accuracy", number[2]}; /* percent */
    out[n++] = (struct meta){"ci95", number[3]};
    return n;
}

status keep_model(const char *path, const struct model *m, const struct transform *t, const struct keep_facts *f)
{
    status st = OK;
    struct arrays a = {0};
    struct card_line card[CARD_LINES] = {0};
    struct meta meta[CARD_LINES + FACTS];
    char number[4][NUMBER_BYTES];
    TRY(card_write(m, t, card));
    for (size_t i = 0; i < CARD_LINES; i++) meta[i] = (struct meta){card[i].key, text_string(&card[i].value)};
    const size_t facts = list_facts(f, number, meta + CARD_LINES);
    TRY(arrays_add(&a, "", m->params, "pre."));
    TRY(weights_write(path, a.count, a.item, CARD_LINES + facts, meta));
done:
    card_free(card);
    arrays_free(&a);
    return st;
}
