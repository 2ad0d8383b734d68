/* multipart.c - the files of a multipart/form-data body. */
#include "serve/multipart.h"
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { BOUNDARY_BYTES = 70 }; /* the most that RFC 2046 allows */

struct reader {
    const char *at, *end;
    char mark[BOUNDARY_BYTES + 5]; /* "\r\n--" and the boundary */
    size_t mark_bytes;
};

static const char *find(const char *from, const char *end, const char *what, size_t n)
{
    for (; (size_t)(end - from) >= n; from++) {
        from = memchr(from, what[0], (size_t)(end - from) - n + 1);
        if (!from) return NULL;
        if (!memcmp(from, what, n)) return from;
    }
    return NULL;
}

/* boundary=abc or boundary="abc" */
static bool take_boundary(const char *type, struct reader *r)
{
    static const char key[] = "boundary=";
    const char *b = type;
    while (*b && strncasecmp(b, key, sizeof key - 1)) b++;
    if (!*b) return false;
    b += sizeof key - 1;
    const bool quoted = *b == '"';
    b += quoted;
    const size_t n = strcspn(b, quoted ? "\"" : " ;,\t");
    if (n == 0 || n > BOUNDARY_BYTES) return false;
    memcpy(r->mark, "\r\n--", 4);
    memcpy(r->mark + 4, b, n);
    r->mark_bytes = n + 4;
    return true;
}

/* The file name in a part's headers, which reach up to `end`. Folders before it are left out, bytes that would break lines too. */
static void take_name(const char *at, const char *end, char name[PART_NAME_BYTES])
{
    static const char key[] = "filename=\"";
    const char *from = find(at, end, key, sizeof key - 1);
    size_t n = 0;
    name[0] = '\0';
    if (!from) return;
    for (from += sizeof key - 1; from < end && *from != '"'; from++) {
        if (*from == '/' || *from == '\\') n = 0;
        else if ((unsigned char)*from >= ' ' && n + 1 < PART_NAME_BYTES) name[n++] = *from;
    }
    name[n] = '\0';
}

static status broken(const char *what) { return fail(ST_FORMAT, "the multipart body is broken: %s", what); }

/* One part, from behind its boundary up to the next. */
static status take_part(struct reader *r, struct part *out)
{
    const char *data = find(r->at, r->end, "\r\n\r\n", 4);
    if (!data) return broken("a part's headers have no end");
    data += 4;
    /* a part without bytes: the blank line's end is the boundary's start */
    const char *next = find(data - 2, r->end, r->mark, r->mark_bytes);
    if (!next) return broken("a part has no end");
    take_name(r->at, data, out->name);
    out->data = data;
    out->bytes = next < data ? 0 : (size_t)(next - data);
    r->at = next + r->mark_bytes;
    return OK;
}

static bool next_is(const struct reader *r, const char *two) { return r->end - r->at >= 2 && !memcmp(r->at, two, 2); }

status multipart_parse(const char *type, const char *body, size_t bytes, struct part *parts, size_t most, size_t *count)
{
    struct reader r = {.at = body, .end = body + bytes};
    *count = 0;
    if (!take_boundary(type, &r)) return broken("its header names no boundary");
    if (bytes < r.mark_bytes - 2 || memcmp(body, r.mark + 2, r.mark_bytes - 2))
        return broken("it does not start with its boundary");
    r.at += r.mark_bytes - 2;
    while (!next_is(&r, "--")) {
        if (!next_is(&r, "\r\n")) return broken("a boundary is followed by something else than a line's end");
        if (*count == most) return fail(ST_VALUE, "the body has more than %zu parts", most);
        const status st = take_part(&r, &parts[*count]);
        if (st != OK) return st;
        ++*count;
    }
    return OK;
}
