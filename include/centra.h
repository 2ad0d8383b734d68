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
    const char *device;               /* "cpu", "cuda" or "cuda:1"; NULL: "cpu" */
    centra_parallel_for parallel_for; /* NULL: the library's own threads */
    void *parallel_host;              /* first argument of parallel_for */
    const char *maths;                /* of networks in single precision: "f32", "tf32" or "bf16" where the device has
                                         them; NULL: bf16 for training on a GPU, else f32 */
    int peers;                        /* 1: be one of the processes that mpirun or srun started together, where it did;
                                         centra_train, centra_eval_run and centra_net_encode then share their work, each process makes the
                                         same calls, and a failure of one ends all. One such session at a time. */
} centra_session_options;

/* `options` may be NULL. Close with centra_session_close. */
CENTRA_API centra_status centra_session_open(const centra_session_options *options, centra_session **out);
CENTRA_API void centra_session_close(centra_session *session);
/* Which of how many processes this is, 0 of 1 when alone; rank 0 is the one that writes and tells. */
CENTRA_API size_t centra_session_rank(const centra_session *session);
CENTRA_API size_t centra_session_ranks(const centra_session *session);
/* Threads, instruction set ("avx512"; "gpu" on one) and device ("cpu", "cuda:0") in use. */
CENTRA_API size_t centra_session_threads(const centra_session *session);
CENTRA_API const char *centra_session_isa(const centra_session *session);
CENTRA_API const char *centra_session_device(const centra_session *session);
/* "f32", "tf32" or "bf16": how networks in single precision are computed. */
CENTRA_API const char *centra_session_maths(const centra_session *session);

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
    size_t param_count; /* learned parameters */
    int drawn;          /* some of them start at random: without training its scores say nothing */
    int fitted;         /* to each episode when asked: it has no gradients and refuses training */
    int base;           /* needs pictures of base classes: centra_head_base, or the evaluation's own */
} centra_head_info;

/* The heads of this library, sorted by name. CENTRA_USAGE when there is no such index. */
CENTRA_API size_t centra_head_count(void);
CENTRA_API centra_status centra_head_describe(size_t index, centra_head_info *out);
/* Option `option` of head `index`; the pointers stay valid for the life of the process. */
CENTRA_API centra_status centra_head_option(size_t index, size_t option, centra_option_info *out);

typedef enum centra_precision { CENTRA_F32, CENTRA_F64 } centra_precision;

typedef struct centra_head centra_head;

/* A head by name, with options. Belongs to its session and must be freed before it. */
CENTRA_API centra_status centra_head_new(centra_session *session, const char *name, const centra_option *options,
                                         size_t option_count, centra_head **out);
CENTRA_API void centra_head_free(centra_head *head);
/* Learned parameters from a file (safetensors, .pth, a folder of .npy), by our names or the released ones; what else the file
 * holds is not looked at. Without this call they have their start values. Their shapes depend on the features' channels,
 * so that a file which does not fit is refused by the call that scores. */
CENTRA_API centra_status centra_head_load(centra_head *head, const char *path);

/* Features [count, channels, locations] of pictures of other classes, those that a network was trained on, and their labels, any
 * integers: for heads that look at them (centra_head_info.base). They are pooled and copied, and take the place of earlier ones. */
CENTRA_API centra_status centra_head_base(centra_head *head, centra_precision precision, size_t count, size_t channels,
                                          size_t locations, const void *features, const int64_t *labels);

typedef struct centra_param_info {
    const char *name; /* "head.scale" */
    size_t rank, dim[6];
} centra_param_info;

/* Parameter `index` of the head for features of that many channels. CENTRA_USAGE when there is no such index. */
CENTRA_API centra_status centra_head_param(const centra_head *head, size_t index, size_t channels,
                                           centra_param_info *out);

/* Episodes */

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
    void *const *grad_params; /* of the loss: an array for each parameter, in the order of centra_head_param */
    void *centrality_support; /* [query_count, way * support_locations], each row sums to 1 */
    void *centrality_query;   /* [query_count, query_locations], each row sums to 1 */
} centra_result;

/* The number of distinct support labels, which sizes the arrays of a result. */
CENTRA_API centra_status centra_episode_way(const centra_episode *episode, size_t *way);
/* Scores an episode. After the first call with some shape, calls with that shape allocate nothing. Features that are
 * not finite are refused with the place of the first. */
