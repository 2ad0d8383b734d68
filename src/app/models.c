/* models.c - centra models: adds models of one's own, shows, chooses and removes them. */
#include "app/library.h"
#include "app/model_list.h"
#include "app/table.h"
#include "app/terminal.h"
#include <string.h>

struct models {
    const char *name, *licence, *source;
    int64_t side;
    bool names, reset;
};

static status say_default(const struct call *c, const char *before)
{
    const char *name = NULL;
    struct json_writer w;
    text t = {0};
    const status st = library(centra_model_default(&name));
    if (st != OK) return st;
    if (c->common.json) {
        json_begin(&w, &t, true);
        json_object(&w);
        json_key(&w, "default");
        json_string(&w, name);
        json_object_end(&w);
        text_add(&t, "\n");
    } else {
        text_addf(&t, "%s%s\n", before, name);
    }
    return put(&t);
}

static status add(const struct call *c, const struct models *s)
{
    const centra_model_add_options o = {.name = s->name,
                                        .source = s->source,
                                        .licence = s->licence,
                                        .net_options = c->net_options,
                                        .net_option_count = c->net_option_count,
                                        .side = (size_t)s->side};
    const char *name = NULL;
    centra_model *m = NULL;
    centra_model_info i;
    text t = {0};
    interrupt_hold();
    status st = library(centra_model_add(c->arguments[1], &o, &name));
    interrupt_release();
    if (st == OK) st = library(centra_model_open(name, &m));
    if (st != OK) return st;
    centra_model_describe(m, &i);
    text_addf(&t, "%s added: %s, side %zu, fingerprint %.12s...\n", i.name, i.backbone, i.side, i.fingerprint);
    if (!c->common.quiet) text_addf(&t, "centra models default %s makes it the one that is taken unasked\n", i.name);
    centra_model_close(m);
    return put(&t);
}

static status choose(const struct call *c, const struct models *s)
{
    status st = OK;
    if (s->reset && c->argument_count > 1)
        return fail(ST_USAGE, "either a name or --reset, not both: centra models default");
    interrupt_hold();
    if (s->reset || c->argument_count > 1) st = library(centra_model_set_default(s->reset ? NULL : c->arguments[1]));
    interrupt_release();
    return st == OK ? say_default(c, "") : st;
}

static status list(const struct call *c, const struct models *s) { return s->names ? model_names() : model_list(c); }

static status take_away(const struct call *c, const struct models *s)
{
    const char *before = NULL;
    (void)s;
    const bool had = centra_model_default(&before) == CENTRA_OK && !strcmp(before, c->arguments[1]);
    const status st = library(centra_model_remove(c->arguments[1]));
    if (st != OK || !had) return st;
    return say_default(c, "it was the default, which now is ");
}

/* Showing */

static void line(struct table *table, const char *key, const char *value)
{
    text t = {0};
    if (!*value) return;
    add_words(&t, value);
    if (table->cells.st == OK) table->cells.st = t.st;
    table_cell(table, "%s", key);
    table_cell(table, "%s", text_string(&t));
    text_free(&t);
}

static void show_table(const centra_model *m, const centra_model_place *place, text *to)
{
    static const char *const notes[][2] = {{"options", "options"},
                                           {"transform", "transform"},
                                           {"pad", "pad"},
                                           {"mean", "mean"},
                                           {"std", "std"},
                                           {"trained on", "data"},
                                           {"accuracy", "accuracy"},
                                           {"data fingerprint", "data_fingerprint"},
                                           {"added from", "added.file"},
                                           {"its SHA-256", "added.sha256"},
                                           {"source", "source"}};
    struct table table = {.align = "ll"};
    centra_model_info i;
    centra_model_describe(m, &i);
    line(&table, "model", i.name);
    line(&table, "network", i.backbone);
    line(&table, "head", i.head);
    line(&table, "extractor", i.extractor);
    table_cell(&table, "side");
    table_cell(&table, "%zu", i.side);
    for (size_t k = 0; k < sizeof notes / sizeof *notes; k++) line(&table, notes[k][0], model_note(m, notes[k][1]));
    line(&table, "licence", model_licence(m));
    line(&table, "fingerprint", i.fingerprint);
    line(&table, "file", i.path);
    table_cell(&table, "size");
    table_cell(&table, "%.1f MB", (double)place->bytes / 1e6);
    line(&table, "from", place->own ? "own" : "shipped");
    line(&table, "default", place->standard ? "yes" : "no");
    table_write(&table, 0, to);
}

static void show_json(const centra_model *m, const centra_model_place *place, text *to)
{
    struct json_writer w;
    const char *key, *value;
    json_begin(&w, to, true);
    json_object(&w);
    model_json(&w, m, place);
    json_key(&w, "card");
    json_object(&w);
    for (size_t i = 0; centra_model_note(m, i, &key, &value) == CENTRA_OK; i++) {
        json_key(&w, key);
        json_string(&w, value);
    }
    json_object_end(&w);
    json_object_end(&w);
    text_add(to, "\n");
}

