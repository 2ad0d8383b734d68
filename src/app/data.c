/* data.c - centra data: checks, packs, splits and makes data sets. */
#include "app/data_report.h"
#include "app/data_synth.h"
#include "app/library.h"
#include "app/progress.h"
#include "app/terminal.h"
#include "base/json.h"
#include <string.h>

struct data {
    const char *images;
    int64_t side, quality, hold;
    int filter, chroma;
    bool strict;
    double train, val, test;
    const char *out, *classes;
    int64_t pictures;
};

static const char *const filters[] = {"bilinear", "bicubic", "lanczos", NULL};
enum { WHOLE, HALVED };
static const char *const chromas[] = {"444", "420", NULL};

static int packed(void *context, size_t done, size_t all)
{
    progress_count(context, "pictures packed", done, all);
    return interrupt_pending();
}

static int checked(void *context, size_t done, size_t all)
{
    progress_count(context, "pictures checked", done, all);
    return interrupt_pending();
}

static centra_data_watch watch_of(const struct call *c, struct progress *p, int (*told)(void *, size_t, size_t))
{
    return (centra_data_watch){told, progress_warning, p, (size_t)c->common.threads};
}

static status check(const struct call *c, const struct data *s)
{
    centra_data_report *r = NULL;
    text t = {0};
    struct progress progress = progress_begin(c);
    const centra_data_watch watch = watch_of(c, &progress, checked);
    status st = library(centra_data_check(c->arguments[1], s->images, &watch, &r));
    progress_wipe(&progress);
    if (st != OK) return st;
    const size_t unreadable = data_report_unreadable(r), across = data_report_across(r);
    (c->common.json ? data_report_json : data_report_table)(r, &t);
    centra_data_report_free(r);
    st = put(&t);
    if (st == OK && unreadable)
        st = fail(ST_FORMAT, "%zu picture%s of '%s' cannot be read", unreadable, unreadable == 1 ? "" : "s",
                  c->arguments[1]);
    else if (st == OK && across && s->strict)
        st = fail(ST_VALUE, "%zu picture%s of '%s' stand%s in more than one split", across, across == 1 ? "" : "s",
                  c->arguments[1], across == 1 ? "s" : "");
    return st;
}

static status say_packed(const struct call *c, const centra_pack_result *r)
{
    text t = {0};
    if (c->common.json)
        text_addf(&t, "{\"splits\": %zu, \"pictures\": %zu, \"skipped\": %zu}\n", r->splits, r->pictures, r->skipped);
    else if (!c->common.quiet) text_addf(&t, "%zu pictures packed, %zu left out\n", r->pictures, r->skipped);
    return put(&t);
}

static status pack(const struct call *c, const struct data *s)
{
    struct progress progress = progress_begin(c);
    const centra_data_watch watch = watch_of(c, &progress, packed);
    const centra_pack_options o = {.side = (size_t)s->side,
                                   .strict = s->strict,
                                   .images = s->images,
                                   .filter = filters[s->filter],
                                   .quality = (int)s->quality,
                                   .halved = s->chroma == HALVED,
                                   .hold = (size_t)s->hold,
                                   .seed = (uint64_t)c->common.seed};
    centra_pack_result r = {0};
    interrupt_hold();
    status st = library(centra_data_pack(c->arguments[1], c->arguments[2], &o, &watch, &r));
    progress_wipe(&progress);
    interrupt_release();
    return st == OK ? say_packed(c, &r) : st;
}

static status split(const struct call *c, const struct data *s)
{
    static const char *const names[] = {"train", "val", "test"};
    struct progress progress = progress_begin(c);
    const centra_data_watch watch = watch_of(c, &progress, NULL);
    centra_split_result r = {0};
    struct json_writer j;
    text t = {0};
    interrupt_hold();
    status st = library(centra_data_split(c->arguments[1], (double[3]){s->train, s->val, s->test},
                                          (uint64_t)c->common.seed, &watch, &r));
    interrupt_release();
    if (st != OK) return st;
    if (!c->common.json) {
        for (int i = 0; i < 3; i++)
            text_addf(&t, "%s: %zu classes, %zu pictures\n", names[i], r.classes[i], r.pictures[i]);
        if (r.left_over) text_addf(&t, "in no split: %zu classes\n", r.left_over);
        return put(&t);
    }
    json_begin(&j, &t, false);
    json_object(&j);
    for (int i = 0; i < 3; i++) {
        json_key(&j, names[i]);
        json_object(&j);
        json_key(&j, "classes");
        json_int(&j, (int64_t)r.classes[i]);
        json_key(&j, "pictures");
        json_int(&j, (int64_t)r.pictures[i]);
        json_object_end(&j);
    }
    json_object_end(&j);
    text_add(&t, "\n");
    return put(&t);
}

