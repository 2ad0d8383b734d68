/* family.h - heads and networks as the help, the man pages, the lists and the completions see them: members with options of
 * their own, written --head.KEY VALUE or --net.KEY VALUE. */
#ifndef APP_FAMILY_H
#define APP_FAMILY_H
#include "app/command.h"

struct member {
    const char *name, *title;
    size_t option_count;
};

struct family {
    const char *prefix, *noun;                                   /* "head.", "head"; "net.", "network" */
    bool (*describe)(size_t i, struct member *out);              /* false behind the last */
    bool (*option)(size_t i, size_t k, centra_option_info *out); /* false behind the last */
};
extern const struct family head_family, net_family;
/* Those whose options a command takes, NULL-terminated. */
void command_families(const struct command *command, const struct family *out[3]);
#endif
