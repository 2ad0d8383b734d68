/* demo.h - what the files of centra demo share: the generated episode and what a head made of it. */
#ifndef APP_DEMO_H
#define APP_DEMO_H
#include "app/command.h"

enum {
    DEMO_WAY = 5,
    DEMO_EACH = 2, /* queries of each class */
    DEMO_QUERIES = DEMO_WAY * DEMO_EACH,
    DEMO_CHANNELS = 64,
    DEMO_SIDE = 8,
    DEMO_CELLS = DEMO_SIDE * DEMO_SIDE,
    DEMO_PATTERN = 3 /* side of the pattern */
};

struct place {
    size_t row, column; /* of the pattern's upper left cell */
};

/* One support picture a class, class by class; queries class by class. */
struct demo_episode {
    float support[DEMO_WAY][DEMO_CHANNELS][DEMO_CELLS];
    float query[DEMO_QUERIES][DEMO_CHANNELS][DEMO_CELLS];
    int64_t support_labels[DEMO_WAY], query_labels[DEMO_QUERIES];
    struct place support_place[DEMO_WAY], query_place[DEMO_QUERIES];
};

struct demo_result {
    const char *head;
    float scores[DEMO_QUERIES][DEMO_WAY];
    float support[DEMO_QUERIES][DEMO_WAY][DEMO_CELLS]; /* centralities */
    float query[DEMO_QUERIES][DEMO_CELLS];
    double loss;
};

/* demo_episode.c */
void demo_episode_make(uint64_t seed, struct demo_episode *out);
bool demo_inside(struct place p, size_t cell);

/* demo_map.c: a query's map beside a support picture's, the patterns framed. */
void demo_maps(text *to, const float *query, struct place query_place, const float *support, struct place support_place,
               bool unicode);
/* The part of a map's centrality that lies on its pattern. */
double demo_share(const float *map, struct place p);
#endif
