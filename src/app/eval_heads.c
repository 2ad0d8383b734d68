/* eval_heads.c - the list of heads on the command line: names between commas, options behind colons. */
#include "app/eval.h"
#include "app/library.h"
#include <stdlib.h>
#include <string.h>

static size_t count_of(const char *s, char sign)
{
    size_t n = 0;
    for (; *s; s++) n += *s == sign;
    return n;
}

/* One head's words, cut in place. */
static status parse_head(char *word, struct head_list *l, size_t *options)
{
    centra_eval_head *h = &l->heads[l->count++];
    char *next = strchr(word, ':');
    if (next) *next++ = '\0';
    if (!*word) return fail(ST_USAGE, "--head has an empty name in its list");
    *h = (centra_eval_head){.name = word, .options = l->options + *options};
    for (char *at = next; at; at = next) {
        char *value = strchr(at, '=');
        next = strchr(at, ':');
        if (next) *next++ = '\0';
        if (!value || value == at) return fail(ST_USAGE, "--head: '%.60s' behind %.60s is not KEY=VALUE", at, h->name);
        *value++ = '\0';
        l->options[(*options)++] = (centra_option){at, value};
        h->option_count++;
    }
    return OK;
}

/* The head that the others are compared with, then every other that needs no training and nothing that is not there. */
static void add_all(bool base, text *to)
{
    static const char first[] = "mcl-katz";
    centra_head_info info;
    text_add(to, first);
    for (size_t i = 0; i < centra_head_count(); i++)
        if (library_has(centra_head_describe(i, &info)) && !info.drawn && (base || !info.base) &&
            strcmp(info.name, first))
            text_addf(to, ",%s", info.name);
}

/* The list with `all` written out. */
static void expand(const char *s, bool base, text *to)
{
    const char *end;
    for (const char *at = s; at; at = end) {
        end = strchr(at, ',');
        const size_t n = end ? (size_t)(end++ - at) : strlen(at);
        if (at != s) text_add(to, ",");
        if (n == 3 && !strncmp(at, "all", n)) add_all(base, to);
        else text_addf(to, "%.*s", (int)n, at);
    }
}

status head_list_parse(const char *list, bool base, struct head_list *l)
{
    size_t options = 0;
    status st = OK;
    text written = {0};
    *l = (struct head_list){0};
    expand(list, base, &written);
    const char *s = text_string(&written);
    l->heads = calloc(count_of(s, ',') + 1, sizeof *l->heads);
    l->options = calloc(count_of(s, ':') + 1, sizeof *l->options);
    l->words = strdup(s);
    text_free(&written);
    if (!l->heads || !l->options || !l->words) return fail(ST_MEMORY, "no memory for the list of heads");
    for (char *word = l->words, *next; word && st == OK; word = next) {
        next = strchr(word, ',');
        if (next) *next++ = '\0';
        st = parse_head(word, l, &options);
    }
    return st;
}

void head_list_free(struct head_list *l)
{
    free(l->heads);
    free(l->options);
    free(l->words);
    *l = (struct head_list){0};
}
