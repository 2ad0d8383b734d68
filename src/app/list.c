/* list.c - centra list: the heads, backbones, extractors, kernels, devices, models and recipes that there are. */
#include "app/family.h"
#include "app/library.h"
#include "app/model_list.h"
#include "app/recipes.h"
#include "app/table.h"
#include "app/terminal.h"
#include "base/json.h"
#include <stdio.h>
#include <string.h>

static void json_pair(struct json_writer *w, const char *key, const char *value)
{
    json_key(w, key);
    json_string(w, value);
}

/* Writes the one of both that was asked for, and frees the other. */
static status end_list(const struct call *c, struct json_writer *w, struct table *table, text *t)
{
    if (c->common.json) {
        json_array_end(w);
        text_add(t, "\n");
        text_free(&table->cells);
    } else {
        table_write(table, 0, t);
    }
    return put(t);
}

/* Heads and networks */

static void json_member_option(struct json_writer *w, const centra_option_info *o)
{
    json_object(w);
    json_pair(w, "name", o->name);
    json_pair(w, "type", o->type);
    json_pair(w, "default", o->standard);
    json_pair(w, "range", o->range);
    json_pair(w, "help", o->help);
    if (o->choices) {
        json_key(w, "choices");
        json_array(w);
        for (const char *const *c = o->choices; *c; c++) json_string(w, *c);
        json_array_end(w);
    }
    json_object_end(w);
}

static void json_head(struct json_writer *w, size_t i, const centra_head_info *head)
{
    centra_option_info o;
    json_object(w);
    json_pair(w, "name", head->name);
    json_pair(w, "title", head->title);
    json_pair(w, "paper", head->paper ? head->paper : "");
    json_pair(w, "scores", head->probabilities ? "probabilities" : "logits");
    json_key(w, "centrality");
    json_bool(w, head->centrality);
    json_key(w, "options");
    json_array(w);
    for (size_t k = 0; k < head->option_count && library_has(centra_head_option(i, k, &o)); k++)
        json_member_option(w, &o);
    json_array_end(w);
    json_object_end(w);
}

static void json_net(struct json_writer *w, size_t i, const centra_net_info *net)
{
    centra_option_info o;
    json_object(w);
    json_pair(w, "name", net->name);
    json_pair(w, "title", net->title);
    json_pair(w, "paper", net->paper ? net->paper : "");
    json_key(w, "options");
    json_array(w);
    for (size_t k = 0; k < net->option_count && library_has(centra_net_option(i, k, &o)); k++)
        json_member_option(w, &o);
    json_array_end(w);
    json_object_end(w);
}

static void add_member(text *to, const struct family *f, size_t i, const struct member *m)
{
    struct table table = {.align = "ll"};
    centra_option_info o;
    text_addf(to, "%s%s: %s\n", i ? "\n" : "", m->name, m->title);
    for (size_t k = 0; k < m->option_count && f->option(i, k, &o); k++) {
        table_cell(&table, "--%s%s", f->prefix, o.name);
        table_cell(&table, "default %s%s%s", o.standard, *o.range ? ", " : "", o.range);
    }
    table_write(&table, 2, to);
}

static status list_words(const struct family *f)
{
    struct member m;
    text t = {0};
    for (size_t i = 0; f->describe(i, &m); i++) add_member(&t, f, i, &m);
    return put(&t);
}

static status list_heads(const struct call *c)
{
    centra_head_info head;
    struct json_writer w;
    text t = {0};
    if (!c->common.json) return list_words(&head_family);
    json_begin(&w, &t, true);
    json_array(&w);
    for (size_t i = 0; library_has(centra_head_describe(i, &head)); i++) json_head(&w, i, &head);
    json_array_end(&w);
    text_add(&t, "\n");
    return put(&t);
}

static status list_backbones(const struct call *c)
{
    centra_net_info net;
    struct json_writer w;
    text t = {0};
    if (!c->common.json) return list_words(&net_family);
    json_begin(&w, &t, true);
    json_array(&w);
    for (size_t i = 0; library_has(centra_net_describe(i, &net)); i++) json_net(&w, i, &net);
    json_array_end(&w);
    text_add(&t, "\n");
    return put(&t);
}

static status list_extractors(const struct call *c)
{
    struct table table = {.align = "lll"};
    centra_extractor_info e;
    struct json_writer w;
    text t = {0};
    json_begin(&w, &t, true);
    if (c->common.json) json_array(&w);
    for (size_t i = 0; library_has(centra_extractor_describe(i, &e)); i++) {
        table_cell(&table, "%s", e.name);
        table_cell(&table, "%s", e.paper);
        table_cell(&table, "%s", e.title);
        if (!c->common.json) continue;
        json_object(&w);
        json_pair(&w, "name", e.name);
        json_pair(&w, "title", e.title);
        json_pair(&w, "paper", e.paper);
        json_object_end(&w);
    }
    return end_list(c, &w, &table, &t);
}

/* Kernels */

