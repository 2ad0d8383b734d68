/* netfile.c - a network's parameters, downloaded and written with the names and faults that a test wants. */
#include "tests/api/netfile.h"
#include "base/pool.h"
#include "eval/card.h"
#include "tests/device.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 400 };

struct arrays {
    struct named_array array[MOST];
    char name[MOST][NAME_TEXT];
    void *data[MOST];
    size_t count;
};

static bool is(const char *wanted, const char *name) { return wanted && !strcmp(wanted, name); }

static status take(const struct netfile *f, struct device *d, const struct param *e, struct arrays *to)
{
    struct named_array *a = &to->array[to->count];
    void *data = malloc(tensor_bytes(&e->value));
    if (!data || to->count == MOST) return fail(ST_MEMORY, "no room for %s", e->name);
    to->data[to->count] = data;
    if (f->rename) f->rename(e->name, to->name[to->count]);
    else snprintf(to->name[to->count], NAME_TEXT, "%s%s", f->prefix ? f->prefix : "", e->name);
    *a = (struct named_array){.name = to->name[to->count],
                              .type = ARRAY_F32,
                              .rank = e->value.rank,
                              .data = data,
                              .bytes = tensor_bytes(&e->value)};
    to->count++;
    memcpy(a->dim, e->value.dim, sizeof a->dim);
    const status st = d->download(d, data, e->value.data, a->bytes);
    if (st == OK && is(f->sick, e->name)) ((float *)data)[0] = (float)NAN;
    if (is(f->turned, e->name)) a->dim[0] = a->bytes / sizeof(float), a->rank = 1;
    return st;
}

static status fill(const struct netfile *f, struct device *d, struct model *m, struct arrays *to)
{
    status st = OK;
    const struct card card = {.options = f->options};
    arena *memory = arena_new(256);
    TRY(model_new(d, f->net, NULL, m));
    TRY(card_options(&card, "net.", m->net->options, m->net_settings, memory));
    TRY(model_start(m, DT_F32, 1));
    for (size_t i = 0; i < params_count(m->params); i++) {
        const struct param *e = params_at(m->params, i);
        if (!is(f->without, e->name)) TRY(take(f, d, e, to));
    }
    if (f->also) {
        struct named_array *a = &to->array[to->count++];
        *a = to->array[0];
        *a = (struct named_array){f->also, ARRAY_F32, 2, {1, a->bytes / sizeof(float)}, a->data, a->bytes};
    }
done:
    arena_free(memory);
    return st;
}

bool netfile_write(const char *path, const struct netfile *f)
{
    struct device *d = NULL;
    pool *threads = NULL;
    struct model m = {0};
    struct arrays *to = calloc(1, sizeof *to);
    status st = to ? pool_new(1, &threads) : fail(ST_MEMORY, "no memory for a test");
    if (st == OK) st = test_device_open(threads, NULL, &d);
    if (st == OK) st = fill(f, d, &m, to);
    if (st == OK) st = weights_write(path, to->count, to->array, f->metas, f->meta);
    EXPECT_OK(st);
    model_free(&m);
    for (size_t i = 0; to && i < MOST; i++) free(to->data[i]);
    free(to);
    if (d) d->close(d);
    pool_free(threads);
    return st == OK;
}
