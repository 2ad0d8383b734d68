/* names.c - the name map between the released checkpoints and ours: one table, read in both directions. */
#include "weights/names.h"
#include "base/plain.h"
#include <string.h>

/* A name that begins with `ours` begins with `released` there; the rest is the same. The last line is for networks,
 * whose names have no prefix here. */
static const struct {
    const char *ours, *released;
} map[] = {
    {"head.fc1.", "query.rn.fc1."},
    {"head.fc2.", "query.rn.fc2."},
    {"head.key.", "query.key_head."},
    {"head.query.", "query.query_head."},
    {"head.value.", "query.value_head."},
    {"head.scale", "query.scale"},
    {"head.scale", "scale"},
    {"head.r", "query.r"},
    {"pre.cat", "category_mat"},
    {"pre.scale", "scale"},
    {"pre.r", "r"},
    {"pre.fc.", "fake_classifier."},
    {"", "encoder."},
};
enum { LINES = sizeof map / sizeof map[0] };

/* Names of parts of networks begin with none of these. */
static bool is_network(const char *ours) { return strncmp(ours, "head.", 5) && strncmp(ours, "pre.", 4); }

/* Replaces the beginning `from` by `to`. A beginning without a dot at its end must be the whole name. */
static bool replace(const char *name, const char *from, const char *to, char out[NAME_TEXT])
{
    size_t n = strlen(from);
    if (strncmp(name, from, n)) return false;
    if (n && from[n - 1] != '.' && name[n]) return false;
    int length = plain_snprintf(out, NAME_TEXT, "%s%s", to, name + n);
    return length > 0 && length < NAME_TEXT;
}

bool name_in_file(const char *ours, size_t i, char out[NAME_TEXT])
{
    if (i == 0) return replace(ours, "", "", out);
    for (size_t k = 0; k < LINES; k++) {
        bool fits = *map[k].ours || is_network(ours);
        if (fits && replace(ours, map[k].ours, map[k].released, out) && --i == 0) return true;
    }
    return false;
}

bool name_of_ours(const char *in_file, size_t i, char out[NAME_TEXT])
{
    if (i == 0) return replace(in_file, "", "", out);
    for (size_t k = 0; k < LINES; k++)
        if (replace(in_file, map[k].released, map[k].ours, out) && (*map[k].ours || is_network(out)) && --i == 0)
            return true;
    return false;
}

bool name_is_idle(const char *in_file)
{
    static const char counter[] = ".num_batches_tracked";
    size_t n = strlen(in_file);
    return n >= sizeof counter && !strcmp(in_file + n - (sizeof counter - 1), counter);
}
