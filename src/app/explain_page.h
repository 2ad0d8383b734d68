/* explain_page.h - explanations as one HTML page: what was guessed, how sure, and where query and known pictures met.
 */
#ifndef APP_EXPLAIN_PAGE_H
#define APP_EXPLAIN_PAGE_H
#include "base/status.h"
#include "base/text.h"
#include "centra.h"
#include <stdbool.h>

struct explained {
    const char *file; /* of the query */
    const centra_explanation *e;
    const centra_support *support;
    size_t top;   /* classes to show pictures of */
    bool unknown; /* it is none of them */
};

/* The head of the page. `head` NULL: the model's own. */
status explain_page_begin(text *page, const centra_model *model, const char *head, const centra_support *support);
/* A section. The page ends with page_end. */
status explain_page_add(text *page, const struct explained *x);
#endif
