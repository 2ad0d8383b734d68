/* explain_page.c - a section for each query: the picture beside its maps, the classes as bars, and for the likeliest
 * classes the known picture with lines to it. Pictures are part of the page; lines are drawn over them in units of a
 * third of a picture, so that they fit at every width. */
#include "app/explain_page.h"
#include "app/library.h"
#include "app/unknown.h"
#include "base/page.h"
#include <math.h>

enum { BARS = 8, STOPS = 12 };
static const double FIRST_LINE = 0.35; /* the weakest line's place in the ramp, whose darkest part would not be seen */

static const char rules[] =
    "section{border-top:1px solid var(--rule);margin-top:36px}\n"
    "h2{overflow-wrap:anywhere}\nh3{font-size:16px;font-weight:650;margin:28px 0 12px;overflow-wrap:anywhere}\n"
    "h3 span{color:var(--soft);font-weight:400}\n"
    ".told{font-size:22px;font-weight:650;margin:0}\n.soft{color:var(--soft);margin:0 0 16px}\n"
    ".maps{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,300px));gap:16px}\n"
    ".maps figure{padding:10px}\n.maps figcaption{font-weight:400;font-size:14px;line-height:1.35;margin:0 0 8px}\n"
    ".maps img,.pairs img{display:block;width:100%;height:auto;border-radius:6px}\n"
    ".scale{display:grid;grid-template-columns:1fr 1fr;gap:2px;margin-top:8px;font-size:13px;color:var(--soft);"
    "font-variant-numeric:tabular-nums}\n"
    ".scale i{grid-column:1/3;height:10px;border-radius:3px;background:var(--ramp)}\n"
    ".scale span:last-child{text-align:right}\n"
    ".bars{display:grid;grid-template-columns:minmax(0,14em) 1fr max-content;gap:6px 12px;align-items:center;"
    "max-width:640px;margin:20px 0}\n"
    ".bars span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}\n"
    ".bars div{height:12px;border-radius:6px;background:var(--rule);overflow:hidden}\n"
    ".bars i{display:block;height:12px;border-radius:6px;background:var(--accuracy)}\n"
    ".bars b{font-weight:400;text-align:right;font-variant-numeric:tabular-nums}\n"
    ".match{display:grid;grid-template-columns:minmax(0,632px) minmax(0,300px);gap:16px;align-items:start}\n"
    ".match figure{padding:10px}\n.match figcaption{font-weight:400;font-size:14px;line-height:1.35;margin:0 0 8px}\n"
    ".pairs{position:relative;display:grid;grid-template-columns:3fr 1fr 3fr;background:#181a1e;border-radius:6px}\n"
    ".pairs img:nth-child(2){grid-column:3}\n.pairs svg{position:absolute;inset:0;width:100%;height:100%}\n"
    ".pairs line{stroke-linecap:round}\n.match .scale i{background:var(--lines)}\n.match .maps .scale i{background:"
    "var(--ramp)}\n.match .maps{display:block}\n"
    "@media(max-width:720px){main{padding:24px 16px}.match{grid-template-columns:minmax(0,1fr)}"
    ".maps{grid-template-columns:1fr 1fr;gap:10px}.maps figure{padding:6px}.match "
    ".maps{max-width:300px}.bars{grid-template-columns:minmax(0,8em) 1fr max-content}}\n";

