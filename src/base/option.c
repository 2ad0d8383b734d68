/* option.c - reading options by their tables, and saying what a table allows.
 *
 * Every sentence about a wrong value is put together here from the table's own line, so that the parser, the help and
 * the message cannot disagree. */
#include "base/option.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static void *field(const struct option *o, void *settings) { return (char *)settings + o->offset; }

static void set_number(const struct option *o, double v, void *settings)
{
    switch (o->type) {
    case OPTION_FLAG: *(bool *)field(o, settings) = v != 0; break;
    case OPTION_INT: *(int64_t *)field(o, settings) = (int64_t)v; break;
    case OPTION_FLOAT: *(double *)field(o, settings) = v; break;
    case OPTION_NAME: *(int *)field(o, settings) = (int)v; break;
    default: assert(false); /* texts have no number */
    }
}

static bool is_text(const struct option *o) { return o->type == OPTION_TEXT || o->type == OPTION_FILE; }

void options_default(const struct option *table, void *settings)
{
    for (const struct option *o = table; o->type != OPTION_END; o++) {
        if (is_text(o)) *(const char **)field(o, settings) = o->standard_text;
        else set_number(o, o->standard, settings);
    }
}

const struct option *option_find(const struct option *table, const char *name)
{
    for (const struct option *o = table; o->type != OPTION_END; o++)
        if (!strcmp(o->name, name)) return o;
    return NULL;
}

/* What a table allows */

void option_default_text(const struct option *o, text *to)
{
    char number[NUMBER_BYTES];
    switch (o->type) {
    case OPTION_FLAG: text_add(to, o->standard != 0 ? "yes" : "no"); break;
    case OPTION_INT:
    case OPTION_FLOAT:
        number_text(o->standard, number);
        text_add(to, number);
        break;
    case OPTION_NAME:
        if (o->standard >= 0) text_add(to, o->choices[(int)o->standard]); /* below 0: none */
        break;
    default: text_add(to, o->standard_text ? o->standard_text : "");
    }
}

bool option_text(const struct option *o, const void *settings, text *to)
{
    const void *field = (const char *)settings + o->offset;
    char number[NUMBER_BYTES];
    const char *s;
    int64_t whole;
    switch (o->type) {
    case OPTION_FLAG: text_add(to, *(const bool *)field ? "yes" : "no"); return true;
    case OPTION_INT:
        whole = *(const int64_t *)field;
        text_addf(to, "%jd", (intmax_t)whole);
        return true;
    case OPTION_FLOAT:
        number_text(*(const double *)field, number);
        text_add(to, number);
        return true;
    case OPTION_NAME: s = *(const int *)field >= 0 ? o->choices[*(const int *)field] : NULL; break;
    default: s = *(const char *const *)field;
    }
    if (s) text_add(to, s);
    return s != NULL;
}

void options_text(const struct option *table, const char *prefix, const void *settings, text *to)
{
    for (const struct option *o = table; o && o->type != OPTION_END; o++) {
        text value = {0};
        if (option_text(o, settings, &value))
            text_addf(to, "%s%s%s=%s", to->length ? " " : "", prefix, o->name, text_string(&value));
        if (to->st == OK) to->st = value.st;
        text_free(&value);
    }
}

static void add_choices(text *to, const struct option *o, const char *between)
{
    for (const char *const *c = o->choices; *c; c++) {
        if (c != o->choices) text_add(to, between);
        text_add(to, *c);
    }
}

/* A bound at the edge of what the type can hold is no bound that anybody would want to read. */
static bool bounded(const struct option *o, double bound)
{
    return fabs(bound) < (o->type == OPTION_INT ? 9.2e18 : 1e300);
}

/* "between 0 and 1", "at least 1", "" */
static void add_bounds(text *to, const struct option *o)
{
    char min[NUMBER_BYTES], max[NUMBER_BYTES];
    bool low = bounded(o, o->min), high = bounded(o, o->max);
    number_text(o->min, min);
    number_text(o->max, max);
    if (low && high) text_addf(to, "between %s and %s", min, max);
    else if (low) text_addf(to, "%s %s", o->open_range ? "above" : "at least", min);
    else if (high) text_addf(to, "%s %s", o->open_range ? "below" : "at most", max);
}

/* "above" and "below" say by themselves that the end is left out; "between" does not. */
static bool says_exclusive(const struct option *o) { return o->open_range && bounded(o, o->min) && bounded(o, o->max); }

void option_range_text(const struct option *o, text *to)
{
    if (o->type == OPTION_NAME) {
        text_add(to, "one of ");
        add_choices(to, o, ", ");
    } else if (o->type == OPTION_INT || o->type == OPTION_FLOAT) {
        add_bounds(to, o);
        if (says_exclusive(o)) text_add(to, ", exclusive");
    }
}

void option_value_text(const struct option *o, text *to)
{
    if (o->value) {
        text_add(to, o->value);
        return;
    }
    switch (o->type) {
    case OPTION_INT: text_add(to, "N"); break;
    case OPTION_FLOAT: text_add(to, "X"); break;
    case OPTION_NAME: add_choices(to, o, "|"); break;
    case OPTION_TEXT: text_add(to, "TEXT"); break;
    case OPTION_FILE: text_add(to, "FILE"); break;
    default: break;
    }
}

