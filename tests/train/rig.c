/* rig.c - small sets of pictures and trainers over them. */
#include "tests/train/rig.h"
#include "base/file.h"
#include "base/sha256.h"
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

#define SIDE ((size_t)20)

static bool write_picture(const char *path, size_t class_index, struct random *r)
{
    unsigned char rgb[SIDE * SIDE * 3];
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    for (size_t i = 0; i < sizeof rgb; i++) {
        const size_t stripe = (i / 3 / SIDE + class_index * (i / 3 % SIDE)) % (2 + class_index);
        rgb[i] = (unsigned char)(60 + 25 * ((class_index * (i % 3 + 1)) % 4) + 40 * (size_t)(stripe == 0) +
                                 random_below(r, 50));
    }
    fprintf(f, "P6\n%zu %zu\n255\n", SIDE, SIDE);
    const bool good = fwrite(rgb, 1, sizeof rgb, f) == sizeof rgb;
    return fclose(f) == 0 && good;
}

const char *data_folder(size_t classes, size_t pictures)
{
    static char folder[400];
    static const char *const splits[] = {"train", "val"};
    struct random r = {.seed = 5};
    snprintf(folder, sizeof folder, "%s/data", test_folder());
    for (size_t s = 0; s < 2; s++)
        for (size_t c = 0; c < classes; c++)
            for (size_t i = 0; i < pictures; i++) {
                char path[512];
                snprintf(path, sizeof path, "%s/%s/c%02zu", folder, splits[s], c);
                bool good = i || folder_make(path) == OK;
                snprintf(path, sizeof path, "%s/%s/c%02zu/%02zu.ppm", folder, splits[s], c, i);
                if (good && write_picture(path, c, &r)) continue;
                test_failed(__FILE__, __LINE__, "cannot write '%s'", path);
                return NULL;
            }
    return folder;
}

static const char TINY[] = "[data]\nside = 16\npad = 2\n[net]\nname = conv4\nwidth = 8\n[head]\nname = mcl-katz\n"
                           "[train]\nepochs = 3\nepisodes = 6\nbatch = 2\nway = 3\nshot = 1\nquery = 2\nrate = 0.05\n"
                           "[validate]\nepisodes = 4\nway = 3\nquery = 2\n";

status tiny_settings(struct run_settings *s, arena *memory, const char *recipe)
{
    status st = OK;
    struct recipe_section sections[RUN_SECTIONS + 1];
    run_settings_default(s);
    run_sections(s, sections);
    TRY(recipe_parse("tiny", TINY, strlen(TINY), sections, memory));
    for (const char *at = recipe; at && *at;) {
        char one[100] = "";
        size_t n = strcspn(at, " ");
        memcpy(one, at, n < sizeof one ? n : sizeof one - 1);
        TRY(recipe_override(one, sections, memory));
        at += n + strspn(at + n, " ");
    }
    TRY(run_settings_check(s));
done:
    return st;
}

static status set_up(struct lessons *l, const char *recipe)
{
    status st = OK;
    TRY(tiny_settings(&l->settings, l->memory, recipe));
    TRY(trainer_new(l->w.dev, l->data, &l->settings, &l->trainer));
    TRY(course_seek(l->trainer->course, 0, 0));
    const size_t side = (size_t)l->settings.data.side;
    l->pictures = calloc(course_most(l->trainer->course) * extractor_cells(&l->trainer->model.extractor) * 3,
                         side * side * sizeof *l->pictures);
done:
    return st;
}

bool lessons_open(struct lessons *l, size_t threads, const char *recipe)
{
    const char *path = data_folder(4, 5);
    *l = (struct lessons){.memory = arena_new(4096)};
    if (!path || !l->memory || !rig_open(&l->w, NULL, threads, DT_F32)) return false;
    if (dataset_open(path, "train", NULL, &l->data) == OK && set_up(l, recipe) == OK && l->pictures) return true;
    test_failed(__FILE__, __LINE__, "no trainer: %s", error_text());
    lessons_close(l);
    return false;
}

void lessons_close(struct lessons *l)
{
    free(l->pictures);
    trainer_free(l->trainer);
    dataset_close(l->data);
    world_close(&l->w);
    arena_free(l->memory);
}

status lessons_step(struct lessons *l, struct taught *out)
{
    status st = OK;
    struct lesson lesson;
    struct trainer *t = l->trainer;
    const struct extractor *e = &t->model.extractor;
    const size_t each = extractor_cells(e) * 3 * t->transform.side * t->transform.side;
    TRY(course_next(t->course, &lesson));
    for (size_t i = 0; i < lesson.support + lesson.queries; i++) {
        struct picture p = {0};
        struct random r = course_stream((uint64_t)l->settings.train.seed, STREAM_PICTURE, lesson.epoch, lesson.index,
                                        i);
        TRY(dataset_picture(l->data, lesson.picture[i], &p));
        float *to = l->pictures + i * each;
        st = e->kind == EXTRACT_GRID ? transform_cells(&t->transform, &p, e->count, e->sizes, &r, to)
                                     : transform_apply(&t->transform, &p, &r, to);
        picture_free(&p);
        if (st != OK) goto done;
    }
    TRY(trainer_step(t, &lesson, l->step++, l->pictures, out));
    if (lesson.index + 1 == course_steps(t->course)) TRY(course_seek(t->course, lesson.epoch + 1, 0));
done:
    return st;
}

void params_hash(struct params *p, char hex[65])
{
    struct sha256 s;
    sha256_begin(&s);
    for (size_t i = 0; i < params_count(p); i++)
        sha256_add(&s, params_at(p, i)->value.data, tensor_bytes(&params_at(p, i)->value));
    sha256_end(&s, hex);
}
