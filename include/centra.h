/* centra.h - few-shot classification by mutual centralized learning, and the heads it is compared with.
 *
 * The library never prints, never ends the process and keeps no state of its own between calls besides what you hold:
 * a session (threads, device, memory) and heads made from it. Two threads must not use one session at the same time.
 *
 *     centra_session *s;
 *     centra_head *h;
 *     if (centra_session_open(NULL, &s) != CENTRA_OK) return puts(centra_message()), 1;
 *     if (centra_head_new(s, "mcl-katz", NULL, 0, &h) != CENTRA_OK) return puts(centra_message()), 1;
 *     ... fill a centra_episode and a centra_result, call centra_head_score ...
 *     centra_head_free(h);
 *     centra_session_close(s);
 *
 * Arrays are dense and row-major. Features are raw (not normalised): [pictures, channels, locations], where locations is
 * the height times the width of the feature map. SPDX-License-Identifier: Apache-2.0 */
#ifndef CENTRA_H
#define CENTRA_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CENTRA_VERSION_MAJOR 0
#define CENTRA_VERSION_MINOR 1
#define CENTRA_VERSION_PATCH 0

#if defined(_WIN32)
#define CENTRA_API
#else
#define CENTRA_API __attribute__((visibility("default")))
#endif

typedef enum centra_status {
    CENTRA_OK = 0,
    CENTRA_USAGE,       /* asked for something that does not exist or does not fit */
    CENTRA_VALUE,       /* an input value is out of range or not finite */
    CENTRA_SHAPE,       /* shapes do not fit each other */
    CENTRA_FORMAT,      /* a file is not what it claims to be */
    CENTRA_IO,          /* the system could not read or write */
    CENTRA_MEMORY,      /* no memory */
    CENTRA_UNSUPPORTED, /* this build or device cannot do it */
    CENTRA_NUMERIC      /* the mathematics has no answer here */
} centra_status;

/* One sentence about the last failure in this thread; "" when there was none. */
CENTRA_API const char *centra_message(void);
/* A few words for a status: "no memory". */
CENTRA_API const char *centra_status_name(centra_status status);
/* "0.1.0" of the library that is linked, which may differ from the header's. */
CENTRA_API const char *centra_version(void);

/* Sessions */

typedef struct centra_session centra_session;

/* Must call body(arg, i, worker) once for every i < count, with worker < threads and no two calls that run at the same
 * time sharing a worker, and return after all have. */
typedef void (*centra_parallel_for)(void *host, size_t count, void (*body)(void *arg, size_t i, size_t worker),
                                    void *arg);

typedef struct centra_session_options {
    size_t threads;                   /* 0: all cores that the process may use */
    const char *isa;                  /* "portable", "avx2", "avx512"; NULL: CENTRA_ISA, else the best */
    const char *device;               /* "cpu"; NULL: "cpu" */
    centra_parallel_for parallel_for; /* NULL: the library's own threads */
    void *parallel_host;              /* first argument of parallel_for */
} centra_session_options;

/* `options` may be NULL. Close with centra_session_close. */
CENTRA_API centra_status centra_session_open(const centra_session_options *options, centra_session **out);
CENTRA_API void centra_session_close(centra_session *session);
/* Threads, instruction set ("avx512") and device ("cpu") in use. */
CENTRA_API size_t centra_session_threads(const centra_session *session);
CENTRA_API const char *centra_session_isa(const centra_session *session);
CENTRA_API const char *centra_session_device(const centra_session *session);

/* Heads */

typedef struct centra_option { /* "gamma", "20" */
    const char *name, *value;
} centra_option;

typedef struct centra_option_info {
    const char *name, *help;
    const char *type;           /* "flag", "int", "float", "name", "text", "file" */
    char standard[32];          /* the default as text */
    char range[96];             /* "between 0 and 1", "one of ...", "" */
    const char *const *choices; /* of a name, NULL-terminated; else NULL */
} centra_option_info;

typedef struct centra_head_info {
    const char *name, *title, *paper;
    int probabilities; /* scores are probabilities, else logits */
    int centrality;    /* can give centralities */
    int pools;         /* accepts the centrality plug-in */
    size_t option_count;
} centra_head_info;

/* The heads of this library, sorted by name. CENTRA_USAGE when there is no such index. */
CENTRA_API size_t centra_head_count(void);
CENTRA_API centra_status centra_head_describe(size_t index, centra_head_info *out);
/* Option `option` of head `index`; the pointers stay valid for the life of the process. */
CENTRA_API centra_status centra_head_option(size_t index, size_t option, centra_option_info *out);

