/* pth.h - from a pickle whose storages have been found to named arrays; what both forms of .pth share. */
#ifndef WEIGHTS_PTH_H
#define WEIGHTS_PTH_H
#include "weights/file.h"
#include "weights/pickle.h"

/* Adds the tensors of the dict `root`, or of the one dict within it that holds tensors. */
status pth_add_tensors(struct weights *w, const struct pickle_value *root);
/* The bytes of a storage; fails when they do not fit a size_t. */
status pth_storage_bytes(const struct weights *w, const struct pickle_storage *s, size_t *out);
#endif
