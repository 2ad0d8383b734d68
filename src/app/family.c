/* family.c - heads and networks, as the library describes them. */
#include "app/family.h"
#include "app/library.h"

static bool head_describe(size_t i, struct member *out)
{
    centra_head_info info;
    if (centra_head_describe(i, &info) != CENTRA_OK) return false;
    *out = (struct member){info.name, info.title, info.option_count};
    return true;
}

static bool head_option(size_t i, size_t k, centra_option_info *out)
{
    return library_has(centra_head_option(i, k, out));
}

static bool net_describe(size_t i, struct member *out)
{
    centra_net_info info;
    if (centra_net_describe(i, &info) != CENTRA_OK) return false;
    *out = (struct member){info.name, info.title, info.option_count};
    return true;
}

static bool net_option(size_t i, size_t k, centra_option_info *out)
{
    return library_has(centra_net_option(i, k, out));
}

const struct family head_family = {"head.", "head", head_describe, head_option};
const struct family net_family = {"net.", "network", net_describe, net_option};

void command_families(const struct command *command, const struct family *out[3])
{
    size_t n = 0;
    if (command->head_options) out[n++] = &head_family;
    if (command->net_options) out[n++] = &net_family;
    out[n] = NULL;
}
