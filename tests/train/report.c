/* report.c - report.html: well-formed, escaped, self-contained, with round ticks and the numbers that were measured. */
#include "train/report.h"
#include "base/file.h"
#include "tests/test.h"
#include "base/chart.h"
#include <stdio.h>
#include <stdlib.h>

enum { EPOCHS = 40 };
static struct metrics_line lines[EPOCHS];
static const struct report_fact facts[] = {{"device", "cpu <8 threads>"}, {NULL, NULL}};

static struct report sample(void)
{
    for (size_t i = 0; i < EPOCHS; i++) {
        lines[i] = (struct metrics_line){.epoch = i,
                                         .loss = 0.5 + exp(-(double)i / 10),
                                         .accuracy = 0.4 + 0.01 * (double)i,
                                         .rate = i < 20 ? 0.1 : 0.01,
                                         .seconds = 100.0 * (double)(i + 1)};
        if (i % 5 == 4) lines[i].validation = (struct interval){0.5 + 0.005 * (double)i, 0.006, 1000};
    }
    return (struct report){.title = "CUB & \"friends\" <b>",
                           .recipe = "[train]\nrate = 0.1 # <script>alert('x')</script>\n",
                           .facts = facts,
                           .lines = lines,
                           .count = EPOCHS,
                           .epochs = 60};
}

/* Every element is closed in order, attributes are quoted, and no bare & or < stands in the text. False at the first fault. */
static bool well_formed(const char *s)
{
    const char *stack[64];
    size_t depth = 0;
    for (; *s; s++) {
        if (*s == '&' && strncmp(s, "&amp;", 5) && strncmp(s, "&lt;", 4) && strncmp(s, "&gt;", 4) &&
            strncmp(s, "&quot;", 6) && strncmp(s, "&#39;", 5))
            return false;
        if (*s == '>') return false;
        if (*s != '<' || s[1] == '!') {
            if (*s == '<') s = strchr(s, '>');
            continue;
        }
        const bool closing = s[1] == '/';
        const char *name = s + 1 + closing, *end = name;
        bool quoted = false;
        for (; *end && (quoted || *end != '>'); end++) {
            if (*end == '"') quoted = !quoted;
            if (*end == '<') return false;
        }
        if (!*end) return false;
        const size_t n = strcspn(name, " />");
        if (closing) {
            if (depth == 0 || strncmp(stack[--depth], name, n)) return false;
        } else if (end[-1] != '/') {
            if (depth == 64) return false;
            stack[depth++] = name;
        }
        s = end;
    }
    return depth == 0;
}

static size_t occurrences(const char *s, const char *word)
{
    size_t n = 0;
    for (; (s = strstr(s, word)); s++) n++;
    return n;
}

TEST(report_is_well_formed_and_escapes_everything)
{
    const struct report r = sample();
    text page = {0};
    REQUIRE(report_html(&r, &page) == OK);
    EXPECT(well_formed(page.data));
    EXPECT(!well_formed("<p>a & b</p>") && !well_formed("<p><b></p>") &&
           !well_formed("<p>a > b</p>")); /* it can fail */
    EXPECT(strstr(page.data, "<title>CUB &amp; &quot;friends&quot; &lt;b&gt;</title>") != NULL);
    EXPECT(strstr(page.data, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;") != NULL);
    EXPECT(strstr(page.data, "cpu &lt;8 threads&gt;") != NULL);
    EXPECT(!strstr(page.data, "<script") && !strstr(page.data, "http") && !strstr(page.data, "nan"));
    text_free(&page);
}

TEST(report_shows_what_was_measured)
{
    const struct report r = sample();
    text page = {0};
    REQUIRE(report_html(&r, &page) == OK);
    EXPECT_INT(occurrences(page.data, "<svg"), 4);
    EXPECT_INT(occurrences(page.data, "class=\"band\""), 1);
    EXPECT(strstr(page.data, "40 of 60 epochs") != NULL);
    EXPECT(strstr(page.data, "69.50 % \xc2\xb1 0.60") != NULL);
    EXPECT(strstr(page.data, "<b>1 h 06 min</b>") != NULL);
    EXPECT(strstr(page.data, ">69.50 %</text>") != NULL); /* the mark of the best epoch */
    EXPECT(strstr(page.data, ">70 %</text>") != NULL && strstr(page.data, ">0.01</text>") != NULL);
    text_free(&page);
}

TEST(report_leaves_out_what_nobody_measured)
{
    struct report r = sample();
    text page = {0};
    for (size_t i = 0; i < EPOCHS; i++) lines[i].accuracy = (double)NAN, lines[i].validation.count = 0;
    REQUIRE(report_html(&r, &page) == OK);
    EXPECT_INT(occurrences(page.data, "<svg"), 2);
    EXPECT(!strstr(page.data, "best validation"));
    text_free(&page);
}

TEST(report_stands_with_nothing_little_or_strange_numbers)
{
    static const double values[] = {0, 1, -3, 1e-300, 1e300, INFINITY, -INFINITY, NAN};
    struct metrics_line strange[8];
    for (size_t i = 0; i < 8; i++)
        strange[i] = (struct metrics_line){.epoch = i,
                                           .loss = values[i],
                                           .rate = values[i],
                                           .seconds = values[i],
                                           .validation = {values[i], values[7 - i], 5}};
    for (size_t n = 0; n <= 8; n++)
        for (size_t from = 0; from + n <= 8; from++) {
            const struct report r = {.title = "t", .recipe = "", .lines = strange + from, .count = n, .epochs = 8};
            text page = {0};
            EXPECT_OK(report_html(&r, &page));
            EXPECT(well_formed(text_string(&page)));
            EXPECT(!strstr(page.data, "\"nan") && !strstr(page.data, "inf\"") && !strstr(page.data, "Lnan"));
            EXPECT(page.length < 100000);
            text_free(&page);
        }
}

TEST(chart_steps_are_round)
{
    EXPECT_NEAR(chart_step(1, 5), 0.2, 1e-15);
    EXPECT_NEAR(chart_step(40, 8), 5, 1e-12);
    EXPECT_NEAR(chart_step(1200, 8), 200, 1e-9);
    EXPECT_NEAR(chart_step(0.07, 5), 0.02, 1e-15);
    EXPECT_NEAR(chart_step(9, 5), 2, 1e-12);
    EXPECT(chart_step(0, 5) == 1 && chart_step((double)NAN, 5) == 1 && chart_step((double)INFINITY, 5) == 1);
}

TEST(report_file_is_replaced_whole_and_survives_every_failed_allocation)
{
    const struct report r = sample();
    char path[512], *bytes = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/report.html", test_folder());
    const size_t live = alloc_live();
    for (size_t k = 1;; k++) {
        alloc_fail_at(k);
        const status st = report_write(&r, path);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
        EXPECT(!file_exists(path));
    }
    REQUIRE(file_read(path, 1 << 20, &bytes, &n) == OK);
    EXPECT(n > 1000 && !strcmp(bytes + n - 8, "</html>\n"));
    free(bytes);
}
