/* session.c - opening and closing: threads, processor, device, tape. The only place that opens devices. */
#include "api/session.h"
#include "api/peers.h"
#include "api/plugin.h"
#include "base/plain.h"
#include "cpu/cpu.h"
#include "cpu/onednn.h"
#include <stdlib.h>
#include <string.h>

static status open_threads(const centra_session_options *o, pool **out)
{
    if (o->parallel_for) return pool_new_hosted(o->parallel_for, o->parallel_host, o->threads ? o->threads : 1, out);
    return pool_new(o->threads, out);
}

/* CENTRA_CONV: "own", or "onednn" where the build has it. */
static status choose_convolutions(struct device *d)
{
    const char *name = getenv("CENTRA_CONV");
    if (!name || !*name || !strcmp(name, "own")) return OK;
    if (strcmp(name, "onednn")) return fail(ST_USAGE, "CENTRA_CONV is '%.40s', but must be own or onednn", name);
#ifdef CENTRA_HAVE_ONEDNN
    onednn_take_over(d);
    return OK;
#else
    (void)d;
    return fail(ST_UNSUPPORTED, "CENTRA_CONV is onednn, but this build has no oneDNN (CENTRA_WITH_ONEDNN=ON)");
#endif
}

/* Processes on one machine take a GPU each, unless a number is given. */
static status open_gpu(const char *name, centra_session *s)
{
    char numbered[32];
    s->isa = "gpu";
    if (s->peers->size > 1 && !strcmp(name, "cuda")) {
        plain_snprintf(numbered, sizeof numbered, "cuda:%d", peers_started().local);
        name = numbered;
    }
    return plugin_open(name, &s->dev);
}

static status open_device(const centra_session_options *o, centra_session *s)
{
    status st = OK;
    const struct kernels *k;
    const char *name = o->device ? o->device : "cpu";
    if (plugin_serves(name)) return open_gpu(name, s);
    if (strcmp(name, "cpu")) return fail(ST_USAGE, "there is no device '%s'; there is cpu", name);
    TRY(kernels_choose(o->isa, &k));
    TRY(cpu_open(s->threads, k, &s->dev));
    TRY(choose_convolutions(s->dev));
    s->isa = isa_name(k->isa);
done:
    return st;
}

centra_status centra_session_open(const centra_session_options *options, centra_session **out)
{
    status st = OK;
    const centra_session_options standard = {0};
    const centra_session_options *o = options ? options : &standard;
    if (!out) return (centra_status)fail(ST_USAGE, "centra_session_open needs a place for the session");
    centra_session *s = calloc(1, sizeof *s);
    if (!s) return (centra_status)fail(ST_MEMORY, "no memory for a session");
    s->peers = peers_alone();
    if (o->peers) TRY(peers_join(&s->peers));
    TRY(open_threads(o, &s->threads));
    TRY(open_device(o, s));
    if (o->maths) TRY(device_set_maths(s->dev, o->maths));
    s->maths_given = o->maths != NULL;
    TRY(tape_new(s->dev, TAPE_INFERENCE, &s->tape));
    *out = s;
    s = NULL;
done:
    if (s) st = session_end(s, st);
    centra_session_close(s);
    return (centra_status)st;
}

status session_end(centra_session *s, status st)
{
    if (st != OK && s->peers->size > 1) s->peers->end(s->peers, error_text());
    return st;
}

void centra_session_close(centra_session *s)
{
    if (!s) return;
    tape_free(s->tape);
    if (s->dev) s->dev->close(s->dev);
    pool_free(s->threads);
    s->peers->close(s->peers);
    free(s);
}

size_t centra_session_threads(const centra_session *s) { return pool_threads(s->threads); }
const char *centra_session_isa(const centra_session *s) { return s->isa; }
const char *centra_session_device(const centra_session *s) { return s->dev->name; }
const char *centra_session_maths(const centra_session *s) { return maths_name(s->dev->maths); }
size_t centra_session_rank(const centra_session *s) { return (size_t)s->peers->rank; }
size_t centra_session_ranks(const centra_session *s) { return (size_t)s->peers->size; }
size_t centra_session_bytes(const centra_session *s) { return tape_bytes_held(s->tape); }
