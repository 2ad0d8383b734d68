/* data_synth.c - centra data synth: the built-in data set as folders of PNG files. */
#include "app/data_synth.h"
#include "app/library.h"
#include "app/progress.h"
#include "app/terminal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int made(void *context, size_t done, size_t all)
{
    progress_count(context, "pictures made", done, all);
    return interrupt_pending();
}

/* "64,16,20" as "train=64&val=16&test=20". What is no number there is the library's to refuse. */
static status add_classes(const char *classes, text *spec)
{
    static const char *const splits[] = {"train", "val", "test"};
    const char *at = classes;
    for (size_t i = 0; i < 3; i++) {
        const size_t n = strcspn(at, ",");
        if (n == 0 || strspn(at, "0123456789") < n || (at[n] == ',') != (i < 2))
            return fail(ST_USAGE, "--classes takes three numbers, of train, val and test, like 64,16,20, not '%s'",
                        classes);
        text_addf(spec, "&%s=", splits[i]);
        text_add_bytes(spec, at, n);
        at += n + 1;
    }
    return OK;
}

status data_synth(const struct call *c, const char *out, const char *classes, int64_t pictures, int64_t side)
{
    text spec = {0};
    struct progress progress = progress_begin(c);
    const centra_data_watch watch = {.progress = made, .context = &progress, .threads = (size_t)c->common.threads};
    status st = OK;
    if (!out) return fail(ST_USAGE, "--out is missing: the folder to write to");
    text_addf(&spec, "synth:%" PRId64 "?side=%" PRId64 "&pictures=%" PRId64, c->common.seed, side, pictures);
    TRY(add_classes(classes, &spec));
    TRY(text_status(&spec));
    detail(c, "the same set without files: --data '%s'", spec.data);
    interrupt_hold();
    st = library(centra_data_synth(spec.data, out, &watch));
    progress_wipe(&progress);
    interrupt_release();
done:
    text_free(&spec);
    return st;
}
