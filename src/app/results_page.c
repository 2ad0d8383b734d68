/* results_page.c - results.md: a table for each block, the order of its methods, seeds, other settings, times, runs. */
#include "app/results.h"
#include <math.h>
#include <string.h>

static void add_figure(text *to, double v)
{
    if (v > 0) text_addf(to, "%.2f", v);
    else text_add(to, "-");
}

static void add_difference(text *to, const struct result *r, double figure)
{
    if (r->seeds && figure > 0) text_addf(to, "%+.2f", r->accuracy - figure);
    else text_add(to, "-");
}

/* "1234567" as "1,234,567". */
static void add_whole(text *to, double v)
{
    text digits = {0};
    text_addf(&digits, "%.0f", v);
    const char *s = text_string(&digits);
    for (size_t n = strlen(s); n > 0; n--, s++) text_addf(to, "%c%s", *s, n > 1 && n % 3 == 1 ? "," : "");
    text_free(&digits);
}

static void add_seconds(text *to, double seconds)
{
    if (!isfinite(seconds)) text_add(to, "-");
    else if (seconds < 600) text_addf(to, "%.0f s", seconds);
    else text_addf(to, "%.0f min", seconds / 60);
}

/* Blocks */

static void add_row(text *to, const struct result *r)
{
    const struct row *row = r->at.row;
    text_addf(to, "| `%s` | ", row->method);
    add_figure(to, row->paper);
    text_add(to, " | ");
    add_figure(to, row->reference);
    text_add(to, " | ");
    if (!r->seeds) text_add(to, "not yet run");
    else if (r->seeds == 1) text_addf(to, "**%.2f** +- %.2f", r->accuracy, r->ci95);
    else text_addf(to, "**%.2f** +- %.2f (%zu seeds, spread %.2f)", r->accuracy, r->ci95, r->seeds, r->spread);
    text_add(to, " | ");
    add_difference(to, r, row->paper);
    text_add(to, " | ");
    add_difference(to, r, row->reference);
    text_add(to, " |\n");
}

/* The methods that the order is about, best first. */
static void add_ranking(text *to, const struct result *first, size_t rows)
{
    enum { MOST = 64 };
    const struct result *ranked[MOST];
    size_t n = 0;
    for (size_t i = 0; i < rows && n < MOST; i++) {
        size_t at = n;
        if (!first[i].seeds || first[i].at.row->paper <= 0) continue;
        for (; at > 0 && ranked[at - 1]->accuracy < first[i].accuracy; at--) ranked[at] = ranked[at - 1];
        ranked[at] = &first[i];
        n++;
    }
    for (size_t i = 0; i < n; i++) text_addf(to, "%s`%s`", i ? ", " : "", ranked[i]->at.row->method);
}

static void add_pair(text *to, const struct pair *p)
{
    text_addf(to, "- `%s` above `%s`: paper %+.2f, ours %+.2f with an interval of %.2f (%s)\n",
              p->higher->at.row->method, p->lower->at.row->method, p->paper, p->ours, p->interval,
              p->verdict == ORDER_OTHER ? "the other way" : "not decided");
}

static void add_order(text *to, const struct result *first, size_t rows, arena *memory)
{
    struct pair *pairs = NULL;
    size_t count = 0, of[3] = {0}, reversed = 0;
    if (results_pairs(first, rows, memory, &pairs, &count) != OK || !count) return;
    for (size_t i = 0; i < count; i++) {
        of[pairs[i].verdict]++;
        reversed += pairs[i].ours <= 0;
    }
    text_addf(to, "\nOrder: %s. Ours, best first: ", reversed ? "not the paper's" : "the same as the paper's");
    add_ranking(to, first, rows);
    text_addf(to,
              ". Of %zu pair%s, %zu stand%s as in the paper by more than the interval, %zu %s within it, %zu the other "
              "way%s\n",
              count, count == 1 ? "" : "s", of[ORDER_SAME], of[ORDER_SAME] == 1 ? "s" : "", of[ORDER_OPEN],
              of[ORDER_OPEN] == 1 ? "is" : "are", of[ORDER_OTHER], of[ORDER_SAME] < count ? ":\n" : ".");
    for (size_t i = 0; i < count; i++)
        if (pairs[i].verdict != ORDER_SAME) add_pair(to, &pairs[i]);
}

