/* classify.c - centra classify: pictures of one's own, told apart by a few known ones of each class. */
#include "app/classify.h"
#include "app/gather.h"
#include "app/heatmap.h"
#include "app/known.h"
#include "app/library.h"
#include "app/progress.h"
#include "app/terminal.h"
#include "base/plain.h"
#include <stdio.h>
#include <stdlib.h>

enum { AT_A_TIME = 64 }; /* pictures between two looks at the clock */

struct work {
    const struct call *call;
    struct known *known;
    const struct gathered *files;
    struct report report;
    struct progress line;
    struct unknown unknown;
    double *probabilities; /* owned, [AT_A_TIME, classes] */
    centra_guess guess[AT_A_TIME];
    size_t unreadable;
    char why[ERROR_BYTES]; /* the only picture of a call cannot be read: then that is the result */
};

/* One line each, also with --quiet: the result lacks them. */
static void on_unreadable(void *context, const char *message)
{
    struct work *w = context;
    plain_snprintf(w->why, sizeof w->why, "%s", message);
    if (w->files->count == 1) return;
    progress_wipe(&w->line);
    fputs("centra classify: ", stderr);
    for (const char *s = message; *s; s++) fputc((unsigned char)*s < ' ' || *s == 0x7f ? '?' : *s, stderr);
    fputc('\n', stderr);
}

static status tell(struct work *w, size_t i, size_t classes, const char *path)
{
    const struct classify *s = w->call->settings;
    const centra_guess *g = &w->guess[i];
    const struct verdict v = {path, g, w->probabilities + i * classes, unknown_is(&w->unknown, g)};
    const char *label = NONE_OF_THESE;
    status st = OK;
    TRY(report_row(&w->report, &v));
    if (s->heatmap) TRY(heatmap_of(w->known->classifier, w->known->support, path, s->heatmap));
    if (!s->copy_to) return OK;
    if (!v.unknown) TRY(library(centra_support_class(w->known->support, g->best, &label, NULL)));
    TRY(sort_copy(path, s->copy_to, label));
done:
    return st;
}

static status classify_group(struct work *w, size_t first, size_t count)
{
    const char *const *paths = (const char *const *)w->files->path + first;
    const size_t classes = centra_support_class_count(w->known->support);
    const centra_data_watch watch = {.warning = on_unreadable, .context = w};
    status st = OK;
    TRY(library(centra_classify_files(w->known->classifier, w->known->support, paths, count, w->probabilities, w->guess,
                                      &watch)));
    for (size_t i = 0; i < count; i++) {
        if (w->guess[i].best == SIZE_MAX) w->unreadable++;
        else TRY(tell(w, i, classes, paths[i]));
    }
done:
    return st;
}

static status classify_all(struct work *w)
{
    const size_t count = w->files->count, classes = centra_support_class_count(w->known->support);
    status st = OK;
    TRY(report_begin(w->call, w->known->support, &w->report));
    TRY(array_take(AT_A_TIME, classes, 1, sizeof *w->probabilities, (void **)&w->probabilities));
    for (size_t first = 0; first < count; first += AT_A_TIME) {
        progress_count(&w->line, "pictures", first, count);
        TRY(classify_group(w, first, count - first < AT_A_TIME ? count - first : AT_A_TIME));
        progress_wipe(&w->line);
        TRY(report_flush(&w->report, false));
    }
    TRY(report_flush(&w->report, true));
    if (w->unreadable == count && count == 1) st = fail(ST_FORMAT, "%s", w->why);
    else if (w->unreadable == count) st = fail(ST_FORMAT, "none of the %zu pictures could be read", count);
    else if (w->unreadable)
        st = fail(ST_FORMAT, "%zu of %zu pictures could not be read; the others are done", w->unreadable, count);
done:
    progress_wipe(&w->line);
    report_free(&w->report);
    free(w->probabilities);
    return st;
}

static status save(const struct known *k, const char *path)
{
    interrupt_hold();
    const status st = library(centra_support_save(k->support, path));
    interrupt_release();
    return st;
}

/* --add, --remove and --save-pack. */
static status change(const struct call *c, struct known *k)
{
    const struct classify *s = c->settings;
    status st = OK;
    for (size_t i = 0; i < c->text_count; i++) TRY(library(centra_support_remove(k->support, c->texts[i], SIZE_MAX)));
    if (s->add) TRY(known_add(c, k, s->add));
    if (centra_support_class_count(k->support) > 1) TRY(known_ready(k));
    if (s->save_pack) TRY(save(k, s->save_pack));
done:
    return st;
}

