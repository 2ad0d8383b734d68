/* data_synth.c - the public call that writes the synthetic data set. */
#include "centra.h"
#include "data/synth.h"

centra_status centra_data_synth(const char *spec, const char *folder, const centra_data_watch *watch)
{
    struct synth s;
    if (!spec || !folder) return (centra_status)fail(ST_USAGE, "centra_data_synth needs a specification and a folder");
    const struct synth_progress told = {watch ? watch->progress : NULL, watch ? watch->context : NULL,
                                        watch ? watch->threads : 0};
    status st = synth_parse(spec, &s);
    if (st == OK) st = synth_write(&s, folder, &told);
    return (centra_status)st;
}
