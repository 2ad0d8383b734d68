/* train.c - the public call that trains: recipe and overrides to settings, then a run. */
#include "api/model_find.h"
#include "api/session.h"
#include "base/plain.h"
#include "heads/head.h"
#include "train/run.h"
#include "weights/weights.h"
#include <string.h>

/* Another head than the recipe's takes those of its options along that it has itself; one that an override names stays, to
 * be refused where the head does not know it. */
static void leave_options(struct recipe_extras *x, const char *head)
{
    const struct head *h = NULL;
    size_t kept = 0;
    if (head_find(head, &h) != OK) return; /* refused where the head is made */
    for (size_t i = 0; i < x->count; i++)
        if (!x->item[i].line || option_find(h->options, x->item[i].name)) x->item[kept++] = x->item[i];
    x->count = kept;
}

static status read_recipe(const centra_train_options *o, struct run_settings *s, arena *memory)
{
    status st = OK;
    struct recipe_section sections[RUN_SECTIONS + 1];
    text path = {0};
    run_settings_default(s);
    run_sections(s, sections);
    if (!o->recipe && !o->resume) TRY(fail(ST_USAGE, "a recipe is missing"));
    if (o->recipe) text_add(&path, o->recipe);
    else text_addf(&path, "%s/recipe.txt", o->out);
    TRY(text_status(&path));
    TRY(recipe_read(text_string(&path), sections, memory));
    const char *head = s->head.name;
    for (size_t i = 0; i < o->override_count; i++) TRY(recipe_override(o->overrides[i], sections, memory));
    if (s->train.stage == STAGE_EPISODIC && strcmp(head, s->head.name)) leave_options(&s->head.options, s->head.name);
done:
    text_free(&path);
    return st;
}

/* A teacher given by name, and which weights those are, for the recipe that is kept. */
static status find_teacher(struct run_settings *s, arena *memory)
{
    char path[PATH_MAX], fingerprint[65];
    struct weights *w = NULL;
    void *kept[2];
    status st = OK;
    if (!s->distil.teacher) return OK;
    TRY(model_find(s->distil.teacher, path));
    TRY(weights_open(path, &w));
    TRY(weights_fingerprint(w, fingerprint));
    TRY(arena_take(memory, strlen(path) + 1, 1, &kept[0]));
    TRY(arena_take(memory, sizeof fingerprint, 1, &kept[1]));
    s->distil.teacher = memcpy(kept[0], path, strlen(path) + 1);
    if (!s->distil.fingerprint) s->distil.fingerprint = memcpy(kept[1], fingerprint, sizeof fingerprint);
done:
    weights_close(w);
    return st;
}

static status check_stage(const centra_train_options *o, const struct run_settings *s)
{
    static const char *const stages[] = {[STAGE_EPISODIC] = "episodic", [STAGE_PRETRAIN] = "pretrain"};
    static const char *const commands[] = {[STAGE_EPISODIC] = "train", [STAGE_PRETRAIN] = "pretrain"};
    if (!o->stage || !strcmp(o->stage, stages[s->train.stage])) return OK;
    return fail(ST_USAGE, "the recipe's train.stage is %s: use centra %s", stages[s->train.stage],
                commands[s->train.stage]);
}

static bool on_progress(void *context, const struct run_progress *p)
{
    const centra_train_options *o = context;
    const centra_train_progress shown = {.phase = (centra_train_phase)p->phase,
                                         .epoch = p->epoch,
                                         .epochs = p->epochs,
                                         .step = p->index,
                                         .steps = p->steps,
                                         .loss = p->loss,
                                         .accuracy = p->accuracy,
                                         .rate = p->rate,
                                         .pictures_per_second = p->pictures_per_second,
                                         .seconds = p->seconds,
                                         .seconds_left = p->seconds_left,
                                         .done = p->done,
                                         .of = p->of,
                                         .validated = p->validation.count != 0,
                                         .best = p->best,
                                         .validation = p->validation.mean,
                                         .validation_ci95 = p->validation.half};
    return !o->progress || o->progress(o->context, &shown) == 0;
}
_Static_assert((int)CENTRA_TRAIN_STEP == (int)RUN_STEP && (int)CENTRA_TRAIN_VALIDATION == (int)RUN_VALIDATING &&
                   (int)CENTRA_TRAIN_EPOCH == (int)RUN_EPOCH_DONE,
               "the phases are numbered alike");

static void on_line(void *context, enum log_level level, const char *line)
{
    const centra_train_options *o = context;
    (void)level;
    if (o->warning) o->warning(o->context, line);
}

static status run(centra_session *session, const centra_train_options *o, const struct run_settings *s,
                  centra_train_result *result)
{
    char threads[32];
    struct run_result r;
    void *options = (void *)(uintptr_t)o; /* the callbacks only read it */
    plain_snprintf(threads, sizeof threads, "%zu", centra_session_threads(session));
    const bool chooses = !session->maths_given && session->dev->maths_known >> MATHS_BF16 & 1;
    if (chooses) session->dev->maths = MATHS_BF16;
    const struct report_fact facts[] = {{"centra", centra_version()},
                                        {"device", centra_session_device(session)},
                                        {"instruction set", centra_session_isa(session)},
                                        {"threads", threads},
                                        {"maths", maths_name(session->dev->maths)},
                                        {NULL, NULL}};
    const struct log_sink log = {.line = on_line, .context = options, .most = LOG_WARN};
    const struct run_options how = {.device = session->dev,
                                    .threads = session->threads,
                                    .peers = session->peers,
                                    .in_order = o->deterministic != 0,
                                    .settings = s,
                                    .data = o->data,
                                    .images = o->images,
                                    .folder = o->out,
                                    .resume = o->resume != 0,
                                    .force = o->force != 0,
                                    .tensorboard = o->tensorboard != 0,
                                    .strict = o->strict != 0,
                                    .checkpoint_seconds = o->checkpoint_seconds,
                                    .checkpoint_steps = o->checkpoint_steps,
                                    .version = centra_version(),
                                    .facts = facts,
                                    .log = &log,
                                    .progress = on_progress,
                                    .context = options};
    session->dev->deterministic = o->deterministic != 0;
    const status st = run_train(&how, &r);
    if (chooses) session->dev->maths = MATHS_F32;
    if (st == OK && result)
        *result = (centra_train_result){r.epochs, r.steps, r.best, r.best_half, r.best_epochs, r.stopped};
    return st;
}

centra_status centra_train(centra_session *session, const centra_train_options *options, centra_train_result *result)
{
    status st = OK;
    struct run_settings s;
    arena *memory = NULL;
    if (!session || !options || !options->out || (options->override_count && !options->overrides))
        return (centra_status)fail(ST_USAGE, "centra_train needs a session, options and a folder for the run");
    if (options->resume && options->force)
        return (centra_status)fail(ST_USAGE, "a run cannot both go on and begin anew; choose resume or force");
    memory = arena_new(4096);
    if (!memory) return (centra_status)fail(ST_MEMORY, "no memory for a recipe");
    TRY(read_recipe(options, &s, memory));
    TRY(check_stage(options, &s));
    TRY(find_teacher(&s, memory));
    TRY(run(session, options, &s, result));
done:
    arena_free(memory);
    return (centra_status)session_end(session, st);
}
