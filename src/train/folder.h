/* folder.h - the folder of a run: its files, and a lock so that two runs do not share one.
 *
 *     recipe.txt        the recipe in effect, defaults included
 *     metrics.jsonl     one line an epoch
 *     best.safetensors  the model that was kept
 *     last.ckpt         where the run is
 *     report.html       the curves
 */
#ifndef TRAIN_FOLDER_H
#define TRAIN_FOLDER_H
#include "base/status.h"
#include <stdbool.h>

enum run_file { RUN_RECIPE, RUN_METRICS, RUN_BEST, RUN_LAST, RUN_REPORT, RUN_FILES };

struct run_folder {
    char *path;            /* owned */
    char *file[RUN_FILES]; /* owned: their paths */
    int lock;              /* open as long as the run lasts */
};

/* Makes the folder if it is not there, and locks it. A folder that holds a run already is refused unless `resume` or
 * `force`; one that holds none, with `resume`. Nothing in it changes. */
status run_folder_open(const char *path, bool resume, bool force, struct run_folder *out);
/* Removes what an earlier run left. */
status run_folder_clear(const struct run_folder *f);
/* Removes what a killed writer left behind. */
void run_folder_sweep(const struct run_folder *f);
void run_folder_close(struct run_folder *f); /* accepts one that is not open: zeroed, lock -1 */
#endif
