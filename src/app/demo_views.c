/* demo_views.c - sample episodes on the page: what is known, what is asked, and where the mutual head looked.
 *
 * For each query two maps are drawn: the centralities of its own locations, and those of the known picture of the class
 * that the head chose. */
#include "app/demo.h"
#include "app/library.h"
#include "base/page.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 84, SCALE = 2, EPISODES = 3, QUERIES = DEMO_WAY * DEMO_QUERY, SHOWN = 6 };
static const char mutual[] = "mcl-katz";

struct view { /* one episode, encoded and scored */
    const struct demo *demo;
    centra_data *data;
    centra_net *net;
    centra_head *head;
    size_t support[DEMO_WAY], queries[QUERIES];
    int64_t labels[QUERIES];
    size_t height, width;                  /* of the maps */
    float *scores, *on_query, *on_support; /* owned: [QUERIES, DEMO_WAY], [QUERIES, r], [QUERIES, DEMO_WAY * r] */
};

static status read_inputs(const struct view *v, const size_t *pictures, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++) {
        centra_picture p = {0};
        status st = library(centra_data_picture(v->data, pictures[i], &p));
        if (st == OK) st = library(centra_picture_input(&p, SIDE, out + i * 3 * SIDE * SIDE));
        centra_picture_free(&p);
        if (st != OK) return st;
    }
    return OK;
}

/* The features of the pictures, to be freed, with their shape. */
static status encode(const struct view *v, const size_t *pictures, size_t count, float **out, size_t dim[4])
{
    float *inputs = NULL, *copy = NULL;
    const void *features;
    status st = OK;
    TRY(array_take(count, 3 * SIDE * SIDE, 1, sizeof *inputs, (void **)&inputs));
    TRY(read_inputs(v, pictures, count, inputs));
    TRY(library(centra_net_encode(v->net, inputs, count, SIDE, SIDE, &features, dim)));
    TRY(array_take(count, dim[1], dim[2] * dim[3], sizeof *copy, (void **)&copy));
    memcpy(copy, features, count * dim[1] * dim[2] * dim[3] * sizeof *copy);
    *out = copy;
done:
    free(inputs);
    return st;
}

static status make_room(struct view *v, size_t locations)
{
    status st = OK;
    if (v->scores) return OK;
    TRY(array_take(QUERIES, DEMO_WAY, 1, sizeof(float), (void **)&v->scores));
    TRY(array_take(QUERIES, locations, 1, sizeof(float), (void **)&v->on_query));
    TRY(array_take(QUERIES, DEMO_WAY, locations, sizeof(float), (void **)&v->on_support));
done:
    return st;
}

static status score(struct view *v, uint64_t episode)
{
    static const int64_t support_labels[DEMO_WAY] = {0, 1, 2, 3, 4};
    float *support = NULL, *query = NULL;
    size_t dim[4];
    status st = OK;
    TRY(library(centra_data_episode(v->data, DEMO_WAY, DEMO_SHOT, DEMO_QUERY, (uint64_t)v->demo->call->common.seed,
                                    episode, v->support, v->queries, v->labels)));
    TRY(encode(v, v->support, DEMO_WAY, &support, dim));
    TRY(encode(v, v->queries, QUERIES, &query, dim));
    v->height = dim[2], v->width = dim[3];
    TRY(make_room(v, dim[2] * dim[3]));
    const centra_episode e = {.precision = CENTRA_F32,
                              .channels = dim[1],
                              .support_count = DEMO_WAY,
                              .support_locations = dim[2] * dim[3],
                              .support = support,
                              .support_labels = support_labels,
                              .query_count = QUERIES,
                              .query_locations = dim[2] * dim[3],
                              .query = query};
    const centra_result r = {.scores = v->scores, .centrality_query = v->on_query, .centrality_support = v->on_support};
    TRY(library(centra_head_score(v->head, &e, &r)));
done:
    free(support);
    free(query);
    return st;
}

