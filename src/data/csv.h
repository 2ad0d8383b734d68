/* csv.h - a strict reader of lists `filename,label`, as few-shot data sets ship them.
 *
 * RFC 4180 with LF or CRLF, an optional UTF-8 mark in front, words in quotes or without; a line break within
 * quotes is refused. The first line must have the two column names; others may stand beside them and are
 * passed over. */
#ifndef DATA_CSV_H
#define DATA_CSV_H
#include "base/status.h"
#include <stddef.h>

/* Called for each line in order; texts are valid during the call. */
typedef status (*csv_visit)(void *context, const char *filename, const char *label);
/* `name` stands in messages, with the line number. */
status csv_read(const char *name, const char *bytes, size_t n, csv_visit visit, void *context);
#endif
