/* answer_about.c - what needs no session: the page, the list of routes, health, the model. */
#include "serve/page.h"
#include "serve/routes.h"
#include <string.h>

void route_page(struct service *s, struct request *r)
{
    const char *path = r->route->path;
    (void)s;
    for (const struct page_file *f = page_files; f->path; f++) {
        if (strcmp(f->path, path)) continue;
        r->reply.code = HTTP_OK;
        r->reply.type = f->type;
        r->reply.fixed = f->bytes;
        r->reply.fixed_bytes = f->count;
        return;
    }
    reply_error(&r->reply, HTTP_NOT_FOUND, "this build has no '%s'", path);
}

void route_routes(struct service *s, struct request *r)
{
    struct json_writer w;
    (void)s;
    reply_json(r, HTTP_OK, &w);
    json_object(&w);
    json_key(&w, "routes"), json_array(&w);
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        json_object(&w);
        json_key(&w, "method"), json_string(&w, route->method);
        json_key(&w, "path"), json_string(&w, route->path);
        json_key(&w, "arguments"), json_string(&w, route->arguments);
        json_key(&w, "title"), json_string(&w, route->title);
        json_object_end(&w);
    }
    json_array_end(&w);
    json_object_end(&w);
    reply_json_end(r);
}

void route_health(struct service *s, struct request *r)
{
    struct json_writer w;
    reply_json(r, HTTP_OK, &w);
    json_object(&w);
    json_key(&w, "ok"), json_bool(&w, true);
    json_key(&w, "sessions"), json_int(&w, (int64_t)atomic_load(&s->sessions));
    json_key(&w, "waiting"), json_int(&w, (int64_t)worker_waiting(s->worker));
    json_key(&w, "answered"), json_int(&w, (int64_t)atomic_load(&s->answered));
    json_object_end(&w);
    reply_json_end(r);
}

static void write_limits(struct json_writer *w, const struct limits *l)
{
    json_object(w);
    json_key(w, "bodyBytes"), json_int(w, (int64_t)l->body_bytes);
    json_key(w, "pixels"), json_int(w, (int64_t)l->pixels);
    json_key(w, "classes"), json_int(w, (int64_t)l->classes);
    json_key(w, "pictures"), json_int(w, (int64_t)l->pictures);
    json_key(w, "sessions"), json_int(w, (int64_t)l->sessions);
    json_key(w, "idleSeconds"), json_real(w, l->idle);
    json_object_end(w);
}

void route_model(struct service *s, struct request *r)
{
    struct json_writer w;
    centra_model_info m;
    centra_model_describe(s->model, &m);
    reply_json(r, HTTP_OK, &w);
    json_object(&w);
    json_key(&w, "version"), json_string(&w, centra_version());
    json_key(&w, "name"), json_string(&w, m.name);
    json_key(&w, "backbone"), json_string(&w, m.backbone);
    json_key(&w, "head"), json_string(&w, m.head);
    json_key(&w, "extractor"), json_string(&w, m.extractor);
    json_key(&w, "side"), json_int(&w, (int64_t)m.side);
    json_key(&w, "fingerprint"), json_string(&w, m.fingerprint);
    json_key(&w, "data"), json_string(&w, m.data);
    json_key(&w, "accuracy"), json_string(&w, m.accuracy);
    json_key(&w, "unknownBelow"), json_real(&w, s->unknown_below);
    json_key(&w, "limits"), write_limits(&w, &s->limits);
    json_object_end(&w);
    reply_json_end(r);
}
