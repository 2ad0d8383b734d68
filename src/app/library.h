/* library.h - the program's side of centra.h: sessions by the common options, and the library's failures as ours. */
#ifndef APP_LIBRARY_H
#define APP_LIBRARY_H
#include "app/command.h"

/* The library's status as a status of this program, with its sentence. */
status library(centra_status st);
/* Whether what was asked for by a number is there. CENTRA_USAGE is the usual end of a list; any other failure would end it too
 * early, is kept, and is told by library_lost, which main() asks at its end. */
bool library_has(centra_status st);
status library_lost(void);
/* A session as --threads, --isa and --device ask. Close with centra_session_close. */
status session_open(const struct call *c, centra_session **out);
/* The same as one of several processes, where mpirun or srun started them. */
status session_join(const struct call *c, centra_session **out);
/* A head by name with the call's --head.KEY options. Free with centra_head_free. */
status head_open(const struct call *c, centra_session *session, const char *name, centra_head **out);
/* What the library says about the head of that name; false when it has none. */
bool head_info(const char *name, centra_head_info *out);
/* The devices that there could be, NULL-terminated. */
extern const char *const device_names[];

/* Names of the precisions in the order of centra_precision, NULL-terminated; and the bytes of a number. */
extern const char *const precision_names[];
size_t precision_bytes(centra_precision p);
/* Memory for a x b x c numbers of `bytes` each. Free with free(). */
status array_take(size_t a, size_t b, size_t c, size_t bytes, void **out);
/* Element i of an array of features or scores. */
double real_at(const void *data, centra_precision precision, size_t i);
#endif
