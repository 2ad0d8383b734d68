/* settings.c - the option tables of recipes. */
#include "train/settings.h"
#include <string.h>

static const char *const transforms[] = {"resize", "pad", "jitter", NULL};
static const char *const stages[] = {"episodic", "pretrain", NULL};
static const char *const samplers[] = {"ordinary", "unrepeated", NULL};
static const char *const optimisers[] = {"sgd", "adam", NULL};
static const char *const schedules[] = {"constant", "step", "milestones", "cosine", NULL};
static const char *const selections[] = {"best", "last", NULL};
_Static_assert(AUGMENT_JITTER == 2 && STAGE_PRETRAIN == 1 && SAMPLER_UNREPEATED == 1 && OPTIMISER_ADAM == 1 &&
                   SCHEDULE_COSINE == 3 && SELECT_LAST == 1,
               "the names are in the order of their enums");

#define S struct data_settings
static const struct option data_options[] = {
    OPT_TEXT(S, set, "set", NULL, "NAME", "name of the data set, for reports"),
    OPT_FILE(S, path, "path", NULL, "folder or pack with the classes"),
    OPT_NAME(
        S, transform, "transform", AUGMENT_RESIZE, transforms,
        "training pictures: resized and cropped, padded by reflection and cropped, or cropped anywhere with jitter"),
    OPT_INT(S, side, "side", 84, 8, 1024, "side of the pictures that the network sees"),
    OPT_INT(S, pad, "pad", 8, 0, 256, "pixels that resizing or padding leaves for cropping"),
    OPT_FLAG(S, validate_on_test, "validate-on-test", "select on the test classes, where there are no others"),
    OPT_END};
#undef S

#define S struct net_settings
static const struct option net_options[] = {
    OPT_TEXT(S, name, "name", "conv4", "NAME", "the network"),
    OPT_TEXT(
        S, extractor, "extractor", "map", "NAME",
        "what is taken of its maps: map, pyramid-5,3 (averages of several sizes) or grid-3,2 (cells of the picture)"),
    OPT_FILE(S, weights, "weights", NULL, "weights to start from; random ones without"),
    OPT_FLAG(S, bn_joint, "bn-joint", "normalise support and query pictures in one batch"),
    OPT_FLAG(S, freeze_bn, "freeze-bn", "keep the running statistics of batch normalisation"),
    OPT_FLAG(S, sync_bn, "sync-bn", "normalise by the statistics of a whole step, also where processes share it"),
    OPT_END};
#undef S

#define S struct head_settings
static const struct option head_options[] = {OPT_TEXT(S, name, "name", "mcl", "NAME", "the classification head"),
                                             OPT_END};
#undef S

#define S struct train_settings
static const struct option train_options[] = {
    OPT_NAME(S, stage, "stage", STAGE_EPISODIC, stages, "episodes with the head, or all classes at once"),
    OPT_INT(S, seed, "seed", 1, 0, 9007199254740992.0, "seed of everything random"),
    OPT_INT(S, epochs, "epochs", 30, 1, 1000000, "times through the training set, or rounds of episodes"),
    OPT_NAME(S, sampler, "sampler", SAMPLER_ORDINARY, samplers,
             "episodes drawn independently, or such that no picture comes twice in an epoch"),
    OPT_INT(S, episodes, "episodes", 200, 1, 10000000, "episodes an epoch, with the ordinary sampler"),
    OPT_INT(S, batch, "batch", 1, 1, 65536, "episodes a step, or pictures a step in pre-training"),
    OPT_INT(S, parts, "parts", 0, 0, 65536,
            "parts that a step is computed in, each normalised by its own statistics; 0: one for each process"),
    OPT_INT(S, way, "way", 5, 2, 10000, "classes an episode"),
    OPT_INT(S, shot, "shot", 1, 1, 10000, "support pictures a class"),
    OPT_INT(S, query, "query", 15, 1, 10000, "query pictures a class"),
    OPT_NAME(S, optimiser, "optimiser", OPTIMISER_SGD, optimisers, "how a step is made of the gradient"),
    OPT_FLOAT(S, rate, "rate", 0.1, 0, 1000, "learning rate at the start"),
    OPT_FLOAT(S, decay, "decay", 0, 0, 1000, "weight decay, added to the gradient of every parameter"),
    OPT_FLOAT(S, momentum, "momentum", 0.9, 0, 1000, "momentum of SGD"),
    OPT_FLOAT(S, dampening, "dampening", 0, 0, 1, "dampening of the momentum of SGD"),
    OPT_FLAG(S, nesterov, "nesterov", "Nesterov's form of the momentum"),
    OPT_FLOAT(S, beta1, "beta1", 0.5, 0, 1, "memory of Adam's first moment"),
    OPT_FLOAT(S, beta2, "beta2", 0.9, 0, 1, "memory of Adam's second moment"),
    OPT_FLOAT(S, epsilon, "epsilon", 1e-8, 0, 1, "what Adam adds to the root of the second moment"),
    OPT_NAME(S, schedule, "schedule", SCHEDULE_CONSTANT, schedules, "how the rate falls from epoch to epoch"),
    OPT_FLOAT(S, factor, "factor", 0.1, 0, 1, "what the rate is multiplied by at each step or milestone"),
    OPT_INT(S, step, "step", 10, 1, 1000000, "epochs between steps"),
    OPT_TEXT(S, milestones, "milestones", NULL, "LIST", "epochs from which the rate is lower: 400 800"),
    OPT_FLOAT(S, average, "average", 0, 0, 0.999999,
              "validate and keep an average over epochs that keeps this part of itself at the end of each; 0: none"),
    OPT_INT(S, warmup, "warmup", 0, 0, 1000000, "epochs in which the rate rises from 0"),
    OPT_END};
