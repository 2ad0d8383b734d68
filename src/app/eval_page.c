/* eval_page.c - the results of centra eval as a page: heads by accuracy, each with its interval, and how far each is from the
 * first of the list on the same episodes. */
#include "app/eval.h"
#include "app/library.h"
#include "base/chart.h"
#include "base/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 150, WIDTH = 1000, VALUE = 130, ROW = 26, TOP = 8, BOTTOM = 34, MOST_TICKS = 10 };

static int by_accuracy(const void *a, const void *b)
{
    const centra_eval_row *x = a, *y = b;
    if (x->accuracy != y->accuracy) return x->accuracy < y->accuracy ? 1 : -1;
    return strcmp(x->head, y->head);
}

struct bars {
    const char *title, *class_name;
    bool differences; /* of the pairs, with a line at 0 */
    const centra_eval_row *row;
    size_t count;
    double low, high, step; /* of the axis */
};

static double value_of(const struct bars *b, size_t i)
{
    return b->differences ? b->row[i].difference : b->row[i].accuracy;
}

static double half_of(const struct bars *b, size_t i)
{
    const double half = b->differences ? b->row[i].difference_ci95 : b->row[i].ci95;
    return isfinite(half) ? half : 0;
}

/* Round ends around all intervals; around 0 too for differences. */
static void choose_axis(struct bars *b)
{
    double low = b->differences ? 0 : INFINITY, high = b->differences ? 0 : -INFINITY;
    for (size_t i = 0; i < b->count; i++) {
        low = fmin(low, value_of(b, i) - half_of(b, i));
        high = fmax(high, value_of(b, i) + half_of(b, i));
    }
    b->step = chart_step(fmax(high - low, 0.1), MOST_TICKS);
    b->low = floor(low / b->step) * b->step;
    b->high = ceil(high / b->step) * b->step;
    if (!(b->high > b->low)) b->high = b->low + b->step;
}

static double place(const struct bars *b, double v)
{
    return NAME + (v - b->low) / (b->high - b->low) * (WIDTH - NAME - VALUE);
}

static void add_axis(text *to, const struct bars *b)
{
    const double end = TOP + ROW * (double)b->count;
    const size_t ticks = (size_t)lround((b->high - b->low) / b->step);
    text_add(to, "<g class=\"grid\">");
    for (size_t i = 0; i <= ticks; i++) {
        const double v = b->low + (double)i * b->step, x = place(b, v);
        const bool zero = b->differences && fabs(v) < b->step / 2;
        text_addf(to, "<line%s x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.0f\"/>", zero ? " class=\"base\"" : "", x, x,
                  TOP, end);
        text_addf(to, "<text class=\"x\" x=\"%.1f\" y=\"%.0f\">%g</text>", x, end + 18,
                  zero ? 0 : round(v / b->step) * b->step);
    }
    text_add(to, "</g>\n");
}

