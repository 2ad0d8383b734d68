/* about.c - what the library says of itself: version, failures, heads, networks, kernels. */
#include "api/describe.h"
#include "api/session.h"
#include "cpu/kernels.h"
#include "nets/net.h"

_Static_assert((int)CENTRA_OK == (int)OK && (int)CENTRA_USAGE == (int)ST_USAGE && (int)CENTRA_VALUE == (int)ST_VALUE &&
                   (int)CENTRA_SHAPE == (int)ST_SHAPE && (int)CENTRA_FORMAT == (int)ST_FORMAT &&
                   (int)CENTRA_IO == (int)ST_IO && (int)CENTRA_MEMORY == (int)ST_MEMORY &&
                   (int)CENTRA_UNSUPPORTED == (int)ST_UNSUPPORTED && (int)CENTRA_NUMERIC == (int)ST_NUMERIC &&
                   (int)CENTRA_NUMERIC + 1 == (int)ST_COUNT,
               "centra_status is status");

#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x

const char *centra_message(void) { return error_text(); }
const char *centra_status_name(centra_status st) { return status_name((status)st); }
const char *centra_version(void)
{
    return TEXT(CENTRA_VERSION_MAJOR) "." TEXT(CENTRA_VERSION_MINOR) "." TEXT(CENTRA_VERSION_PATCH);
}

size_t centra_head_count(void)
{
    size_t n = 0;
    while (head_table[n]) n++;
    return n;
}

static status head_at(size_t index, const void *to, const struct head **out)
{
    if (!to) return fail(ST_USAGE, "a place for the description is missing");
    if (index >= centra_head_count())
        return fail(ST_USAGE, "there is no head %zu; there are %zu", index, centra_head_count());
    *out = head_table[index];
    return OK;
}

static int starts_at_random(const struct head *h)
{
    for (const struct head_param *p = h->params; p && p->name; p++)
        if (p->start_normal > 0 || p->start_uniform > 0) return 1;
    return 0;
}

centra_status centra_head_describe(size_t index, centra_head_info *out)
{
    const struct head *h = NULL;
    status st = OK;
    TRY(head_at(index, out, &h));
    *out = (centra_head_info){.name = h->name,
                              .title = h->title,
                              .paper = h->paper,
                              .probabilities = h->probabilities,
                              .centrality = h->walk != NULL,
                              .pools = h->pools,
                              .option_count = option_count(h->options),
                              .param_count = head_param_count(h),
                              .drawn = starts_at_random(h),
                              .fitted = h->fitted,
                              .base = h->base};
done:
    return (centra_status)st;
}

centra_status centra_head_option(size_t index, size_t option, centra_option_info *out)
{
    const struct head *h = NULL;
    status st = head_at(index, out, &h);
    return (centra_status)(st == OK ? option_describe(h->options, h->name, option, out) : st);
}

size_t centra_net_count(void)
{
    size_t n = 0;
    while (net_table[n]) n++;
    return n;
}

static status net_at(size_t index, const void *to, const struct net **out)
{
    if (!to) return fail(ST_USAGE, "a place for the description is missing");
    if (index >= centra_net_count())
        return fail(ST_USAGE, "there is no network %zu; there are %zu", index, centra_net_count());
    *out = net_table[index];
    return OK;
}

centra_status centra_net_describe(size_t index, centra_net_info *out)
{
    const struct net *n = NULL;
    const status st = net_at(index, out, &n);
    if (st == OK) *out = (centra_net_info){n->name, n->title, n->paper, option_count(n->options)};
    return (centra_status)st;
}

centra_status centra_net_option(size_t index, size_t option, centra_option_info *out)
{
    const struct net *n = NULL;
    const status st = net_at(index, out, &n);
    return (centra_status)(st == OK ? option_describe(n->options, n->name, option, out) : st);
}

size_t centra_kernel_count(void)
{
    size_t n = 0;
    while (kernel_names[n]) n++;
    return n;
}

const char *centra_kernel_name(size_t index) { return index < centra_kernel_count() ? kernel_names[index] : NULL; }

const char *centra_isa_name(size_t index)
{
    for (int isa = ISA_COUNT; isa-- > 0;)
        if (kernels_of((enum isa)isa) && index-- == 0) return isa_name((enum isa)isa);
    return NULL;
}
