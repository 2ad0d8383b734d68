/* checkpoint.c - writing and reading checkpoints. */
#include "train/checkpoint.h"
#include "base/option.h"
#include "base/plain.h"
#include "base/sha256.h"
#include "base/size.h"
#include "train/arrays.h"
#include "weights/weights.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char VERSION[] = "1";

/* Metadata in the order of the hash. */
enum { META_VERSION, META_RECIPE, META_DATA, META_COUNTERS, META_SUMS, META_BEST, META_STEPS, META_HASHED };
static const char *const keys[META_HASHED + 1] = {"centra.checkpoint", "recipe", "data", "counters", "sums", "best",
                                                  "optimiser_steps",   "sha256"};

enum { NUMBERS_BYTES = 160, NAME_BYTES = 300 };
static const char *const prefixes[] = {"model.", "optimiser."}; /* of the two lists of a run */

struct values { /* of the metadata that are numbers */
    char counters[NUMBERS_BYTES], sums[NUMBERS_BYTES], best[NUMBERS_BYTES], steps[NUMBERS_BYTES], sha[65];
};

/* Hash */

static void add_text(struct sha256 *s, const char *t) { sha256_add(s, t, strlen(t) + 1); }

static void add_array(struct sha256 *s, const struct named_array *a)
{
    char shape[NUMBERS_BYTES] = "";
    size_t n = 0;
    for (int d = 0; d < a->rank; d++) n += (size_t)plain_snprintf(shape + n, sizeof shape - n, "%zu,", a->dim[d]);
    add_text(s, a->name);
    add_text(s, array_type_name(a->type));
    add_text(s, shape);
    sha256_add(s, a->data, a->bytes);
}

/* Writing */

static void write_numbers(const struct checkpoint *c, uint64_t steps, struct values *v)
{
    char loss[NUMBER_BYTES], seconds[NUMBER_BYTES], best[NUMBER_BYTES], half[NUMBER_BYTES];
    number_text(c->loss, loss);
    number_text(c->seconds, seconds);
    number_text(c->best, best);
    number_text(c->best_half, half);
    plain_snprintf(v->counters, sizeof v->counters, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, c->epoch, c->index,
                   c->step, c->pictures);
    plain_snprintf(v->sums, sizeof v->sums, "%s %" PRIu64 " %" PRIu64 " %s", loss, c->right, c->asked, seconds);
    plain_snprintf(v->best, sizeof v->best, "%s %s %" PRIu64, best, half, c->best_epochs);
    plain_snprintf(v->steps, sizeof v->steps, "%" PRIu64, steps);
}

status checkpoint_write(const char *path, const struct checkpoint *c, const struct checkpoint_of *of,
                        struct params *model, struct optimiser *o)
{
    status st = OK;
    struct arrays a = {0};
    struct values v;
    struct sha256 s;
    write_numbers(c, optimiser_steps(o), &v);
    struct meta meta[META_HASHED + 1] = {{keys[META_VERSION], VERSION}, {keys[META_RECIPE], of->recipe},
                                         {keys[META_DATA], of->data},   {keys[META_COUNTERS], v.counters},
                                         {keys[META_SUMS], v.sums},     {keys[META_BEST], v.best},
                                         {keys[META_STEPS], v.steps},   {keys[META_HASHED], v.sha}};
    TRY(arrays_add(&a, prefixes[0], model, NULL));
    TRY(arrays_add(&a, prefixes[1], optimiser_state(o), NULL));
    arrays_sort(&a);
    sha256_begin(&s);
    for (int i = 0; i < META_HASHED; i++) add_text(&s, meta[i].value);
    for (size_t i = 0; i < a.count; i++) add_array(&s, &a.item[i]);
    sha256_end(&s, v.sha);
    TRY(weights_write(path, a.count, a.item, META_HASHED + 1, meta));
done:
    arrays_free(&a);
    return st;
}

/* Reading */

static status damaged(const char *path, const char *why)
{
    return fail(ST_FORMAT, "the checkpoint '%s' is damaged: %s", path, why);
}

static status check_hash(const char *path, const struct weights *w)
{
    struct sha256 s;
    char sha[65];
    sha256_begin(&s);
    for (int i = 0; i < META_HASHED; i++) {
        const char *value = weights_meta(w, keys[i]);
        if (!value) return fail(ST_FORMAT, "'%s' is not a checkpoint: it has no '%s'", path, keys[i]);
        add_text(&s, value);
    }
    if (strcmp(weights_meta(w, keys[META_VERSION]), VERSION))
        return fail(ST_FORMAT, "the checkpoint '%s' has version %.20s; this program reads version %s", path,
                    weights_meta(w, keys[META_VERSION]), VERSION);
    for (size_t i = 0; i < weights_count(w); i++) add_array(&s, weights_at(w, i));
    sha256_end(&s, sha);
    const char *stored = weights_meta(w, keys[META_HASHED]);
    return stored && !strcmp(stored, sha) ? OK : damaged(path, "its SHA-256 is another");
}

/* The line at `*at`, without its end, copied to `out`; moves behind it. */
static void next_line(const char **at, char *out, size_t capacity)
{
    const size_t n = strcspn(*at, "\n"), kept = size_min(n, capacity - 1);
    memcpy(out, *at, kept);
    out[kept] = 0;
    *at += n + ((*at)[n] == '\n');
}