typedef struct centra_head centra_head;

/* A head by name, with options. Belongs to its session and must be freed before it. */
CENTRA_API centra_status centra_head_new(centra_session *session, const char *name, const centra_option *options,
                                         size_t option_count, centra_head **out);
CENTRA_API void centra_head_free(centra_head *head);

/* Episodes */

typedef enum centra_precision { CENTRA_F32, CENTRA_F64 } centra_precision;

typedef struct centra_episode {
    centra_precision precision; /* of every feature, score and gradient array of the call */
    size_t channels;
    size_t support_count, support_locations;
    const void *support;           /* [support_count, channels, support_locations] */
    const int64_t *support_labels; /* [support_count], any integers; classes are the sorted distinct ones */
    size_t query_count, query_locations;
    const void *query;           /* [query_count, channels, query_locations] */
    const int64_t *query_labels; /* [query_count] or NULL; each must be a class of the support */
} centra_episode;

/* Arrays of the caller; NULL: not wanted. */
typedef struct centra_result {
    int64_t *labels;          /* [way] the classes in the order of the scores */
    void *scores;             /* [query_count, way] */
    double *loss;             /* needs query_labels */
    void *grad_support;       /* of the loss, as support */
    void *grad_query;         /* of the loss, as query */
    void *centrality_support; /* [query_count, way * support_locations], each row sums to 1 */
    void *centrality_query;   /* [query_count, query_locations], each row sums to 1 */
} centra_result;

/* The number of distinct support labels, which sizes the arrays of a result. */
CENTRA_API centra_status centra_episode_way(const centra_episode *episode, size_t *way);
/* Scores an episode. After the first call with some shape, calls with that shape allocate nothing. Features that are
 * not finite are refused with the place of the first. */
CENTRA_API centra_status centra_head_score(centra_head *head, const centra_episode *episode,
                                           const centra_result *result);
/* Device bytes held for such calls. */
CENTRA_API size_t centra_session_bytes(const centra_session *session);

/* Networks */

typedef struct centra_net_info {
    const char *name, *title, *paper;
    size_t option_count;
} centra_net_info;

/* The networks of this library, sorted by name, and their options; as for heads. */
CENTRA_API size_t centra_net_count(void);
CENTRA_API centra_status centra_net_describe(size_t index, centra_net_info *out);
CENTRA_API centra_status centra_net_option(size_t index, size_t option, centra_option_info *out);

typedef struct centra_net centra_net;

/* A network by name, with start values drawn from `seed`. Belongs to its session and must be freed before it. */
CENTRA_API centra_status centra_net_new(centra_session *session, const char *name, const centra_option *options,
                                        size_t option_count, centra_precision precision, uint64_t seed,
                                        centra_net **out);
CENTRA_API void centra_net_free(centra_net *net);
/* Parameters from a file (safetensors, .pth, a folder of .npy), by our names or the released ones. All or none are loaded. */
CENTRA_API centra_status centra_net_load(centra_net *net, const char *path);
/* Encodes pictures [count, 3, height, width], normalised already, with running statistics. *features is [count, dim[1], dim[2],
 * dim[3]] in the network's precision, owned by the network and valid until its next call. */
CENTRA_API centra_status centra_net_encode(centra_net *net, const void *pictures, size_t count, size_t height,
                                           size_t width, const void **features, size_t dim[4]);

/* Weights: files of named arrays (safetensors, PyTorch's .pth, folders of .npy), read without executing anything */

typedef struct centra_weights centra_weights;

typedef struct centra_array_info {
    const char *name, *type; /* "layer1.0.weight", "F32" */
    size_t rank, dim[6];
    size_t bytes;
    const void *data; /* little-endian, row-major; valid until the file is closed, as all pointers here */
} centra_array_info;

/* Reads and checks the whole file. Close with centra_weights_close. */
CENTRA_API centra_status centra_weights_open(const char *path, centra_weights **out);
CENTRA_API void centra_weights_close(centra_weights *weights);
CENTRA_API const char *centra_weights_kind(const centra_weights *weights); /* "safetensors", "pth", ... */
/* The arrays, sorted by name. CENTRA_USAGE when there is no such index. */
CENTRA_API size_t centra_weights_count(const centra_weights *weights);
CENTRA_API centra_status centra_weights_array(const centra_weights *weights, size_t index, centra_array_info *out);
/* Metadata: a key and its text. CENTRA_USAGE when there is no such index. */
CENTRA_API centra_status centra_weights_meta(const centra_weights *weights, size_t index, const char **key,
                                             const char **value);