/* A picture as the network sees it, enlarged, with a map over it where there is one. */
static status add_picture(const struct view *v, size_t index, const float *map, const char *alt, text *page)
{
    centra_picture whole = {0}, seen = {0}, large = {0}, over = {0};
    unsigned char *png = NULL;
    size_t bytes = 0;
    status st = OK;
    TRY(library(centra_data_picture(v->data, index, &whole)));
    TRY(library(centra_picture_seen(&whole, SIDE, &seen)));
    TRY(library(centra_picture_resize(&seen, SCALE * SIDE, SCALE * SIDE, &large)));
    if (map) TRY(library(centra_picture_overlay(&large, map, v->height, v->width, &over)));
    TRY(library(centra_picture_png(map ? &over : &large, &png, &bytes)));
    page_picture(page, png, bytes, alt);
done:
    centra_free(png);
    centra_picture_free(&whole);
    centra_picture_free(&seen);
    centra_picture_free(&large);
    centra_picture_free(&over);
    return st;
}

static char letter(size_t class) { return (char)('A' + class); }

static status add_figure(const struct view *v, size_t index, const float *map, const char *class_name,
                         const char *caption, text *page)
{
    text_addf(page, "<figure class=\"%s\">", class_name);
    const status st = add_picture(v, index, map, caption, page);
    text_add(page, "<figcaption>");
    html_add(page, caption);
    text_add(page, "</figcaption></figure>\n");
    return st;
}

static size_t best_of(const float *scores)
{
    size_t best = 0;
    for (size_t k = 1; k < DEMO_WAY; k++)
        if (scores[k] > scores[best]) best = k;
    return best;
}

static status add_query(const struct view *v, size_t q, text *page)
{
    const size_t locations = v->height * v->width, best = best_of(v->scores + q * DEMO_WAY);
    const bool right = (int64_t)best == v->labels[q];
    char caption[128];
    status st = OK;
    text_add(page, "<div class=\"row\">\n");
    snprintf(caption, sizeof caption, "asked; its class is %c", letter((size_t)v->labels[q]));
    TRY(add_figure(v, v->queries[q], NULL, "", caption, page));
    snprintf(caption, sizeof caption, "told: %c, %.0f %% sure", letter(best),
             100 * (double)v->scores[q * DEMO_WAY + best]);
    TRY(add_figure(v, v->queries[q], v->on_query + q * locations, right ? "right" : "wrong", caption, page));
    snprintf(caption, sizeof caption, "because of this in the known %c", letter(best));
    TRY(add_figure(v, v->support[best], v->on_support + (q * DEMO_WAY + best) * locations, "", caption, page));
done:
    text_add(page, "</div>\n");
    return st;
}

static status add_episode(struct view *v, uint64_t episode, text *page)
{
    char caption[64];
    status st = OK;
    TRY(score(v, episode));
    text_addf(page,
              "<h2>Episode %ju</h2>\n<p>One known picture of each of five new classes:</p>\n<div class=\"row\">\n",
              (uintmax_t)episode + 1);
    for (size_t k = 0; k < DEMO_WAY; k++) {
        snprintf(caption, sizeof caption, "%c", letter(k));
        TRY(add_figure(v, v->support[k], NULL, "", caption, page));
    }
    text_add(page, "</div>\n<div class=\"queries\">\n");
    for (size_t q = 0; q < SHOWN; q++) TRY(add_query(v, q, page));
    text_add(page, "</div>\n");
done:
    return st;
}

static status view_open(struct view *v)
{
    const struct demo *d = v->demo;
    centra_model *model = NULL;
    status st = OK;
    TRY(library(centra_data_open(text_string(&d->data), "test", &v->data)));
    TRY(library(centra_model_open(text_string(&d->run[DEMO_RUNS - 1].folder), &model)));
    TRY(library(centra_model_net(d->session, model, NULL, 0, CENTRA_F32, &v->net)));
    TRY(library(centra_head_new(d->session, mutual, NULL, 0, &v->head)));
done:
    centra_model_close(model);
    return st;
}

status demo_views(const struct demo *d, text *page)
{
    struct view v = {.demo = d};
    status st = OK;
    TRY(view_open(&v));
    for (uint64_t e = 0; e < EPISODES; e++) TRY(add_episode(&v, e, page));
done:
    centra_head_free(v.head);
    centra_net_free(v.net);
    centra_data_close(v.data);
    free(v.scores);
    free(v.on_query);
    free(v.on_support);
    return st;
}
