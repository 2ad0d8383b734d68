/* centra_own.h - own pictures: a model, classes of known pictures, and guesses with their reasons.
 *
 *     centra_model_open -> centra_classifier_new -> centra_support_new, centra_support_add ... -> centra_classify
 *
 * Part of centra.h, which includes it; include that. SPDX-License-Identifier: Apache-2.0 */
#ifndef CENTRA_OWN_H
#define CENTRA_OWN_H
#include "centra.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Network, head, their options and weights, as one file tells them. Nothing in a model changes, so that threads may share
 * one; each brings a session and a classifier of its own. */
typedef struct centra_model centra_model;

typedef struct centra_model_info {
    const char *name, *path; /* "conv4-mini"; where it was found. Valid until the model is closed, as all here */
    const char *backbone, *head, *extractor;
    size_t side;                 /* of the square that the network sees of a picture */
    const char *fingerprint;     /* SHA-256 of its weights, in hex */
    const char *data, *accuracy; /* what it was trained on and how good it is, as the file says; "" where it does not */
} centra_model_info;

/* `path` is a file of weights whose metadata name the network, a run's folder, or the name of a model: one that
 * centra_model_add has kept, or one that came with the library. NULL: the default (centra_model_default). Close when no
 * classifier and no support uses it any more. */
CENTRA_API centra_status centra_model_open(const char *path, centra_model **out);
CENTRA_API void centra_model_close(centra_model *model);
CENTRA_API void centra_model_describe(const centra_model *model, centra_model_info *out);
/* The models that came with the library, the standard one first: a name, and the path of its file, which is valid until
 * the thread's next call. CENTRA_USAGE behind the last. */
CENTRA_API centra_status centra_model_shipped(size_t index, const char **name, const char **path);
/* What else its file says: a key and its text ("licence", "added.file"). CENTRA_USAGE behind the last. */
CENTRA_API centra_status centra_model_note(const centra_model *model, size_t index, const char **key,
                                           const char **value);
/* What the model's network is shown of a picture, [cells, 3, side, side]: resized, cut and normalised as its file says.
 * `extractor` NULL: the model's own. */
CENTRA_API centra_status centra_model_input(const centra_model *model, const centra_picture *picture,
                                            const char *extractor, float *out);
/* The model's network by itself, with its weights, options and extractor; `options` come after those of the model. It keeps nothing
 * of the model, belongs to the session and must be freed before it. */
CENTRA_API centra_status centra_model_net(centra_session *session, const centra_model *model,
                                          const centra_option *options, size_t option_count, centra_precision precision,
                                          centra_net **out);

/* Own models: kept by name in a folder of the user, $XDG_DATA_HOME/centra/models or ~/.local/share/centra/models. */

typedef struct centra_model_add_options { /* NULL and 0: the default */
    const char *name;                     /* letters, digits, '-', '_', '.'; NULL: that of the file */
    const char *source, *licence;         /* notes to keep with it; NULL: what the file says */
    const centra_option *net_options;
    size_t net_option_count; /* of the network, in place of what the file says */
    size_t side;             /* of what the network sees of a picture */
} centra_model_add_options;

/* Checks a file of weights (safetensors or .pth; a run's folder), finds out by names and shapes which network it is for
 * unless it says so, and keeps it, converted, under a name that no model has yet. All of it or nothing is kept. `options`
 * may be NULL; *name is valid until the thread's next call. */
CENTRA_API centra_status centra_model_add(const char *path, const centra_model_add_options *options, const char **name);
/* Models that came with the library cannot be removed. When the default is, there is none chosen any more. */
CENTRA_API centra_status centra_model_remove(const char *name);
/* The model that is meant where none is named: the one that the user chose, else the best that came along. */
CENTRA_API centra_status centra_model_default(const char **name);
/* Chooses it, for all programs of this user; NULL: none. */
CENTRA_API centra_status centra_model_set_default(const char *name);