static status refuse_name(const char *name)
{
    enum { NAMES_MOST = 512 };
    const char *names[NAMES_MOST + 1] = {0}, *meant = NULL;
    centra_model_place place;
    text all = {0}; /* NUL behind each */
    size_t n = 0;
    for (; n < NAMES_MOST && centra_model_at(n, &place) == CENTRA_OK; n++)
        text_add_bytes(&all, place.name, strlen(place.name) + 1);
    status st = text_status(&all);
    if (st == OK) {
        const char *at = text_string(&all);
        for (size_t i = 0; i < n; i++, at += strlen(at) + 1) names[i] = at;
        meant = nearest_name(name, names);
        st = meant ? fail(ST_USAGE, "there is no model '%.100s', did you mean %s?", name, meant)
                   : fail(ST_USAGE, "there is no model '%.100s'; centra models list shows those that there are", name);
    }
    text_free(&all);
    return st;
}

/* Only models that have a name: centra weights show takes any file. */
static status find_place(const char *name, centra_model_place *out)
{
    centra_status st;
    for (size_t i = 0; (st = centra_model_at(i, out)) == CENTRA_OK; i++)
        if (!strcmp(out->name, name)) return OK;
    if (st != CENTRA_USAGE) return library(st);
    return refuse_name(name);
}

static status show(const struct call *c, const struct models *s)
{
    centra_model_place place;
    centra_model *m = NULL;
    text t = {0};
    (void)s;
    status st = find_place(c->arguments[1], &place);
    if (st == OK) st = library(centra_model_open(place.path, &m));
    if (st != OK) return st;
    (c->common.json ? show_json : show_table)(m, &place, &t);
    centra_model_close(m);
    return put(&t);
}

static const struct {
    const char *name, *usage;
    size_t least, most; /* arguments behind its name */
    status (*run)(const struct call *c, const struct models *s);
} actions[] = {{"add", "centra models add FILE", 1, 1, add},
               {"default", "centra models default [NAME]", 0, 1, choose},
               {"list", "centra models list", 0, 0, list},
               {"remove", "centra models remove NAME", 1, 1, take_away},
               {"show", "centra models show NAME", 1, 1, show}};

static const char *const action_names[] = {"add", "default", "list", "remove", "show", NULL};

static status models_run(const struct call *c)
{
    size_t i = 0;
    while (strcmp(actions[i].name, c->arguments[0]) != 0) i++; /* args.c has seen that it is one of them */
    const size_t behind = c->argument_count - 1;
    if (behind < actions[i].least || behind > actions[i].most)
        return fail(ST_USAGE, "%s: %s", behind < actions[i].least ? "something is missing" : "too much",
                    actions[i].usage);
    return actions[i].run(c, c->settings);
}

static const struct option models_options[] = {
    OPT_TEXT(struct models, name, "name", NULL, "NAME", "add: what to call it; else as the file is called"),
    OPT_TEXT(struct models, licence, "licence", NULL, "TEXT", "add: a note on the licence of the weights"),
    OPT_TEXT(struct models, source, "source", NULL, "TEXT", "add: a note on where they come from"),
    OPT_INT(
        struct models, side, "side", 0, 0, 4096,
        "add: side in pixels of what the network sees of a picture; 0: as the file says, or as usual for the network"),
    OPT_FLAG(struct models, names, "names", "list: only the names, one a line"),
    OPT_FLAG(struct models, reset, "reset", "default: forget the choice, so that the best that came along is it again"),
    OPT_END};

static const char *const models_details[] = {
    "add takes a file of weights that you have: safetensors or PyTorch's .pth, of a network that centra list backbones "
    "shows, "
    "or the folder of a run. It finds out by the names and shapes of the arrays which network that is, checks that all "
    "are "
    "there and no others, and keeps a converted copy, with its fingerprint and what is known of its source, in the "
    "folder "
    "$XDG_DATA_HOME/centra/models (else ~/.local/share/centra/models). Nothing is fetched from anywhere; "
    "docs/models.md "
    "says which public files work. Options of the network are written --net.KEY VALUE.",
    "classify, explain, serve and encode take a model by its name (--model NAME), eval as well (--weights NAME). "
    "Without "
    "a name the first three take the default: the one that models default has chosen, else the best that came along.",
    NULL};

const struct command models_command = {
    .name = "models",
    .title = "adds models of your own, shows, chooses and removes them",
    .arguments = "add|default|list|remove|show [FILE|NAME]",
    .least = 1,
    .most = 2,
    .choices = action_names,
    .options = models_options,
    .settings_bytes = sizeof(struct models),
    .net_options = true,
    .details = models_details,
    .run = models_run,
    .examples = {{"centra models add resnet12.pth --name birds --licence CC-BY-4.0", "keeps it as birds"},
                 {"centra models default birds", "classify, explain and serve take it unasked"}},
};