static status synth(const struct call *c, const struct data *s)
{
    enum { SIDE_USUAL = 84 };
    return data_synth(c, s->out, s->classes, s->pictures, s->side ? s->side : SIDE_USUAL);
}

/* What can be done, with the number of arguments behind its name. */
static const struct {
    const char *name, *usage;
    size_t arguments;
    status (*run)(const struct call *c, const struct data *s);
} actions[] = {{"check", "centra data check PATH", 1, check},
               {"pack", "centra data pack PATH OUT", 2, pack},
               {"split", "centra data split PATH", 1, split},
               {"synth", "centra data synth --out DIR", 0, synth}};

static const char *const action_names[] = {"check", "pack", "split", "synth", NULL};

static status data_run(const struct call *c)
{
    size_t i = 0;
    while (strcmp(actions[i].name, c->arguments[0]) != 0) i++; /* args.c has seen that it is one of them */
    if (c->argument_count != actions[i].arguments + 1)
        return fail(ST_USAGE, "%s: %s",
                    c->argument_count < actions[i].arguments + 1 ? "something is missing" : "too much",
                    actions[i].usage);
    return actions[i].run(c, c->settings);
}

static const struct option data_options[] = {
    OPT_TEXT(struct data, images, "images", NULL, "DIR", "the folder of a list's pictures (default: the list's own)"),
    OPT_FLAG(struct data, strict, "strict",
             "pack: fail at a picture that cannot be read; check: fail at equal pictures in two splits"),
    OPT_INT(struct data, side, "side", 0, 0, 8192,
            "pack: resize to squares of this side; 0: leave them as they are; synth: side of a picture; 0: 84"),
    OPT_NAME(struct data, filter, "filter", 0, filters, "pack: how --side resizes"),
    OPT_INT(struct data, quality, "quality", 0, 0, 100,
            "pack: what a JPEG of this quality leaves of each picture, after --side; 0: all of it"),
    OPT_NAME(struct data, chroma, "chroma", WHOLE, chromas, "pack: colours of that JPEG as fine as its light, or half"),
    OPT_INT(struct data, hold, "hold", 0, 0, 100000,
            "pack: join all splits to train, but for so many pictures of each class, which --seed draws: val; 0: not"),
    OPT_FLOAT(struct data, train, "train", 0.64, 0, 100000, "split: classes for training, a number or a fraction"),
    OPT_FLOAT(struct data, val, "val", 0.16, 0, 100000, "split: classes for validation"),
    OPT_FLOAT(struct data, test, "test", 0.2, 0, 100000, "split: classes for testing"),
    OPT_TEXT(struct data, out, "out", NULL, "DIR", "synth: the folder to write to; it must not exist"),
    OPT_TEXT(struct data, classes, "classes", "64,16,20", "TRAIN,VAL,TEST", "synth: classes of each split"),
    OPT_INT(struct data, pictures, "pictures", 60, 1, 10000, "synth: pictures of each class"),
    OPT_END};

static const char *const data_details[] = {
    "PATH is a folder train|val|test/CLASS/PICTURE or of class folders, a tar of such, a folder of tars, a list "
    "filename,label (.csv), a folder with train.csv, val.csv, test.csv, or a pack.",
    "check counts classes and pictures, names those that cannot be read (exit status 1) and those that are the same, "
    "and "
    "gives the fingerprint that results record. pack decodes everything once into one file that --data takes anywhere. "
    "--side, --filter and --quality store a set smaller, enlarged or compressed, to see what that costs. "
    "split divides the classes of a folder by writing three lists into it; --seed chooses which.",
    "synth writes the built-in few-shot data set as PNG files. A class is a small pattern of coloured shapes; a "
    "picture shows it "
    "at some place and size among textures, loose shapes and other patterns that mean nothing. All follows from "
    "--seed; "
    "--data synth:SEED takes the same pictures without files.",
    NULL};

const struct command data_command = {
    .name = "data",
    .title = "checks, packs, splits and makes sets of pictures",
    .arguments = "check|pack|split|synth [PATH [OUT]]",
    .least = 1,
    .most = 3,
    .choices = action_names,
    .options = data_options,
    .settings_bytes = sizeof(struct data),
    .details = data_details,
    .run = data_run,
    .examples = {{"centra data check pictures/", "what the set holds, and what is wrong with it"},
                 {"centra data pack pictures/ pictures.pack --side 92", "decode once, at 92 x 92"}},
};
