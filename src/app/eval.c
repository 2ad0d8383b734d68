/* eval.c - centra eval: heads on the same few-shot episodes of a data set. */
#include "app/eval.h"
#include "app/library.h"
#include "app/progress.h"
#include "app/terminal.h"
#include <string.h>

enum { MOST_WAY = 10000 };

/* A number of classes, or all of them. */
static status way_parse(const char *s, size_t *out)
{
    int64_t n;
    *out = CENTRA_ALL_CLASSES;
    if (!strcmp(s, "all")) return OK;
    if (!integer_parse(s, &n) || n < 2 || n > MOST_WAY)
        return fail(ST_USAGE, "--way is '%.60s', but must be all or a whole number between 2 and %d", s, MOST_WAY);
    *out = (size_t)n;
    return OK;
}

static status eval_run(const struct call *c)
{
    const struct eval *s = c->settings;
    struct progress progress = progress_begin(c);
    struct head_list heads = {0};
    centra_session *session = NULL;
    centra_eval *e = NULL;
    size_t way;
    status st = OK;
    TRY(way_parse(s->way, &way));
    if (s->head) TRY(head_list_parse(s->head, s->base, &heads));
    const centra_eval_options o = {.weights = s->weights,
                                   .backbone = s->backbone,
                                   .extractor = s->extractor,
                                   .net_options = c->net_options,
                                   .net_option_count = c->net_option_count,
                                   .heads = heads.heads,
                                   .head_count = heads.count,
                                   .head_options = c->head_options,
                                   .head_option_count = c->head_option_count,
                                   .data = s->data,
                                   .images = s->images,
                                   .split = s->split,
                                   .way = way,
                                   .shot = (size_t)s->shot,
                                   .query = (size_t)s->query,
                                   .episodes = (size_t)s->episodes,
                                   .seed = (uint64_t)c->common.seed,
                                   .strict = s->strict,
                                   .shuffle_labels = s->shuffle_labels,
                                   .save_episodes = s->save_episodes,
                                   .episodes_from = s->episodes_from,
                                   .base = s->base,
                                   .base_split = s->base_split,
                                   .warn = progress_warning,
                                   .progress = progress_of_evaluation,
                                   .context = &progress};
    TRY(session_join(c, &session));
    progress.follows = centra_session_rank(session) > 0;
    st = library(centra_eval_run(session, &o, &e));
    progress_wipe(&progress);
    if (st != OK || progress.follows) goto done;
    interrupt_hold();
    if (s->report) st = eval_page(e, s->report);
    if (st == OK && s->save_accuracies) st = eval_save_accuracies(e, s->save_accuracies);
    interrupt_release();
    if (st == OK) st = c->common.json ? eval_json(c, session, e) : eval_table(c, e);
done:
    centra_eval_free(e);
    centra_session_close(session);
    head_list_free(&heads);
    return st;
}

#define COUNT(field, name, standard, least, most, help) OPT_INT(struct eval, field, name, standard, least, most, help)

static const struct option eval_options[] = {
    OPT_FILE(
        struct eval, weights, "weights", NULL,
        "the model: a file of weights, a run's folder (its best.safetensors), or a name that centra models list shows"),
    OPT_FILE_REQUIRED(struct eval, data, "data", "the data set: a folder, tar, pack or CSV list"),
    OPT_FILE(struct eval, images, "images", NULL, "the folder of a CSV list's pictures"),
    OPT_TEXT(struct eval, split, "split", NULL, "NAME", "the split to evaluate on; test where the set has splits"),
    OPT_FILE(struct eval, base, "base", NULL,
             "a data set of base classes, those that the network was trained on, for heads that need it"),
    OPT_TEXT(struct eval, base_split, "base-split", NULL, "NAME", "its split; train where the set has splits"),
    OPT_TEXT(struct eval, head, "head", NULL, "LIST",
             "heads to compare, NAME[:KEY=VALUE...] between commas, or all; else the one of the weights, or mcl-ridge "
             "where they name none"),
    OPT_TEXT(struct eval, backbone, "backbone", NULL, "NAME",
             "the network, where the weights do not say; without weights a random start"),
    OPT_TEXT(
        struct eval, extractor, "extractor", NULL, "NAME",
        "the vectors that heads compare: map, pyramid-5,3 or grid-3,2 (any sizes); else as the weights were trained"),
    OPT_TEXT(struct eval, way, "way", "5", "N|all",
             "classes of an episode; all: every class with enough pictures, in each"),
    COUNT(shot, "shot", 1, 1, 10000, "support pictures of each class"),
    COUNT(query, "query", 15, 1, 10000, "query pictures of each class"),
    COUNT(episodes, "episodes", 10000, 1, 100000000, "how many episodes"),
    OPT_FILE(struct eval, save_episodes, "save-episodes", NULL, "write the episodes to this file"),
    OPT_FILE(struct eval, save_accuracies, "save-accuracies", NULL,
             "write the accuracy of each head in each episode to this file"),
    OPT_FILE(struct eval, episodes_from, "episodes-from", NULL, "play the episodes of this file instead of drawing"),
    OPT_FILE(struct eval, report, "report", NULL,
             "draw the table with its intervals into this file, report.html for instance"),
    OPT_FLAG(struct eval, per_class, "per-class", "show the accuracy of each class as well"),
    OPT_FLAG(struct eval, strict, "strict", "a picture that cannot be read is an error, not left out with a warning"),
    OPT_FLAG(struct eval, shuffle_labels, "shuffle-labels",
             "a check: query labels are drawn anew, so accuracy must be 1 / way"),
    OPT_END};

static const char *const eval_details[] = {
    "Encodes every picture of the split once, then plays the same episodes with each head. The accuracy is the mean "
    "over "
    "episodes with its 95 % interval by Student's t; the difference is to the first head, episode by episode, so that "
    "its interval is much narrower than those of the two accuracies.",
    "Network, extractor, head and their options are what the weights say about themselves. --head.KEY VALUE goes to "
    "every head "
    "that has the option; NAME:KEY=VALUE in the list to that one alone. Give another --data for another domain. "
    "Episodes are drawn from --seed; results do not depend on the number of threads.",
    "Classes with fewer than shot + query pictures are left out with a warning that names them; --way all "
    "plays every other class in each episode. With --json the result is an array "
    "with "
    "one object a head.",
    "The head centroid looks at pictures of base classes: --base names a data set of them, which is encoded once; "
    "without "
    "it --head all leaves that head out.",
    "Started by mpirun -n 4 or srun, the processes share pictures and episodes; the results are the same, bit for bit.",
    NULL};

const struct command eval_command = {
    .name = "eval",
    .title = "measures the accuracy of heads on few-shot episodes",
    .options = eval_options,
    .settings_bytes = sizeof(struct eval),
    .head_options = true,
    .net_options = true,
    .details = eval_details,
    .run = eval_run,
    .examples = {{"centra eval --weights RUN --data cub.pack --head mcl,mcl-katz,unidirectional",
                  "three heads on the same 10,000 5-way 1-shot episodes"},
                 {"centra eval --weights RUN --data other.tar --shot 5 --head mcl:gamma=40:beta=20",
                  "another domain, five shots"}},
};
