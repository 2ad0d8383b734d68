/* session.h - what stands behind the handles of centra.h. */
#ifndef API_SESSION_H
#define API_SESSION_H
#include "base/pool.h"
#include "centra.h"
#include "heads/head.h"
#include "ops/tape.h"
#include "peers/peers.h"

struct centra_session {
    pool *threads;      /* owned */
    struct device *dev; /* owned */
    tape *tape;         /* owned */
    const char *isa;
    bool maths_given;    /* by whoever opened it; else training may choose */
    struct peers *peers; /* closed with the session; alone unless the caller wanted to be one of several */
};

struct centra_head {
    centra_session *session;
    const struct head *head;
    void *settings;               /* owned */
    struct weights *weights;      /* owned: the file to load parameters from; NULL: start values */
    struct params *params;        /* owned: made for channels and type; NULL: not made yet */
    size_t channels;              /* of the features that the parameters are for */
    dtype type;                   /* of the parameters */
    struct labels {               /* owned, grown on demand */
        int64_t *classes;         /* [way] sorted distinct support labels */
        int32_t *support, *query; /* labels as indices into classes */
        size_t capacity, way;
    } labels;
    struct base {       /* owned: what centra_head_base was given; classes 0: nothing */
        double *pooled; /* [first[classes], channels], sorted by class */
        size_t *first;  /* [classes + 1] */
        size_t classes, channels;
    } base;
};

/* How a call ended that the other processes take part in: a failure ends them all, since they would wait for us. */
status session_end(centra_session *s, status st);
/* Makes and loads the parameters, unless there are some for such features already. */
status head_ready(centra_head *h, size_t channels, dtype type);
/* Sorts and indexes the labels of an episode into head->labels. */
status labels_index(struct labels *l, const centra_episode *e);
void labels_free(struct labels *l);
/* The base pictures on the tape, of that type; *out NULL where there are none. `memory` holds what it points at. */
status base_show(const struct base *b, tape *t, dtype type, struct head_base *memory, const struct head_base **out);
void base_free(struct base *b);
#endif
