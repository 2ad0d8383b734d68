/* nets.c - the registry of networks, made from nets.def. */
#include "nets/net.h"
#include <string.h>

#define NET(name) extern const struct net name##_net;
#include "nets/nets.def"
#undef NET

#define NET(name) &name##_net,
const struct net *const net_table[] = {
#include "nets/nets.def"
    NULL};
#undef NET

enum { NET_COUNT = sizeof net_table / sizeof *net_table - 1 };

status net_find(const char *name, const struct net **out)
{
    const char *names[NET_COUNT + 1] = {NULL};
    for (int i = 0; i < NET_COUNT; i++) {
        names[i] = net_table[i]->name;
        if (strcmp(name, names[i])) continue;
        *out = net_table[i];
        return OK;
    }
    const char *near = nearest_name(name, names);
    if (near) return fail(ST_USAGE, "there is no network '%s'; did you mean '%s'?", name, near);
    return fail(ST_USAGE, "there is no network '%s'; 'centra list backbones' shows what there is", name);
}