CENTRA_API centra_status centra_head_score(centra_head *head, const centra_episode *episode,
                                           const centra_result *result);
/* Gradients of a loss of the caller's own: how it changes with the results, as arrays like those of centra_result. */
typedef struct centra_upstream {
    const void *scores, *centrality_support, *centrality_query; /* NULL: it does not depend on them */
} centra_upstream;
/* Scores as centra_head_score does and goes back from `upstream`: grad_support, grad_query and grad_params are then of that
 * loss. Query labels are not looked at, and a loss cannot be asked for. */
CENTRA_API centra_status centra_head_backward(centra_head *head, const centra_episode *episode,
                                              const centra_upstream *upstream, const centra_result *result);
/* Device bytes held for such calls. */
CENTRA_API size_t centra_session_bytes(const centra_session *session);

/* For benchmarks: an episode whose features stay on the device, scored again and again; with `gradients` also its loss and
 * the gradients of its features. The episode's arrays are copied. A pass scores so many times and then waits for the
 * device once. The head scores nothing else meanwhile. Free before the head. */
typedef struct centra_head_drill centra_head_drill;
CENTRA_API centra_status centra_head_drill_new(centra_head *head, const centra_episode *episode, int gradients,
                                               centra_head_drill **out);
CENTRA_API centra_status centra_head_drill_pass(centra_head_drill *drill, size_t episodes);
CENTRA_API void centra_head_drill_free(centra_head_drill *drill);

/* Pictures */

typedef struct centra_picture {
    size_t width, height;
    unsigned char *rgb; /* [height, width, 3] */
} centra_picture;

/* JPEG, PNG, WebP or PPM, told apart by their content, upright as their EXIF block says. Free with centra_picture_free. */
CENTRA_API centra_status centra_picture_read(const char *path, centra_picture *out);
/* The same from memory; `name` stands in messages. */
CENTRA_API centra_status centra_picture_parse(const char *name, const unsigned char *bytes, size_t count,
                                              centra_picture *out);
/* Whether a name ends like that of a picture file: .jpg .jpeg .png .webp .ppm .pgm in any case. */
CENTRA_API int centra_picture_suffix(const char *name);
CENTRA_API centra_status centra_picture_resize(const centra_picture *picture, size_t width, size_t height,
                                               centra_picture *out);
CENTRA_API void centra_picture_free(centra_picture *picture); /* accepts a zeroed struct */
/* The picture as a PNG file in memory. Free with centra_free. */
CENTRA_API centra_status centra_picture_png(const centra_picture *picture, unsigned char **bytes, size_t *count);
/* What a network is shown, [3, side, side]: resized to 23/21 of the side, the middle cut out, normalised as in training. */
CENTRA_API centra_status centra_picture_input(const centra_picture *picture, size_t side, float *out);
/* The part of a picture that a network is shown, as a picture of side x side pixels. */
CENTRA_API centra_status centra_picture_seen(const centra_picture *picture, size_t side, centra_picture *out);
/* The picture under a map of weights, [height, width]: centralities, for instance. Light yellow is where the map is largest, dark
 * violet where it is smallest, with the ramp's colours between. */
CENTRA_API centra_status centra_picture_overlay(const centra_picture *picture, const float *map, size_t height,
                                                size_t width, centra_picture *out);
/* The ramp of overlays, from 0 (dark violet) over red to 1 (light yellow), in even steps of lightness. */
CENTRA_API void centra_ramp(double value, unsigned char rgb[3]);
CENTRA_API void centra_free(void *memory);

/* Data sets: labelled pictures in a fixed order, from a folder <split>/<class>/<picture> or of class folders, a tar of that
 * form, a list, or a pack. Pictures of class c are first .. first + size - 1; classes are sorted by name. */

typedef struct centra_data centra_data;

/* `split` is "train", "val", "test" or another that the set has; NULL for a set without splits. */
CENTRA_API centra_status centra_data_open(const char *path, const char *split, centra_data **out);
CENTRA_API void centra_data_close(centra_data *data);
CENTRA_API size_t centra_data_count(const centra_data *data);
CENTRA_API size_t centra_data_class_count(const centra_data *data);
/* A class's name and where its pictures are; places that are NULL are not filled. CENTRA_USAGE when there is no such class. */
CENTRA_API centra_status centra_data_class(const centra_data *data, size_t index, const char **name, size_t *first,
                                           size_t *size);
