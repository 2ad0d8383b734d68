/* rig.c - the set of made-up features. */
#include "tests/eval/rig.h"
#include "tests/test.h"
#include <stdlib.h>

static void fill(float *to, double signal, double noise)
{
    struct random r = {.seed = 11};
    for (size_t p = 0; p < RIG_PICTURES; p++)
        for (size_t c = 0; c < RIG_CHANNELS; c++)
            for (size_t l = 0; l < RIG_LOCATIONS; l++)
                *to++ = (float)((c == p / RIG_EACH ? signal : 0) + noise * random_normal(&r));
}

bool stand_open(struct stand *s, size_t threads, double signal, double noise)
{
    size_t first[RIG_CLASSES], size[RIG_CLASSES];
    void *memory = NULL;
    status st = OK;
    *s = (struct stand){.f = {.height = 2, .width = 2}};
    if (!world_open(&s->w, threads, DT_F32, TAPE_INFERENCE)) return false;
    struct device *d = s->f.device = s->w.dev;
    for (size_t c = 0; c < RIG_CLASSES; c++) first[c] = c * RIG_EACH, size[c] = RIG_EACH;
    TRY(sampler_new(RIG_CLASSES, first, size, 5, 1, 6, 3, &s->sampler));
    TRY(d->alloc(d, (size_t)RIG_PICTURES * RIG_CHANNELS * RIG_LOCATIONS * sizeof(float), &memory));
    fill(memory, signal, noise);
    TRY(tensor_make(&s->f.data, DT_F32, 3, (size_t[]){RIG_PICTURES, RIG_CHANNELS, RIG_LOCATIONS}, memory));
    s->o = (struct evaluate_options){.classes = RIG_CLASSES, .threads = s->w.threads};
done:
    EXPECT_OK(st);
    if (st != OK) stand_close(s);
    return st == OK;
}

void stand_close(struct stand *s)
{
    sampler_free(s->sampler);
    if (s->f.data.data) s->f.device->release(s->f.device, s->f.data.data);
    world_close(&s->w);
    *s = (struct stand){0};
}

struct contender stand_head(const char *name)
{
    struct contender c = {0};
    EXPECT_OK(head_find(name, &c.head));
    void *settings = calloc(1, c.head->settings_bytes);
    if (settings) {
        options_default(c.head->options, settings);
        if (c.head->presets) c.head->presets(settings);
    }
    c.settings = settings;
    return c;
}
