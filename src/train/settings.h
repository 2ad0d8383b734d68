/* settings.h - everything a recipe can say, section by section, and what the parts of training make of it.
 *
 * The tables in settings.c are the one list of keys: recipes, --set and the recipe written into a run's folder come from
 * them. Options of the head and the network stand in the same sections and stay texts until the table of the one that
 * was named reads them. Read recipes/ for examples. */
#ifndef TRAIN_SETTINGS_H
#define TRAIN_SETTINGS_H
#include "train/optimiser.h"
#include "train/recipe.h"
#include "train/schedule.h"

enum augment_kind { AUGMENT_RESIZE, AUGMENT_PAD, AUGMENT_JITTER }; /* the training rows of methods 6.2 */
enum train_stage { STAGE_EPISODIC, STAGE_PRETRAIN };
enum sampler_kind { SAMPLER_ORDINARY, SAMPLER_UNREPEATED };
enum select_kind { SELECT_BEST, SELECT_LAST };

struct data_settings {
    const char *set, *path;
    int transform; /* enum augment_kind */
    int64_t side, pad;
    bool validate_on_test;
};

struct net_settings {
    const char *name, *extractor, *weights; /* weights to start from; NULL: random ones */
    bool bn_joint, freeze_bn, sync_bn;
    struct recipe_extras options;
};

struct head_settings {
    const char *name;
    struct recipe_extras options;
};

struct train_settings {
    int stage, sampler; /* enum train_stage, sampler_kind */
    int64_t seed, epochs, episodes, batch, parts, way, shot, query;
    int optimiser; /* enum optimiser_kind */
    double rate, momentum, dampening, decay, beta1, beta2, epsilon, average;
    bool nesterov;
    int schedule; /* enum schedule_kind */
    const char *milestones;
    double factor;
    int64_t step, warmup;
};

struct validate_settings {
    int64_t every, from, episodes, way, shot, query;
    int select; /* enum select_kind */
};

struct distil_settings {
    const char *teacher;     /* a file of weights; NULL: none */
    const char *fingerprint; /* of the teacher's weights; NULL: any */
    double weight, places;
    int64_t side; /* 0: as the pupil's */
};

struct run_settings {
    struct data_settings data;
    struct net_settings net;
    struct head_settings head;
    struct train_settings train;
    struct distil_settings distil;
    struct validate_settings validate;
};

enum { RUN_SECTIONS = 6 };

void run_settings_default(struct run_settings *s);
/* The sections of a recipe over `s`, ended by a NULL name. */
void run_sections(struct run_settings *s, struct recipe_section out[RUN_SECTIONS + 1]);
/* Whether the parts fit each other; to be asked once everything was read. */
status run_settings_check(const struct run_settings *s);
/* The schedule and the optimiser that the [train] section asks for; checks the list of milestones. */
status train_schedule(const struct train_settings *s, struct schedule *out);
struct optimiser_settings train_optimiser(const struct train_settings *s);
#endif
