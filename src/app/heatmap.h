/* heatmap.h - explanations as PNG files. */
#ifndef APP_HEATMAP_H
#define APP_HEATMAP_H
#include "base/status.h"
#include "base/text.h"
#include "centra.h"

/* A sheet of an explanation as a file. */
status heatmap_write(const centra_explanation *e, const centra_support *support, centra_sheet sheet, size_t rank,
                     const char *path);
/* All at once for a picture file: explains it and writes what speaks for its class as FOLDER/NAME.png, NAME being that of the
 * file without its folder and ending. The folder is made. A PNG of that name that is there is left alone: the new one gets a
 * number. */
status heatmap_of(centra_classifier *classifier, const centra_support *support, const char *file, const char *folder);
/* Adds the name of a file without its folder and ending, in letters that every system takes; a long one is cut. */
void heatmap_name(text *to, const char *file);
#endif
