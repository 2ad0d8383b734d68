/* sheet.c - sheets are dark: the ramp's light end then stands out in legends and lines, as it does in overlays. */
#include "image/sheet.h"
#include "base/size.h"
#include "image/draw.h"
#include "image/overlay.h"
#include "image/ramp.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EDGE = 16, GAP = 16, WIDE_GAP = 84, SCALE = 2, ROW = SCALE * TEXT_ROWS + 8, SHOWN = 252, BAR = 12, TICK = 5 };
static const uint8_t PAPER[3] = {24, 26, 30}, INK[3] = {236, 234, 228}, SOFT[3] = {160, 166, 174};
static const double FIRST_LINE = 0.35; /* the weakest line's place in the ramp, whose darkest part would not be seen */

size_t sheet_enlargement(size_t width, size_t height) { return size_max(1, SHOWN / size_max(width, height)); }

static status enlarge(const struct picture *p, struct picture *out)
{
    const size_t by = sheet_enlargement(p->width, p->height);
    return picture_resize(p, by * p->width, by * p->height, out);
}

static status paper(size_t width, size_t height, struct picture *out)
{
    const status st = picture_new(width, height, out);
    if (st == OK) draw_box(out, 0, 0, width, height, PAPER);
    return st;
}

/* As much of the text as fits into `room` columns; where that is not all, its end is two dots. */
static void label(struct picture *to, size_t left, size_t top, size_t room, const char *s, const uint8_t rgb[3])
{
    const size_t letters = room / (TEXT_COLUMNS * SCALE);
    char cut[256];
    if (draw_text_width(SCALE, s) <= room) {
        draw_text(to, left, top, SCALE, s, rgb);
        return;
    }
    snprintf(cut, sizeof cut, "%s", s);
    size_t end = 0;
    for (size_t n = 0; cut[end] && n + 2 < letters; n++) /* whole characters */
        do end++;
        while (((unsigned char)cut[end] & 0xc0) == 0x80);
    cut[size_min(end, sizeof cut - 3)] = '\0';
    strcat(cut, "..");
    draw_text(to, left, top, SCALE, cut, rgb);
}

/* The ramp from `first` on as a bar with ticks at both ends and in the middle, a text below each. */
static void legend(struct picture *to, size_t left, size_t top, size_t width, double first, const char *const texts[3])
{
    for (size_t x = 0; x < width; x++) {
        uint8_t rgb[3];
        ramp_colour(first + (1 - first) * (double)x / (double)(size_max(width, 2) - 1), rgb);
        draw_box(to, left + x, top, 1, BAR, rgb);
    }
    for (size_t i = 0; i < 3; i++) {
        const size_t at = left + i * (width - 1) / 2, wide = draw_text_width(SCALE, texts[i]);
        draw_box(to, at, top + BAR, 1, TICK, SOFT);
        const size_t text_left = i == 0   ? left
                                 : i == 1 ? at - size_min(wide / 2, at)
                                          : left + width - size_min(wide, width);
        draw_text(to, text_left, top + BAR + TICK + 2, SCALE, texts[i], SOFT);
    }
}

/* "1.7x": a cell's weight in even shares. */
static void share_text(double weight, size_t cells, char out[48])
{
    const long tenths = lround(fmin(weight * (double)cells, 1e6) * 10);
    snprintf(out, 48, "%ld.%ldx", tenths / 10, tenths % 10);
}

static void map_legend(const struct sheet_map *s, struct picture *to, size_t left, size_t top, size_t width)
{
    char texts[3][48];
    const size_t cells = s->height * s->width;
    double least = (double)s->map[0], most = least;
    for (size_t i = 1; i < cells; i++) {
        least = fmin(least, (double)s->map[i]);
        most = fmax(most, (double)s->map[i]);
    }
    share_text(least, cells, texts[0]);
    share_text((least + most) / 2, cells, texts[1]);
    share_text(most, cells, texts[2]);
    legend(to, left, top, width, 0, (const char *const[]){texts[0], texts[1], texts[2]});
}