/* Sentences */

static status refuse(text *sentence)
{
    status st = text_status(sentence);
    if (st == OK) st = fail(ST_USAGE, "%s", text_string(sentence));
    text_free(sentence);
    return st;
}

static status refuse_name(const struct option *table, const char *prefix, const char *name)
{
    const char *names[256], *meant;
    size_t n = 0;
    text t = {0};
    for (const struct option *o = table; o->type != OPTION_END && n + 1 < sizeof names / sizeof *names; o++)
        names[n++] = o->name;
    names[n] = NULL;
    meant = nearest_name(name, names);
    text_addf(&t, "unknown option %s%.60s", prefix, name);
    if (meant) text_addf(&t, ", did you mean %s%s?", prefix, meant);
    else if (n == 0) text_add(&t, "; there are none here");
    else text_add(&t, "; there are ");
    for (size_t i = 0; !meant && i < n; i++) text_addf(&t, "%s%s%s", i ? ", " : "", prefix, names[i]);
    return refuse(&t);
}

/* "(exclusive; default 0.5)", or nothing where there is nothing to say */
static void add_note(text *to, const struct option *o)
{
    text standard = {0};
    bool exclusive = o->type == OPTION_FLOAT && says_exclusive(o);
    option_default_text(o, &standard);
    if (exclusive || standard.length) {
        text_addf(to, " (%s", exclusive ? "exclusive" : "");
        if (standard.length) text_addf(to, "%sdefault %s", exclusive ? "; " : "", text_string(&standard));
        text_add(to, ")");
    }
    if (to->st == OK) to->st = standard.st;
    text_free(&standard);
}

/* For a value that is not of the option's type at all. */
static status refuse_value(const struct option *o, const char *prefix, const char *value)
{
    const char *meant = NULL;
    text t = {0};
    text_addf(&t, "%s%s is '%.60s', but must be ", prefix, o->name, value);
    if (o->type == OPTION_FLAG) {
        text_add(&t, "yes or no");
    } else if (o->type == OPTION_NAME) {
        option_range_text(o, &t);
        meant = nearest_name(value, o->choices);
    } else {
        text_add(&t, o->type == OPTION_INT ? "a whole number" : "a number");
        if (bounded(o, o->min) || bounded(o, o->max)) text_add(&t, " ");
        add_bounds(&t, o);
    }
    add_note(&t, o);
    if (meant) text_addf(&t, "; did you mean %s?", meant);
    return refuse(&t);
}

/* For a number outside the option's range. */
static status refuse_range(const struct option *o, const char *prefix, const char *value)
{
    text t = {0};
    text_addf(&t, "%s%s is %.60s, but must %s ", prefix, o->name, value,
              bounded(o, o->min) && bounded(o, o->max) ? "lie" : "be");
    add_bounds(&t, o);
    if (o->type == OPTION_INT && value[0] != '-' && !bounded(o, o->max)) /* more than the type can hold */
        text_addf(&t, "%sat most %jd", bounded(o, o->min) ? " and " : "", INTMAX_MAX);
    add_note(&t, o);
    return refuse(&t);
}

/* Reading */

static bool inside(const struct option *o, double v)
{
    return o->open_range ? v > o->min && v < o->max : v >= o->min && v <= o->max;
}

static bool flag_parse(const char *s, bool *out)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(s, words[i])) continue;
        *out = i % 2;
        return true;
    }
    return false;
}

static status set_name(const struct option *o, const char *prefix, const char *value, void *settings)
{
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], value)) continue;
        *(int *)field(o, settings) = i;
        return OK;
    }
    return refuse_value(o, prefix, value);
}

static status set_int(const struct option *o, const char *prefix, const char *value, void *settings)
{
    int64_t v;
    double wide;
    if (!integer_parse(value, &v)) {
        bool whole = number_parse(value, &wide) && !strpbrk(value, ".eE"); /* only too large for 64 bits */
        return whole && !inside(o, wide) ? refuse_range(o, prefix, value) : refuse_value(o, prefix, value);
    }
    if (!inside(o, (double)v)) return refuse_range(o, prefix, value);
    *(int64_t *)field(o, settings) = v;
    return OK;
}

static status set_float(const struct option *o, const char *prefix, const char *value, void *settings)
{
    double v;
    if (!number_parse(value, &v)) return refuse_value(o, prefix, value);
    if (!inside(o, v)) return refuse_range(o, prefix, value);
    *(double *)field(o, settings) = v;
    return OK;
}

status option_set(const struct option *table, const char *prefix, const char *name, const char *value, void *settings)
{
    const struct option *o = option_find(table, name);
    if (!o) return refuse_name(table, prefix, name);
    switch (o->type) {
    case OPTION_FLAG: return flag_parse(value, field(o, settings)) ? OK : refuse_value(o, prefix, value);
    case OPTION_INT: return set_int(o, prefix, value, settings);
    case OPTION_FLOAT: return set_float(o, prefix, value, settings);
    case OPTION_NAME: return set_name(o, prefix, value, settings);
    default:
        if (!*value) return fail(ST_USAGE, "%s%s is empty", prefix, o->name);
        *(const char **)field(o, settings) = value;
        return OK;
    }
}