/* A picture: its name in the set ("class/file.jpg") and its class. CENTRA_USAGE when there is no such picture. */
CENTRA_API centra_status centra_data_item(const centra_data *data, size_t index, const char **name, size_t *of_class);
CENTRA_API centra_status centra_data_picture(const centra_data *data, size_t index, centra_picture *out);
/* Episode `episode` of those that evaluation draws with this seed: the pictures of `way` classes, class by class `shot` in
 * support[way * shot], and mixed ones in queries[way * query] with their classes 0 .. way - 1 in labels. */
CENTRA_API centra_status centra_data_episode(const centra_data *data, size_t way, size_t shot, size_t query,
                                             uint64_t seed, uint64_t episode, size_t *support, size_t *queries,
                                             int64_t *labels);

/* Extractors: which vectors of a picture heads compare. "map" takes the network's last map, "pyramid-5,3" averages it to several
 * sizes, "grid-3,2" shows the network overlapping cells of the picture, one vector each. */

typedef struct centra_extractor_info {
    const char *name; /* with the sizes of the paper: "grid-3,2" */
    const char *title, *paper;
} centra_extractor_info;
/* CENTRA_USAGE behind the last. */
CENTRA_API centra_status centra_extractor_describe(size_t index, centra_extractor_info *out);
/* Inputs that the network is shown for one picture: the cells of a grid, else 1. */
CENTRA_API centra_status centra_extractor_cells(const char *extractor, size_t *cells);
/* The inputs of a picture, [cells, 3, side, side]. */
CENTRA_API centra_status centra_picture_cells(const centra_picture *picture, const char *extractor, size_t side,
                                              float *out);

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
/* Parameters from a file (safetensors, .pth, a folder of .npy), a run's folder or the model of that name, by our names or the released
 * ones. All or none are loaded. */
CENTRA_API centra_status centra_net_load(centra_net *net, const char *path);
/* Another extractor than "map". */
CENTRA_API centra_status centra_net_extractor(centra_net *net, const char *extractor);
/* Encodes pictures [count, 3, height, width], normalised already, with running statistics; with an extractor of several
 * cells, the cells of each picture side by side, and count is that of all cells. *features is [dim[0], dim[1], dim[2],
 * dim[3]] in the network's precision, owned by the network and valid until its next call. */
CENTRA_API centra_status centra_net_encode(centra_net *net, const void *pictures, size_t count, size_t height,
                                           size_t width, const void **features, size_t dim[4]);

/* Writes the network as an ONNX file (opset 17), batch norms folded into convolutions where they follow one. Its input "pictures"
 * is [n, 3, side, side] for any n, pixels / 255 in RGB: the first nodes subtract the mean and divide by the deviation. Its
 * output "features" is the last map, [n, C, h, w], whatever the extractor. Side 0: that of the model, 84 for a network that
 * came from none. The network is single, on a device that computes in f32. */
CENTRA_API centra_status centra_net_write_onnx(centra_net *net, size_t side, const char *path);

/* For benchmarks: the same pass over the same random pictures again and again. With `train` it goes forward with batch
 * statistics, back from a fixed gradient of the features, and does a step of SGD at rate 0, so that only the running
 * statistics change; else it is inference. After the first pass nothing is allocated. Free before the network. */
typedef struct centra_net_drill centra_net_drill;
CENTRA_API centra_status centra_net_drill_new(centra_net *net, size_t count, size_t height, size_t width, int train,
                                              centra_net_drill **out);
/* So many passes in a row, then waits: a GPU works on one while the next is prepared. */
CENTRA_API centra_status centra_net_drill_run(centra_net_drill *drill, size_t passes);
CENTRA_API void centra_net_drill_free(centra_net_drill *drill);

/* Weights: files of named arrays (safetensors, PyTorch's .pth, folders of .npy), read without executing anything */

typedef struct centra_weights centra_weights;

typedef struct centra_array_info {
    const char *name, *type; /* "layer1.0.weight", "F32" */
    size_t rank, dim[6];
    size_t bytes;
    const void *data; /* little-endian, row-major; valid until the file is closed, as all pointers here */
} centra_array_info;

