/* own.c - pictures of a few plain kinds, and what is needed to tell them apart. */
#include "tests/api/own.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

const char *own_model_path(void) { return CENTRA_SOURCE_DIR "/tests/models/conv4-synth.safetensors"; }

bool own_open(struct own *o, const char *head, size_t threads)
{
    const centra_session_options s = {.threads = threads};
    const centra_classifier_options c = {.head = head};
    *o = (struct own){0};
    centra_status st = centra_model_open(own_model_path(), &o->model);
    if (st == CENTRA_OK) st = centra_session_open(&s, &o->session);
    if (st == CENTRA_OK) st = centra_classifier_new(o->session, o->model, &c, &o->classifier);
    if (st == CENTRA_OK) st = centra_support_new(o->model, &o->support);
    EXPECT_OK((status)st);
    if (st != CENTRA_OK) own_close(o);
    return st == CENTRA_OK;
}

void own_close(struct own *o)
{
    centra_support_free(o->support);
    centra_classifier_free(o->classifier);
    centra_session_close(o->session);
    centra_model_close(o->model);
    *o = (struct own){0};
}

/* How bright the kind is at a place, 0 or 1: stripes across, stripes down, rings, checks. */
static bool bright(size_t kind, double x, double y, double phase)
{
    switch (kind % 4) {
    case 0: return fmod(y * 10 + phase, 2) < 1;
    case 1: return fmod(x * 10 + phase, 2) < 1;
    case 2: return fmod(hypot(x - 0.5, y - 0.5) * 16 + phase, 2) < 1;
    default: return (fmod(x * 8 + phase, 2) < 1) != (fmod(y * 8 + phase, 2) < 1);
    }
}

centra_picture own_picture(size_t kind, uint64_t seed, size_t width, size_t height)
{
    struct random r = {.seed = seed, .stream = kind};
    centra_picture p = {width, height, malloc(width * height * 3)};
    const double phase = random_unit(&r) * 2;
    static const unsigned tint[] = {1, 2, 4, 3}; /* which of red, green and blue are strong */
    unsigned char colour[2][3];
    for (size_t i = 0; i < 6; i++)
        colour[i / 3][i % 3] = (unsigned char)(random_below(&r, 30) +
                                               (tint[kind % 4] >> i % 3 & 1 ? 200 : 100 * (i / 3)));
    for (size_t i = 0; p.rgb && i < width * height; i++) {
        const double x = (double)(i % width) / (double)width, y = (double)(i / width) / (double)height;
        memcpy(p.rgb + 3 * i, colour[bright(kind, x, y, phase)], 3);
    }
    return p;
}

bool own_add(struct own *o, size_t kind, size_t index, const centra_picture *p)
{
    char class_name[32], name[64];
    snprintf(class_name, sizeof class_name, "kind %zu", kind);
    snprintf(name, sizeof name, "kind %zu/%zu.png", kind, index);
    const centra_known known = {class_name, name, p};
    return p->rgb && centra_support_add(o->support, o->classifier, &known, 1) == CENTRA_OK;
}

bool own_fill(struct own *o, size_t kinds, size_t each, uint64_t seed)
{
    bool good = true;
    for (size_t k = 0; k < kinds && good; k++)
        for (size_t i = 0; i < each && good; i++) {
            centra_picture p = own_picture(k, seed + i, 120, 90);
            good = own_add(o, k, i, &p);
            centra_picture_free(&p);
        }
    EXPECT(good);
    return good;
}
