/* answer_pack.c - a session's classes as a support pack, out and in. */
#include "serve/routes.h"

void route_pack_save(struct service *s, struct request *r)
{
    const struct tab *t = service_tab(s, r);
    unsigned char *bytes = NULL;
    size_t count = 0;
    if (!t) return;
    if (!centra_support_class_count(t->support)) {
        reply_error(&r->reply, HTTP_UNPROCESSABLE, "there are no classes to save");
        return;
    }
    const centra_status st = centra_support_write(t->support, &bytes, &count);
    if (st == CENTRA_OK) {
        r->reply.code = HTTP_OK;
        r->reply.type = "application/octet-stream";
        r->reply.file = "centra-classes.pack";
        text_add_bytes(&r->reply.body, bytes, count);
        if (text_status(&r->reply.body) != OK) reply_error(&r->reply, HTTP_BUSY, "%s", error_text());
    } else {
        reply_failure(&r->reply, st);
    }
    centra_free(bytes);
}

/* Whether a pack's classes are within the limits and have names that this server takes; false after an answer. */
static bool within_limits(const struct service *s, struct request *r, const centra_support *support)
{
    const char *name;
    size_t pictures, classes = centra_support_class_count(support);
    if (classes > s->limits.classes) {
        reply_error(&r->reply, HTTP_TOO_LARGE, "the pack has %zu classes; %zu are the most", classes,
                    s->limits.classes);
        return false;
    }
    for (size_t i = 0; centra_support_class(support, i, &name, &pictures) == CENTRA_OK; i++) {
        if (!name_is_fine(name))
            reply_error(&r->reply, HTTP_UNPROCESSABLE, "the pack's class '%.100s' has a name that is not allowed here",
                        name);
        else if (pictures > s->limits.pictures)
            reply_error(&r->reply, HTTP_TOO_LARGE, "the pack's class '%s' has %zu pictures; %zu are the most", name,
                        pictures, s->limits.pictures);
        else continue;
        return false;
    }
    return true;
}

void route_pack_load(struct service *s, struct request *r)
{
    struct tab *t = service_tab(s, r);
    centra_support *support = NULL;
    if (!t) return;
    const centra_status st = centra_support_parse(s->model, "the pack", (const unsigned char *)text_string(&r->body),
                                                  r->body.length, &support);
    if (st != CENTRA_OK) {
        reply_failure(&r->reply, st);
    } else if (within_limits(s, r, support)) {
        tab_replace(t, support);
        reply_state(r, HTTP_OK, t);
        support = NULL;
    }
    centra_support_free(support);
}