/* Reads and checks the whole file. `path` may be a run's folder, which means its best.safetensors, or the name of a model. Close
 * with centra_weights_close. */
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
/* Writes the arrays, released names changed to those of this library, as "safetensors", as "half" (safetensors with filters and
 * matrices in 16 bits) or as a new folder of "npy" files. */
CENTRA_API centra_status centra_weights_convert(const centra_weights *weights, const char *format, const char *path);

/* Evaluation: every picture of a data set's classes encoded once, then heads on the same few-shot episodes */

typedef struct centra_eval_head {
    const char *name;
    const centra_option *options; /* of this head alone; after those of the model and those for all heads */
    size_t option_count;
} centra_eval_head;

typedef enum centra_eval_phase { CENTRA_EVAL_ENCODING, CENTRA_EVAL_PLAYING } centra_eval_phase; /* pictures, episodes */

/* As `way` of an evaluation: every class that has shot + query pictures, in each episode. */
#define CENTRA_ALL_CLASSES SIZE_MAX

/* Zero and NULL mean the default that is written behind each. */
typedef struct centra_eval_options {
    const char *weights;  /* a file of weights, a run's folder (its best.safetensors), or a model's name; NULL: a random
                              start */
    const char *backbone; /* what the weights say; needed where they say nothing */
    const char *extractor; /* the one that the weights were trained with; "map" where they say nothing */
    const centra_option *net_options;
    size_t net_option_count;
    const centra_eval_head *heads; /* the head that the weights were trained with */
    size_t head_count;
    const centra_option *head_options; /* for every head that has such an option; one of them must */
    size_t head_option_count;
    const char *data, *images; /* the data set, and the folder of a CSV list's pictures */
    const char *split;         /* "test" where the set has splits */
    size_t way, shot, query;   /* 5 (or CENTRA_ALL_CLASSES), 1, 15 (queries of each class) */
    size_t episodes;           /* 10000 */
    uint64_t seed;             /* of the episodes, and of a random start */
    int strict;                /* a picture that cannot be read is a failure, else it is left out with a warning */
    int shuffle_labels;        /* a check: query labels are drawn anew, so accuracy must be 1 / way */
    const char *save_episodes; /* a file to write the episodes to */
    const char *episodes_from; /* a file of episodes to play; way, shot, query and episodes are then its own */
    void (*warn)(void *context, const char *line);
    /* Called now and then; 0: stop with CENTRA_USAGE, "stopped ...". */
    int (*progress)(void *context, centra_eval_phase phase, size_t done, size_t of);
    void *context; /* first argument of both */
    /* A data set of base classes for heads that need one (centra_head_info.base), encoded only for them; `images` counts for it
     * too. Its split: "train" where it has splits. */
    const char *base, *base_split;
} centra_eval_options;

typedef struct centra_eval centra_eval; /* results; they do not need the session any more */

CENTRA_API centra_status centra_eval_run(centra_session *session, const centra_eval_options *options,
                                         centra_eval **out);
/* What the calls below gave becomes invalid. */
CENTRA_API void centra_eval_free(centra_eval *eval);

typedef struct centra_eval_summary {
    const char *backbone, *extractor, *weights, *data, *split; /* weights and split may be NULL */
    const char *data_fingerprint;                              /* SHA-256 over class names and decoded pixels */
    size_t way, shot, query, episodes;
    uint64_t seed;
    size_t heads, classes, pictures;
    size_t classes_left_out, unreadable; /* classes with fewer than shot + query pictures; pictures */
    double encode_seconds;
} centra_eval_summary;
CENTRA_API void centra_eval_summarise(const centra_eval *eval, centra_eval_summary *out);

typedef struct centra_eval_row { /* of one head; accuracies are percent */
    const char *head;
    double accuracy, ci95; /* mean over episodes, and half of its 95 % interval by Student's t (NaN for one episode) */
    double difference, difference_ci95; /* to the first head, episode by episode; NaN for the first */
    double loss, seconds;
    const double *episodes; /* the accuracy of each episode, percent */
} centra_eval_row;
/* CENTRA_USAGE when there is no such head. */
CENTRA_API centra_status centra_eval_head_row(const centra_eval *eval, size_t head, centra_eval_row *out);
/* Queries of a class that were played, and those that the head told right; CENTRA_USAGE behind the last class. */
CENTRA_API centra_status centra_eval_head_class(const centra_eval *eval, size_t head, size_t index, const char **name,
                                                size_t *asked, size_t *right);