static status check_recipe(const char *path, const char *then, const char *now)
{
    char a[80] = "", b[80] = "", section[80] = "";
    if (!strcmp(then, now)) return OK;
    while (*then || *now) {
        next_line(&then, a, sizeof a);
        next_line(&now, b, sizeof b);
        if (strcmp(a, b)) break;
        if (*a == '[') memcpy(section, a, sizeof section);
    }
    return fail(ST_VALUE,
                "'%s' was made with another recipe: %s %s there, %s here; go on with the same, or use another folder",
                path, section, *a ? a : "nothing", *b ? b : "nothing");
}

static bool read_count(const char **at, uint64_t *out)
{
    char *end;
    if (**at < '0' || **at > '9') return false;
    *out = strtoull(*at, &end, 10);
    *at = end + (*end == ' ');
    return true;
}

static bool read_real(const char **at, double *out)
{
    char one[NUMBER_BYTES];
    const size_t n = strcspn(*at, " ");
    if (n >= sizeof one) return false;
    memcpy(one, *at, n);
    one[n] = 0;
    *at += n + ((*at)[n] == ' ');
    return number_parse(one, out);
}

static status read_numbers(const char *path, const struct weights *w, struct checkpoint *c, uint64_t *steps)
{
    const char *counters = weights_meta(w, keys[META_COUNTERS]), *sums = weights_meta(w, keys[META_SUMS]);
    const char *best = weights_meta(w, keys[META_BEST]), *taken = weights_meta(w, keys[META_STEPS]);
    const bool good = read_count(&counters, &c->epoch) && read_count(&counters, &c->index) &&
                      read_count(&counters, &c->step) && read_count(&counters, &c->pictures) &&
                      read_real(&sums, &c->loss) && read_count(&sums, &c->right) && read_count(&sums, &c->asked) &&
                      read_real(&sums, &c->seconds) && read_real(&best, &c->best) && read_real(&best, &c->best_half) &&
                      read_count(&best, &c->best_epochs) && read_count(&taken, steps);
    return good ? OK : damaged(path, "its counters are no numbers");
}

/* The array of a parameter, which must have its type and shape. */
static status find_array(const char *path, const struct weights *w, const char *prefix, const struct param *p,
                         const struct named_array **out)
{
    char name[NAME_BYTES];
    plain_snprintf(name, sizeof name, "%s%s", prefix, p->name);
    const struct named_array *a = weights_find(w, name);
    if (!a) return fail(ST_FORMAT, "the checkpoint '%s' has no '%s': it is of another network or head", path, name);
    bool same = a->type == arrays_type(p->value.type) && a->rank == p->value.rank;
    for (int d = 0; same && d < a->rank; d++) same = a->dim[d] == p->value.dim[d];
    if (!same)
        return fail(ST_FORMAT, "'%s' has another shape in the checkpoint '%s': it is of another network", name, path);
    *out = a;
    return OK;
}

/* Twice over the lists: the first time only looks, so that nothing is loaded in part. */
static status load_arrays(const char *path, const struct weights *w, struct params *const list[2])
{
    status st = OK;
    const size_t total = params_count(list[0]) + params_count(list[1]);
    if (weights_count(w) != total)
        return fail(ST_FORMAT, "the checkpoint '%s' has %zu tensors, but this run has %zu: it is of another network",
                    path, weights_count(w), total);
    for (int side = 0; side < 2; side++) params_thaw(list[side]);
    for (int load = 0; load < 2; load++)
        for (int side = 0; side < 2; side++)
            for (size_t i = 0; i < params_count(list[side]) && st == OK; i++) {
                const struct named_array *a = NULL;
                struct param *p = params_at(list[side], i);
                struct device *d = params_device(list[side]);
                st = find_array(path, w, prefixes[side], p, &a);
                if (st == OK && load) st = d->upload(d, p->value.data, a->data, a->bytes);
            }
    return st;
}

status checkpoint_read(const char *path, const struct checkpoint_of *of, struct params *model, struct optimiser *o,
                       struct checkpoint *out)
{
    status st = OK;
    struct weights *w = NULL;
    struct checkpoint c = {0};
    uint64_t steps = 0;
    st = weights_open(path, &w);
    if (st == ST_FORMAT || st == ST_VALUE) {
        char why[ERROR_BYTES];
        plain_snprintf(why, sizeof why, "%.300s", error_text());
        st = damaged(path, why);
    }
    if (st != OK) goto done;
    TRY(check_hash(path, w));
    TRY(check_recipe(path, weights_meta(w, keys[META_RECIPE]), of->recipe));
    if (strcmp(weights_meta(w, keys[META_DATA]), of->data))
        TRY(fail(ST_VALUE, "'%s' was made with other training pictures; go on with the same, or use another folder",
                 path));
    TRY(read_numbers(path, w, &c, &steps));
    TRY(load_arrays(path, w, (struct params *const[2]){model, optimiser_state(o)}));
    optimiser_set_steps(o, steps);
    *out = c;
done:
    weights_close(w);
    return st;
}
