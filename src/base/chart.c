/* chart.c - SVG by hand. Coordinates are user units of a box 560 by 250; text sizes come from the page's style. */
#include "base/chart.h"
#include "base/option.h"
#include "base/page.h"
#include <math.h>

enum { WIDTH = 560, HEIGHT = 250, LEFT = 62, RIGHT = 16, TOP = 14, BOTTOM = 40 };

struct scale {
    double low, high, step;
};

struct plot {
    const struct chart *c;
    struct scale x, y; /* y in powers of ten for a logarithmic chart */
};

double chart_step(double span, int most)
{
    if (!(span > 0) || isinf(span)) return 1;
    const double power = pow(10, floor(log10(span / most)));
    static const double nice[] = {1, 2, 5};
    for (size_t i = 0; i < 3; i++)
        if (nice[i] * power * most >= span * (1 - 1e-12)) return nice[i] * power;
    return 10 * power;
}

/* Where the numbers lie */

static double scaled(const struct chart *c, double y) { return c->logarithmic ? log10(y) : y; }

static bool is_drawn(const struct chart *c, const struct chart_point *p)
{
    return isfinite(p->x) && isfinite(p->y) && (!c->logarithmic || p->y > 0);
}

static void include(struct scale *a, double v)
{
    a->low = fmin(a->low, v);
    a->high = fmax(a->high, v);
}

/* Widens to round ends. */
static void round_axis(struct scale *a, int most, double least_step)
{
    if (a->low > a->high) *a = (struct scale){0, 1, 1};
    if (a->low == a->high) {
        const double room = a->low == 0 ? 1 : fabs(a->low) * 0.1;
        *a = (struct scale){a->low - room, a->high + room, 0};
    }
    a->step = fmax(chart_step(a->high - a->low, most), least_step);
    a->low = floor(a->low / a->step + 1e-9) * a->step;
    a->high = ceil(a->high / a->step - 1e-9) * a->step;
}

static struct plot plot_of(const struct chart *c)
{
    struct plot p = {c, {INFINITY, -INFINITY, 0}, {INFINITY, -INFINITY, 0}};
    for (size_t i = 0; i < c->count; i++) {
        const struct chart_point *at = &c->point[i];
        if (!is_drawn(c, at)) continue;
        const double half = at->half > 0 && isfinite(at->half) && !c->logarithmic ? at->half : 0;
        include(&p.x, at->x);
        include(&p.y, scaled(c, at->y) - half);
        include(&p.y, scaled(c, at->y) + half);
    }
    const double x_low = p.x.low, x_high = p.x.high;
    round_axis(&p.x, 8, 1);
    if (x_high > x_low) p.x.low = x_low, p.x.high = x_high; /* the line fills the width; only ticks are round */
    round_axis(&p.y, 5, c->logarithmic ? 1 : 0);
    return p;
}

static double to_x(const struct plot *p, double x)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (x - p->x.low) / (p->x.high - p->x.low);
}

static double to_y(const struct plot *p, double y)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - p->y.low) / (p->y.high - p->y.low);
}

/* Drawing */

static void add_number(text *to, double v, double step)
{
    char number[NUMBER_BYTES];
    if (fabs(v) < step * 1e-9) v = 0;
    const double unit = pow(10, floor(log10(step) + 1e-9)); /* without the dust of adding steps */
    const double clean = unit < 1 ? nearbyint(v / unit) / nearbyint(1 / unit) : nearbyint(v / unit) * unit;
    number_text(clean, number);
    text_add(to, number);
}

static void add_y_label(text *to, const struct plot *p, double v)
{
    if (p->c->logarithmic) {
        char number[NUMBER_BYTES];
        number_text(pow(10, nearbyint(v)), number);
        text_add(to, number);
    } else {
        add_number(to, p->c->percent ? 100 * v : v, p->c->percent ? 100 * p->y.step : p->y.step);
        if (p->c->percent) text_add(to, " %");
    }
}