/* The mean of a[i] - b[i] and half of its 95 % interval by Student's t: two heads of different evaluations on the same
 * episodes. */
CENTRA_API void centra_eval_paired(const double *a, const double *b, size_t count, double *difference, double *ci95);
/* The options that were in effect, as "name" and "value"; CENTRA_USAGE behind the last. */
CENTRA_API centra_status centra_eval_head_option(const centra_eval *eval, size_t head, size_t index,
                                                 centra_option *out);

/* Training */

typedef enum centra_train_phase { CENTRA_TRAIN_STEP, CENTRA_TRAIN_VALIDATION, CENTRA_TRAIN_EPOCH } centra_train_phase;

typedef struct centra_train_progress {
    centra_train_phase phase;
    uint64_t epoch, epochs;                            /* done, and planned */
    uint64_t step, steps;                              /* of the current epoch: done, and all */
    double loss, accuracy;                             /* means over the epoch so far; the accuracy from 0 to 1 */
    double rate;                                       /* the learning rate */
    double pictures_per_second, seconds, seconds_left; /* not a number where not known yet */
    size_t done, of;                                   /* CENTRA_TRAIN_VALIDATION: pictures, then episodes */
    int validated, best;                               /* CENTRA_TRAIN_EPOCH: whether it was, and was the best so far */
    double validation, validation_ci95;
} centra_train_progress;

typedef struct centra_train_options {
    const char *recipe;           /* a file; NULL with `resume`: the run's own */
    const char *stage;            /* "episodic" or "pretrain": another recipe is refused; NULL: either */
    const char *const *overrides; /* "train.rate=0.01" */
    size_t override_count;
    const char *data;   /* the pictures; NULL: as the recipe says */
    const char *images; /* the folder of a CSV list's pictures; NULL: the list's own */
    const char *out;    /* the folder of the run */
    int resume;         /* go on with the run in the folder */
    int force;          /* replace the run in the folder */
    int tensorboard;    /* write TensorBoard's event file as well */
    int strict;         /* a picture that cannot be read is an error; else it is warned about and replaced */
    int deterministic;  /* two runs give the same bits on a GPU too, also where that is slower; a CPU always does */
    double checkpoint_seconds; /* most time between checkpoints within an epoch; 0: 300 */
    uint64_t checkpoint_steps; /* the same in steps; 0: by time only */
    /* Called between steps; not 0: save and stop. May be NULL. */
    int (*progress)(void *context, const centra_train_progress *progress);
    void (*warning)(void *context, const char *line); /* may be NULL, and may be called by another thread */
    void *context;
} centra_train_options;

typedef struct centra_train_result {
    uint64_t epochs, steps; /* done, in all */
    double best, best_ci95; /* validation accuracy of the model that was kept, from 0 to 1 */
    uint64_t best_epoch;    /* epochs done when it was measured; 0: none was */
    int stopped;            /* by progress */
} centra_train_result;

/* Trains as the recipe says, in a folder of its own: recipe.txt, metrics.jsonl, best.safetensors, last.ckpt,
 * report.html. Killed or stopped at any time, it can go on with `resume` and ends with the same numbers. */
CENTRA_API centra_status centra_train(centra_session *session, const centra_train_options *options,
                                      centra_train_result *result);

/* Care of data sets: checking, packing, splitting, making */

/* Who hears of a long call, and how many threads it has; a NULL member, or no such struct, is nobody. */
typedef struct centra_data_watch {
    int (*progress)(void *context, size_t done, size_t all); /* anything but 0 stops the call, which then fails */
    void (*warning)(void *context, const char *line);
    void *context;
    size_t threads; /* 0: all cores that the process may use; results do not depend on it */
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
    const char *filter; /* of that resizing: "bilinear" (NULL), "bicubic" or "lanczos" */
    int quality;        /* then they become what a JPEG of this quality, 1 to 100, is decoded to; 0: not */
    int halved;         /* with colours at half the resolution (4:2:0) */
    size_t hold;   /* all splits are joined to one, "train", but for so many pictures of each class: "val"; 0: not */
    uint64_t seed; /* which pictures these are */
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

#include "centra_own.h" /* own pictures: models, known pictures, guesses, explanations */
#endif
