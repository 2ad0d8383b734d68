/* train.c - centra train and centra pretrain: a recipe to a trained model, with progress on the way. */
#include "app/library.h"
#include "app/progress.h"
#include "app/recipes.h"
#include "app/terminal.h"
#include "base/json.h"
#include <stdio.h>
#include <stdlib.h>

struct train {
    const char *data, *images, *out, *set, *teacher;
    bool resume, force, tensorboard, strict, deterministic, sync_bn;
};

static status show_result(const struct call *c, const centra_train_result *r)
{
    const struct train *s = c->settings;
    struct json_writer j;
    text t = {0};
    if (!c->common.json) {
        text_addf(&t, "%ju epochs, %ju steps", (uintmax_t)r->epochs, (uintmax_t)r->steps);
        if (r->best_epoch)
            text_addf(&t, "; best validation %.2f +- %.2f %% after epoch %ju", 100 * r->best, 100 * r->best_ci95,
                      (uintmax_t)r->best_epoch);
        text_addf(&t, "\n%s/best.safetensors\n", s->out);
        return put(&t);
    }
    json_begin(&j, &t, true);
    json_object(&j);
    json_key(&j, "epochs"), json_int(&j, (int64_t)r->epochs);
    json_key(&j, "steps"), json_int(&j, (int64_t)r->steps);
    if (r->best_epoch) {
        json_key(&j, "accuracy"), json_real(&j, 100 * r->best);
        json_key(&j, "ci95"), json_real(&j, 100 * r->best_ci95);
        json_key(&j, "epoch"), json_int(&j, (int64_t)r->best_epoch);
    }
    json_key(&j, "run"), json_string(&j, s->out);
    json_object_end(&j);
    text_add(&t, "\n");
    return put(&t);
}

/* The recipe's settings that were given on the command line: --set, --net.KEY, --head.KEY and --seed, in this order. */
struct overrides {
    char **item; /* owned */
    size_t count;
};

static status add_override(struct overrides *o, const char *section, const char *name, const char *value)
{
    text t = {0};
    text_addf(&t, "%s%s%s%s", section, name, *value ? "=" : "", value);
    if (text_status(&t) != OK) {
        text_free(&t);
        return fail(ST_MEMORY, "no memory for the settings");
    }
    o->item[o->count++] = t.data; /* text is malloc'd */
    return OK;
}

static status collect(const struct call *c, struct overrides *o)
{
    status st = OK;
    const struct train *s = c->settings;
    char seed[32];
    o->item = calloc(c->text_count + c->net_option_count + c->head_option_count + 3, sizeof *o->item);
    if (!o->item) return fail(ST_MEMORY, "no memory for the settings");
    for (size_t i = 0; i < c->text_count; i++) TRY(add_override(o, "", c->texts[i], ""));
    for (size_t i = 0; i < c->net_option_count; i++)
        TRY(add_override(o, "net.", c->net_options[i].name, c->net_options[i].value));
    for (size_t i = 0; i < c->head_option_count; i++)
        TRY(add_override(o, "head.", c->head_options[i].name, c->head_options[i].value));
    snprintf(seed, sizeof seed, "%jd", (intmax_t)c->common.seed);
    if (s->sync_bn) TRY(add_override(o, "net.", "sync-bn", "yes"));
    if (s->teacher) TRY(add_override(o, "distil.", "teacher", s->teacher));
    if (c->seed_given) TRY(add_override(o, "train.", "seed", seed));
done:
    return st;
}

static void overrides_free(struct overrides *o)
{
    for (size_t i = 0; i < o->count; i++) free(o->item[i]);
    free(o->item);
}