static void add_axes(text *to, const struct plot *p)
{
    const double bottom = HEIGHT - BOTTOM, right = WIDTH - RIGHT;
    const int rows = (int)nearbyint((p->y.high - p->y.low) / p->y.step);
    text_add(to, "<g class=\"grid\">\n");
    for (int i = 0; i <= rows; i++) {
        const double v = p->y.low + i * p->y.step, y = to_y(p, v);
        text_addf(to, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", LEFT, y, right, y);
        text_addf(to, "<text x=\"%d\" y=\"%.1f\" class=\"y\">", LEFT - 8, y + 4);
        add_y_label(to, p, v);
        text_add(to, "</text>\n");
    }
    const int first = (int)ceil(p->x.low / p->x.step - 1e-9), last = (int)floor(p->x.high / p->x.step * (1 + 1e-12));
    for (int i = first; i <= last; i++) {
        const double v = i * p->x.step;
        text_addf(to, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"tick\"/>", to_x(p, v), bottom,
                  to_x(p, v), bottom + 5);
        text_addf(to, "<text x=\"%.1f\" y=\"%.1f\" class=\"x\">", to_x(p, v), bottom + 18);
        add_number(to, v, p->x.step);
        text_add(to, "</text>\n");
    }
    text_addf(to, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"base\"/>\n", LEFT, bottom, right,
              bottom);
    text_addf(to, "<text x=\"%.1f\" y=\"%d\" class=\"x name\">", (LEFT + right) / 2, HEIGHT - 5);
    html_add(to, p->c->x_name);
    text_add(to, "</text>\n</g>\n");
}

static void add_band(text *to, const struct plot *p)
{
    const struct chart *c = p->c;
    size_t drawn = 0;
    for (size_t i = 0; i < c->count; i++) drawn += is_drawn(c, &c->point[i]) && c->point[i].half > 0;
    if (drawn < 2 || c->logarithmic) return;
    text_add(to, "<polygon class=\"band\" points=\"");
    for (size_t k = 0; k < 2 * c->count; k++) { /* along the upper edge, back along the lower */
        const struct chart_point *at = &c->point[k < c->count ? k : 2 * c->count - 1 - k];
        if (!is_drawn(c, at)) continue;
        const double half = isfinite(at->half) ? at->half : 0;
        text_addf(to, "%.1f,%.1f ", to_x(p, at->x), to_y(p, at->y + (k < c->count ? half : -half)));
    }
    text_add(to, "\"/>\n");
}

static void add_line(text *to, const struct plot *p)
{
    const struct chart *c = p->c;
    bool down = false; /* the pen */
    double before = 0;
    text_add(to, "<path class=\"line\" d=\"");
    for (size_t i = 0; i < c->count; i++) {
        const struct chart_point *at = &c->point[i];
        if (!is_drawn(c, at)) {
            down = false;
            continue;
        }
        const double x = to_x(p, at->x), y = to_y(p, scaled(c, at->y));
        if (down && c->steps) text_addf(to, "L%.1f %.1f", x, before);
        text_addf(to, "%c%.1f %.1f", down ? 'L' : 'M', x, y);
        down = true;
        before = y;
    }
    text_add(to, "\"/>\n");
}

static void add_dots(text *to, const struct plot *p)
{
    const struct chart *c = p->c;
    for (size_t i = 0; i < c->count; i++) {
        const struct chart_point *at = &c->point[i];
        if (!is_drawn(c, at) || !(at->marked || c->count == 1)) continue;
        const double x = to_x(p, at->x), y = to_y(p, scaled(c, at->y));
        const char *side = x > WIDTH - 110 ? "end" : x < LEFT + 60 ? "start" : "middle";
        text_addf(to, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>", x, y);
        if (!at->marked) continue;
        text_addf(to, "<text class=\"value\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x,
                  y < TOP + 30 ? y + 24 : y - 12, side);
        text_addf(to, c->percent ? "%.2f %%" : "%.4g", c->percent ? 100 * at->y : at->y);
        text_add(to, "</text>\n");
    }
}

void chart_add(text *to, const struct chart *c)
{
    const struct plot p = plot_of(c);
    text_addf(to, "<figure class=\"%s\">\n<figcaption>", c->class_name);
    html_add(to, c->title);
    text_addf(to, "</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    html_add(to, c->title);
    text_add(to, "\">\n");
    add_axes(to, &p);
    add_band(to, &p);
    add_line(to, &p);
    add_dots(to, &p);
    text_add(to, "</svg>\n</figure>\n");
}
