/* heatmap.c - sheets go to files whole or not at all. */
#include "app/heatmap.h"
#include "app/library.h"
#include "app/terminal.h"
#include "base/file.h"
#include <string.h>

static status write_png(const centra_picture *p, const char *path)
{
    unsigned char *png = NULL;
    size_t bytes = 0;
    status st = OK;
    TRY(library(centra_picture_png(p, &png, &bytes)));
    interrupt_hold();
    st = file_write(path, png, bytes);
    interrupt_release();
done:
    centra_free(png);
    return st;
}

status heatmap_write(const centra_explanation *e, const centra_support *support, centra_sheet sheet, size_t rank,
                     const char *path)
{
    centra_picture p = {0};
    status st = library(centra_explanation_sheet(e, support, sheet, rank, &p));
    if (st == OK) st = write_png(&p, path);
    centra_picture_free(&p);
    return st;
}

static bool plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Behind it stand numbers and ".png", and a file's name has 255 bytes at most. */
enum { NAME_MOST = 100 };

void heatmap_name(text *to, const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *dot = strrchr(name, '.');
    const size_t length = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    for (size_t i = 0; i < length && i < NAME_MOST; i++) text_addf(to, "%c", plain(name[i]) ? name[i] : '_');
    if (!length) text_add(to, "picture");
}

/* FOLDER/NAME.png, or the first FOLDER/NAME-2.png, ... that is not there yet. */
static status free_path(const char *folder, const char *file, text *out)
{
    status st = folder_make(folder);
    for (size_t n = 1; st == OK; n++) {
        text_clear(out);
        text_addf(out, "%s/", folder);
        heatmap_name(out, file);
        if (n > 1) text_addf(out, "-%zu", n);
        text_add(out, ".png");
        st = text_status(out);
        if (st == OK && !file_exists(text_string(out))) break;
    }
    return st;
}

status heatmap_of(centra_classifier *classifier, const centra_support *support, const char *file, const char *folder)
{
    centra_explanation *e = NULL;
    text path = {0};
    status st = OK;
    TRY(library(centra_explain_file(classifier, support, file, &e)));
    TRY(free_path(folder, file, &path));
    st = heatmap_write(e, support, CENTRA_SHEET_QUERY, 0, text_string(&path));
done:
    centra_explanation_free(e);
    text_free(&path);
    return st;
}
