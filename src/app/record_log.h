/* record_log.h - what a file of weights and the log of its run tell for a record. */
#ifndef APP_RECORD_LOG_H
#define APP_RECORD_LOG_H
#include "app/record.h"

/* Fills in from the file of weights its fingerprint, that of the pictures it was trained on, its validation and the hash of its
 * recipe; and, unless `log` is NULL, from that metrics.jsonl the epochs, steps, times and the curve. */
status record_training(const char *weights, const char *log, arena *memory, struct record *r);
#endif
