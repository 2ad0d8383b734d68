/* explain_sheet.c - explanations as pictures with titles and legends, and the colours that they are drawn in. */
#include "api/explain.h"
#include "image/ramp.h"
#include "image/sheet.h"
#include <stdio.h>

void centra_ramp(double value, unsigned char rgb[3])
{
    if (rgb) ramp_colour(value, rgb);
}

/* A class of the explanation with its names and picture. */
struct subject {
    centra_why_class of;
    const char *class_name, *picture_name;
    struct picture seen; /* the support's */
};

static status find_subject(const centra_explanation *e, const centra_support *s, size_t rank, struct subject *out)
{
    status st = OK;
    centra_picture seen = {0};
    TRY((status)centra_explanation_class(e, rank, &out->of));
    TRY((status)centra_support_class(s, out->of.index, &out->class_name, NULL));
    TRY((status)centra_support_picture(s, out->of.index, out->of.picture, &out->picture_name, &seen));
    out->seen = (struct picture){seen.width, seen.height, seen.rgb};
done:
    return st;
}

static void name_of(const struct subject *x, char out[256])
{
    snprintf(out, 256, "%.200s, %.1f %%", x->class_name, 100 * x->of.probability);
}

static status draw_pairs(const centra_why *why, const struct subject *x, struct picture *out)
{
    const struct picture query = {why->seen.width, why->seen.height, why->seen.rgb};
    struct sheet_line lines[WHY_PAIRS];
    char title[256];
    name_of(x, title);
    for (size_t i = 0; i < x->of.pair_count; i++)
        lines[i] = (struct sheet_line){x->of.pairs[i].query, x->of.pairs[i].known, x->of.pairs[i].weight};
    const struct sheet_pairs sheet = {.left = &query,
                                      .right = &x->seen,
                                      .height = why->height,
                                      .width = why->width,
                                      .lines = lines,
                                      .count = x->of.pair_count,
                                      .title = title,
                                      .left_name = "new",
                                      .right_name = x->picture_name};
    return sheet_pairs(&sheet, out);
}

static status draw_map(const centra_why *why, const struct picture *seen, const float *map, const char *title,
                       const char *means, struct picture *out)
{
    const struct sheet_map sheet = {seen, map, why->height, why->width, title, means};
    return sheet_map(&sheet, out);
}

centra_status centra_explanation_sheet(const centra_explanation *e, const centra_support *s, centra_sheet sheet,
                                       size_t rank, centra_picture *out)
{
    struct subject x = {0};
    struct picture made = {0};
    centra_why why;
    char title[256];
    status st = OK;
    if (!e || !s || !out)
        return (centra_status)fail(ST_USAGE, "centra_explanation_sheet needs an explanation, its support and a place");
    centra_explanation_why(e, &why);
    const struct picture query = {why.seen.width, why.seen.height, why.seen.rgb};
    const bool of_query = sheet == CENTRA_SHEET_QUERY || sheet == CENTRA_SHEET_GRAD_CAM;
    TRY(find_subject(e, s, of_query ? 0 : rank, &x));
    name_of(&x, title);
    switch (sheet) {
    case CENTRA_SHEET_QUERY: st = draw_map(&why, &query, why.centrality, title, "where it was found", &made); break;
    case CENTRA_SHEET_GRAD_CAM: st = draw_map(&why, &query, why.grad_cam, title, "Grad-CAM", &made); break;
    case CENTRA_SHEET_KNOWN:
        snprintf(title, sizeof title, "%.200s", x.picture_name);
        st = draw_map(&why, &x.seen, x.of.centrality, title, "where it was found", &made);
        break;
    case CENTRA_SHEET_PAIRS: st = draw_pairs(&why, &x, &made); break;
    default: st = fail(ST_USAGE, "there is no sheet %d", (int)sheet);
    }
    if (st == OK) *out = (centra_picture){made.width, made.height, made.rgb};
done:
    return (centra_status)st;
}