typedef struct centra_model_place {
    const char *name, *path; /* valid until the thread's next call */
    int own;                 /* added by the user; else it came along */
    int standard;            /* the default */
    uint64_t bytes;          /* of its file */
} centra_model_place;
/* All models by name: those that came along, the best first, then the user's own. CENTRA_USAGE behind the last. */
CENTRA_API centra_status centra_model_at(size_t index, centra_model_place *out);

/* A model at work in a session. Belongs to both and must be freed before them. */
typedef struct centra_classifier centra_classifier;

typedef struct centra_classifier_options {
    const char *head; /* another head than the model's; NULL: the model's */
    const centra_option *head_options;
    size_t head_option_count;
} centra_classifier_options;

/* `options` may be NULL. */
CENTRA_API centra_status centra_classifier_new(centra_session *session, const centra_model *model,
                                               const centra_classifier_options *options, centra_classifier **out);
CENTRA_API void centra_classifier_free(centra_classifier *classifier);

/* Known pictures of some classes, encoded: what queries are compared with. Classes are sorted by name, pictures of a class are in
 * the order of their coming. It keeps what the network saw of each picture, for explanations. A support may be read by
 * several threads, and changed by one while no other reads. */
typedef struct centra_support centra_support;

typedef struct centra_known {
    const char *class_name, *name; /* "cat", and what the picture is called in messages and lists: "cats/tom.jpg" */
    const centra_picture *picture;
} centra_known;

CENTRA_API centra_status centra_support_new(const centra_model *model, centra_support **out);
CENTRA_API void centra_support_free(centra_support *support);
/* Encodes pictures and adds them to their classes, which are made where they are new. All or none are added. */
CENTRA_API centra_status centra_support_add(centra_support *support, centra_classifier *classifier,
                                            const centra_known *known, size_t count);
/* Adds a folder of class folders (any sizes, any formats, any number of pictures in each). A picture that cannot be read
 * is left out with a warning and counted in *unreadable (may be NULL); a class without any that can be is a failure.
 * `watch` may be NULL. */
CENTRA_API centra_status centra_support_add_folder(centra_support *support, centra_classifier *classifier,
                                                   const char *path, const centra_data_watch *watch,
                                                   size_t *unreadable);
/* Takes a picture of a class away, or with SIZE_MAX the class. A class without pictures is gone. */
CENTRA_API centra_status centra_support_remove(centra_support *support, const char *class_name, size_t picture);
/* Another name for a class; that of another class is refused. */
CENTRA_API centra_status centra_support_rename(centra_support *support, const char *class_name, const char *to);
CENTRA_API size_t centra_support_class_count(const centra_support *support);
/* CENTRA_USAGE when there is no such class or picture. `seen` is side x side, owned by the support. NULL: not wanted. */
CENTRA_API centra_status centra_support_class(const centra_support *support, size_t index, const char **name,
                                              size_t *pictures);
CENTRA_API centra_status centra_support_picture(const centra_support *support, size_t class_index, size_t picture,
                                                const char **name, centra_picture *seen);
/* Learns from the support itself what familiar means: each picture of a class with two or more is left out and compared with the
 * rest. To be called again after changes; without it guesses have no familiarity. */
CENTRA_API centra_status centra_support_calibrate(centra_support *support, centra_classifier *classifier);
/* Whether that was done with this classifier's head and its options; a pack brings its calibration along. */
CENTRA_API int centra_support_calibrated(const centra_support *support, const centra_classifier *classifier);

/* Packs: a support as a file (or in memory), which says what it is and which model it needs. Opening refuses the pack of another
 * model and names both. */
CENTRA_API centra_status centra_support_save(const centra_support *support, const char *path);
CENTRA_API centra_status centra_support_open(const centra_model *model, const char *path, centra_support **out);
/* Free with centra_free. `name` stands in messages. */
CENTRA_API centra_status centra_support_write(const centra_support *support, unsigned char **bytes, size_t *count);
CENTRA_API centra_status centra_support_parse(const centra_model *model, const char *name, const unsigned char *bytes,
                                              size_t count, centra_support **out);