static void json_kernels(text *to, const char *isa)
{
    struct json_writer w;
    const char *name;
    json_begin(&w, to, true);
    json_object(&w);
    json_pair(&w, "isa", isa);
    json_key(&w, "instruction_sets");
    json_array(&w);
    for (size_t i = 0; (name = centra_isa_name(i)); i++) json_string(&w, name);
    json_array_end(&w);
    json_key(&w, "kernels");
    json_object(&w);
    for (size_t i = 0; (name = centra_kernel_name(i)); i++) json_pair(&w, name, isa);
    json_object_end(&w);
    json_object_end(&w);
    text_add(to, "\n");
}

static status list_kernels(const struct call *c)
{
    centra_session *session = NULL;
    struct table table = {.align = "ll"};
    const char *name, *isa;
    text t = {0};
    status st = session_open(c, &session);
    if (st != OK) return st;
    isa = centra_session_isa(session);
    if (c->common.json) {
        json_kernels(&t, isa);
    } else {
        text_add(&t, "instruction sets of this processor and build:");
        for (size_t i = 0; (name = centra_isa_name(i)); i++)
            text_addf(&t, "%s %s%s", i ? "," : "", name, strcmp(name, isa) ? "" : " (in use)");
        text_add(&t, "\n\n");
        table_cell(&table, "kernel");
        table_cell(&table, "variant");
        for (size_t i = 0; (name = centra_kernel_name(i)); i++) {
            table_cell(&table, "%s", name);
            table_cell(&table, "%s", isa);
        }
        table_write(&table, 0, &t);
    }
    centra_session_close(session);
    return put(&t);
}

/* Devices */

struct device_state {
    bool available;
    char words[ERROR_BYTES]; /* what it is, or why there is none */
};

static void find_device(const struct call *c, const char *name, struct device_state *out)
{
    struct call asked = *c;
    centra_session *session = NULL;
    text t = {0};
    asked.common.device = name;
    out->available = session_open(&asked, &session) == OK;
    if (out->available) text_addf(&t, "%zu threads, %s", centra_session_threads(session), centra_session_isa(session));
    else text_add(&t, error_text());
    strncpy(out->words, text_string(&t), sizeof out->words - 1);
    out->words[sizeof out->words - 1] = '\0';
    text_free(&t);
    centra_session_close(session);
}

static status list_devices(const struct call *c)
{
    struct table table = {.align = "lll"};
    struct json_writer w;
    text t = {0};
    json_begin(&w, &t, true);
    if (c->common.json) json_array(&w);
    for (const char *const *name = device_names; *name; name++) {
        struct device_state d = {0};
        find_device(c, *name, &d);
        table_cell(&table, "%s", *name);
        table_cell(&table, d.available ? "yes" : "no");
        table_cell(&table, "%s", d.words);
        if (!c->common.json) continue;
        json_object(&w);
        json_pair(&w, "name", *name);
        json_key(&w, "available");
        json_bool(&w, d.available);
        json_pair(&w, "about", d.words);
        json_object_end(&w);
    }
    return end_list(c, &w, &table, &t);
}

/* Recipes */

static status list_recipes(const struct call *c)
{
    struct table table = {.align = "ll"};
    struct recipe_list l;
    struct json_writer w;
    text t = {0};
    const status st = recipes_find(&l);
    if (st != OK) return st;
    json_begin(&w, &t, true);
    if (c->common.json) json_array(&w);
    for (size_t i = 0; i < l.count; i++) {
        if (!c->common.json) {
            table_cell(&table, "%s", l.item[i].name);
            table_cell(&table, "%s", l.item[i].title);
            continue;
        }
        json_object(&w);
        json_pair(&w, "name", l.item[i].name);
        json_pair(&w, "title", l.item[i].title);
        json_pair(&w, "path", l.item[i].path);
        json_object_end(&w);
    }
    if (c->common.json) {
        json_array_end(&w);
        text_add(&t, "\n");
    } else {
        table_write(&table, 0, &t);
    }
    recipes_free(&l);
    return put(&t);
}

static const char *const what[] = {"backbones", "devices", "extractors", "heads", "kernels", "models", "recipes", NULL};

static status list_run(const struct call *c)
{
    static status (*const lists[])(const struct call *c) = {
        list_backbones, list_devices, list_extractors, list_heads,
        list_kernels,   model_list,   list_recipes}; /* as in `what` */
    size_t i = 0;
    while (what[i + 1] && strcmp(what[i], c->arguments[0])) i++; /* one of them: args.c has checked */
    return lists[i](c);
}

const struct command list_command = {
    .name = "list",
    .title = "lists the heads, backbones, extractors, kernels, devices, models or recipes that there are",
    .arguments = "backbones|devices|extractors|heads|kernels|models|recipes",
    .least = 1,
    .most = 1,
    .choices = what,
    .run = list_run,
    .examples = {{"centra list heads", "every head with its options and their defaults"},
                 {"centra list kernels --json", "which variant of each kernel is in use"}},
};
