/* data_synth.h - centra data synth. */
#ifndef APP_DATA_SYNTH_H
#define APP_DATA_SYNTH_H
#include "app/command.h"

/* Writes the built-in set to the folder `out`: `classes` are those of train, val and test, like "64,16,20". */
status data_synth(const struct call *c, const char *out, const char *classes, int64_t pictures, int64_t side);
#endif