static void add_block(text *to, const struct result *first, size_t rows, arena *memory)
{
    const struct block *b = first->at.block;
    text_addf(to, "\n## %s\n\nThe paper's %s; `centra reproduce --all-of %s`. ", b->title, b->table, b->name);
    add_whole(to, (double)b->episodes);
    text_addf(to, " test episodes.%s%s\n\n", b->note ? " " : "", b->note ? b->note : "");
    text_add(to, "| method | paper | reference | ours | to the paper | to the reference |\n");
    text_add(to, "| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < rows; i++) add_row(to, &first[i]);
    add_order(to, first, rows, memory);
}

/* Beyond the blocks */

static void add_seeds(text *to, const struct results *r)
{
    bool any = false;
    text_add(to, "\n## Seeds\n\n");
    for (size_t i = 0; i < r->rows; i++) {
        const struct result *row = &r->row[i];
        if (row->seeds < 2) continue;
        if (!any) text_add(to, "| row | accuracies | mean | spread |\n| --- | --- | --- | --- |\n");
        any = true;
        text_addf(to, "| `%s/%s` | ", row->at.block->name, row->at.row->method);
        for (size_t s = 0; s < row->seeds; s++)
            text_addf(to, "%s%.2f (seed %jd)", s ? ", " : "", row->seed[s]->accuracy, (intmax_t)row->seed[s]->seed);
        text_addf(to, " | %.2f | %.2f |\n", row->accuracy, row->spread);
    }
    if (!any) text_add(to, "No row was run with more than one seed yet.\n");
    else
        text_add(
            to,
            "\nThe spread is the standard deviation over the seeds of training; all play the same test episodes.\n");
}

static void add_variants(text *to, const struct results *r)
{
    bool any = false;
    for (size_t i = 0; i < r->records.count; i++) {
        const struct record *v = &r->records.item[i];
        if (!*v->more) continue;
        if (!any)
            text_add(to, "\n## Other settings\n\nRows with more settings than their own, not counted above.\n\n"
                         "| row | seed | settings | validation | test |\n| --- | --- | --- | --- | --- |\n");
        any = true;
        text_addf(to, "| `%s` | %jd | `%s` | ", v->row, (intmax_t)v->seed, v->more);
        if (isfinite(v->validation)) text_addf(to, "%.2f +- %.2f", v->validation, v->validation_ci95);
        else text_add(to, "-");
        text_addf(to, " | **%.2f** +- %.2f |\n", v->accuracy, v->ci95);
    }
}

static void add_speed_row(text *to, const struct speed *s)
{
    text_addf(to, "| `%s` | %s |", s->head, s->name);
    for (int i = 0; i < SPEED_SIDES; i++)
        if (isfinite(s->ms[i])) text_addf(to, " %.2f |", s->ms[i]);
        else text_add(to, " - |");
    text_add(to, "\n");
}

static void add_speed(text *to, const struct results *r)
{
    text_add(to, "\n## Speed\n\nMilliseconds of an episode of 5 classes with one shot and 15 queries each, 640 "
                 "channels, by the size of "
                 "the maps, without the encoding. The paper's are its Table 6 and say no machine; its `mcl` is the "
                 "pseudo-inverse. "
                 "Ours are medians of `centra bench heads`.\n\n"
                 "| head | whose | 5x5 | 8x8 | 10x10 | 12x12 |\n| --- | --- | --- | --- | --- | --- |\n");
    for (const struct speed *p = speed_paper; p->head; p++) {
        add_speed_row(to, p);
        for (size_t i = 0; i < r->speeds; i++)
            if (!strcmp(r->speed[i].head, p->head)) add_speed_row(to, &r->speed[i]);
    }
    if (!r->speeds) text_add(to, "\nOurs are not yet measured.\n");
}

static void add_run(text *to, const struct record *v)
{
    text_addf(to, "| `%s` | %jd | ", v->row, (intmax_t)v->seed);
    if (isfinite(v->validation)) text_addf(to, "%.2f after %jd", v->validation, (intmax_t)v->validation_epoch);
    else text_add(to, "-");
    text_add(to, " | ");
    add_seconds(to, v->train_seconds);
    text_add(to, " | ");
    if (isfinite(v->pictures_per_second)) add_whole(to, v->pictures_per_second);
    else text_add(to, "-");
    text_add(to, " | ");
    add_seconds(to, v->test_seconds);
    text_addf(to, " | %s, %s | `%.12s`%s | `%.12s` | %s |\n", v->machine, v->device, v->commit,
              strchr(v->commit, '+') ? " and changes" : "", v->weights, v->date);
}

static void add_runs(text *to, const struct results *r)
{
    text_add(to, "\n## Runs\n\n");
    if (!r->records.count) {
        text_add(to, "There are no records yet.\n");
        return;
    }
    text_add(to, "| row | seed | validation, epochs | training | pictures a second | test | machine | commit | weights "
                 "| date |\n"
                 "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < r->records.count; i++) add_run(to, &r->records.item[i]);
    text_add(to, "\nTimes are wall clock; that of training and the pictures a second contain validation, and other "
                 "runs may have shared the "
                 "machine. Commit is that of the program, weights the fingerprint of the model that was tested.\n");
}

void results_page(const struct results *r, arena *memory, text *to)
{
    size_t done = 0;
    for (size_t i = 0; i < r->rows; i++) done += r->row[i].seeds > 0;
    text_add(
        to,
        "# The paper's tables, made again\n\n"
        "Made by `centra reproduce --page docs --records docs/results` from the records in `docs/results`, whose keys "
        "[reproduce.md](reproduce.md) explains; changes by hand are refused by a test. The same as data: "
        "[results.json](results.json). Heads on photos of other kinds than these: [everyday.md](everyday.md).\n\n");
    text_addf(to, "%zu of %zu rows are run. ", done, r->rows);
    text_add(to, "Accuracies are percent, with half of the 95 % interval over test episodes (5-way, 15 queries a "
                 "class). *Paper* is what it prints, "
                 "*reference* our PyTorch program on the same pictures. The model is the one that was best on the "
                 "validation classes. Two "
                 "methods are told apart when they differ by more than the root of the sum of the squares of their "
                 "intervals.\n");
    for (size_t i = 0; i < r->rows; i += results_block(r, i)) add_block(to, &r->row[i], results_block(r, i), memory);
    add_seeds(to, r);
    add_variants(to, r);
    add_speed(to, r);
    add_runs(to, r);
}
