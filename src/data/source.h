/* source.h - where a data set's pictures come from, for the readers of each kind. Only src/data needs it.
 *
 * A reader walks its folder, archive or list once and adds every picture it meets to the item list, which keeps those of
 * the wanted split and remembers which splits there are. Order and repetition are seen to in one place, dataset.c. */
#ifndef DATA_SOURCE_H
#define DATA_SOURCE_H
#include "base/arena.h"
#include "base/log.h"
#include "image/picture.h"

enum { SPLITS_MOST = 64 }; /* names remembered; a set with more folders of folders is no set of splits */
enum { SPLITS_USUAL = 3 }; /* train, val, test */

struct item {
    const char *name;   /* "class/file.jpg", in the list's arena */
    size_t label_bytes; /* how much of the name is the class */
    uint64_t at, bytes; /* the reader's own: where the picture lies */
};

struct item_list {
    const char *wanted; /* the split to keep; NULL: pictures outside any split */
    arena *memory;      /* owned: the names */
    struct item *item;  /* owned */
    size_t count, capacity;
    const char *splits[SPLITS_MOST]; /* in `memory` */
    size_t split_count;
    bool plain; /* some picture lies outside any split */
};

/* A file's bytes, in a mapping of the source or in memory of their own. */
struct source_bytes {
    const char *data;
    size_t n;
    char *owned; /* to be freed by the caller; NULL: `data` lives as long as the source */
};

struct source {
    struct item_list list;
    /* Both by any number of threads at once. */
    status (*bytes)(const struct source *s, const struct item *i, struct source_bytes *out);
    status (*picture)(const struct source *s, const struct item *i, struct picture *out); /* NULL: bytes, decoded */
    void (*close)(struct source *s); /* frees `context`; NULL: nothing to free */
    void *context;
};

/* An empty list; `wanted` is borrowed for the time of the walk. Release with source_close, also after failures. */
status source_begin(struct source *s, const char *wanted);
void source_close(struct source *s);
/* Keeps a picture of that split (NULL: of none) when it is wanted. `file` is its name within the class. */
status item_add(struct item_list *l, const char *split, const char *label, const char *file, uint64_t at,
                uint64_t bytes);
/* Remembers a split without adding anything. */
status item_split(struct item_list *l, const char *split);
/* Whether the walk met a set with splits: one has a usual name, or nothing lies outside. */
bool item_has_splits(const struct item_list *l);
/* 0 train, 1 val, 2 test, SPLITS_USUAL any other. */
int split_rank(const char *name);
/* The path of a picture among names: "a/b/c.jpg" is picture c.jpg of class b in split a; "b/c.jpg" of class b in none.
 * Other depths, hidden parts and files that are no pictures by their suffix are passed over. */
status item_add_path(struct item_list *l, const char *path, uint64_t at, uint64_t bytes);
/* Whether the name ends as one of a picture that can be decoded: .jpg .jpeg .png .webp .ppm .pgm in any case. */
bool picture_suffix(const char *name);

/* The readers. Each begins the source and leaves closing it to the caller, whatever happens. */
status folder_source_open(const char *path, const char *split, const struct log_sink *log, struct source *out);
status tar_source_open(const char *path, const char *split, struct source *out);
/* All tars of a folder as one set; and whether the folder is one: it has tars and no folders. */
status tar_folder_open(const char *path, const char *split, struct source *out);
status tar_folder_is(const char *path, bool *out);
/* `images`: the folder of the pictures; NULL: the list's own. */
status csv_source_open(const char *path, const char *images, struct source *out);
/* A folder with a list a split; and whether the folder is one. */
status csv_folder_open(const char *path, const char *split, const char *images, struct source *out);
status csv_folder_is(const char *path, bool *out);
status pack_source_open(const char *path, const char *split, struct source *out);
/* The same from bytes that the caller keeps as long as the source. */
status pack_source_parse(const char *path, const void *bytes, size_t n, const char *split, struct source *out);

/* The names in a folder, without hidden ones, sorted byte-wise; in `memory`. */
struct folder_entry {
    const char *name;
    bool folder;
};
status folder_entries(const char *path, arena *memory, struct folder_entry **out, size_t *count);
/* "a/b" in `memory`. */
status path_join(arena *memory, const char *a, const char *b, const char **out);
#endif
