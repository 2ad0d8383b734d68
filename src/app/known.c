/* known.c - from a folder or a pack to a support that is ready. */
#include "app/known.h"
#include "app/library.h"
#include "app/progress.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int on_progress(void *context, size_t done, size_t all)
{
    progress_count(context, "known pictures encoded", done, all);
    return 0;
}

status known_add(const struct call *c, struct known *k, const char *folder)
{
    struct progress line = progress_begin(c);
    const centra_data_watch watch = {.progress = on_progress, .warning = progress_warning, .context = &line};
    size_t unreadable = 0;
    const status st = library(centra_support_add_folder(k->support, k->classifier, folder, &watch, &unreadable));
    progress_wipe(&line);
    if (unreadable) progress_say(&line, "%zu known pictures cannot be read and are left out", unreadable);
    return st;
}

status known_open(const struct call *c, const char *model, const char *head, const char *path, struct known *k)
{
    const centra_classifier_options o = {
        .head = head, .head_options = c->head_options, .head_option_count = c->head_option_count};
    struct stat about;
    status st = OK;
    *k = (struct known){0};
    if (stat(path, &about)) return fail(ST_IO, "cannot read '%.300s': %s", path, strerror(errno));
    TRY(library(centra_model_open(model, &k->model)));
    TRY(session_open(c, &k->session));
    TRY(library(centra_classifier_new(k->session, k->model, &o, &k->classifier)));
    if (!S_ISDIR(about.st_mode)) {
        TRY(library(centra_support_open(k->model, path, &k->support)));
    } else {
        TRY(library(centra_support_new(k->model, &k->support)));
        TRY(known_add(c, k, path));
    }
done:
    return st;
}

status known_ready(struct known *k)
{
    if (centra_support_calibrated(k->support, k->classifier)) return OK;
    return library(centra_support_calibrate(k->support, k->classifier));
}

void known_close(struct known *k)
{
    centra_support_free(k->support);
    centra_classifier_free(k->classifier);
    centra_session_close(k->session);
    centra_model_close(k->model);
    *k = (struct known){0};
}