#undef S

#define S struct distil_settings
static const struct option distil_options[] = {
    OPT_FILE(S, teacher, "teacher", NULL, "pre-training: a model whose features the network is drawn to as well"),
    OPT_TEXT(S, fingerprint, "fingerprint", NULL, "HEX", "fingerprint of the teacher's weights; others are refused"),
    OPT_FLOAT(S, weight, "weight", 1, 0, 10000, "what the distance from the teacher counts beside the loss"),
    OPT_FLOAT(S, places, "places", 0, 0, 10000,
              "what the distance counts place by place; 0: only averages are compared"),
    OPT_INT(S, side, "side", 0, 0, 1024,
            "side of what the teacher sees: the network's pictures, enlarged; 0: as they are"),
    OPT_END};
#undef S

#define S struct validate_settings
static const struct option validate_options[] = {
    OPT_INT(S, every, "every", 1, 0, 1000000, "epochs between validations; 0: never"),
    OPT_INT(S, from, "from", 0, 0, 1000000, "first epoch that is validated"),
    OPT_INT(S, episodes, "episodes", 1000, 2, 10000000,
            "episodes of a validation: the same every time, in pre-training drawn anew"),
    OPT_INT(S, way, "way", 5, 2, 10000, "classes an episode"),
    OPT_INT(S, shot, "shot", 1, 1, 10000, "support pictures a class"),
    OPT_INT(S, query, "query", 15, 1, 10000, "query pictures a class"),
    OPT_NAME(S, select, "select", SELECT_BEST, selections, "which epoch's weights are kept"),
    OPT_END};
#undef S

void run_sections(struct run_settings *s, struct recipe_section out[RUN_SECTIONS + 1])
{
    const struct recipe_section all[RUN_SECTIONS + 1] = {{"data", data_options, &s->data, NULL},
                                                         {"net", net_options, &s->net, &s->net.options},
                                                         {"head", head_options, &s->head, &s->head.options},
                                                         {"train", train_options, &s->train, NULL},
                                                         {"distil", distil_options, &s->distil, NULL},
                                                         {"validate", validate_options, &s->validate, NULL},
                                                         {NULL, NULL, NULL, NULL}};
    memcpy(out, all, sizeof all);
}

void run_settings_default(struct run_settings *s)
{
    struct recipe_section sections[RUN_SECTIONS + 1];
    *s = (struct run_settings){0};
    run_sections(s, sections);
    for (size_t i = 0; i < RUN_SECTIONS; i++) options_default(sections[i].table, sections[i].settings);
}

/* Reads one number of a list and the blanks or comma behind it; false at anything else. */
static bool next_milestone(const char **list, size_t *out)
{
    const char *s = *list;
    size_t v = 0, digits = 0;
    for (; *s >= '0' && *s <= '9'; s++, digits++) v = v * 10 + (size_t)(*s - '0');
    const size_t gap = strspn(s, " ,");
    if (digits == 0 || digits > 9 || (*s && gap == 0)) return false;
    *list = s + gap;
    *out = v;
    return true;
}

static status read_milestones(const char *list, struct schedule *out)
{
    const char *at = list ? list : "";
    while (*at) {
        size_t v;
        if (!next_milestone(&at, &v))
            return fail(ST_USAGE, "train.milestones is '%.60s', but must be epochs such as 400 800", list);
        if (out->milestone_count == MOST_MILESTONES)
            return fail(ST_USAGE, "train.milestones has more than %d epochs", MOST_MILESTONES);
        if (out->milestone_count && v <= out->milestones[out->milestone_count - 1])
            return fail(ST_USAGE, "train.milestones is '%.60s', but must rise from epoch to epoch", list);
        out->milestones[out->milestone_count++] = v;
    }
    return OK;
}

status train_schedule(const struct train_settings *s, struct schedule *out)
{
    *out = (struct schedule){.kind = (enum schedule_kind)s->schedule,
                             .rate = s->rate,
                             .factor = s->factor,
                             .step = (size_t)s->step,
                             .epochs = (size_t)s->epochs,
                             .warmup = (size_t)s->warmup};
    if (s->schedule == SCHEDULE_MILESTONES && !s->milestones)
        return fail(ST_USAGE, "train.schedule is milestones, but train.milestones is not set");
    if (s->schedule != SCHEDULE_MILESTONES && s->milestones)
        return fail(ST_USAGE, "train.milestones is set, but train.schedule is %s", schedules[s->schedule]);
    return read_milestones(s->milestones, out);
}

struct optimiser_settings train_optimiser(const struct train_settings *s)
{
    return (struct optimiser_settings){.kind = (enum optimiser_kind)s->optimiser,
                                       .decay = s->decay,
                                       .momentum = s->momentum,
                                       .dampening = s->dampening,
                                       .nesterov = s->nesterov,
                                       .beta1 = s->beta1,
                                       .beta2 = s->beta2,
                                       .epsilon = s->epsilon};
}

status run_settings_check(const struct run_settings *s)
{
    struct schedule unused;
    if (s->validate.every == 0 && s->validate.select == SELECT_BEST)
        return fail(ST_USAGE, "validate.select is best, but validate.every is 0: nothing says which epoch is the best; "
                              "set validate.select to last");
    if (s->train.stage == STAGE_PRETRAIN && s->train.sampler == SAMPLER_UNREPEATED)
        return fail(ST_USAGE, "train.sampler is unrepeated, but pre-training has no episodes");
    if (s->train.stage != STAGE_PRETRAIN && s->distil.teacher)
        return fail(ST_USAGE, "distil.teacher is set, but only pre-training (train.stage pretrain) has a teacher");
    return train_schedule(&s->train, &unused);
}
