/* page.h - HTML pages that open anywhere: one file, no scripts, nothing loaded from elsewhere, light and dark.
 *
 * A page is a text between page_begin and page_end. Whatever comes from outside goes through html_add. */
#ifndef BASE_PAGE_H
#define BASE_PAGE_H
#include "base/text.h"
#include <stddef.h>

void page_begin(text *to, const char *title); /* up to and with the heading */
/* The same with further rules behind the style that all pages share. */
void page_begin_styled(text *to, const char *title, const char *rules);
void page_end(text *to);
/* `s` with &, <, >, quotes and control characters made harmless, for text and for attributes. */
void html_add(text *to, const char *s);
/* A number with what it is; tiles stand in a <div class="tiles">. */
void page_tile(text *to, const text *value, const char *what);
/* A PNG file as part of the page. */
void page_picture(text *to, const unsigned char *png, size_t bytes, const char *alt);
/* The page as a file, replaced whole. */
status page_write(const text *page, const char *path);
#endif
