/* synth.h - a built-in few-shot data set that needs no files: "synth:1".
 *
 * A class is a small pattern of a few coloured shapes. A picture of it shows the pattern somewhere, smaller or larger, a
 * little turned, among textures, loose shapes and other patterns that mean nothing: most of a picture says nothing about its
 * class. Everything follows from the seed, to the last bit. The splits have different classes. */
#ifndef DATA_SYNTH_H
#define DATA_SYNTH_H
#include "base/option.h"
#include "image/picture.h"

struct source;

/* Picture `index` of a class: RGB, side x side. */
status synth_picture(uint64_t seed, size_t class_index, size_t index, size_t side, struct picture *out);

struct synth {
    int64_t seed, side, train, val, test, pictures; /* classes of the splits; pictures of a class */
};
extern const struct option synth_options[]; /* of struct synth: names, defaults and ranges */

/* Reads "synth:SEED" or "synth:SEED?side=84&train=64&val=16&test=20&pictures=60", any of them. */
status synth_parse(const char *spec, struct synth *out);
/* For dataset_open: the pictures of a split, made when they are asked for. Begins the source; the caller closes it. */
status synth_source_open(const char *spec, const char *split, struct source *out);

struct synth_progress {                                  /* told after each picture */
    int (*made)(void *context, size_t done, size_t all); /* other than 0: stop; NULL: nobody looks */
    void *context;
    size_t threads; /* that draw; 0: all cores */
};
/* Writes train|val|test/<class>/NNNNN.png. The folder appears when all is there: until then it has a temporary name beside
 * it, and after a failure or a stop nothing is left. One that exists already is an error. `progress` may be NULL. */
status synth_write(const struct synth *s, const char *folder, const struct synth_progress *progress);
#endif
