/* card.c - models in a few words of metadata, and back. */
#include "eval/card.h"
#include <string.h>

static const char *const transform_names[] = {
    [TRANSFORM_RESIZE_CROP] = "resize-crop", [TRANSFORM_SHORTER_CROP] = "shorter-crop",
    [TRANSFORM_PAD_CROP] = "pad-crop",       [TRANSFORM_RESIZED_CROP] = "resized-crop",
    [TRANSFORM_RESIZED_CROP + 1] = NULL,
};

static void add_options(text *to, const char *prefix, const struct option *table, const void *settings)
{
    for (const struct option *o = table; o && o->type != OPTION_END; o++) {
        text value = {0};
        if (option_text(o, settings, &value))
            text_addf(to, "%s%s%s=%s", to->length ? " " : "", prefix, o->name, text_string(&value));
        if (to->st == OK) to->st = value.st;
        text_free(&value);
    }
}

static void add_numbers(text *to, const float v[3])
{
    char number[NUMBER_BYTES];
    for (int i = 0; i < 3; i++) {
        number_text((double)v[i], number);
        text_addf(to, "%s%s", i ? " " : "", number);
    }
}

status card_write(const struct model *m, const struct transform *t, struct card_line out[CARD_LINES])
{
    static const char *const keys[CARD_LINES] = {"backbone", "head",      "options", "extractor", "input",
                                                 "pad",      "transform", "mean",    "std"};
    status st = OK;
    for (size_t i = 0; i < CARD_LINES; i++) out[i] = (struct card_line){.key = keys[i]};
    text_add(&out[0].value, m->net->name);
    text_add(&out[1].value, m->head ? m->head->name : "");
    add_options(&out[2].value, "net.", m->net->options, m->net_settings);
    if (m->head) add_options(&out[2].value, "head.", m->head->options, m->head_settings);
    extractor_add_name(&m->extractor, &out[3].value);
    text_addf(&out[4].value, "%zu", t->side);
    text_addf(&out[5].value, "%zu", t->pad);
    text_add(&out[6].value, transform_names[t->kind]);
    add_numbers(&out[7].value, t->mean);
    add_numbers(&out[8].value, t->std);
    for (size_t i = 0; i < CARD_LINES && st == OK; i++) st = text_status(&out[i].value);
    return st;
}

void card_add_setup(const struct net *net, const void *net_settings, const struct extractor *e,
                    const struct transform *t, text *to)
{
    text options = {0};
    add_options(&options, "", net->options, net_settings);
    if (to->st == OK) to->st = options.st;
    text_addf(to, "%zu+%zu %s, ", t->side, t->pad, transform_names[t->kind]);
    extractor_add_name(e, to);
    text_addf(to, ", %s %s, mean ", net->name, text_string(&options));
    text_free(&options);
    add_numbers(to, t->mean);
    text_add(to, ", std ");
    add_numbers(to, t->std);
}

void card_free(struct card_line lines[CARD_LINES])
{
    for (size_t i = 0; i < CARD_LINES; i++) text_free(&lines[i].value);
}

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
        if (!s || !number_parse(word, &v) || (key[0] == 's' && v <= 0))
            return fail(ST_FORMAT, "'%s': its %s is not three numbers", file, key);
        seen[i] = (float)v;
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
    for (int k = 0; transform_names[k]; k++) {
        if (strcmp(transform_names[k], s)) continue;
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
