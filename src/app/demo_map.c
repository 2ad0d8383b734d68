/* demo_map.c - centralities as little maps of shades in the terminal. */
#include "app/demo.h"

enum { SHADES = 5 };

double demo_share(const float *map, struct place p)
{
    double all = 0, inside = 0;
    for (size_t cell = 0; cell < DEMO_CELLS; cell++) {
        all += (double)map[cell];
        if (demo_inside(p, cell)) inside += (double)map[cell];
    }
    return all > 0 ? inside / all : 0;
}

/* The shades run from the least to the most central location of the map. */
struct range {
    float least, most;
};

static struct range range_of(const float *map)
{
    struct range r = {map[0], map[0]};
    for (size_t cell = 1; cell < DEMO_CELLS; cell++) {
        if (map[cell] < r.least) r.least = map[cell];
        if (map[cell] > r.most) r.most = map[cell];
    }
    return r;
}

/* What stands between two cells: the pattern's frame, or nothing. */
static const char *edge(struct place p, size_t row, size_t column)
{
    bool beside = row >= p.row && row < p.row + DEMO_PATTERN;
    if (beside && column == p.column) return "[";
    return beside && column == p.column + DEMO_PATTERN ? "]" : " ";
}

/* Each cell is two characters wide, which makes it about square. */
static void add_row(text *to, const float *map, struct place p, size_t row, bool unicode)
{
    static const char *const shades[2][SHADES] = {
        {"  ", "..", "::", "++", "##"}, {"  ", "\u2591\u2591", "\u2592\u2592", "\u2593\u2593", "\u2588\u2588"}};
    struct range r = range_of(map);
    for (size_t column = 0; column < DEMO_SIDE; column++) {
        float part = r.most > r.least ? (map[row * DEMO_SIDE + column] - r.least) / (r.most - r.least) : 0;
        int shade = (int)(part * SHADES);
        text_add(to, edge(p, row, column));
        text_add(to, shades[unicode][shade < SHADES ? shade : SHADES - 1]);
    }
    text_add(to, edge(p, row, DEMO_SIDE));
}

void demo_maps(text *to, const float *query, struct place query_place, const float *support, struct place support_place,
               bool unicode)
{
    for (size_t row = 0; row < DEMO_SIDE; row++) {
        text_add(to, "  |");
        add_row(to, query, query_place, row, unicode);
        text_add(to, "|     |");
        add_row(to, support, support_place, row, unicode);
        text_add(to, "|\n");
    }
}
