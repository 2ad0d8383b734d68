/* routes.c - finds the handler of a request. */
#include "serve/routes.h"
#include <string.h>

#define ROUTE(method_, path_, name_, when_, body_, arguments_, title_) \
    {method_, path_, route_##name_, when_, body_, arguments_, title_},
const struct route route_table[] = {
#include "serve/routes.def"
};
#undef ROUTE
const size_t route_count = sizeof route_table / sizeof *route_table;

/* Whether the path is of that form; {id} stands for a session's id. */
static bool fits(const char *form, const char *path, char id[SESSION_ID_BYTES + 1])
{
    const char *hole = strstr(form, "{id}");
    if (!hole) return !strcmp(form, path);
    const size_t before = (size_t)(hole - form);
    if (strncmp(form, path, before)) return false;
    path += before;
    if (strspn(path, "0123456789abcdef") != SESSION_ID_BYTES) return false;
    if (strcmp(hole + strlen("{id}"), path + SESSION_ID_BYTES)) return false;
    memcpy(id, path, SESSION_ID_BYTES);
    id[SESSION_ID_BYTES] = '\0';
    return true;
}

/* Methods of a path, as an Allow header wants them. */
static const char *allowed(unsigned mask)
{
    static const char *const methods[] = {"",       "GET, HEAD",         "POST",         "GET, HEAD, POST",
                                          "DELETE", "GET, HEAD, DELETE", "POST, DELETE", "GET, HEAD, POST, DELETE"};
    return methods[mask & 7];
}

static unsigned method_bit(const char *method) { return *method == 'G' ? 1 : *method == 'P' ? 2 : 4; }

bool route_find(const char *method, const char *path, struct request *r)
{
    unsigned mask = 0;
    if (!strcmp(method, "HEAD")) method = "GET";
    for (size_t i = 0; i < route_count; i++) {
        if (!fits(route_table[i].path, path, r->session)) continue;
        mask |= method_bit(route_table[i].method);
        if (strcmp(route_table[i].method, method)) continue;
        r->route = &route_table[i];
        return true;
    }
    if (!mask)
        reply_error(&r->reply, HTTP_NOT_FOUND, "there is nothing at '%.100s'; GET /api lists what there is", path);
    else reply_error(&r->reply, HTTP_WRONG_METHOD, "'%.20s' is not for '%.100s'", method, path);
    if (mask) r->reply.allow = allowed(mask);
    return false;
}
