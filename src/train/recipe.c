/* recipe.c - the strict reader of recipes.
 *
 * A line is blank, a comment, a [section] or a `key = value`. The bytes are looked at once, line by line; every line is
 * copied to the arena before anything points into it. Sentences of the option tables get file and line in front. */
#include "train/recipe.h"
#include "base/file.h"
#include "base/plain.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAME = 64, MOST_VALUE = RECIPE_MOST_LINE / 2 }; /* so that what is written fits a line again */

struct reader {
    const char *name;
    const struct recipe_section *sections;
    arena *memory;
    size_t line;
    const struct recipe_section *now; /* NULL before the first section */
    size_t *opened;                   /* line of each section, 0: not yet */
    size_t **set;                     /* of each section, line of each option */
};

static size_t table_length(const struct option *table)
{
    size_t n = 0;
    while (table[n].type != OPTION_END) n++;
    return n;
}

static size_t section_count(const struct recipe_section *sections)
{
    size_t n = 0;
    while (sections[n].name) n++;
    return n;
}

static status copy_text(arena *memory, const char *s, size_t n, char **out)
{
    void *at;
    const status st = arena_take(memory, n + 1, 1, &at);
    if (st != OK) return st;
    *out = at;
    memcpy(*out, s, n);
    (*out)[n] = 0;
    return OK;
}

/* Puts file and line before the sentence of this thread's failure. */
static status at_line(const struct reader *r, status st)
{
    if (st == OK || st == ST_MEMORY) return st;
    return fail(st, "'%s', line %zu: %s", r->name, r->line, error_text());
}

/* Lines */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static char *trim(char *s)
{
    while (is_blank(*s)) s++;
    size_t n = strlen(s);
    while (n > 0 && is_blank(s[n - 1])) n--;
    s[n] = 0;
    return s;
}

/* Ends the line where a comment begins: at a # that is first or behind a blank. */
static void cut_comment(char *line)
{
    for (char *c = line; (c = strchr(c, '#')); c++) {
        if (c != line && !is_blank(c[-1])) continue;
        *c = 0;
        return;
    }
}

static bool is_name(const char *s)
{
    const size_t n = strlen(s);
    return n > 0 && n <= MOST_NAME &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == n;
}

/* Whether a value can stand in a recipe: what is written must read back the same. */
static bool is_writable(const char *value)
{
    const size_t n = strlen(value);
    if (n > MOST_VALUE || (n && (is_blank(value[0]) || is_blank(value[n - 1])))) return false;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)value[i];
        if ((c < ' ' && c != '\t') || c == 0x7f || (c == '#' && (i == 0 || is_blank(value[i - 1])))) return false;
    }
    return true;
}

/* Sections and keys */

static const struct recipe_section *find_section(const struct recipe_section *sections, const char *name)
{
    for (; sections->name; sections++)
        if (!strcmp(sections->name, name)) return sections;
    return NULL;
}

static status refuse_section(const struct recipe_section *sections, const char *name)
{
    const char *names[33], *meant;
    size_t n = 0;
    for (; sections[n].name && n < 32; n++) names[n] = sections[n].name;
    names[n] = NULL;
    meant = nearest_name(name, names);
    if (meant) return fail(ST_USAGE, "unknown section [%.60s], did you mean [%s]?", name, meant);
    text list = {0};
    for (size_t i = 0; i < n; i++) text_addf(&list, "%s[%s]", i ? ", " : "", names[i]);
    status st = text_status(&list);
    if (st == OK) st = fail(ST_USAGE, "unknown section [%.60s]; there are %s", name, text_string(&list));
    text_free(&list);
    return st;
}

static struct recipe_extra *find_extra(struct recipe_extras *x, const char *name)
{
    for (size_t i = 0; i < x->count; i++)
        if (!strcmp(x->item[i].name, name)) return &x->item[i];
    return NULL;
}

/* Keeps a key for another table; a later one with the same name takes its place. `name` and `value` live on. */
static status keep_extra(const struct recipe_section *s, const char *name, const char *value, size_t line)
{
    struct recipe_extra *e = find_extra(s->extras, name);
    if (!e && s->extras->count == RECIPE_MOST_EXTRAS)
        return fail(ST_USAGE, "section [%s] has more than %d options", s->name, RECIPE_MOST_EXTRAS);
    if (!*value) return fail(ST_USAGE, "%s.%s is empty", s->name, name);
    if (!e) e = &s->extras->item[s->extras->count++];
    *e = (struct recipe_extra){name, value, line};
    return OK;
}

static status set_key(const struct recipe_section *s, const char *name, const char *value, size_t line)
{
    char prefix[MOST_NAME + 2];
    if (!is_name(name)) return fail(ST_USAGE, "'%.60s' is not a name; use letters, digits, '_', '-' and '.'", name);
    if (!is_writable(value))
        return fail(ST_USAGE,
                    "%s.%s has a value that a recipe cannot hold: a comment, a control character, or over %d bytes",
                    s->name, name, MOST_VALUE);
    if (s->extras && !option_find(s->table, name)) return keep_extra(s, name, value, line);
    plain_snprintf(prefix, sizeof prefix, "%s.", s->name);
    return option_set(s->table, prefix, name, value, s->settings);
}

/* Where it is noted in which line a key was set; NULL for extras, which know their line themselves. */
static size_t *line_of(const struct reader *r, const char *name)
{
    const struct option *o = option_find(r->now->table, name);
    return o ? &r->set[r->now - r->sections][o - r->now->table] : NULL;
}

