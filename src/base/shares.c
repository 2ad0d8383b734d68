/* shares.c - see shares.h. */
#include "base/shares.h"
#include "base/size.h"
#include <stdlib.h>

struct share *shares_new(size_t threads)
{
    struct share *shares = aligned_alloc(SHARE_ALIGN, threads * sizeof *shares);
    if (shares) shares_deal(shares, threads, 0);
    return shares;
}

void shares_deal(struct share *shares, size_t threads, size_t pieces)
{
    const size_t each = pieces / threads, more = pieces % threads;
    for (size_t i = 0, from = 0; i < threads; i++) {
        shares[i].end = from + each + (i < more);
        atomic_store_explicit(&shares[i].next, from, memory_order_relaxed);
        from = shares[i].end;
    }
}

/* Looks before it takes: a counter that is only read stays in everybody's cache. */
static bool take_of(struct share *s, size_t *piece)
{
    if (atomic_load_explicit(&s->next, memory_order_relaxed) >= s->end) return false;
    *piece = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
    return *piece < s->end;
}

bool shares_take(struct share *shares, size_t threads, size_t thread, size_t *whose, size_t *piece)
{
    for (; *whose < threads; ++*whose)
        if (take_of(&shares[(thread + *whose) % threads], piece)) return true;
    return false;
}
