/* store.h - the user's own models: a folder below XDG_DATA_HOME, else below ~/.local/share, and which one is the default.
 *
 * Everything in it appears by one rename and goes by one unlink, so that two processes may change it at the same time. */
#ifndef API_STORE_H
#define API_STORE_H
#include "api/shelf.h"

/* The models of the store, by name. Without any, or where no home is known, there are none; a folder that cannot be read is
 * a failure. */
status store_read(struct shelf *out);
/* The folder in `out->folder`, made where it is not there yet; a failure where no home is known. */
status store_open(struct shelf *out);
/* The name of the default that was chosen; "" when none was. */
status store_default(const struct shelf *s, char out[MODEL_NAME_ROOM]);
/* Chooses one; NULL: none any more. The folder must be there. */
status store_set_default(const struct shelf *s, const char *name);
status store_remove(const struct shelf *s, const char *name);
#endif