/* A name, its interval as a bar, its value as a dot and in words. */
static void add_bar(text *to, const struct bars *b, size_t i)
{
    const double v = value_of(b, i), half = half_of(b, i), y = TOP + ROW * ((double)i + 0.5);
    const double left = place(b, v - half), right = place(b, v + half);
    text_addf(to, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\" class=\"name\">", NAME - 12, y + 4);
    html_add(to, b->row[i].head);
    text_addf(to, "</text><rect class=\"band\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"10\" rx=\"3\"/>", left,
              y - 5, fmax(right - left, 1));
    text_addf(to, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>", place(b, v), y);
    text_addf(to, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\" class=\"value\">", WIDTH, y + 4);
    text_addf(to, b->differences ? "%+.2f" : "%.2f", v);
    if (half > 0) text_addf(to, " \xc2\xb1 %.2f", half);
    text_add(to, "</text>\n");
}

static void add_bars(text *to, struct bars b)
{
    choose_axis(&b);
    text_addf(to, "<figure class=\"%s\"><figcaption>", b.class_name);
    html_add(to, b.title);
    text_addf(to, "</figcaption>\n<svg viewBox=\"0 0 %d %zu\" role=\"img\">\n", WIDTH, TOP + ROW * b.count + BOTTOM);
    add_axis(to, &b);
    for (size_t i = 0; i < b.count; i++) add_bar(to, &b, i);
    text_add(to, "</svg></figure>\n");
}

static void add_table(text *to, const centra_eval_row *row, size_t count, const char *first)
{
    text_add(to, "<h2>In numbers</h2>\n<table class=\"wide\">\n<tr><th>head</th><th>accuracy, %</th><th>against ");
    html_add(to, first);
    text_add(to, "</th><th>seconds</th></tr>\n");
    for (size_t i = 0; i < count; i++) {
        text_add(to, "<tr><td>");
        html_add(to, row[i].head);
        text_addf(to, "</td><td>%.2f \xc2\xb1 %.2f</td><td>", row[i].accuracy, row[i].ci95);
        if (isfinite(row[i].difference))
            text_addf(to, "%+.2f \xc2\xb1 %.2f", row[i].difference, row[i].difference_ci95);
        else text_add(to, "\xe2\x80\x93");
        text_addf(to, "</td><td>%.1f</td></tr>\n", row[i].seconds);
    }
    text_add(to, "</table>\n");
}

static void add_heading(text *to, const centra_eval_summary *s)
{
    text_add(to, "<p class=\"state\">");
    html_add(to, s->backbone);
    text_add(to, " on ");
    html_add(to, s->data);
    text_addf(
        to,
        ", %zu episodes, %zu-way %zu-shot, %zu queries of each class; intervals hold the mean 95 times of 100</p>\n",
        s->episodes, s->way, s->shot, s->query);
}

/* Rows by accuracy; `differences` gets those of all but the first of the list, in the same order. */
static size_t collect(const centra_eval *e, text *label, centra_eval_row *row, centra_eval_row *differences,
                      size_t heads)
{
    size_t others = 0;
    for (size_t h = 0; h < heads; h++) {
        if (centra_eval_head_row(e, h, &row[h]) != CENTRA_OK) row[h] = (centra_eval_row){.head = ""};
        eval_label(e, h, &label[h]);
        row[h].head = text_string(&label[h]);
        if (!h) row[h].difference = NAN; /* with itself */
    }
    qsort(row, heads, sizeof *row, by_accuracy);
    for (size_t h = 0; h < heads; h++)
        if (isfinite(row[h].difference)) differences[others++] = row[h];
    return others;
}

status eval_page(const centra_eval *e, const char *path)
{
    centra_eval_summary s;
    text page = {0}, title = {0};
    status st = OK;
    centra_eval_summarise(e, &s);
    centra_eval_row *row = calloc(2 * s.heads + 1, sizeof *row);
    text *label = calloc(s.heads + 1, sizeof *label);
    if (!row || !label) TRY(fail(ST_MEMORY, "no memory for the rows of %zu heads", s.heads));
    const size_t others = collect(e, label, row, row + s.heads, s.heads);
    const char *first = text_string(&label[0]);
    page_begin(&page, "Heads on the same episodes");
    add_heading(&page, &s);
    add_bars(&page, (struct bars){.title = "Accuracy, %", .class_name = "accuracy", .row = row, .count = s.heads});
    text_addf(&title, "Difference to %s on the same episodes, percentage points", first);
    if (others) {
        text_add(&page, "<br>\n");
        add_bars(&page, (struct bars){.title = text_string(&title),
                                      .class_name = "rate",
                                      .differences = true,
                                      .row = row + s.heads,
                                      .count = others});
    }
    add_table(&page, row, s.heads, first);
    page_end(&page);
    TRY(page_write(&page, path));
done:
    for (size_t h = 0; label && h < s.heads; h++) text_free(&label[h]);
    text_free(&page);
    text_free(&title);
    free(label);
    free(row);
    return st;
}
