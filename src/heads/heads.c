/* heads.c - the registry of heads, made from heads.def. */
#include "heads/head.h"
#include <string.h>

#define HEAD(name) extern const struct head name##_head;
#include "heads/heads.def"
#undef HEAD

#define HEAD(name) &name##_head,
const struct head *const head_table[] = {
#include "heads/heads.def"
    NULL};
#undef HEAD

enum { HEAD_COUNT = sizeof head_table / sizeof *head_table - 1 };

status head_find(const char *name, const struct head **out)
{
    const char *names[HEAD_COUNT + 1] = {NULL};
    for (int i = 0; i < HEAD_COUNT; i++) {
        names[i] = head_table[i]->name;
        if (strcmp(name, names[i])) continue;
        *out = head_table[i];
        return OK;
    }
    const char *near = nearest_name(name, names);
    if (near) return fail(ST_USAGE, "there is no head '%s'; did you mean '%s'?", name, near);
    return fail(ST_USAGE, "there is no head '%s'; 'centra list heads' shows what there is", name);
}
