/* card_read.c - what a file of weights says about its model, checked: anybody may have written it. */
#include "eval/card.h"
#include <math.h>
#include <string.h>

const char *const card_transforms[] = {
    [TRANSFORM_RESIZE_CROP] = "resize-crop", [TRANSFORM_SHORTER_CROP] = "shorter-crop",
    [TRANSFORM_PAD_CROP] = "pad-crop",       [TRANSFORM_RESIZED_CROP] = "resized-crop",
    [TRANSFORM_RESIZED_CROP + 1] = NULL,
};

/* The next word of `s`, cut to `most` - 1 bytes, into `word`; NULL behind the last. */
static const char *next_word(const char *s, char *word, size_t most)
{
    s += strspn(s, " ");
    if (!*s) return NULL;
    const size_t n = strcspn(s, " "), kept = n < most ? n : most - 1;
    memcpy(word, s, kept);
    word[kept] = '\0';
    return s + n;
}

static status read_numbers(const char *file, const char *key, const char *s, float out[3])
{
    char word[64];
    float seen[3];
    for (int i = 0; i < 3; i++) {
        double v;
        s = s ? next_word(s, word, sizeof word) : NULL;
        /* as a float: a mean beyond its range, or a deviation below, would make every picture infinite */
        const bool good = s && number_parse(word, &v) && isfinite(seen[i] = (float)v);
        if (!good || (key[0] == 's' && seen[i] <= 0))
            return fail(ST_FORMAT, "'%s': its %s is not three numbers", file, key);
    }
    memcpy(out, seen, sizeof seen);
    return OK;
}

static status read_size(const char *file, const char *key, const char *s, int64_t least, size_t *out)
{
    enum { MOST_SIDE = 4096 };
    int64_t v;
    if (!integer_parse(s, &v) || v < least || v > MOST_SIDE)
        return fail(ST_FORMAT, "'%s': its %s is '%.40s', but must be between %d and %d", file, key, s, (int)least,
                    MOST_SIDE);
    *out = (size_t)v;
    return OK;
}

static status read_transform(const char *file, const char *s, struct transform *t)
{
    for (int k = 0; card_transforms[k]; k++) {
        if (strcmp(card_transforms[k], s)) continue;
        t->kind = (enum transform_kind)k;
        return OK;
    }
    return fail(ST_FORMAT, "'%s': its transform '%.40s' is not known", file, s);
}

status card_read(const char *file, card_lookup get, void *context, struct card *c)
{
    status st = OK;
    const char *s;
    if ((s = get(context, "backbone")) && *s) c->backbone = s;
    if ((s = get(context, "head")) && *s) c->head = s;
    if ((s = get(context, "options"))) c->options = s;
    if ((s = get(context, "extractor")) && *s) c->extractor = s;
    if ((s = get(context, "input"))) TRY(read_size(file, "input", s, 1, &c->transform.side));
    if ((s = get(context, "pad"))) TRY(read_size(file, "pad", s, 0, &c->transform.pad));
    if ((s = get(context, "transform"))) TRY(read_transform(file, s, &c->transform));
    if ((s = get(context, "mean"))) TRY(read_numbers(file, "mean", s, c->transform.mean));
    if ((s = get(context, "std"))) TRY(read_numbers(file, "std", s, c->transform.std));
done:
    return st;
}

static status set_option(char *word, const char *prefix, const struct option *table, void *settings, arena *memory)
{
    char *value = strchr(word, '=');
    void *kept;
    if (!value) return fail(ST_FORMAT, "'%.60s' among the options of a model is not NAME=VALUE", word);
    *value++ = '\0';
    const size_t bytes = strlen(value) + 1;
    const status st = arena_take(memory, bytes, 1, &kept);
    if (st != OK) return st;
    memcpy(kept, value, bytes);
    return option_set(table, prefix, word + strlen(prefix), kept, settings);
}

status card_options(const struct card *c, const char *prefix, const struct option *table, void *settings, arena *memory)
{
    enum { MOST_WORD = 256 };
    char word[MOST_WORD];
    status st = OK;
    for (const char *s = c->options; s && st == OK && (s = next_word(s, word, sizeof word));)
        if (!strncmp(word, prefix, strlen(prefix))) st = set_option(word, prefix, table, settings, memory);
    return st;
}
