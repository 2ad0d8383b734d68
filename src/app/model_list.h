/* model_list.h - the models that there are, as a table, as JSON, or by their names: what centra models list and centra list
 * models show. */
#ifndef APP_MODEL_LIST_H
#define APP_MODEL_LIST_H
#include "app/command.h"
#include "base/json.h"

/* A model that cannot be read is told on standard error and left out. */
status model_list(const struct call *c);
/* Only the names, one a line. */
status model_names(void);

/* The text of a model's note, or "". */
const char *model_note(const centra_model *m, const char *key);
/* The note on its licence, however that is spelt. */
const char *model_licence(const centra_model *m);
/* The members of a model's JSON object; the object is the caller's. */
void model_json(struct json_writer *w, const centra_model *m, const centra_model_place *place);
/* Text from a file, on one line of a terminal: what could steer it becomes '?', and what is long is cut. */
void add_words(text *to, const char *from);
#endif