static status classify_run(const struct call *c)
{
    const struct classify *s = c->settings;
    struct known known = {0};
    struct gathered files = {0};
    struct work w = {.call = c, .known = &known, .files = &files, .line = progress_begin(c)};
    status st = OK;
    TRY(unknown_read(s->unknown_below, &w.unknown));
    if (s->csv && c->common.json) TRY(fail(ST_USAGE, "either --json or --csv, not both"));
    if (!c->argument_count && !s->save_pack)
        TRY(fail(ST_USAGE, "nothing to classify: name pictures or folders of them, or give --save-pack"));
    TRY(gather(c->arguments, c->argument_count, &files));
    if (c->argument_count && !files.count) TRY(fail(ST_VALUE, "there are no pictures in what was named"));
    TRY(known_open(c, s->model, s->head, s->support, &known));
    TRY(change(c, &known));
    if (files.count) TRY(classify_all(&w));
done:
    known_close(&known);
    gathered_free(&files);
    return st;
}

static const struct option classify_options[] = {
    {.type = OPTION_FILE,
     .offset = offsetof(struct classify, support),
     .name = "support",
     .help = "the known pictures: a folder with a folder for each class, or a pack",
     .value = "DIR|PACK",
     .required = true},
    OPT_TEXT(struct classify, model, "model", NULL, "NAME|FILE",
             "another model than the default; centra models list shows those that there are"),
    OPT_TEXT(struct classify, head, "head", NULL, "NAME", "another head than the model's"),
    OPT_FLAG(struct classify, csv, "csv", "comma-separated values with a first line of names"),
    OPT_INT(struct classify, top, "top", 1, 1, 1000, "how many classes to show for each picture"),
    OPT_UNKNOWN_BELOW(struct classify, unknown_below),
    OPT_FILE(struct classify, copy_to, "copy-to", NULL,
             "a folder to copy the pictures to, each into that of its class"),
    OPT_FILE(struct classify, heatmap, "heatmap", NULL,
             "a folder for a PNG of each picture that shows what in it speaks for its class"),
    OPT_FILE(struct classify, save_pack, "save-pack", NULL, "a file to keep the encoded known pictures in"),
    OPT_FILE(struct classify, add, "add", NULL, "a folder with further known pictures of old or new classes"),
    OPT_TEXTS(struct classify, remove, "remove", "CLASS", "a class to leave out; may be given more than once"),
    OPT_END};

static const char *const classify_details[] = {
    "Says for each picture which class of the known ones it belongs to, and how probable that is. The name of a class "
    "is that "
    "of its folder; one picture of each is enough, five are better, and they may be of any size. Folders among the "
    "pictures "
    "are walked. A file that cannot be read is named on standard error, the others go on, and the exit status is 1.",
    "Familiarity is the part of known pictures that would look stranger than this one, as seen by leaving each known "
    "picture "
    "out in turn; that needs two pictures of a class. Below 0.05 a picture is called none of these, and one known "
    "picture in "
    "twenty would be by mistake. With one picture a class there is no familiarity; then --unknown-below looks at the "
    "probability instead, and only when it is given.",
    "--save-pack keeps the known pictures encoded, so that the next call needs only the file. --remove and --add "
    "change what "
    "a pack holds without encoding the rest again; with --save-pack the result is kept, also under the same name.",
    "--copy-to never moves and never overwrites: where a name is taken the copy gets a number, and a file that is "
    "there "
    "already is left alone. Pictures that are none of these go into a folder of that name.",
    NULL};

const struct command classify_command = {
    .name = "classify",
    .title = "tells pictures apart by a few known ones of each class",
    .arguments = "PICTURE...",
    .most = SIZE_MAX,
    .options = classify_options,
    .settings_bytes = sizeof(struct classify),
    .head_options = true,
    .details = classify_details,
    .run = classify_run,
    .examples = {{"centra classify --support known holiday/", "labels for all pictures in holiday/ and below"},
                 {"centra classify --support known --save-pack k.pack new.jpg --copy-to sorted",
                  "keeps the known pictures encoded, and sorts a copy"}},
};