status sheet_map(const struct sheet_map *s, struct picture *out)
{
    struct picture large = {0}, over = {0}, made = {0};
    status st = OK;
    if (!s->height || !s->width)
        return fail(ST_SHAPE, "a map of %zu x %zu cells covers no picture", s->height, s->width);
    TRY(enlarge(s->seen, &large));
    TRY(picture_overlay(&large, s->map, s->height, s->width, &over));
    const size_t w = large.width, top = EDGE + 2 * ROW, right = EDGE + w + GAP, below = top + large.height + GAP;
    TRY(paper(right + w + EDGE, below + BAR + TICK + ROW + EDGE / 2, &made));
    label(&made, EDGE, EDGE, 2 * w + GAP, s->title, INK);
    label(&made, EDGE, EDGE + ROW, w, "the picture as seen", SOFT);
    label(&made, right, EDGE + ROW, w, s->means, SOFT);
    draw_picture(&made, &large, EDGE, top);
    draw_picture(&made, &over, right, top);
    label(&made, EDGE, below, w, "colours: weight in", SOFT);
    label(&made, EDGE, below + ROW - 4, w, "even shares", SOFT);
    map_legend(s, &made, right, below, w);
    *out = made;
    made = (struct picture){0};
done:
    picture_free(&large);
    picture_free(&over);
    picture_free(&made);
    return st;
}

/* The middle of a cell of the picture whose upper left corner is there. */
static struct spot cell_spot(const struct sheet_pairs *s, const struct picture *p, size_t cell, size_t left, size_t top)
{
    const float row = (float)(cell / s->width) + 0.5f, column = (float)(cell % s->width) + 0.5f;
    return (struct spot){(float)left + column * (float)p->width / (float)s->width,
                         (float)top + row * (float)p->height / (float)s->height};
}

static void draw_pair(struct picture *to, struct spot a, struct spot b, double weight)
{
    const float w = (float)fmin(fmax(weight, 0), 1), thickness = 1.5f + 2.5f * w;
    const struct ink shade = {{0, 0, 0}, 0.55f};
    struct ink ink = {{0}, 0.6f + 0.4f * w};
    ramp_colour(FIRST_LINE + (1 - FIRST_LINE) * (double)w, ink.rgb);
    draw_line(to, a, b, thickness + 2, shade);
    draw_line(to, a, b, thickness, ink);
    for (int end = 0; end < 2; end++) {
        draw_disc(to, end ? b : a, 3 + thickness, shade);
        draw_disc(to, end ? b : a, 2 + thickness, ink);
    }
}

status sheet_pairs(const struct sheet_pairs *s, struct picture *out)
{
    struct picture left = {0}, right = {0}, made = {0};
    status st = OK;
    if (!s->height || !s->width) return fail(ST_SHAPE, "a map of %zu x %zu cells has no places", s->height, s->width);
    TRY(enlarge(s->left, &left));
    TRY(enlarge(s->right, &right));
    const size_t top = EDGE + 2 * ROW, second = EDGE + left.width + WIDE_GAP;
    const size_t below = top + size_max(left.height, right.height) + GAP, width = second + right.width + EDGE;
    TRY(paper(width, below + BAR + TICK + ROW + EDGE / 2, &made));
    label(&made, EDGE, EDGE, width - 2 * EDGE, s->title, INK);
    label(&made, EDGE, EDGE + ROW, left.width + WIDE_GAP - GAP, s->left_name, SOFT);
    label(&made, second, EDGE + ROW, right.width, s->right_name, SOFT);
    draw_picture(&made, &left, EDGE, top);
    draw_picture(&made, &right, second, top);
    for (size_t i = s->count; i-- > 0;)
        draw_pair(&made, cell_spot(s, &left, s->lines[i].left, EDGE, top),
                  cell_spot(s, &right, s->lines[i].right, second, top), s->lines[i].weight);
    label(&made, EDGE, below, left.width, "lines: mutual flow", SOFT);
    legend(&made, second, below, right.width, FIRST_LINE, (const char *const[]){"weak", "", "strongest"});
    *out = made;
    made = (struct picture){0};
done:
    picture_free(&left);
    picture_free(&right);
    picture_free(&made);
    return st;
}
