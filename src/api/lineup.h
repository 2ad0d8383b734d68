/* lineup.h - an encoder and the heads that are to be compared on it, as options and a file of weights say. */
#ifndef API_LINEUP_H
#define API_LINEUP_H
#include "api/session.h"
#include "base/log.h"
#include "eval/card.h"
#include "eval/evaluate.h"
#include "weights/weights.h"

struct lineup {
    arena *memory;          /* owned: texts of settings */
    struct weights *file;   /* owned; NULL: a random start */
    const char *path;       /* of it, in `memory`; or NULL */
    struct card card;       /* the file's texts */
    const char *extractor;  /* its name, in `memory` */
    struct model model;     /* owned: the encoder */
    struct contender *head; /* owned, with their settings and parameters */
    size_t heads;
};

/* Release with lineup_close, also after a failure. */
status lineup_open(centra_session *s, const centra_eval_options *o, const struct log_sink *log, struct lineup *out);
void lineup_close(struct lineup *l);
/* Gives back what lies on the device: names and settings stay, and the session may be closed. */
void lineup_leave(struct lineup *l);
#endif
