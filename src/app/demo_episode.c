/* demo_episode.c - pictures with an obvious structure, in feature space.
 *
 * A class is a pattern of 3 x 3 local features. A picture of it is a map full of clutter, different in every picture,
 * with that pattern somewhere in it; noise lies over everything. Whoever averages a picture's features drowns the
 * pattern in clutter; whoever asks which locations find each other sees it at once. */
#include "app/demo.h"
#include "base/random.h"

enum { PATTERN_STREAM = 1, PICTURE_STREAM = 2 };

static const double NOISE = 0.7; /* deviation, against features of deviation 1 */

typedef float picture[DEMO_CHANNELS][DEMO_CELLS];
typedef double pattern[DEMO_PATTERN * DEMO_PATTERN][DEMO_CHANNELS];

bool demo_inside(struct place p, size_t cell)
{
    size_t row = cell / DEMO_SIDE, column = cell % DEMO_SIDE;
    return row >= p.row && row < p.row + DEMO_PATTERN && column >= p.column && column < p.column + DEMO_PATTERN;
}

static struct place make_picture(struct random *r, pattern class_pattern, picture out)
{
    struct place p;
    p.row = (size_t)random_below(r, DEMO_SIDE - DEMO_PATTERN + 1);
    p.column = (size_t)random_below(r, DEMO_SIDE - DEMO_PATTERN + 1);
    for (size_t cell = 0; cell < DEMO_CELLS; cell++) {
        size_t row = cell / DEMO_SIDE, column = cell % DEMO_SIDE;
        bool inside = demo_inside(p, cell);
        const double *feature = inside ? class_pattern[(row - p.row) * DEMO_PATTERN + column - p.column] : NULL;
        for (size_t c = 0; c < DEMO_CHANNELS; c++)
            out[c][cell] = (float)((inside ? feature[c] : random_normal(r)) + NOISE * random_normal(r));
    }
    return p;
}

void demo_episode_make(uint64_t seed, struct demo_episode *e)
{
    static const size_t features = sizeof(pattern) / sizeof(double);
    struct random patterns = {seed, PATTERN_STREAM, 0}, pictures = {seed, PICTURE_STREAM, 0};
    for (size_t k = 0; k < DEMO_WAY; k++) {
        pattern p;
        for (size_t i = 0; i < features; i++) p[i / DEMO_CHANNELS][i % DEMO_CHANNELS] = random_normal(&patterns);
        e->support_labels[k] = (int64_t)k;
        e->support_place[k] = make_picture(&pictures, p, e->support[k]);
        for (size_t i = k * DEMO_EACH; i < (k + 1) * DEMO_EACH; i++) {
            e->query_labels[i] = (int64_t)k;
            e->query_place[i] = make_picture(&pictures, p, e->query[i]);
        }
    }
}
