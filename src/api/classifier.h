/* classifier.h - what stands behind the handles for own pictures: models, classifiers, supports.
 *
 * Pictures go one way: shown (cut to the network's square), encoded, scored against the support, judged. Each step can be
 * called by itself, so that explanations use the same numbers as guesses. */
#ifndef API_CLASSIFIER_H
#define API_CLASSIFIER_H
#include "api/session.h"
#include "eval/card.h"
#include "weights/weights.h"

/* Nothing of it changes after centra_model_open. */
struct centra_model {
    arena *memory;        /* owned: names */
    struct weights *file; /* owned */
    struct card card;     /* the file's texts */
    struct extractor extractor;
    char fingerprint[65];
    const char *setup; /* in `memory`: what beside the weights decides its features (card_add_setup) */
    centra_model_info info;
};

/* Rows of one class lie side by side, classes in the order of their names. */
struct support_class {
    char *name; /* owned */
    size_t first, count;
};

/* What leaving known pictures out has taught (api/calibrate.c). */
struct calibration {
    double *score; /* owned, sorted: how familiar each picture looked that was left out */
    size_t count;  /* 0: nothing could be left out, or nobody has asked */
    double mean, spread;
    double temperature; /* probabilities are raised to 1 / temperature, then sum to 1 again */
    char *head;         /* owned: the head that it holds for, in a classifier's words; NULL: none was made */
};

struct centra_support {
    const centra_model *model;
    struct support_class *class; /* owned */
    size_t classes, class_room;
    size_t count, room;             /* pictures */
    size_t channels, height, width; /* of a map; 0 before the first picture */
    float *features;                /* owned, [count, channels, height * width] */
    unsigned char *seen;            /* owned, [count, side, side, 3] */
    char **name;                    /* owned, each too */
    int32_t *label;                 /* owned, [count]: the class of each row */
    struct calibration calibration;
};

/* Memory that is kept between calls and grows. */
struct block {
    void *data; /* owned */
    size_t bytes;
};
status block_reserve(struct block *b, size_t count, size_t each, const char *what);

struct centra_classifier {
    centra_session *session;
    const centra_model *model;
    arena *memory;    /* owned: texts of settings */
    struct model net; /* owned: the encoder */
    const struct head *head;
    void *head_settings;        /* owned */
    struct params *head_params; /* owned */
    char *words;                /* owned: head and options in one line */
    size_t batches;             /* that went through; after some the weights of a small network are frozen */
    bool small;
    size_t picture_bytes; /* of the maps of one picture; 0: not known yet */
    struct block sights, input, features, scores, chances, best, alike, likeness;
};

/* classifier.c */

/* A picture on its way to the network. */
struct sight {
    const struct picture *picture; /* NULL: the file at `path` */
    const char *path;
    unsigned char *seen; /* [side, side, 3], or NULL: not wanted */
    struct error error;  /* of a file that cannot be read; its map says nothing then */
};
struct maps {
    float *features; /* [count, channels, height * width], the classifier's: until its next call */
    size_t dim[3];   /* channels, height, width */
};
/* A file that cannot be read is no failure, a picture that cannot be cut is. */
status classifier_encode(centra_classifier *c, struct sight *sights, size_t count, struct maps *out);
/* A constant over host memory: used in place on a device that can, else uploaded. Valid as long as the memory. */
var *classifier_lend(tape *t, int rank, const size_t *dim, const float *data);
/* Pictures that go through the network at once. */
size_t classifier_batch(const centra_classifier *c);

/* against.c: queries against known pictures. */
struct rows {
    const float *features; /* [count, channels, locations] */
    const int32_t *labels; /* [count], 0 .. way - 1, none missing */
    size_t count, way, channels, locations;
};
/* Probabilities as the head gives them (by softmax where it gives logits), [count, way]. */
status classifier_score(centra_classifier *c, const struct rows *known, const float *queries, size_t count,
                        double *probabilities);
/* How much of each known picture of class `class[i]` is in query i: each place of the known picture has a best cosine with a
 * place of the query; the mean over the better half of them. `out` is [count, known->count]; only rows of that class are
 * written, as nobody asks for the others. Labels must be in order. */
status classifier_likeness(centra_classifier *c, const struct rows *known, const float *queries, size_t count,
                           const size_t *class, float *out);

/* calibration.c */
/* The class of the largest probability, the first of equal ones. */
size_t best_class(const double *probabilities, size_t way);
void calibration_free(struct calibration *k);
/* Mean and deviation of the scores, after they have been filled in. */
void calibration_measure(struct calibration *k);
/* Whether the calibration was made with this classifier's head. */
bool calibration_fits(const struct calibration *k, const centra_classifier *c);
/* The part of known pictures that look less familiar than this score; NaN without any to compare with. */
double calibration_rank(const struct calibration *k, double score);
/* Raises to 1 / temperature; the sum is 1 again, and the order of classes stays. */
void calibration_temper(double temperature, double *probabilities, size_t way);
/* How familiar a picture looks: the mean likeness to the known pictures of class `best`, without row `except`, and a little of
 * how probable that class is to the head. */
double familiar_score(const float *likeness, const struct rows *known, size_t except, size_t best, double probability);

/* support.c */
struct rows support_rows(const centra_support *s);
size_t support_numbers(const centra_support *s); /* of one picture's map */
size_t support_pixels(const centra_support *s);  /* bytes of one picture's square */
/* Room for so many more pictures of that map; the first decides what a map is. */
status support_reserve(centra_support *s, size_t more, const size_t map[3]);
/* Adds a picture to its class; after support_reserve only memory for names can be missing. */
status support_insert(centra_support *s, const char *class_name, const char *name, const float *features,
                      const unsigned char *seen);
/* All of them or none; the pictures' places in `known` are not looked at. */
status support_insert_all(centra_support *s, const centra_known *known, size_t count, const float *features,
                          const size_t map[3], const unsigned char *seen);
/* Adds all pictures of `from`, or none. */
status support_merge(centra_support *s, const centra_support *from);
void support_changed(centra_support *s); /* what was calibrated holds no more */
/* Refuses the support of another model. */
status support_belongs(const centra_support *s, const centra_classifier *c);
/* A name from outside: there, and not too long. `what` is "class" or "picture". */
status support_name_check(const char *what, const char *name);

/* classify.c: guesses for encoded queries; `probabilities` [count, classes] and `guesses` may be NULL. */
status classify_features(centra_classifier *c, const centra_support *s, const float *queries, size_t count,
                         double *probabilities, centra_guess *guesses);
/* Refuses a support that does not belong to the classifier's model, or has fewer than two classes. */
status classify_ready(const centra_classifier *c, const centra_support *s);
#endif