/* SHA-256 over names, types, shapes and numbers: the same for every kind of file. */
CENTRA_API centra_status centra_weights_fingerprint(const centra_weights *weights, char hex[65]);
/* Writes the arrays as safetensors, released names changed to those of this library. */
CENTRA_API centra_status centra_weights_convert(const centra_weights *weights, const char *path);

/* Data sets: folders <split>/<class>/<picture> or of class folders, tars of such, lists `filename,label`, packs */

/* Who hears of a long call; a NULL member, or no such struct, is nobody. */
typedef struct centra_data_watch {
    int (*progress)(void *context, size_t done, size_t all); /* anything but 0 stops the call, which then fails */
    void (*warning)(void *context, const char *line);
    void *context;
} centra_data_watch;

typedef struct centra_data_report centra_data_report;

typedef struct centra_split_info {
    const char *name; /* "train"; NULL: the set has no splits. Valid until the report is freed, as all pointers here */
    size_t classes, pictures, unreadable;
    size_t smallest, largest; /* pictures of a class */
    char fingerprint[65];     /* SHA-256 over class names and pixels, whatever the kind of the set */
} centra_split_info;

typedef struct centra_size_info {
    size_t width, height, pictures;
} centra_size_info;

typedef struct centra_twins_info { /* two pictures with the same pixels: "train/class/file" */
    const char *first, *second;
    int across; /* they are in different splits */
} centra_twins_info;

/* Decodes every picture once. `images` is the folder of a list's pictures (NULL: its own), `watch` may be NULL. */
CENTRA_API centra_status centra_data_check(const char *path, const char *images, const centra_data_watch *watch,
                                           centra_data_report **out);
CENTRA_API void centra_data_report_free(centra_data_report *report);
/* Each CENTRA_USAGE behind the last: the splits; the sizes, most frequent first; pictures that are the same. */
CENTRA_API centra_status centra_data_split_at(const centra_data_report *report, size_t index, centra_split_info *out);
CENTRA_API centra_status centra_data_size_at(const centra_data_report *report, size_t index, centra_size_info *out);
CENTRA_API centra_status centra_data_twins_at(const centra_data_report *report, size_t index, centra_twins_info *out);
/* A sentence about a picture that cannot be read; NULL behind the last. */
CENTRA_API const char *centra_data_unreadable_at(const centra_data_report *report, size_t index);

typedef struct centra_pack_options {
    size_t side;        /* pictures become side x side, their shape not kept; 0: as they are */
    int strict;         /* a picture that cannot be read is a failure, else it is left out with a warning */
    const char *images; /* as above */
} centra_pack_options;

typedef struct centra_pack_result {
    size_t splits, pictures, skipped;
} centra_pack_result;

/* Writes all splits, decoded, into one file that is opened faster than any other kind. `options`, `watch` and `out` may
 * be NULL. */
CENTRA_API centra_status centra_data_pack(const char *from, const char *to, const centra_pack_options *options,
                                          const centra_data_watch *watch, centra_pack_result *out);

typedef struct centra_split_result { /* of train, val, test */
    size_t classes[3], pictures[3];
    size_t left_over; /* classes in no split */
} centra_split_result;

/* Divides the classes of a folder of class folders by writing lists into it. `parts` are numbers of classes for train, val
 * and test, or, all below 1, fractions. `watch` and `out` may be NULL. */
CENTRA_API centra_status centra_data_split(const char *path, const double parts[3], uint64_t seed,
                                           const centra_data_watch *watch, centra_split_result *out);
/* Writes the built-in data set as PNG files in train|val|test/<class> below `folder`, which must not exist and appears when
 * all is there. `spec` is "synth:SEED", or "synth:SEED?side=84&train=64&val=16&test=20&pictures=60" with any of these: the
 * side of a picture, the classes of each split, the pictures of a class. `watch` may be NULL. */
CENTRA_API centra_status centra_data_synth(const char *spec, const char *folder, const centra_data_watch *watch);

/* Kernels: which variant each got */

CENTRA_API size_t centra_kernel_count(void);
CENTRA_API const char *centra_kernel_name(size_t index); /* NULL behind the last */
/* Instruction sets that this processor and build have, best first; NULL behind the last. */
CENTRA_API const char *centra_isa_name(size_t index);

#ifdef __cplusplus
}
#endif
#endif