static status run(const struct call *c, const char *stage)
{
    const struct train *s = c->settings;
    status st = OK;
    centra_session *session = NULL;
    centra_train_result result = {0};
    text recipe = {0};
    struct overrides overrides = {0};
    struct progress progress = progress_begin(c);
    if (!c->argument_count && !s->resume)
        return fail(ST_USAGE, "a recipe is missing: centra %s RECIPE; centra list recipes shows those there are",
                    c->command->name);
    if (c->argument_count) TRY(recipe_path(c->arguments[0], &recipe));
    TRY(collect(c, &overrides));
    TRY(session_join(c, &session));
    progress.follows = centra_session_rank(session) > 0;
    const centra_train_options o = {.recipe = c->argument_count ? text_string(&recipe) : NULL,
                                    .stage = stage,
                                    .overrides = (const char *const *)overrides.item,
                                    .override_count = overrides.count,
                                    .data = s->data,
                                    .images = s->images,
                                    .out = s->out,
                                    .resume = s->resume,
                                    .force = s->force,
                                    .tensorboard = s->tensorboard,
                                    .strict = s->strict,
                                    .deterministic = s->deterministic,
                                    .progress = progress_of_training,
                                    .warning = progress_warning,
                                    .context = &progress};
    st = library(centra_train(session, &o, &result));
    progress_wipe(&progress);
    if (st != OK) goto done;
    if (!result.stopped) st = progress.follows ? OK : show_result(c, &result);
    else
        progress_say(&progress, "stopped in epoch %ju and saved; centra %s --resume --out %s goes on",
                     (uintmax_t)result.epochs + 1, c->command->name, s->out);
done:
    centra_session_close(session);
    overrides_free(&overrides);
    text_free(&recipe);
    fflush(stdout);
    interrupt_release(); /* ends with 130 after Ctrl-C or SIGTERM */
    return st;
}

static status train_run(const struct call *c) { return run(c, "episodic"); }
static status pretrain_run(const struct call *c) { return run(c, "pretrain"); }

static const struct option train_options[] = {
    OPT_FILE(struct train, data, "data", NULL, "the pictures, with classes to train and to validate on"),
    OPT_FILE(struct train, images, "images", NULL, "the folder of the pictures that a CSV list names"),
    OPT_FILE_REQUIRED(struct train, out, "out", "the folder of the run"),
    OPT_TEXTS(struct train, set, "set", "KEY=VALUE", "another value for a key of the recipe, such as train.epochs=10"),
    OPT_TEXT(struct train, teacher, "teacher", NULL, "NAME|FILE",
             "pretrain: a model whose features the network is drawn to as well (distil.teacher, distil.weight)"),
    OPT_FLAG(struct train, resume, "resume", "go on with the run in the folder"),
    OPT_FLAG(struct train, force, "force", "replace the run in the folder"),
    OPT_FLAG(struct train, tensorboard, "tensorboard", "write an event file for TensorBoard as well"),
    OPT_FLAG(struct train, strict, "strict", "stop at a picture that cannot be read"),
    OPT_FLAG(struct train, sync_bn, "sync-bn",
             "normalise by the statistics of a whole step, also where processes share it (net.sync-bn)"),
    OPT_FLAG(struct train, deterministic, "deterministic",
             "the same bits from run to run on a GPU and among processes too, even where that is slower"),
    OPT_END};

static const char *const train_details[] = {
    "RECIPE is a file, or the name of one that centra list recipes shows; without one, --resume takes that of the run. "
    "The folder of the run gets recipe.txt (what was in effect), metrics.jsonl (one line an epoch), best.safetensors "
    "(the model that was kept), last.ckpt and report.html (the curves).",
    "Ctrl-C and SIGTERM save and end with 130. A run that was stopped or killed goes on with --resume and ends with "
    "the same "
    "weights, bit for bit.",
    "Started by mpirun -n 4 or srun, the processes share every step: each computes a part of its episodes or pictures, "
    "and "
    "the first writes the folder of the run. train.batch counts them all.",
    NULL};

const struct command train_command = {
    .name = "train",
    .title = "trains a network with a head on episodes, as a recipe says",
    .arguments = "RECIPE",
    .most = 1,
    .options = train_options,
    .settings_bytes = sizeof(struct train),
    .head_options = true,
    .net_options = true,
    .details = train_details,
    .run = train_run,
    .examples = {{"centra train cub-conv4-1shot --data cub --out runs/cub", "the paper's Conv-4 on CUB"},
                 {"centra train --resume --out runs/cub", "goes on with a run that was stopped"}},
};

const struct command pretrain_command = {
    .name = "pretrain",
    .title = "trains a network on all classes at once, as a recipe says",
    .arguments = "RECIPE",
    .most = 1,
    .options = train_options,
    .settings_bytes = sizeof(struct train),
    .net_options = true,
    .details = train_details,
    .run = pretrain_run,
    .examples = {{"centra pretrain mini-resnet12-pretrain --data mini --out runs/pre",
                  "before episodes on miniImageNet"},
                 {"centra pretrain mini-resnet12-pretrain --data mini --out runs/short --set train.epochs=10",
                  "fewer epochs than the recipe says"}},
};
