/* service.c - what the handlers of routes share: finding the session, the class and the picture that a request means. */
#include "serve/service.h"
#include "base/clock.h"
#include "base/option.h"
#include "base/utf8.h"
#include "serve/measure.h"
#include <math.h>
#include <string.h>

enum { NAME_MOST_BYTES = 100 };

struct tab *service_tab(struct service *s, struct request *r)
{
    struct tab *t = tabs_find(&s->tabs, r->session, clock_ns());
    if (!t) reply_error(&r->reply, HTTP_NOT_FOUND, "there is no such session: it was idle for long, or others came");
    return t;
}

bool name_is_fine(const char *name)
{
    const size_t n = strlen(name);
    bool ink = false;
    if (n > NAME_MOST_BYTES || !strcmp(name, ".") || !strcmp(name, "..")) return false;
    for (size_t i = 0, step; i < n; i += step) {
        step = utf8_length(name + i, n - i);
        const unsigned char c = (unsigned char)name[i];
        if (step == 0 || c < ' ' || c == 0x7f || c == '/' || c == '\\') return false;
        ink = ink || c != ' ';
    }
    return ink;
}

const char *service_name(struct request *r, const char *argument)
{
    const char *name = request_argument(r, argument);
    if (name && name_is_fine(name)) return name;
    if (!name) reply_error(&r->reply, HTTP_BAD_REQUEST, "the argument '%s' is missing", argument);
    else
        reply_error(&r->reply, HTTP_BAD_REQUEST,
                    "the argument '%s' is no name: it must have 1 to %d bytes of UTF-8, without slashes", argument,
                    NAME_MOST_BYTES);
    return NULL;
}

bool service_class(struct request *r, const struct tab *t, size_t *index, size_t *pictures)
{
    const char *wanted = service_name(r, "class"), *name;
    if (!wanted) return false;
    for (*index = 0; centra_support_class(t->support, *index, &name, pictures) == CENTRA_OK; ++*index)
        if (!strcmp(name, wanted)) return true;
    reply_error(&r->reply, HTTP_NOT_FOUND, "there is no class '%s'", wanted);
    return false;
}

bool service_picture(const struct service *s, struct request *r, const char *name, const char *data, size_t bytes,
                     centra_picture *out)
{
    const uint8_t *b = (const uint8_t *)data;
    uint64_t width, height;
    if (!bytes) {
        reply_error(&r->reply, HTTP_BAD_REQUEST, "'%s' is empty: a picture is expected", name);
        return false;
    }
    if (measure_picture(b, bytes, &width, &height) && width && height > s->limits.pixels / width) {
        reply_error(&r->reply, HTTP_TOO_LARGE, "'%s' has %ju x %ju pixels; %zu are the most", name, (uintmax_t)width,
                    (uintmax_t)height, s->limits.pixels);
        return false;
    }
    const centra_status st = centra_picture_parse(name, b, bytes, out);
    if (st != CENTRA_OK) reply_failure(&r->reply, st);
    return st == CENTRA_OK;
}

const char *tab_class(const struct tab *t, size_t index)
{
    const char *name = "";
    centra_support_class(t->support, index, &name, NULL);
    return name;
}

void reply_number(struct json_writer *w, double v) { json_real(w, round(v * 1e6) / 1e6); }

void reply_json(struct request *r, unsigned code, struct json_writer *w)
{
    r->reply.code = code;
    r->reply.type = "application/json";
    json_begin(w, &r->reply.body, false);
}

void reply_json_end(struct request *r)
{
    text_add(&r->reply.body, "\n");
    if (text_status(&r->reply.body) != OK) reply_error(&r->reply, HTTP_BUSY, "%s", error_text());
}

static void write_class(struct json_writer *w, const struct tab *t, size_t index, const char *name, size_t pictures)
{
    json_object(w);
    json_key(w, "name"), json_string(w, name);
    json_key(w, "pictures"), json_array(w);
    for (size_t i = 0; i < pictures; i++) {
        const char *called = "";
        if (centra_support_picture(t->support, index, i, &called, NULL) != CENTRA_OK) break;
        json_string(w, called);
    }
    json_array_end(w);
    json_object_end(w);
}

void reply_state(struct request *r, unsigned code, const struct tab *t)
{
    struct json_writer w;
    const char *name;
    size_t pictures;
    reply_json(r, code, &w);
    json_object(&w);
    json_key(&w, "session"), json_string(&w, t->id);
    json_key(&w, "results"), json_int(&w, (int64_t)t->result_count);
    json_key(&w, "classes"), json_array(&w);
    for (size_t i = 0; centra_support_class(t->support, i, &name, &pictures) == CENTRA_OK; i++)
        write_class(&w, t, i, name, pictures);
    json_array_end(&w);
    json_object_end(&w);
    reply_json_end(r);
}
