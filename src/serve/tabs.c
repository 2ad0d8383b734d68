/* tabs.c - what the server keeps for each session. */
#include "serve/tabs.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

status tabs_init(struct tabs *t, size_t most, double idle_seconds)
{
    *t = (struct tabs){.most = most, .idle = (uint64_t)(idle_seconds * 1e9)};
    t->tab = calloc(most, sizeof(struct tab *));
    return t->tab ? OK : fail(ST_MEMORY, "no memory for %zu sessions", most);
}

static void tab_free(struct tab *t)
{
    centra_support_free(t->support);
    text_free(&t->results);
    free(t);
}

void tabs_clear(struct tabs *t)
{
    for (size_t i = 0; i < t->count; i++) tab_free(t->tab[i]);
    free(t->tab);
    *t = (struct tabs){0};
}

static void remove_at(struct tabs *t, size_t i)
{
    tab_free(t->tab[i]);
    t->tab[i] = t->tab[--t->count];
}

void tabs_sweep(struct tabs *t, uint64_t now)
{
    for (size_t i = t->count; i-- > 0;)
        if (now - t->tab[i]->used > t->idle) remove_at(t, i);
}

static void remove_oldest(struct tabs *t)
{
    size_t oldest = 0;
    for (size_t i = 1; i < t->count; i++)
        if (t->tab[i]->used < t->tab[oldest]->used) oldest = i;
    remove_at(t, oldest);
}

static status draw_id(char id[SESSION_ID_BYTES + 1])
{
    unsigned char bytes[SESSION_ID_BYTES / 2];
    if (getentropy(bytes, sizeof bytes)) return fail(ST_IO, "the system gives no random numbers for a session");
    for (size_t i = 0; i < sizeof bytes; i++) {
        id[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        id[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    id[SESSION_ID_BYTES] = '\0';
    return OK;
}

status tabs_add(struct tabs *t, centra_support *support, uint64_t now, struct tab **out)
{
    struct tab *tab = calloc(1, sizeof *tab);
    if (!tab) return fail(ST_MEMORY, "no memory for another session");
    const status st = draw_id(tab->id);
    if (st != OK) {
        free(tab);
        return st;
    }
    if (t->count == t->most) remove_oldest(t);
    tab->support = support;
    tab->used = now;
    t->tab[t->count++] = *out = tab;
    return OK;
}

struct tab *tabs_find(struct tabs *t, const char *id, uint64_t now)
{
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->tab[i]->id, id)) continue;
        t->tab[i]->used = now;
        return t->tab[i];
    }
    return NULL;
}

void tabs_remove(struct tabs *t, struct tab *tab)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->tab[i] == tab) {
            remove_at(t, i);
            return;
        }
}

void tab_replace(struct tab *t, centra_support *support)
{
    centra_support_free(t->support);
    t->support = support;
}

/* Lines end with "\r\n", which none has inside. */
static void drop_oldest(text *lines)
{
    const char *end = strstr(text_string(lines), "\r\n");
    if (!end) return;
    const size_t n = (size_t)(end - lines->data) + 2;
    memmove(lines->data, lines->data + n, lines->length - n + 1);
    lines->length -= n;
}

void tab_keep_result(struct tab *t, const char *line)
{
    if (t->result_count == MOST_RESULTS) drop_oldest(&t->results);
    else t->result_count++;
    text_add(&t->results, line);
}
