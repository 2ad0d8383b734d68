/* demo_report.c - the demonstration's page: the result, the curves, sample episodes. */
#include "app/demo.h"
#include "base/page.h"
#include <stdio.h>

static void add_result(const struct demo *d, text *page)
{
    text_add(page, "<table class=\"wide\">\n<tr><th>head</th><th>network trained with</th><th>accuracy, %</th>"
                   "<th>against proto</th></tr>\n");
    for (size_t i = 0; i < DEMO_ROWS; i++) {
        const struct demo_row *r = &d->row[i];
        centra_eval_row row;
        if (centra_eval_head_row(r->run->eval, r->head, &row) != CENTRA_OK) continue;
        text_addf(page, "<tr><td>%s</td><td>%s</td><td>%.2f \xc2\xb1 %.2f</td>", row.head, r->run->head, row.accuracy,
                  row.ci95);
        if (i == 0) text_add(page, "<td>\xe2\x80\x93</td></tr>\n");
        else text_addf(page, "<td>%+.2f \xc2\xb1 %.2f</td></tr>\n", r->difference, r->difference_ci95);
    }
    text_add(page, "</table>\n");
}

static void add_curves(const struct demo *d, text *page)
{
    text_add(page, "<h2>How both networks learned</h2>\n<div class=\"charts\">\n");
    for (size_t i = 0; i < DEMO_RUNS; i++) {
        const struct demo_run *r = &d->run[i];
        char loss[96], validation[96];
        snprintf(loss, sizeof loss, "Trained with %s: loss", r->head);
        snprintf(validation, sizeof validation, "Trained with %s: accuracy on validation classes", r->head);
        chart_add(page,
                  &(struct chart){
                      .title = loss, .x_name = "epoch", .class_name = "loss", .point = r->loss, .count = r->epochs});
        chart_add(page, &(struct chart){.title = validation,
                                        .x_name = "epoch",
                                        .class_name = "accuracy",
                                        .percent = true,
                                        .point = r->validation,
                                        .count = r->epochs});
    }
    text_add(page, "</div>\n");
}

status demo_report(const struct demo *d, const char *path)
{
    const struct demo_settings *s = d->call->settings;
    text page = {0};
    status st = OK;
    page_begin(&page, "Telling new classes apart from one picture each");
    text_addf(
        &page,
        "<p class=\"state\">%jd episodes of %d classes that no network has seen, %d known picture of each, %d to be "
        "told apart; chance is %d %%</p>\n",
        (intmax_t)s->episodes, DEMO_WAY, DEMO_SHOT, DEMO_QUERY, 100 / DEMO_WAY);
    add_result(d, &page);
    if (!s->data) /* what the built-in pictures are; of others we know nothing */
        text_add(&page,
                 "<p>In these pictures a class is a small pattern among clutter. <b>proto</b> averages the features "
                 "of a whole picture, so that clutter drowns the pattern. The others compare a picture's places one "
                 "by one; <b>mcl</b> and <b>mcl-katz</b> let the places of both pictures choose each other, back "
                 "and forth, and trust those that are chosen most.</p>\n");
    add_curves(d, &page);
    TRY(demo_views(d, &page));
    page_end(&page);
    TRY(page_write(&page, path));
done:
    text_free(&page);
    return st;
}
