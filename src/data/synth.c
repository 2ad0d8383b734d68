/* synth.c - how the synthetic pictures look. The numbers that decide how hard the set is stand at the top. */
#include "data/synth.h"
#include "data/draw.h"
#include <math.h>

/* Shares of the picture's side are of the whole pattern's diameter. */
static const struct {
    float least, most;
} pattern_size = {0.24f, 0.40f}, distractor_size = {0.18f, 0.34f}, clutter_size = {0.06f, 0.22f};
enum {
    POOL = 48, /* distractor patterns that all classes share */
    DISTRACTORS_LEAST = 3,
    DISTRACTORS_MOST = 5, /* in a picture */
    CLUTTER_LEAST = 6,
    CLUTTER_MOST = 12, /* loose shapes in a picture */
    SHAPES_LEAST = 3,
    SHAPES_MOST = 5 /* in a pattern */
};
static const float turn_most = 0.3f;        /* of a pattern to either side, in radians (about) */
static const float clear_share = 0.85f;     /* distractors keep this share of both radii away from the pattern */
static const float brightness_span = 0.25f; /* the light on a pattern is 1 +- this */
static const float light_span = 0.35f;      /* and the light across a picture 1 +- this from edge to edge */
static const float background_saturation = 0.35f, texture_strength = 0.9f;

enum purpose { CLASS_PATTERN = 1, POOL_PATTERN, SCENE };

static struct random stream(uint64_t seed, enum purpose purpose, uint64_t a, uint64_t b)
{
    const struct random root = {.seed = seed}, p = random_branch(&root, purpose), first = random_branch(&p, a);
    return random_branch(&first, b);
}

static float between(struct random *r, float low, float high)
{
    return low + (high - low) * ((float)(random_u32(r) >> 8) * 0x1p-24f);
}

static size_t count_between(struct random *r, size_t low, size_t high)
{
    return low + (size_t)random_below(r, high - low + 1);
}

/* A point in the disc of that radius. */
static void point(struct random *r, float radius, float *x, float *y)
{
    do *x = between(r, -1, 1), *y = between(r, -1, 1);
    while (*x * *x + *y * *y > 1);
    *x *= radius;
    *y *= radius;
}

static void direction(struct random *r, float *x, float *y)
{
    float n;
    do {
        point(r, 1, x, y);
        n = sqrtf(*x * *x + *y * *y);
    } while (n < 0.1f);
    *x /= n;
    *y /= n;
}

/* Patterns */

struct pattern {
    size_t count;
    struct shape shape[SHAPES_MOST];
};

/* The ground of a pattern holds it together; the other shapes lie on it. */
static struct shape ground(struct random *r, struct colour colour)
{
    struct shape s = {.kind = (enum shape_kind)random_below(r, SHAPE_KINDS), .colour = colour};
    direction(r, &s.ux, &s.uy);
    const float length[] = {0.9f, 0.75f, 0.6f, 0.8f}, width[] = {0, 0.22f, 0.38f, 0.5f};
    s.length = length[s.kind] * between(r, 0.9f, 1.1f);
    s.width = width[s.kind] * between(r, 0.8f, 1.2f);
    return s;
}

static struct shape detail(struct random *r, struct colour colour)
{
    struct shape s = {.kind = (enum shape_kind)random_below(r, SHAPE_KINDS), .colour = colour};
    direction(r, &s.ux, &s.uy);
    point(r, 0.6f, &s.x, &s.y);
    s.length = s.kind == SHAPE_DISC ? between(r, 0.18f, 0.35f) : between(r, 0.3f, 0.6f);
    s.width = s.kind == SHAPE_DISC ? 0 : between(r, 0.09f, 0.18f);
    return s;
}

/* Three hues well apart, one of them dark and one light, so that shapes stand out from each other. */
static struct pattern pattern_from(struct random r)
{
    struct pattern p = {.count = count_between(&r, SHAPES_LEAST, SHAPES_MOST)};
    const float hue = between(&r, 0, 6), second = hue + between(&r, 1.5f, 3), third = hue - between(&r, 1, 2);
    const bool dark = random_below(&r, 2);
    const struct colour colours[] = {colour_from_hue(hue, between(&r, 0.7f, 1), dark ? 0.4f : 0.9f),
                                     colour_from_hue(second, between(&r, 0.5f, 1), dark ? 1 : 0.35f),
                                     colour_from_hue(third, between(&r, 0.1f, 0.9f), dark ? 0.85f : 0.1f)};
    p.shape[0] = ground(&r, colours[0]);
    for (size_t i = 1; i < p.count; i++) p.shape[i] = detail(&r, colours[1 + i % 2]);
    return p;
}

