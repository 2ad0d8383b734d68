/* reproduce.h - what the files of centra reproduce share: its settings, and a row on its way to a record. */
#ifndef APP_REPRODUCE_H
#define APP_REPRODUCE_H
#include "app/command.h"
#include "app/progress.h"
#include "app/record.h"
#include "app/rows.h"

struct reproduce {
    const char *data, *out, *records, *set, *weights, *machine, *all_of, *page;
    bool list, again;
};

enum { REPRODUCE_TEST_SEED = 1, REPRODUCE_WAY = 5, REPRODUCE_QUERY = 15 };

/* Rows that are run one after the other. */
struct reproduction {
    const struct call *call;
    const struct reproduce *settings;
    struct progress progress;
    centra_session *session; /* owned; NULL until one is needed */
    arena *memory;           /* owned: the texts of records */
    text records;            /* the folder of records */
};

/* reproduce_run.c: runs a row, or takes its record where it has one already. */
status reproduce_row(struct reproduction *p, const struct row_at *at, struct record *out);

/* reproduce_data.c: where the pictures of a set lie: below --data, or decoded once below --out. */
status reproduce_data(struct reproduction *p, const char *set, text *path);

/* reproduce_place.c: names of files of a row, and the lock that keeps two processes from one row. */
/* OUT/BLOCK/METHOD-sSEED, behind it a hash of the further settings where there are any. */
void reproduce_folder(const struct reproduction *p, const struct row_at *at, int64_t seed, bool own_settings, text *to);
void reproduce_record_path(const struct reproduction *p, const struct row_at *at, int64_t seed, text *to);
/* Waits for whoever has it; the system lets go of it when the process ends. The descriptor is to be closed. */
status reproduce_lock(struct reproduction *p, const char *path, int *out);
/* The further settings of --set between blanks. */
void reproduce_more(const struct call *c, text *to);
/* The processor, or the GPU where that is asked for; "unknown" when the system does not say. */
void reproduce_machine(const char *device, text *to);
#endif
