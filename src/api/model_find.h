/* model_find.h - where a model lies: a path, one of the user's own, or one that came with the library. */
#ifndef API_MODEL_FIND_H
#define API_MODEL_FIND_H
#include "api/shelf.h"

/* What a model of the store says of the file that it was made from: the file's name, its SHA-256, and the fingerprint of
 * the weights as they are kept. */
#define MODEL_FILE "added.file"
#define MODEL_FILE_SHA256 "added.sha256"
#define MODEL_FINGERPRINT "added.fingerprint"

/* The models that came with the library, the best first; none where there is no such folder. */
status shipped_read(struct shelf *out);

struct models {
    struct shelf own, shipped;
};
/* Both shelves. Free with free(). A store that cannot be read is a failure. */
status models_read(struct models **out);
/* The name of the one that is taken where none is named: the user's choice, else the best shipped. A choice that is not
 * there any more is a failure, as is that there are no models at all. */
status models_default(const struct models *m, char out[MODEL_NAME_ROOM]);

/* The name that was probably meant, or NULL. */
const char *models_nearest(const struct models *m, const char *given);

/* The file of a model given as a path, a run's folder, or the name of one of the user's own or of a shipped one; NULL: the
 * default, which is the one that the user chose, else the best shipped. */
status model_find(const char *given, char out[PATH_MAX]);
/* The file of the model of that name; false when there is none. What stands at the path itself is not looked at. */
bool model_find_name(const char *name, char out[PATH_MAX]);
/* Where the arrays of a file, a folder of arrays, a run's folder or a model's name are. A path counts before a name; what is neither
 * comes back as it was given, unless it is nearly a name: that is refused with the one that was probably meant. */
status model_find_weights(const char *given, char out[PATH_MAX]);

/* Of models that name none: networks that were not trained with a head of ours (docs/everyday.md has what it was chosen by). */
extern const char model_standard_head[];
#endif