static status read_section(struct reader *r, char *line)
{
    const size_t n = strlen(line);
    if (line[n - 1] != ']') return fail(ST_FORMAT, "a section begins with [ and ends with ]");
    line[n - 1] = 0;
    const char *name = trim(line + 1);
    const struct recipe_section *s = find_section(r->sections, name);
    if (!s) return refuse_section(r->sections, name);
    size_t *opened = &r->opened[s - r->sections];
    if (*opened) return fail(ST_FORMAT, "section [%s] was already in line %zu", name, *opened);
    *opened = r->line;
    r->now = s;
    return OK;
}

static status read_key(struct reader *r, char *line)
{
    char *equals = strchr(line, '=');
    if (!equals) return fail(ST_FORMAT, "'%.60s' is neither a [section] nor `key = value`", line);
    *equals = 0;
    const char *name = trim(line), *value = trim(equals + 1);
    if (!r->now) return fail(ST_FORMAT, "'%.60s' stands before the first [section]", name);
    size_t *seen = line_of(r, name);
    const struct recipe_extra *extra = !seen && r->now->extras ? find_extra(r->now->extras, name) : NULL;
    const size_t before = seen ? *seen : extra ? extra->line : 0;
    if (before) return fail(ST_FORMAT, "%s.%s was already set in line %zu", r->now->name, name, before);
    const status st = set_key(r->now, name, value, r->line);
    if (st == OK && seen) *seen = r->line;
    return st;
}

static status read_line(struct reader *r, const char *bytes, size_t n)
{
    char *line;
    if (n > RECIPE_MOST_LINE)
        return fail(ST_FORMAT, "the line has %zu bytes; at most %d are read", n, RECIPE_MOST_LINE);
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        const bool ending = c == '\r' && i + 1 == n;
        if ((c < ' ' && c != '\t' && !ending) || c == 0x7f)
            return fail(ST_FORMAT, "byte %zu is the control character %d; a recipe is plain text", i + 1, (int)c);
    }
    const status st = copy_text(r->memory, bytes, n, &line);
    if (st != OK) return st;
    cut_comment(line);
    line = trim(line);
    if (!*line) return OK;
    return *line == '[' ? read_section(r, line) : read_key(r, line);
}

/* The notes on what was seen where, all 0. */
static status make_notes(struct reader *r)
{
    status st = OK;
    void *at;
    const size_t n = section_count(r->sections);
    TRY(arena_take(r->memory, n + 1, sizeof *r->opened, &at));
    r->opened = memset(at, 0, (n + 1) * sizeof *r->opened);
    TRY(arena_take(r->memory, n + 1, sizeof *r->set, &at));
    r->set = at;
    for (size_t i = 0; i < n; i++) {
        const size_t options = table_length(r->sections[i].table) + 1;
        TRY(arena_take(r->memory, options, sizeof **r->set, &at));
        r->set[i] = memset(at, 0, options * sizeof **r->set);
        if (r->sections[i].extras) r->sections[i].extras->count = 0;
    }
done:
    return st;
}

status recipe_parse(const char *name, const char *bytes, size_t n, const struct recipe_section *sections, arena *memory)
{
    struct reader r = {.name = name, .sections = sections, .memory = memory};
    if (n > RECIPE_MOST_BYTES)
        return fail(ST_FORMAT, "'%s' has %zu bytes; a recipe has at most %d", name, n, RECIPE_MOST_BYTES);
    status st = make_notes(&r);
    for (size_t at = 0; at < n && st == OK;) {
        const char *end = memchr(bytes + at, '\n', n - at);
        const size_t length = end ? (size_t)(end - bytes) - at : n - at;
        r.line++;
        st = at_line(&r, read_line(&r, bytes + at, length));
        at += length + 1;
    }
    return st;
}

status recipe_read(const char *path, const struct recipe_section *sections, arena *memory)
{
    char *bytes = NULL;
    size_t n;
    status st = file_read(path, RECIPE_MOST_BYTES, &bytes, &n);
    if (st == OK) st = recipe_parse(path, bytes, n, sections, memory);
    free(bytes);
    return st;
}

status recipe_override(const char *assignment, const struct recipe_section *sections, arena *memory)
{
    char *section;
    const status st = copy_text(memory, assignment, strlen(assignment), &section);
    if (st != OK) return st;
    char *equals = strchr(section, '='), *dot = strchr(section, '.');
    if (!equals || !dot || dot > equals)
        return fail(ST_USAGE, "'%.60s' should read section.name=value, such as train.epochs=10", assignment);
    *equals = *dot = 0;
    const char *name = trim(dot + 1), *value = trim(equals + 1);
    section = trim(section);
    const struct recipe_section *s = find_section(sections, section);
    if (!s) return refuse_section(sections, section);
    return set_key(s, name, value, 0);
}

status recipe_extras_set(const struct recipe_extras *x, const char *prefix, const struct option *table, void *settings)
{
    status st = OK;
    for (size_t i = 0; i < x->count && st == OK; i++)
        st = option_set(table, prefix, x->item[i].name, x->item[i].value, settings);
    return st;
}

/* Writing */

status recipe_write(const struct recipe_section *sections, text *to)
{
    text value = {0};
    for (const struct recipe_section *s = sections; s->name; s++) {
        text_addf(to, "%s[%s]\n", s == sections ? "" : "\n", s->name);
        for (const struct option *o = s->table; o->type != OPTION_END; o++) {
            text_clear(&value);
            if (option_text(o, s->settings, &value)) text_addf(to, "%s = %s\n", o->name, text_string(&value));
            if (value.st != OK && to->st == OK) to->st = value.st;
        }
        for (size_t i = 0; s->extras && i < s->extras->count; i++)
            text_addf(to, "%s = %s\n", s->extras->item[i].name, s->extras->item[i].value);
    }
    text_free(&value);
    return text_status(to);
}
