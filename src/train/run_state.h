/* run_state.h - a run of training on its way: what the files run.c and run_open.c share. */
#ifndef TRAIN_RUN_STATE_H
#define TRAIN_RUN_STATE_H
#include "base/clock.h"
#include "train/checkpoint.h"
#include "train/feed.h"
#include "train/folder.h"
#include "train/record.h"
#include "train/run.h"
#include "train/trainer.h"

struct run {
    const struct run_options *o;
    struct peers *peers;
    struct share share;
    uint32_t *picture; /* owned: of a part */
    struct run_folder folder;
    struct dataset *data, *held_out; /* owned */
    struct trainer *trainer;         /* owned */
    struct feed feed;
    struct loader *loader;             /* owned; NULL: with a stock */
    struct stock *stock, *held_stock;  /* owned: the pictures on the device; NULL: they come from the host */
    uint64_t looked;                   /* clock: when the tally was read */
    uint64_t unread;                   /* queries asked since then */
    struct record *record;             /* owned */
    text recipe, travelling, identity; /* as kept in the folder, in the weights, in checkpoints */
    char fingerprint[65];
    struct checkpoint at;
    uint64_t began, saved; /* clock */
    uint64_t saved_step, saved_epoch;
    double saving;           /* seconds that the last checkpoint took */
    double before;           /* seconds of earlier sittings */
    uint64_t first_pictures; /* seen in earlier sittings */
    bool stopped;
    bool wish;         /* somebody here wants to stop: the others must hear of it first */
    bool saves, looks; /* after the step that is on its way */
};

/* One process writes the folder. */
static inline bool run_writes(const struct run *r) { return r->peers->rank == 0; }

static inline double seconds_since(uint64_t then) { return (double)(clock_ns() - then) / 1e9; }
/* Of this sitting and the ones before. */
static inline double run_seconds(const struct run *r) { return r->before + seconds_since(r->began); }

/* From options and peers to the first step, or to the one behind the last checkpoint. Close with run_close, also after a failure. */
status run_open(struct run *r);
void run_close(struct run *r);
/* A checkpoint of where it is; the processes that do not write look at their numbers only. */
status run_save(struct run *r);
#endif