/* Draws it under a light of its own. */
static void pattern_draw(struct canvas *c, const struct pattern *p, const struct place *at, float light)
{
    for (size_t i = 0; i < p->count; i++) {
        struct shape s = p->shape[i];
        s.colour = (struct colour){s.colour.r * light, s.colour.g * light, s.colour.b * light};
        canvas_draw(c, &s, at);
    }
}

/* Pictures */

/* A place that lies within the picture but for a small rim. */
static struct place place_for(struct random *r, size_t side, float diameter_share)
{
    const float all = (float)side, radius = 0.5f * diameter_share * all;
    struct place p = {.x = between(r, radius * 0.9f, all - radius * 0.9f),
                      .y = between(r, radius * 0.9f, all - radius * 0.9f),
                      .radius = radius};
    const float t = 0.5f * between(r, -turn_most, turn_most); /* the tangent of half the angle, nearly */
    p.c = (1 - t * t) / (1 + t * t);
    p.s = 2 * t / (1 + t * t);
    return p;
}

static bool apart(const struct place *a, const struct place *b)
{
    const float dx = a->x - b->x, dy = a->y - b->y, least = clear_share * (a->radius + b->radius);
    return dx * dx + dy * dy >= least * least;
}

static struct colour dull_colour(struct random *r)
{
    return colour_from_hue(between(r, 0, 6), between(r, 0, background_saturation), between(r, 0.25f, 0.85f));
}

static void background(struct canvas *c, struct random *r)
{
    const struct colour a = dull_colour(r), b = dull_colour(r), middle = colour_mix(a, b, 0.5f);
    for (size_t i = 0; i < c->side * c->side; i++)
        c->rgb[i * 3] = middle.r, c->rgb[i * 3 + 1] = middle.g, c->rgb[i * 3 + 2] = middle.b;
    const float unit = (float)c->side / 84;
    canvas_noise(c, r, unit * between(r, 12, 40), texture_strength, a, b);
    canvas_noise(c, r, unit * between(r, 3, 9), texture_strength * between(r, 0.2f, 1), dull_colour(r), dull_colour(r));
}

static void clutter(struct canvas *c, struct random *r)
{
    for (size_t n = count_between(r, CLUTTER_LEAST, CLUTTER_MOST); n > 0; n--) {
        const struct place at = place_for(r, c->side, between(r, clutter_size.least, clutter_size.most));
        struct shape s = detail(r, dull_colour(r));
        s.length = between(r, 0.4f, 1);
        canvas_draw(c, &s, &at);
    }
}

/* Darker on one side than on the other, in any direction. */
static void light(struct canvas *c, struct random *r)
{
    float ux, uy;
    direction(r, &ux, &uy);
    const float span = between(r, 0, light_span), step = 2 * span / (float)c->side;
    for (size_t y = 0; y < c->side; y++)
        for (size_t x = 0; x < c->side; x++) {
            const float half = 0.5f * (float)c->side;
            const float gain = 1 + step * (ux * ((float)x - half) + uy * ((float)y - half));
            for (size_t k = 0; k < 3; k++) c->rgb[(y * c->side + x) * 3 + k] *= gain;
        }
}

static void scene(struct canvas *c, struct random *r, uint64_t seed, const struct pattern *subject)
{
    background(c, r);
    clutter(c, r);
    const struct place at = place_for(r, c->side, between(r, pattern_size.least, pattern_size.most));
    for (size_t n = count_between(r, DISTRACTORS_LEAST, DISTRACTORS_MOST); n > 0; n--) {
        const struct pattern other = pattern_from(stream(seed, POOL_PATTERN, random_below(r, POOL), 0));
        struct place there = {0};
        bool free = false;
        for (int attempt = 0; attempt < 10 && !free; attempt++) {
            there = place_for(r, c->side, between(r, distractor_size.least, distractor_size.most));
            free = apart(&there, &at);
        }
        if (free) pattern_draw(c, &other, &there, 1 + between(r, -brightness_span, brightness_span));
    }
    pattern_draw(c, subject, &at, 1 + between(r, -brightness_span, brightness_span));
    light(c, r);
}

status synth_picture(uint64_t seed, size_t class_index, size_t index, size_t side, struct picture *out)
{
    struct canvas c = {0};
    status st = canvas_new(side, &c);
    if (st != OK) return st;
    const struct pattern subject = pattern_from(stream(seed, CLASS_PATTERN, class_index, 0));
    struct random r = stream(seed, SCENE, class_index, index);
    scene(&c, &r, seed, &subject);
    st = canvas_picture(&c, out);
    canvas_free(&c);
    return st;
}
