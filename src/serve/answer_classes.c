/* answer_classes.c - sessions, their classes and the pictures in them. */
#include "base/clock.h"
#include "base/option.h"
#include "serve/multipart.h"
#include "serve/routes.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void route_session_new(struct service *s, struct request *r)
{
    centra_support *support = NULL;
    struct tab *t = NULL;
    const centra_status st = s->pack ? centra_support_parse(s->model, "--support", s->pack, s->pack_bytes, &support)
                                     : centra_support_new(s->model, &support);
    if (st != CENTRA_OK) {
        reply_failure(&r->reply, st);
        return;
    }
    if (tabs_add(&s->tabs, support, clock_ns(), &t) != OK) {
        centra_support_free(support);
        reply_error(&r->reply, HTTP_BUSY, "%s", error_text());
        return;
    }
    reply_state(r, HTTP_CREATED, t);
}

void route_session_end(struct service *s, struct request *r)
{
    struct json_writer w;
    struct tab *t = service_tab(s, r);
    if (!t) return;
    tabs_remove(&s->tabs, t);
    reply_json(r, HTTP_OK, &w);
    json_object(&w);
    json_object_end(&w);
    reply_json_end(r);
}

void route_state(struct service *s, struct request *r)
{
    const struct tab *t = service_tab(s, r);
    if (t) reply_state(r, HTTP_OK, t);
}

/* Pictures of the class; 0 where it does not exist. */
static size_t pictures_of(const struct tab *t, const char *class_name)
{
    const char *name;
    size_t n;
    for (size_t i = 0; centra_support_class(t->support, i, &name, &n) == CENTRA_OK; i++)
        if (!strcmp(name, class_name)) return n;
    return 0;
}

/* Whether so many pictures more are within the limits; false after an answer. */
static bool have_room(const struct service *s, struct request *r, const struct tab *t, const char *class_name,
                      size_t more)
{
    const size_t there = pictures_of(t, class_name);
    if (!there && centra_support_class_count(t->support) >= s->limits.classes)
        reply_error(&r->reply, HTTP_CONFLICT, "there are %zu classes; no more are allowed", s->limits.classes);
    else if (there + more > s->limits.pictures)
        reply_error(&r->reply, HTTP_CONFLICT, "class '%s' has %zu pictures and would get %zu more; %zu are the most",
                    class_name, there, more, s->limits.pictures);
    else return true;
    return false;
}

/* One at a time, because decoded pictures are large. */
static bool add_part(struct service *s, struct request *r, struct tab *t, const char *class_name, const struct part *p)
{
    const char *name = p->name[0] ? p->name : "picture";
    centra_picture picture = {0};
    if (!service_picture(s, r, name, p->data, p->bytes, &picture)) return false;
    const centra_known known = {class_name, name, &picture};
    const centra_status st = centra_support_add(t->support, s->classifier, &known, 1);
    if (st != CENTRA_OK) reply_failure(&r->reply, st);
    centra_picture_free(&picture);
    return st == CENTRA_OK;
}

/* All or none. */
static void add_parts(struct service *s, struct request *r, struct tab *t, const struct part *parts, size_t count)
{
    const char *class_name = service_name(r, "class");
    if (!class_name || !have_room(s, r, t, class_name, count)) return;
    const size_t before = pictures_of(t, class_name);
    for (size_t i = 0; i < count; i++) {
        if (add_part(s, r, t, class_name, &parts[i])) continue;
        while (i-- > 0) centra_support_remove(t->support, class_name, before + i);
        return;
    }
    reply_state(r, HTTP_OK, t);
}

static bool is_multipart(const char *type) { return type && !strncasecmp(type, "multipart/form-data", 19); }

/* The body as one picture, called as the argument `name` says. */
static size_t take_whole(struct request *r, struct part *part)
{
    const char *name = request_argument(r, "name");
    if (name && *name && !(name = service_name(r, "name"))) return 0;
    strncpy(part->name, name ? name : "", sizeof part->name - 1);
    part->data = text_string(&r->body);
    part->bytes = r->body.length;
    return 1;
}

