/* scene.c - an object on a ground of soft blotches: grey-brown, as different from picture to picture as grounds are. */
#include "tests/api/scene.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

enum { BLOTCHES = 24 };

static void paint_ground(centra_picture *p, struct random *r)
{
    double x[BLOTCHES], y[BLOTCHES], size[BLOTCHES], tone[BLOTCHES][3];
    for (size_t k = 0; k < BLOTCHES; k++) {
        x[k] = random_unit(r) * SCENE_SIDE, y[k] = random_unit(r) * SCENE_SIDE, size[k] = 4 + 10 * random_unit(r);
        for (size_t c = 0; c < 3; c++) tone[k][c] = 60 * random_unit(r) - 30;
    }
    for (size_t i = 0; i < (size_t)SCENE_SIDE * SCENE_SIDE; i++) {
        double v[3] = {120, 112, 100};
        for (size_t k = 0; k < BLOTCHES; k++) {
            const double dx = (double)(i % SCENE_SIDE) - x[k], dy = (double)(i / SCENE_SIDE) - y[k];
            const double part = exp(-(dx * dx + dy * dy) / (2 * size[k] * size[k]));
            for (size_t c = 0; c < 3; c++) v[c] += part * tone[k][c];
        }
        for (size_t c = 0; c < 3; c++)
            p->rgb[3 * i + c] = (unsigned char)fmin(fmax(v[c] + 16 * random_unit(r) - 8, 0), 255);
    }
}

centra_picture scene_make(size_t kind, uint64_t seed, struct scene_box box)
{
    struct random r = {.seed = seed, .stream = 77};
    centra_picture p = {SCENE_SIDE, SCENE_SIDE, malloc((size_t)SCENE_SIDE * SCENE_SIDE * 3)};
    const size_t side = (size_t)(box.side * 84 + 0.5), left = (size_t)(4 + box.left * 84 + 0.5),
                 top = (size_t)(4 + box.top * 84 + 0.5);
    centra_picture object = own_picture(kind, seed, side, side);
    if (p.rgb && object.rgb) {
        paint_ground(&p, &r);
        for (size_t y = 0; y < side; y++)
            memcpy(p.rgb + 3 * ((top + y) * SCENE_SIDE + left), object.rgb + 3 * y * side, 3 * side);
    }
    centra_picture_free(&object);
    return p;
}

struct scene_box scene_box(uint64_t seed)
{
    struct random r = {.seed = seed, .stream = 78};
    const double side = 0.45;
    const double left = (1 - side) * random_unit(&r), top = (1 - side) * random_unit(&r);
    return (struct scene_box){left, top, side};
}

uint64_t scene_seed(size_t kind, size_t picture) { return 1000 + 100 * kind + picture; }

bool scene_fill(struct own *o, size_t kinds, size_t each)
{
    bool good = true;
    for (size_t k = 0; k < kinds && good; k++)
        for (size_t i = 0; i < each && good; i++) {
            const uint64_t seed = scene_seed(k, i);
            centra_picture p = scene_make(k, seed, scene_box(seed));
            good = own_add(o, k, i, &p);
            centra_picture_free(&p);
        }
    EXPECT(good);
    return good;
}

static double overlap(double a, double b, double from, double to) { return fmax(fmin(b, to) - fmax(a, from), 0); }

double scene_covers(size_t cell, size_t height, size_t width, struct scene_box box)
{
    const double row = (double)(cell / width), column = (double)(cell % width);
    return overlap(row / (double)height, (row + 1) / (double)height, box.top, box.top + box.side) * (double)height *
           overlap(column / (double)width, (column + 1) / (double)width, box.left, box.left + box.side) * (double)width;
}

double scene_inside(const float *map, size_t height, size_t width, struct scene_box box)
{
    double sum = 0;
    for (size_t i = 0; i < height * width; i++) sum += (double)map[i] * scene_covers(i, height, width, box);
    return sum;
}
