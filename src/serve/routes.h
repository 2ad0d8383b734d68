/* routes.h - which handler answers which method and path: the table of routes.def. */
#ifndef SERVE_ROUTES_H
#define SERVE_ROUTES_H
#include "serve/service.h"

enum route_time { NOW, QUEUED };
enum route_body { NO_BODY, BODY };

struct route {
    const char *method, *path;
    route_handler *handler;
    enum route_time when;
    enum route_body body;
    const char *arguments, *title;
};
extern const struct route route_table[];
extern const size_t route_count;

/* Sets the request's route and session; false after an answer of 404 or 405. HEAD is answered as GET. */
bool route_find(const char *method, const char *path, struct request *r);

#define ROUTE(method_, path_, name_, when_, body_, arguments_, title_) route_handler route_##name_;
#include "serve/routes.def"
#undef ROUTE
#endif
