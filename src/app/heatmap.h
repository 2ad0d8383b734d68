/* heatmap.h - explanations as PNG files. */
#ifndef APP_HEATMAP_H
#define APP_HEATMAP_H
#include "base/status.h"
#include "base/text.h"
#include "centra.h"

/* A sheet of an explanation as a file. */
status heatmap_write(const centra_explanation *e, const centra_support *support, centra_sheet sheet, size_t rank,
                     const char *path);
/* All at once for one picture: explains it and writes where the query was found as FOLDER/NAME.png, NAME being that of
 * `file` without its folder and ending. The folder is made, and a file of that name is left alone: the new one gets a
 * number. */
status heatmap_of(centra_classifier *classifier, const centra_support *support, const centra_picture *picture,
                  const char *folder, const char *file);
/* Adds the name of a file without its folder and ending, in letters that every system takes. */
void heatmap_name(text *to, const char *file);
#endif
