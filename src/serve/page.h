/* page.h - the files of the page, which the build makes part of the program (cmake/embed.cmake). */
#ifndef SERVE_PAGE_H
#define SERVE_PAGE_H
#include <stddef.h>

struct page_file {
    const char *path, *type; /* "/app.js", "text/javascript; charset=utf-8" */
    const unsigned char *bytes;
    size_t count;
};
/* Ends with a path of NULL. */
extern const struct page_file page_files[];
#endif
