/* report.c - the page around the charts. */
#include "train/report.h"
#include "base/chart.h"
#include "base/page.h"
#include <math.h>
#include <stdlib.h>

static const struct metrics_line *best_line(const struct report *r)
{
    const struct metrics_line *best = NULL;
    for (size_t i = 0; i < r->count; i++)
        if (r->lines[i].validation.count && (!best || r->lines[i].validation.mean > best->validation.mean))
            best = &r->lines[i];
    return best;
}

/* "2 h 05 min" */
static void add_duration(text *to, double seconds)
{
    const double minutes = floor(seconds / 60), hours = floor(seconds / 3600);
    if (!isfinite(seconds) || seconds < 0) text_add(to, "unknown");
    else if (seconds < 120) text_addf(to, "%.0f s", seconds);
    else if (hours < 1) text_addf(to, "%.0f min", minutes);
    else text_addf(to, "%.0f h %02.0f min", hours, minutes - 60 * hours);
}

static void add_tiles(text *to, const struct report *r)
{
    const struct metrics_line *best = best_line(r), *last = r->count ? &r->lines[r->count - 1] : NULL;
    text value = {0};
    text_add(to, "<div class=\"tiles\">\n");
    if (best) {
        text_addf(&value, "%.2f %%", 100 * best->validation.mean);
        if (isfinite(best->validation.half)) text_addf(&value, " \xc2\xb1 %.2f", 100 * best->validation.half);
        page_tile(to, &value, "best validation accuracy");
        text_clear(&value);
        text_addf(&value, "%ju", (uintmax_t)best->epoch + 1);
        page_tile(to, &value, "its epoch");
        text_clear(&value);
    }
    if (last) {
        text_addf(&value, isfinite(last->loss) ? "%.4g" : "not measured", last->loss);
        page_tile(to, &value, "loss of the last epoch");
        text_clear(&value);
        add_duration(&value, last->seconds);
        page_tile(to, &value, "time");
    }
    text_add(to, "</div>\n");
    text_free(&value);
}

static double loss_of(const struct metrics_line *l) { return l->loss; }
static double accuracy_of(const struct metrics_line *l) { return l->accuracy; }
static double rate_of(const struct metrics_line *l) { return l->rate; }

/* A curve over all epochs, which are counted from 1 on the page; nothing when no epoch has the number. */
static void add_curve(text *to, const struct report *r, double (*y)(const struct metrics_line *), struct chart c,
                      struct chart_point *point)
{
    bool any = false;
    for (size_t i = 0; i < r->count; i++) {
        point[i] = (struct chart_point){(double)r->lines[i].epoch + 1, y(&r->lines[i]), 0, false};
        any = any || isfinite(point[i].y);
    }
    if (!any) return;
    c.point = point;
    c.count = r->count;
    chart_add(to, &c);
}

static void add_validation(text *to, const struct report *r, struct chart_point *point)
{
    const struct metrics_line *best = best_line(r);
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct metrics_line *l = &r->lines[i];
        if (l->validation.count)
            point[n++] = (struct chart_point){(double)l->epoch + 1, l->validation.mean, l->validation.half, l == best};
    }
    if (n == 0) return;
    chart_add(to, &(struct chart){.title = "Validation accuracy, with its 95 % interval",
                                  .x_name = "epoch",
                                  .class_name = "accuracy",
                                  .percent = true,
                                  .point = point,
                                  .count = n});
}

static status add_charts(text *to, const struct report *r)
{
    struct chart_point *point = calloc(r->count ? r->count : 1, sizeof *point);
    if (!point) return fail(ST_MEMORY, "no memory for the curves of %zu epochs", r->count);
    text_add(to, "<div class=\"charts\">\n");
    add_curve(to, r, loss_of, (struct chart){.title = "Training loss", .x_name = "epoch", .class_name = "loss"}, point);
    add_curve(
        to, r, accuracy_of,
        (struct chart){.title = "Training accuracy", .x_name = "epoch", .class_name = "training", .percent = true},
        point);
    add_validation(to, r, point);
    add_curve(
        to, r, rate_of,
        (struct chart){
            .title = "Learning rate", .x_name = "epoch", .class_name = "rate", .logarithmic = true, .steps = true},
        point);
    text_add(to, "</div>\n");
    free(point);
    return OK;
}

static void add_facts(text *to, const struct report *r)
{
    if (!r->facts || !r->facts->name) return;
    text_add(to, "<h2>Environment</h2>\n<table>\n");
    for (const struct report_fact *f = r->facts; f->name; f++) {
        text_add(to, "<tr><td>");
        html_add(to, f->name);
        text_add(to, "</td><td>");
        html_add(to, f->value);
        text_add(to, "</td></tr>\n");
    }
    text_add(to, "</table>\n");
}

status report_html(const struct report *r, text *to)
{
    status st = OK;
    page_begin(to, r->title);
    text_addf(to, "<p class=\"state\">%zu of %zu epochs</p>\n", r->count, r->epochs);
    if (r->count) {
        add_tiles(to, r);
        st = add_charts(to, r);
    }
    text_add(to, "<h2>Recipe</h2>\n<pre>");
    html_add(to, r->recipe);
    text_add(to, "</pre>\n");
    add_facts(to, r);
    page_end(to);
    return st == OK ? text_status(to) : st;
}

status report_write(const struct report *r, const char *path)
{
    text page = {0};
    status st = report_html(r, &page);
    if (st == OK) st = page_write(&page, path);
    text_free(&page);
    return st;
}
