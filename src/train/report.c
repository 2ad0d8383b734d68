/* report.c - the page around the charts. */
#include "train/report.h"
#include "base/file.h"
#include "train/chart.h"
#include <math.h>
#include <stdlib.h>

static const char style[] =
    ":root{--page:#fbfaf8;--card:#fff;--ink:#22262b;--soft:#68707a;--rule:#e5e3de;--loss:#b3541e;--accuracy:#1f6f8b;"
    "--rate:#5b7f3a;--training:#7a5195}\n"
    "@media(prefers-color-scheme:dark){:root{--page:#16181b;--card:#1e2125;--ink:#e8e6e1;--soft:#9aa1aa;--rule:#33373d;"
    "--loss:#e8935a;--accuracy:#63b7d3;--rate:#a3c47f;--training:#c39bd8}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\n"
    "main{max-width:1100px;margin:0 auto;padding:40px 24px}\n"
    "h1{font-size:28px;font-weight:650;margin:0 0 4px;overflow-wrap:anywhere}\n"
    "h2{font-size:18px;font-weight:650;margin:36px 0 12px}\n"
    ".state{color:var(--soft);margin:0 0 28px}\n"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:16px;margin-bottom:16px}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:16px}\n"
    ".tile,figure,pre,table{background:var(--card);border:1px solid var(--rule);border-radius:10px}\n"
    ".tile{padding:14px 18px}\n"
    ".tile b{display:block;font-size:24px;font-weight:650;font-variant-numeric:tabular-nums}\n"
    ".tile span{color:var(--soft);font-size:14px}\n"
    "figure{margin:0;padding:16px}\n"
    "figcaption{font-weight:650;margin-bottom:8px}\n"
    "svg{display:block;width:100%;height:auto}\n"
    "svg text{font-size:12px;fill:var(--soft);font-variant-numeric:tabular-nums}\n"
    ".grid line{stroke:var(--rule)}\n"
    ".grid .base,.grid .tick{stroke:var(--soft)}\n"
    ".grid .y{text-anchor:end}\n"
    ".grid .x{text-anchor:middle}\n"
    ".line{fill:none;stroke:var(--tone);stroke-width:1.75;stroke-linejoin:round;stroke-linecap:round}\n"
    ".band{fill:var(--tone);opacity:.3}\n"
    ".dot{fill:var(--tone);stroke:var(--card);stroke-width:1.5}\n"
    "svg .value{fill:var(--ink);font-size:13px;font-weight:650}\n"
    ".loss{--tone:var(--loss)}\n.accuracy{--tone:var(--accuracy)}\n.rate{--tone:var(--rate)}\n.training{--tone:var(--"
    "training)}\n"
    "pre{margin:0;padding:16px 18px;overflow-x:auto;font:14px/1.5 ui-monospace,monospace}\n"
    "table{border-collapse:separate;border-spacing:0;width:100%}\n"
    "td{padding:8px 18px;border-top:1px solid var(--rule);overflow-wrap:anywhere}\n"
    "tr:first-child td{border-top:0}\n"
    "td:first-child{color:var(--soft);width:11em}\n";

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

static void add_tile(text *to, const text *value, const char *what)
{
    text_add(to, "<div class=\"tile\"><b>");
    html_add(to, text_string(value));
    text_add(to, "</b><span>");
    html_add(to, what);
    text_add(to, "</span></div>\n");
    if (value->st != OK && to->st == OK) to->st = value->st;
}

static void add_tiles(text *to, const struct report *r)
{
    const struct metrics_line *best = best_line(r), *last = r->count ? &r->lines[r->count - 1] : NULL;
    text value = {0};
    text_add(to, "<div class=\"tiles\">\n");
    if (best) {
        text_addf(&value, "%.2f %%", 100 * best->validation.mean);
        if (isfinite(best->validation.half)) text_addf(&value, " \xc2\xb1 %.2f", 100 * best->validation.half);
        add_tile(to, &value, "best validation accuracy");
        text_clear(&value);
        text_addf(&value, "%ju", (uintmax_t)best->epoch + 1);
        add_tile(to, &value, "its epoch");
        text_clear(&value);
    }
    if (last) {
        text_addf(&value, isfinite(last->loss) ? "%.4g" : "not measured", last->loss);
        add_tile(to, &value, "loss of the last epoch");
        text_clear(&value);
        add_duration(&value, last->seconds);
        add_tile(to, &value, "time");
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
    text_add(to, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>");
    html_add(to, r->title);
    text_addf(to, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>", style);
    html_add(to, r->title);
    text_addf(to, "</h1>\n<p class=\"state\">%zu of %zu epochs</p>\n", r->count, r->epochs);
    if (r->count) {
        add_tiles(to, r);
        st = add_charts(to, r);
    }
    text_add(to, "<h2>Recipe</h2>\n<pre>");
    html_add(to, r->recipe);
    text_add(to, "</pre>\n");
    add_facts(to, r);
    text_add(to, "</main>\n</body>\n</html>\n");
    return st == OK ? text_status(to) : st;
}

status report_write(const struct report *r, const char *path)
{
    text page = {0};
    struct file_writer w = {0};
    status st = OK;
    TRY(report_html(r, &page));
    TRY(file_begin(path, &w));
    file_put(&w, page.data, page.length);
    st = file_commit(&w);
done:
    text_free(&page);
    return st;
}
