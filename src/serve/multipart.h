/* multipart.h - the files of a multipart/form-data body (RFC 7578), as browsers and curl -F send them. The body is whole and
 * stays where it is: parts point into it. */
#ifndef SERVE_MULTIPART_H
#define SERVE_MULTIPART_H
#include "base/status.h"
#include <stddef.h>

enum { PART_NAME_BYTES = 128, MOST_PARTS = 256 };

struct part {
    char name[PART_NAME_BYTES]; /* of the file, cut to fit; "" where it has none */
    const char *data;
    size_t bytes;
};

/* `type` is the Content-Type header. Fills `parts` with up to `most` parts and counts them; ST_FORMAT when the body is not what
 * the header says, ST_VALUE with more parts. */
status multipart_parse(const char *type, const char *body, size_t bytes, struct part *parts, size_t most,
                       size_t *count);
#endif
