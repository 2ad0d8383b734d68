/* service.h - what the answers to requests are made from: the model at work, the sessions, the limits.
 *
 * Handlers of routes get it. Those that are queued run in the worker's thread and have it to themselves; those that answer
 * at once run in the connections' thread and may only read the model, the limits and the counts. */
#ifndef SERVE_SERVICE_H
#define SERVE_SERVICE_H
#include "base/json.h"
#include "serve/limits.h"
#include "serve/request.h"
#include "serve/tabs.h"
#include "serve/worker.h"
#include <stdatomic.h>

struct service {
    const centra_model *model;
    centra_classifier *classifier;
    struct limits limits;
    double unknown_below;      /* familiarity under which a picture is none of the classes */
    const unsigned char *pack; /* classes of a new session; NULL: none */
    size_t pack_bytes;
    struct tabs tabs;
    struct worker *worker;
    atomic_size_t sessions; /* tabs.count for those who may not look there */
    atomic_size_t answered; /* requests so far */
};

typedef void route_handler(struct service *s, struct request *r);

/* The session that the path names, or NULL after an answer that says so. */
struct tab *service_tab(struct service *s, struct request *r);
/* An argument that must be there and must be a name: UTF-8 without control characters and slashes, not blank, not long. NULL
 * after an answer that says so. */
const char *service_name(struct request *r, const char *argument);
/* Whether a text would do as a name. */
bool name_is_fine(const char *name);
/* The index of the class that argument `class` names; false after an answer that says so. */
bool service_class(struct request *r, const struct tab *t, size_t *index, size_t *pictures);
/* What the request sent as a picture, decoded, within the limits; free with centra_picture_free. False after an answer that
 * says why not. */
bool service_picture(const struct service *s, struct request *r, const char *name, const char *data, size_t bytes,
                     centra_picture *out);

/* An answer of JSON: begins it; the caller writes one value; reply_json_end checks. */
void reply_json(struct request *r, unsigned code, struct json_writer *w);
void reply_json_end(struct request *r);
/* A number with six digits behind the point: more say nothing. Not finite becomes null. */
void reply_number(struct json_writer *w, double v);
/* The name of a class by its index. */
const char *tab_class(const struct tab *t, size_t index);
/* The members "explanation" and, where there is none, "explanationError". */
void write_explanation(struct json_writer *w, const struct service *s, const struct tab *t, const centra_picture *p);
/* Classes and pictures of the session, as an answer. */
void reply_state(struct request *r, unsigned code, const struct tab *t);
#endif