static void add_colour(text *to, double value)
{
    unsigned char rgb[3] = {0};
    centra_ramp(value, rgb);
    text_addf(to, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

/* --NAME:linear-gradient(...) of the ramp from `first` on */
static void add_gradient(text *to, const char *name, double first)
{
    text_addf(to, "--%s:linear-gradient(90deg", name);
    for (int i = 0; i <= STOPS; i++) {
        text_add(to, ",");
        add_colour(to, first + (1 - first) * i / STOPS);
    }
    text_add(to, ");");
}

status explain_page_begin(text *page, const centra_model *model, const char *head, const centra_support *support)
{
    text style = {0};
    centra_model_info info = {0};
    size_t known = 0;
    centra_model_describe(model, &info);
    for (size_t k = 0, n = 0; k < centra_support_class_count(support); k++, known += n) {
        const status st = library(centra_support_class(support, k, NULL, &n));
        if (st != OK) return st;
    }
    text_add(&style, rules);
    text_add(&style, ":root{");
    add_gradient(&style, "ramp", 0);
    add_gradient(&style, "lines", FIRST_LINE);
    text_add(&style, "}\n");
    page_begin_styled(page, "Why these classes", text_string(&style));
    text_add(page, "<p class=\"state\">");
    text_addf(page, "%zu known pictures of %zu classes; model ", known, centra_support_class_count(support));
    html_add(page, info.name);
    text_add(page, ", head ");
    html_add(page, head ? head : info.head);
    text_add(page,
             "</p>\n<p>A random walk goes back and forth between the places of the new picture and those of all known "
             "ones, towards what looks alike. A place is light where it leads to the class more than chance would; the "
             "numbers say how many times the share that it would have if all places had the same. Lines join places "
             "that lead to each other, the lighter and thicker the more. Grad-CAM is another view: what of the "
             "network's last layer spoke for the class that is told.</p>\n");
    const status st = text_status(&style);
    text_free(&style);
    return st;
}

static status add_png(text *page, const centra_picture *p, const char *alt)
{
    unsigned char *png = NULL;
    size_t bytes = 0;
    const status st = library(centra_picture_png(p, &png, &bytes));
    if (st == OK) page_picture(page, png, bytes, alt);
    centra_free(png);
    return st;
}

/* The least and the largest of a map in shares of an even one. */
static void add_scale(text *page, const float *map, size_t cells)
{
    double least = (double)map[0], most = least;
    for (size_t i = 1; i < cells; i++) {
        least = fmin(least, (double)map[i]);
        most = fmax(most, (double)map[i]);
    }
    text_addf(page, "<div class=\"scale\"><i></i><span>%.1f&times;</span><span>%.1f&times;</span></div>",
              least * (double)cells, most * (double)cells);
}

/* A picture, under a map where there is one. */
static status add_figure(text *page, const centra_picture *seen, const centra_why *why, const float *map,
                         const char *caption)
{
    centra_picture over = {0};
    status st = OK;
    text_add(page, "<figure><figcaption>");
    html_add(page, caption);
    text_add(page, "</figcaption>");
    if (map) TRY(library(centra_picture_overlay(seen, map, why->height, why->width, &over)));
    TRY(add_png(page, map ? &over : seen, caption));
    if (map) add_scale(page, map, why->height * why->width);
    text_add(page, "</figure>\n");
done:
    centra_picture_free(&over);
    return st;
}

static status add_bars(text *page, const struct explained *x, size_t classes)
{
    text_add(page, "<div class=\"bars\">\n");
    for (size_t rank = 0; rank < classes && rank < BARS; rank++) {
        centra_why_class k;
        const char *name;
        status st = library(centra_explanation_class(x->e, rank, &k));
        if (st == OK) st = library(centra_support_class(x->support, k.index, &name, NULL));
        if (st != OK) return st;
        text_add(page, "<span>");
        html_add(page, name);
        text_addf(page, "</span><div><i style=\"width:%.2f%%\"></i></div><b>%.1f %%</b>\n", 100 * k.probability,
                  100 * k.probability);
    }
    text_add(page, "</div>\n");
    if (classes > BARS) text_addf(page, "<p class=\"soft\">and %zu more classes</p>\n", classes - BARS);
    return OK;
}

static void add_line(text *page, const centra_why *why, const centra_pair *p)
{
    const double w = fmin(fmax(p->weight, 0), 1), thick = 0.018 + 0.03 * w;
    const size_t row1 = p->query / why->width, row2 = p->known / why->width;
    const double x1 = 3 * ((double)(p->query % why->width) + 0.5) / (double)why->width;
    const double y1 = 3 * ((double)row1 + 0.5) / (double)why->height;
    const double x2 = 4 + 3 * ((double)(p->known % why->width) + 0.5) / (double)why->width;
    const double y2 = 3 * ((double)row2 + 0.5) / (double)why->height;
    text_addf(page, "<g opacity=\"%.2f\"><title>strength %.2f</title>", 0.6 + 0.4 * w, w);
    for (int above = 0; above < 2; above++) { /* a dark seam below, the colour above */
        const double more = above ? 0 : 0.02;
        text_add(page, "<g stroke=\"");
        if (above) add_colour(page, FIRST_LINE + (1 - FIRST_LINE) * w);
        else text_add(page, "#000a");
        text_addf(page,
                  "\"><line x1=\"%.3f\" y1=\"%.3f\" x2=\"%.3f\" y2=\"%.3f\" stroke-width=\"%.3f\"/>"
                  "<path d=\"M%.3f %.3fh0M%.3f %.3fh0\" stroke-width=\"%.3f\" stroke-linecap=\"round\"/></g>",
                  x1, y1, x2, y2, thick + more, x1, y1, x2, y2, 0.05 + 2 * thick + more);
    }
    text_add(page, "</g>\n");
}

static status add_pairs(text *page, const centra_why *why, const centra_picture *known, const centra_why_class *k)
{
    status st = OK;
    text_add(page, "<figure><figcaption>Places that lead to each other: the new picture left, the known one right"
                   "</figcaption><div class=\"pairs\">");
    TRY(add_png(page, &why->seen, "the new picture"));
    TRY(add_png(page, known, "the known picture"));
    text_addf(page, "<svg viewBox=\"0 0 7 3\" role=\"img\" aria-label=\"%zu lines between the two pictures\">\n",
              k->pair_count);
    for (size_t i = k->pair_count; i-- > 0;) add_line(page, why, &k->pairs[i]);
    text_add(page, "</svg></div><div class=\"scale\"><i></i><span>weak</span><span>the strongest</span></div>"
                   "</figure>\n");
done:
    return st;
}

static status add_class(text *page, const struct explained *x, const centra_why *why, size_t rank)
{
    centra_why_class k;
    centra_picture known = {0};
    const char *name, *file;
    status st = OK;
    TRY(library(centra_explanation_class(x->e, rank, &k)));
    TRY(library(centra_support_class(x->support, k.index, &name, NULL)));
    TRY(library(centra_support_picture(x->support, k.index, k.picture, &file, &known)));
    text_addf(page, "<h3>%zu. ", rank + 1);
    html_add(page, name);
    text_addf(page, ", %.1f %% <span>nearest known picture: ", 100 * k.probability);
    html_add(page, file);
    text_add(page, "</span></h3>\n<div class=\"match\">\n");
    TRY(add_pairs(page, why, &known, &k));
    text_add(page, "<div class=\"maps\">");
    TRY(add_figure(page, &known, why, k.centrality, "Where that leads in the known picture"));
    text_add(page, "</div>\n</div>\n");
done:
    return st;
}

static void add_familiarity(text *page, double familiarity)
{
    if (isnan(familiarity))
        text_add(page, "<p class=\"soft\">How familiar it is cannot be said: that needs classes with two or more known "
                       "pictures.</p>\n");
    else
        text_addf(page, "<p class=\"soft\">Familiarity %.2f: %.0f %% of the known pictures would look stranger.</p>\n",
                  familiarity, 100 * familiarity);
}

static void add_told(text *page, const struct explained *x, const centra_guess *g, const char *best)
{
    if (x->unknown) text_add(page, NONE_OF_THESE "</p>\n<p class=\"soft\">If it had to be one of them: ");
    html_add(page, best);
    text_addf(page, ", %.1f %%</p>\n", 100 * g->probability);
}

status explain_page_add(text *page, const struct explained *x)
{
    centra_why why;
    const char *best;
    status st = OK;
    centra_explanation_why(x->e, &why);
    TRY(library(centra_support_class(x->support, why.guess.best, &best, NULL)));
    text_add(page, "<section>\n<h2>");
    html_add(page, x->file);
    text_add(page, "</h2>\n<p class=\"told\">");
    add_told(page, x, &why.guess, best);
    add_familiarity(page, why.guess.familiarity);
    text_add(page, "<div class=\"maps\">\n");
    TRY(add_figure(page, &why.seen, &why, NULL, "The picture as the network sees it"));
    TRY(add_figure(page, &why.seen, &why, why.centrality, "What speaks for the class"));
    TRY(add_figure(page, &why.seen, &why, why.grad_cam, "Grad-CAM"));
    text_add(page, "</div>\n");
    TRY(add_bars(page, x, why.classes));
    for (size_t rank = 0; rank < x->top && rank < why.classes; rank++) TRY(add_class(page, x, &why, rank));
    text_add(page, "</section>\n");
done:
    return st;
}
