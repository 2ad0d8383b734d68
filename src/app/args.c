/* args.c - from the words of the command line to a filled struct call, by the command's tables.
 *
 * `--name value` and `--name=value` are the same; a flag is `--name` or `--no-name` and takes no second word; `--` ends
 * the options. Options of a head (`--head.gamma 20`) or network are only collected: the library knows which has
 * which. */
#include "app/command.h"
#include <stdlib.h>
#include <string.h>

static const struct option no_options[] = {OPT_END};

static const struct option *own_options(const struct command *command)
{
    return command->options ? command->options : no_options;
}

/* The words that are still to be read. */
struct words {
    char **next, **end;
    uint64_t given; /* bit i: option i of the command's own table was there */
};

static status unknown_option(const struct command *command, const char *name)
{
    const char *names[512], *meant;
    size_t n = 0, room = sizeof names / sizeof *names - 1;
    for (const struct option *o = own_options(command); o->type != OPTION_END && n < room; o++) names[n++] = o->name;
    for (const struct option *o = common_options; o->type != OPTION_END && n < room; o++) names[n++] = o->name;
    names[n] = NULL;
    meant = nearest_name(name, names);
    if (meant) return fail(ST_USAGE, "unknown option --%.60s, did you mean --%s?", name, meant);
    if (command->head_options && strchr(name, '.'))
        return fail(ST_USAGE, "unknown option --%.60s; options of a head are written --head.KEY VALUE", name);
    if (command->net_options && strchr(name, '.'))
        return fail(ST_USAGE, "unknown option --%.60s; options of a network are written --net.KEY VALUE", name);
    return fail(ST_USAGE, "unknown option --%.60s; centra help %s lists them", name, command->name);
}

/* The value of an option: what stood behind "=", else the next word. */
static status take_value(struct words *w, const char *name, char *attached, const char **out)
{
    if (attached) {
        *out = attached;
    } else if (w->next == w->end || !strncmp(*w->next, "--", 2)) {
        return fail(ST_USAGE, "--%.60s needs a value", name);
    } else {
        *out = *w->next++;
    }
    return OK;
}

/* "head.gamma": collected in a list, without the prefix. */
static status take_prefixed(struct words *w, const char *name, char *attached, centra_option *list, size_t *count)
{
    const char *value = NULL;
    status st = take_value(w, name, attached, &value);
    if (st == OK) list[(*count)++] = (centra_option){strchr(name, '.') + 1, value};
    return st;
}

/* The table that has the option, and the settings that it fills; NULL when no table has it. */
static const struct option *find_option(struct call *c, const char *name, const struct option **table, void **settings)
{
    const struct option *o = option_find(*table = own_options(c->command), name);
    *settings = c->settings;
    if (o) return o;
    *settings = &c->common;
    return option_find(*table = common_options, name);
}

static status take_option(struct words *w, char *name, struct call *c)
{
    const struct option *table, *o;
    void *settings;
    char *attached = strchr(name, '=');
    const char *value = "yes";
    status st = OK;
    if (attached) *attached++ = '\0';
    if (c->command->head_options && !strncmp(name, "head.", 5) && name[5])
        return take_prefixed(w, name, attached, c->head_options, &c->head_option_count);
    if (c->command->net_options && !strncmp(name, "net.", 4) && name[4])
        return take_prefixed(w, name, attached, c->net_options, &c->net_option_count);

    o = find_option(c, name, &table, &settings);
    if (!o && !strncmp(name, "no-", 3) && !attached) {
        o = find_option(c, name + 3, &table, &settings);
        if (o && o->type == OPTION_FLAG) return option_set(table, "--", o->name, "no", settings);
        o = NULL;
    }
    if (!o) return unknown_option(c->command, name);
    if (o->type != OPTION_FLAG || attached) st = take_value(w, name, attached, &value);
    if (st == OK && table != common_options) w->given |= (uint64_t)1 << (o - table);
    if (st == OK && o->many) c->texts[c->text_count++] = value;
    if (o->offset == offsetof(struct common, seed) && table == common_options) c->seed_given = true;
    return st == OK ? option_set(table, "--", name, value, settings) : st;
}

static status check_required(const struct call *c, uint64_t given)
{
    const struct option *table = own_options(c->command);
    for (const struct option *o = table; o->type != OPTION_END; o++) {
        if (!o->required || given >> (o - table) & 1) continue;
        return fail(ST_USAGE, "--%s is missing: %s", o->name, o->help);
    }
    return OK;
}

static status check_arguments(const struct call *c)
{
    const struct command *command = c->command;
    const char *meant;
    if (c->argument_count > command->most)
        return fail(ST_USAGE, "unexpected argument '%.60s'; centra help %s says what it takes",
                    c->arguments[command->most], command->name);
    if (c->argument_count < command->least)
        return fail(ST_USAGE, "an argument is missing: centra %s %s", command->name, command->arguments);
    if (!c->argument_count || !command->choices) return OK;
    for (const char *const *choice = command->choices; *choice; choice++)
        if (!strcmp(*choice, c->arguments[0])) return OK;
    meant = nearest_name(c->arguments[0], command->choices);
    if (meant) return fail(ST_USAGE, "unknown argument '%.60s', did you mean %s?", c->arguments[0], meant);
    return fail(ST_USAGE, "unknown argument '%.60s'; it must be %s", c->arguments[0], command->arguments);
}

static bool asks_for_help(int count, char **words)
{
    for (int i = 0; i < count && strcmp(words[i], "--"); i++)
        if (!strcmp(words[i], "--help") || !strcmp(words[i], "-h")) return true;
    return false;
}

static status take_words(struct words *w, struct call *c)
{
    status st = OK;
    bool options_end = false;
    while (st == OK && w->next < w->end) {
        char *word = *w->next++;
        if (options_end || word[0] != '-' || !word[1]) c->arguments[c->argument_count++] = word;
        else if (!strcmp(word, "--")) options_end = true;
        else if (word[1] != '-') st = fail(ST_USAGE, "unknown option %.60s; options are written --name", word);
        else st = take_option(w, word + 2, c);
    }
    return st;
}

status args_parse(const struct command *command, int count, char **words, struct call *out)
{
    struct words w = {words, words + count, 0};
    size_t slots = (size_t)count + 1; /* no list can be longer than the words */
    status st;
    *out = (struct call){.command = command};
    out->settings = calloc(1, command->settings_bytes + 1);
    out->head_options = calloc(slots, sizeof *out->head_options);
    out->net_options = calloc(slots, sizeof *out->net_options);
    out->arguments = calloc(slots, sizeof *out->arguments);
    out->texts = calloc(slots, sizeof *out->texts);
    if (!out->settings || !out->head_options || !out->net_options || !out->arguments || !out->texts)
        return fail(ST_MEMORY, "no memory for the command line");
    options_default(common_options, &out->common);
    options_default(own_options(command), out->settings);
    if (asks_for_help(count, words)) {
        out->common.help = true;
        return OK;
    }
    st = take_words(&w, out);
    if (st == OK) st = check_arguments(out);
    return st == OK ? check_required(out, w.given) : st;
}

void call_free(struct call *c)
{
    free(c->settings);
    free(c->head_options);
    free(c->net_options);
    free(c->arguments);
    free(c->texts);
    *c = (struct call){0};
}