void route_add(struct service *s, struct request *r)
{
    struct tab *t = service_tab(s, r);
    size_t count = 0;
    if (!t) return;
    struct part *parts = calloc(MOST_PARTS, sizeof *parts);
    if (!parts) {
        reply_error(&r->reply, HTTP_BUSY, "no memory for the request");
        return;
    }
    if (!is_multipart(r->content_type)) {
        count = take_whole(r, parts);
    } else if (multipart_parse(r->content_type, text_string(&r->body), r->body.length, parts, MOST_PARTS, &count) !=
               OK) {
        reply_error(&r->reply, HTTP_BAD_REQUEST, "%s", error_text());
        count = 0;
    } else if (!count) {
        reply_error(&r->reply, HTTP_BAD_REQUEST, "the body has no picture");
    }
    if (count) add_parts(s, r, t, parts, count);
    free(parts);
}

/* The picture that the arguments name; false after an answer. */
static bool find_picture(struct request *r, const struct tab *t, size_t *class_index, size_t *picture)
{
    const char *given = request_argument(r, "picture");
    size_t pictures;
    int64_t n;
    if (!service_class(r, t, class_index, &pictures)) return false;
    if (!given || !integer_parse(given, &n) || n < 0) {
        reply_error(&r->reply, HTTP_BAD_REQUEST, "the argument 'picture' must be the number of a picture, from 0");
        return false;
    }
    *picture = (size_t)n;
    if (*picture < pictures) return true;
    reply_error(&r->reply, HTTP_NOT_FOUND, "there is no picture %zu: the class has %zu", *picture, pictures);
    return false;
}

void route_show(struct service *s, struct request *r)
{
    const struct tab *t = service_tab(s, r);
    size_t class_index, picture, bytes = 0;
    unsigned char *png = NULL;
    centra_picture seen;
    if (!t || !find_picture(r, t, &class_index, &picture)) return;
    centra_status st = centra_support_picture(t->support, class_index, picture, NULL, &seen);
    if (st == CENTRA_OK) st = centra_picture_png(&seen, &png, &bytes);
    if (st == CENTRA_OK) {
        r->reply.code = HTTP_OK;
        r->reply.type = "image/png";
        text_add_bytes(&r->reply.body, png, bytes);
    } else {
        reply_failure(&r->reply, st);
    }
    centra_free(png);
}

/* After a change: the new state, or why there was none. */
static void changed(struct request *r, struct tab *t, centra_status st)
{
    if (st != CENTRA_OK) {
        reply_failure(&r->reply, st);
        return;
    }
    reply_state(r, HTTP_OK, t);
}

void route_drop(struct service *s, struct request *r)
{
    struct tab *t = service_tab(s, r);
    size_t class_index, picture;
    if (!t || !find_picture(r, t, &class_index, &picture)) return;
    changed(r, t, centra_support_remove(t->support, request_argument(r, "class"), picture));
}

void route_drop_class(struct service *s, struct request *r)
{
    struct tab *t = service_tab(s, r);
    size_t class_index, pictures;
    if (!t || !service_class(r, t, &class_index, &pictures)) return;
    changed(r, t, centra_support_remove(t->support, request_argument(r, "class"), SIZE_MAX));
}

void route_rename(struct service *s, struct request *r)
{
    struct tab *t = service_tab(s, r);
    const char *to;
    size_t class_index, pictures;
    if (!t || !service_class(r, t, &class_index, &pictures) || !(to = service_name(r, "to"))) return;
    if (strcmp(to, request_argument(r, "class")) && pictures_of(t, to)) {
        reply_error(&r->reply, HTTP_CONFLICT, "there is a class '%s' already", to);
        return;
    }
    changed(r, t, centra_support_rename(t->support, request_argument(r, "class"), to));
}