typedef struct centra_guess {
    size_t best;        /* the most probable class */
    double probability; /* of it */
    double
        familiarity; /* 0 to 1: the part of known pictures that would look stranger; not a number where the support is not
                           calibrated. Small: none of these classes */
} centra_guess;

/* One row of `probabilities` [count, classes] and one guess for each picture. Either may be NULL. A support of one class
 * is refused. After the first call with some number of pictures, calls with as many allocate nothing. */
CENTRA_API centra_status centra_classify(centra_classifier *classifier, const centra_support *support,
                                         const centra_picture *pictures, size_t count, double *probabilities,
                                         centra_guess *guesses);

/* The same for files, which are decoded on the session's threads and need not be in memory together. One that cannot be read
 * has SIZE_MAX as its best class, and watch->warning hears why; the others are not touched by it. `watch` may be NULL. */
CENTRA_API centra_status centra_classify_files(centra_classifier *classifier, const centra_support *support,
                                               const char *const *paths, size_t count, double *probabilities,
                                               centra_guess *guesses, const centra_data_watch *watch);

/* Why: where query and known pictures found each other. Maps are [height, width], over what the network sees of a picture;
 * each sums to 1. */
typedef struct centra_explanation centra_explanation;

typedef struct centra_pair { /* two places that lead to each other in the walk; cells are row * width + column */
    size_t query, known;
    double weight; /* of all pairs of the explanation, the strongest is 1 */
} centra_pair;

typedef struct centra_why { /* pointers are valid until the explanation is freed, as below */
    centra_guess guess;
    centra_picture seen;     /* the query as the network sees it */
    size_t height, width;    /* of the maps */
    const float *centrality; /* of the query's places, in the walk to the class that is told */
    const float *grad_cam;   /* what of the last map spoke for the class, by gradients; any head has it */
    size_t classes;
} centra_why;

typedef struct centra_why_class {
    size_t index; /* of the class in the support */
    double probability;
    size_t picture;          /* its known picture that drew the most */
    const float *centrality; /* of that picture's places, seen from this query */
    const centra_pair *pairs;
    size_t pair_count; /* strongest first */
} centra_why_class;

CENTRA_API centra_status centra_explain(centra_classifier *classifier, const centra_support *support,
                                        const centra_picture *picture, centra_explanation **out);
/* The same for a file, read as centra_classify_files reads it. */
CENTRA_API centra_status centra_explain_file(centra_classifier *classifier, const centra_support *support,
                                             const char *path, centra_explanation **out);
CENTRA_API void centra_explanation_free(centra_explanation *explanation);
CENTRA_API void centra_explanation_why(const centra_explanation *explanation, centra_why *out);
/* Classes by probability, the likeliest first; CENTRA_USAGE behind the last. */
CENTRA_API centra_status centra_explanation_class(const centra_explanation *explanation, size_t rank,
                                                  centra_why_class *out);

typedef enum centra_sheet {
    CENTRA_SHEET_QUERY,    /* the query beside its centralities */
    CENTRA_SHEET_GRAD_CAM, /* the query beside its Grad-CAM */
    CENTRA_SHEET_KNOWN,    /* the known picture of the class of that rank beside its centralities */
    CENTRA_SHEET_PAIRS     /* query and known picture with lines between the strongest pairs */
} centra_sheet;
/* The explanation as a picture with titles and a legend. `support` is that of centra_explain, and has not changed since. */
CENTRA_API centra_status centra_explanation_sheet(const centra_explanation *explanation, const centra_support *support,
                                                  centra_sheet sheet, size_t rank, centra_picture *out);

#ifdef __cplusplus
}
#endif
#endif
